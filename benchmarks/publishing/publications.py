"""Operations that versions and reviews share."""

import hashlib
from collections.abc import Mapping
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from benchmarks.collaboration.study_events import notify_version_withdrawn
from benchmarks.errors import InvalidError, NotFoundError
from benchmarks.models import AuditEntry, Publication, Version
from benchmarks.sentences import Sentence
from benchmarks.text_validation import clean_text
from benchmarks.viewer import Viewer

PublicationT = TypeVar("PublicationT", bound=Publication)


def visible_publications(
    model: type[PublicationT], viewer: Viewer
) -> QuerySet[PublicationT]:
    """Exclude the files' content."""
    rows: QuerySet[PublicationT] = model.objects.visible_to(viewer).with_files()
    return rows.order_by("-pk")


def find_publication(
    model: type[PublicationT], viewer: Viewer, pk: int
) -> PublicationT:
    publication = visible_publications(model, viewer).filter(pk=pk).first()
    if publication is None:
        raise NotFoundError(model.KIND_LABEL, pk)
    return publication


def find_file(
    model: type[PublicationT], viewer: Viewer, pk: int, name: str
) -> tuple[PublicationT, Any]:
    publication = find_publication(model, viewer, pk)
    file = publication.files.model.objects.filter(
        **{publication.files.field.name: publication}, name=name
    ).first()
    if file is None:
        raise NotFoundError(model.FILE_LABEL, name)
    return publication, file


def unsaved_files(publication: Publication, contents: Mapping[str, bytes]) -> list[Any]:
    """Return the files of a publication, unsaved, and set the publication's digest.

    The digest is the SHA-256 of the lines ``digest  name`` of all files, sorted by
    name.
    """
    files = publication.files
    rows = [
        files.model(
            **{files.field.name: publication},
            name=name,
            content=content,
            size=len(content),
            digest=hashlib.sha256(content).hexdigest(),
        )
        for name, content in contents.items()
    ]
    digests = {file.name: file.digest for file in rows}
    lines = "".join(f"{digests[name]}  {name}\n" for name in sorted(digests))
    publication.digest = hashlib.sha256(lines.encode()).hexdigest()
    return rows


@transaction.atomic
def withdraw(publication: PublicationT, *, actor: str, reason: str) -> PublicationT:
    """Withdraw a publication. Its page and files stay available."""
    kind = publication.KIND_LABEL
    reason = clean_text(reason.strip(), label=Sentence("reason"), multiline=True)
    if not reason:
        raise InvalidError(
            kind, "Give a reason. It is shown to everyone who follows the link."
        )
    rows = type(publication).objects.select_for_update()
    locked: PublicationT = rows.get(pk=publication.pk)
    if locked.withdrawn_at:
        raise InvalidError(
            kind,
            "The {kind} was already withdrawn; the reason cannot be changed.",
            kind=kind,
        )
    locked.withdrawn_at, locked.withdrawn_by = timezone.now(), actor
    locked.withdrawal_reason = reason
    locked.save(update_fields=["withdrawn_at", "withdrawn_by", "withdrawal_reason"])
    AuditEntry.log(
        locked.lab,
        AuditEntry.Kind.WITHDREW_PUBLICATION,
        f"{locked.audit_name}: {reason}",
        agent=actor,
    )
    if isinstance(locked, Version):
        notify_version_withdrawn(locked.study, locked.number, locked.pk)
    return locked
