"""Publish a version of a study; withdraw it; sign another lab's."""

import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from typing import Final

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Max, Prefetch, QuerySet
from django.utils import timezone

from benchmarks.errors import InvalidError, NotFoundError
from benchmarks.evidence.replication import reproduced_by
from benchmarks.labs.audit import log_action
from benchmarks.models import (
    AuditEntry,
    Lab,
    PublishingJob,
    Signature,
    Study,
    Version,
    VersionFile,
)
from benchmarks.own_tools.lookup import declarations_of
from benchmarks.publishing.jobs import Stage, check_settled, note
from benchmarks.publishing.readiness import study_assessment
from benchmarks.sentences import Sentence
from benchmarks.studies.data_versions import study_version
from benchmarks.studies.flags import studies_quoted
from benchmarks.text import clean_text
from benchmarks.together.events import tell_published, tell_withdrawn
from benchmarks.unattended import queue
from benchmarks.viewer import Viewer

Write = Callable[[Version], Mapping[str, bytes]]


def publish_version(*, job: PublishingJob, write: Write) -> Version:
    """Publish what a study says: all forms of it, with their digests.

    ``write`` makes the files, once the version has its number and address; only then
    is it stored, whole, in one short transaction, so that uploads into the study do
    not wait for a typesetter. Raises InvalidError where the study has runs that
    wait, or is not what it was when somebody asked for this.
    """
    # Here to spare the work, and again below: uploads go on while files are written.
    _check_unchanged(job)
    check_settled(job.study)
    study, person = job.study, job.person
    judged = study_assessment(study).reproduced(reproduced_by(study))
    # Nobody else takes this number: a study has one unfinished job at most.
    others = Version.objects.filter(study=study)
    latest = others.aggregate(latest=Max("number"))["latest"] or 0
    version = Version(
        pk=_next_address(),
        lab=study.lab,
        study=study,
        number=latest + 1,
        title=study.title,
        person=person,
        published_by=person.get_username(),
        product_version=settings.VERSION,
        rule_set=judged.rule_set,
        judged=judged.level,
        undisclosed={group: list(names) for group, names in judged.undisclosed.items()},
        declarations=declarations_of(study),
        licence=job.licence,
        licence_note=job.licence_note,
    )
    files = write(version)
    with transaction.atomic():
        # Until the transaction ends: no other maker stores this version.
        if not queue.are_mine(job.jobs):
            raise InvalidError("version", "Another worker has taken it over.")
        # A run that is stored refers to this row and waits for the commit.
        Study.objects.select_for_update().get(pk=job.study_id)
        _check_unchanged(job)
        kept = [
            VersionFile(
                version=version,
                form=form,
                content=content,
                size=len(content),
                digest=hashlib.sha256(content).hexdigest(),
            )
            for form, content in files.items()
        ]
        version.digest = digest_of({file.form: file.digest for file in kept})
        # Its id is drawn already: without force Django would try an UPDATE first.
        version.save(force_insert=True)
        VersionFile.objects.bulk_create(kept)
        version.quotes.set(studies_quoted(study))
        note(job, Stage.DONE, version=version)
        queue.finish(job.jobs)
        log_action(
            lab=version.lab,
            person=person,
            kind=AuditEntry.Kind.PUBLISHED,
            about=_named(version),
        )
        tell_published(study, version.number, version.pk)
    return version


@transaction.atomic
def withdraw_version(*, version: Version, who: str, reason: str) -> Version:
    """Withdraw a version with a reason; its page and its files stay where they are."""
    reason = _cleaned(reason, Sentence("reason"))
    if not reason:
        raise InvalidError(
            "version", "Give a reason: whoever follows the link will see it."
        )
    locked = Version.objects.select_for_update().get(pk=version.pk)
    if locked.withdrawn_at:
        raise InvalidError(
            "version", "The version was withdrawn before; the reason stays."
        )
    locked.withdrawn_at, locked.withdrawn_by = timezone.now(), who
    locked.withdrawn_reason = reason
    locked.save(update_fields=["withdrawn_at", "withdrawn_by", "withdrawn_reason"])
    log_action(
        lab=locked.lab,
        person=None,
        agent=who,
        kind=AuditEntry.Kind.WITHDREW_PUBLISHED,
        about=f"{_named(locked)}: {reason}",
    )
    tell_withdrawn(locked.study, locked.number, locked.pk)
    return locked


DOI: Final = re.compile(r"10\.\d{4,9}/[!-~]{1,180}")


def checked_doi(text: str) -> str:
    """Return a DOI in small letters, of whatever form it was copied in."""
    text = text.strip()
    for before in (
        "https://doi.org/",
        "http://doi.org/",
        "https://dx.doi.org/",
        "doi:",
    ):
        if text.casefold().startswith(before):
            text = text[len(before) :].strip()
    # What ends a link, a BibTeX field or a tag stands in no DOI that is used.
    if not DOI.fullmatch(text) or set(text) & set('<>"{}\\^`|'):
        raise InvalidError(
            "version", "A DOI looks like 10.5281/zenodo.1234567; this does not."
        )
    return text.lower()


@transaction.atomic
def set_doi(
    *, version: Version, doi: str, person: User | None, agent: str = ""
) -> Version:
    """Keep under which DOI a version was registered elsewhere; "" takes it away.

    The caller has made sure that it is an admin of the version's lab who says so.
    """
    doi = checked_doi(doi) if doi.strip() else ""
    locked = Version.objects.select_for_update().get(pk=version.pk)
    others = Version.objects.filter(doi=doi).exclude(pk=version.pk)
    if doi and others.exists():
        raise InvalidError("version", "Another version has this DOI.")
    if locked.doi != doi:
        locked.doi = doi
        locked.save(update_fields=["doi"])
        kind, about = AuditEntry.Kind.SET_DOI, f"{_named(locked)}: {doi or 'none'}"
        log_action(lab=locked.lab, person=person, agent=agent, kind=kind, about=about)
    return locked


@transaction.atomic
def sign_version(*, version: Version, lab: Lab, person: User, note: str) -> Signature:
    """Stand for another lab's version, with a note what was looked at or repeated."""
    note = _cleaned(note, Sentence("note"))
    if not note:
        raise InvalidError("version", "Describe what you reviewed or repeated.")
    locked = Version.objects.select_for_update().get(pk=version.pk)
    if lab.pk == locked.lab_id:
        raise InvalidError(
            "version", "A lab cannot sign its own version: another one must."
        )
    # A signature says that others looked: whoever belongs to both labs is no other.
    if locked.lab.memberships.filter(user=person).exists():
        raise InvalidError(
            "version",
            "You belong to {lab}, which published it: somebody of another lab "
            "must sign.",
            lab=locked.lab.name,
        )
    if locked.withdrawn_at:
        raise InvalidError(
            "version", "The version is withdrawn: there is nothing to sign."
        )
    if locked.signatures.filter(lab=lab).exists():
        raise InvalidError(
            "version", "{lab} has signed this version already.", lab=lab.name
        )
    # Both labs look into their own logs.
    for place in (lab, locked.lab):
        log_action(
            lab=place,
            person=person,
            kind=AuditEntry.Kind.SIGNED,
            about=f"{locked.lab.slug}/{_named(locked)} ({lab.slug})",
        )
    who = person.get_username()
    return locked.signatures.create(lab=lab, person=person, who=who, note=note)


def _named(version: Version) -> Sentence:
    study, number = version.study.slug, version.number
    return Sentence("{study}, version {number}", study=study, number=number)


def _cleaned(text: str, what: str) -> str:
    return clean_text(text.strip(), what=what, multiline=True)


def _check_unchanged(job: PublishingJob) -> None:
    if study_version(job.study) != job.data_version:
        raise InvalidError(
            "version", "The study has changed. Look at it and publish it again."
        )


def _next_address() -> int:
    """Return a number that no other version gets: its files say their address."""
    table = Version._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval(pg_get_serial_sequence(%s, 'id'))", [table])
        return int(cursor.fetchone()[0])


def digest_of(files: Mapping[str, str]) -> str:
    """Return the digest of a version: SHA-256 of lines ``digest  form``, by form."""
    lines = "".join(f"{files[form]}  {form}\n" for form in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()


def visible_versions(viewer: Viewer, study: Study | None = None) -> QuerySet[Version]:
    """Return versions with their signatures and files, without the files' content."""
    files = VersionFile.objects.defer("content").order_by("pk")
    signatures = Signature.objects.select_related("lab").order_by("pk")
    versions = Version.objects.visible_to(viewer).select_related("study__lab", "lab")
    if study is not None:
        versions = versions.filter(study=study)
    prefetched = Prefetch("files", files), Prefetch("signatures", signatures)
    return versions.prefetch_related(*prefetched).order_by("-pk")


def latest_versions(viewer: Viewer, studies: Collection[int]) -> dict[int, Version]:
    """Return the newest version of each of these studies that is not withdrawn."""
    versions = visible_versions(viewer).filter(study__in=studies, withdrawn_at=None)
    return {version.study_id: version for version in versions.order_by("number")}


def find_version(viewer: Viewer, pk: int) -> Version:
    """Return a version; raises NotFoundError, also for what may not be known of."""
    version = visible_versions(viewer).filter(pk=pk).first()
    if version is None:
        raise NotFoundError(Sentence("version"), pk)
    return version


def find_file(viewer: Viewer, pk: int, form: str) -> VersionFile:
    """Return a form of a version with its content; raises NotFoundError."""
    version = find_version(viewer, pk)
    file = VersionFile.objects.filter(version=version, form=form).first()
    if file is None:
        raise NotFoundError(Sentence("form of the version"), form)
    file.version = version
    return file


def unfinished_publishing_job(study: Study) -> PublishingJob | None:
    """Return the job of a study that is under way."""
    return study.publishing_jobs.filter(stage__in=PublishingJob.UNFINISHED).first()
