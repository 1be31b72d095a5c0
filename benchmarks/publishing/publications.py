"""What versions and reviews share: their files, how they are found and withdrawn."""

import hashlib
from collections.abc import Mapping
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from benchmarks.errors import InvalidError, NotFoundError
from benchmarks.models import AuditEntry, Publication, Version
from benchmarks.sentences import Sentence
from benchmarks.text import clean_text
from benchmarks.together.events import tell_withdrawn
from benchmarks.viewer import Viewer

P = TypeVar("P", bound=Publication)


def visible_publications(model: type[P], viewer: Viewer) -> QuerySet[P]:
    """Return versions or reviews with their files, without the files' content."""
    rows: QuerySet[P] = model.objects.visible_to(viewer).with_files()
    return rows.order_by("-pk")


def find_publication(model: type[P], viewer: Viewer, pk: int) -> P:
    """Return a version or review; raise NotFoundError, also if it is not visible."""
    publication = visible_publications(model, viewer).filter(pk=pk).first()
    if publication is None:
        raise NotFoundError(model.KIND, pk)
    return publication


def find_file(model: type[P], viewer: Viewer, pk: int, name: str) -> tuple[P, Any]:
    """Return a publication and a file of it with its content; raise NotFoundError."""
    publication = find_publication(model, viewer, pk)
    file = publication.files.model.objects.filter(
        **{publication.files.field.name: publication}, name=name
    ).first()
    if file is None:
        raise NotFoundError(model.FILE, name)
    return publication, file


def new_files(publication: Publication, contents: Mapping[str, bytes]) -> list[Any]:
    """Return the files of a publication, unsaved, and set its digest.

    The digest is a SHA-256 of lines ``digest  name``, sorted by name.
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
def withdraw(publication: P, *, who: str, reason: str) -> P:
    """Withdraw a publication; its page and its files keep their addresses."""
    kind = publication.KIND
    reason = clean_text(reason.strip(), what=Sentence("reason"), multiline=True)
    if not reason:
        raise InvalidError(kind, "Give a reason: whoever follows the link will see it.")
    rows = type(publication).objects.select_for_update()
    locked: P = rows.get(pk=publication.pk)
    if locked.withdrawn_at:
        raise InvalidError(
            kind,
            "The {kind} was withdrawn before; the reason stays.",
            kind=kind,
        )
    locked.withdrawn_at, locked.withdrawn_by = timezone.now(), who
    locked.withdrawn_reason = reason
    locked.save(update_fields=["withdrawn_at", "withdrawn_by", "withdrawn_reason"])
    AuditEntry.log(
        locked.lab,
        AuditEntry.Kind.WITHDREW_PUBLISHED,
        f"{locked.audit_name}: {reason}",
        agent=who,
    )
    if isinstance(locked, Version):
        tell_withdrawn(locked.study, locked.number, locked.pk)
    return locked
