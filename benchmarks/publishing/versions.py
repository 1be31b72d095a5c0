"""Publication of versions (frozen results of a study), their DOIs and signatures."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Final

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Max

from benchmarks.collaboration.study_events import notify_version_published
from benchmarks.custom_tools.lookup import study_declarations
from benchmarks.errors import InvalidError
from benchmarks.evidence.replication import reproduced_by
from benchmarks.jobs import queue
from benchmarks.jobs.queue import JobKind, Jobs
from benchmarks.models import (
    AuditEntry,
    Job,
    Lab,
    PublishingJob,
    Signature,
    Study,
    Version,
    VersionFile,
)
from benchmarks.publishing.generation_requests import (
    Stage,
    request_generation,
    set_stage,
)
from benchmarks.publishing.publications import unsaved_files, visible_publications
from benchmarks.publishing.study_level import assess_study
from benchmarks.sentences import Sentence
from benchmarks.studies.data_versions import study_version
from benchmarks.studies.flags import studies_quoted
from benchmarks.studies.overview import count_study
from benchmarks.text_validation import clean_text
from benchmarks.viewer import Viewer

WriteFiles = Callable[[Version], Mapping[str, bytes]]


def request_version(
    *,
    study: Study,
    person: User,
    site_url: str,
    publishing_permission: str,
    permission_note: str,
) -> tuple[PublishingJob, bool]:
    """Request a version; return whether the request is new.

    A study has at most one unfinished request. Raise InvalidError if runs are waiting,
    or without an answer about licenses.
    """
    answer = clean_text(
        permission_note.strip(),
        label=Sentence("answer about the license"),
        multiline=True,
    )
    if publishing_permission not in Version.PublishingPermission.values:
        raise InvalidError(
            "invalid_version",
            "State whether a license of these hypervisors restricts publishing.",
        )
    if publishing_permission == Version.PublishingPermission.GRANTED and not answer:
        raise InvalidError(
            "invalid_version",
            "State who gave permission and when. The answer is stored.",
        )
    check_is_processed(study)
    with transaction.atomic():
        request, is_new = PublishingJob.objects.get_or_create(
            study=study,
            stage__in=PublishingJob.UNFINISHED,
            defaults={
                "person": person,
                "site_url": site_url,
                "publishing_permission": publishing_permission,
                "permission_note": answer,
                "data_version": study_version(study),
            },
        )
        if is_new:
            Job.objects.filter(kind=JobKind.PUBLISHING, study=study).delete()
            request_generation(JobKind.PUBLISHING, request, study)
    return request, is_new


def record_publishing_failure(jobs: Jobs, error: str, is_final: bool) -> None:
    rows = PublishingJob.objects.filter(
        pk=jobs[0].subject_id, stage__in=PublishingJob.UNFINISHED
    )
    if not is_final:
        rows.update(stage=Stage.WAITING)
        return
    problem = Sentence(
        "The files could not be written. An administrator can find the reason in the "
        "workers' logs."
    )
    if error == queue.KILLED_WORKER:
        problem = Sentence(
            "The job stopped its worker {n} times, so it will not be retried. An "
            "administrator can find the reason in the workers' logs.",
            n=queue.QUARANTINE_AFTER,
        )
    rows.update(stage=Stage.FAILED, problem=problem)


def check_is_processed(study: Study) -> None:
    """Raise InvalidError for a study without results or with unprocessed runs."""
    tally = count_study(study)
    if not tally.cells:
        raise InvalidError("invalid_version", "The study has no results to cite yet.")
    if tally.failed_jobs:
        raise InvalidError(
            "invalid_version",
            "The check of this study failed, so its verdicts are out of date. "
            "Retry the check on the study page, then publish the study.",
        )
    if tally.waiting_runs or tally.unchecked_runs:
        raise InvalidError(
            "invalid_version",
            "Runs of this study are still being processed. Publish the study when "
            "they are finished.",
        )


def publish_version(*, job: PublishingJob, write: WriteFiles) -> Version:
    """Publish a version with the files that ``write`` returns.

    Files are written before the transaction. Raise InvalidError if runs are waiting, if
    the study has changed, or if another worker has the job.
    """
    # This is checked again below, because uploads continue while files are written.
    _check_unchanged(job)
    check_is_processed(job.study)
    study, person = job.study, job.person
    assessment = assess_study(study).with_reproducing_labs(reproduced_by(study))
    # No other version takes this number: a study has at most one unfinished job.
    versions = Version.objects.filter(study=study)
    latest = versions.aggregate(latest=Max("number"))["latest"] or 0
    version = Version(
        pk=_reserve_id(),
        lab=study.lab,
        study=study,
        number=latest + 1,
        title=study.title,
        person=person,
        published_by=person.get_username(),
        product_version=settings.VERSION,
        rule_set=assessment.rule_set,
        assessed_level=assessment.level,
        undisclosed={
            group: list(names) for group, names in assessment.missing_facts.items()
        },
        custom_tools=study_declarations(study),
        publishing_permission=job.publishing_permission,
        permission_note=job.permission_note,
    )
    files = write(version)
    with transaction.atomic():
        # This locks the jobs, so no other worker stores this version.
        if not queue.are_claimed(job.claimed_jobs):
            raise InvalidError(
                "invalid_version", "Another worker has taken over this job."
            )
        # New runs of the study wait for this lock.
        Study.objects.select_for_update().get(pk=job.study_id)
        _check_unchanged(job)
        rows = unsaved_files(version, files)
        # With an id, Django would try an UPDATE first.
        version.save(force_insert=True)
        VersionFile.objects.bulk_create(rows)
        version.quoted_studies.set(studies_quoted(study))
        set_stage(job, Stage.DONE, version=version)
        queue.finish(job.claimed_jobs)
        AuditEntry.log(
            version.lab, AuditEntry.Kind.PUBLISHED, version.audit_name, person=person
        )
        notify_version_published(study, version.number, version.pk)
    return version


DOI: Final = re.compile(r"10\.\d{4,9}/[!-~]{1,180}")


def normalize_doi(text: str) -> str:
    """Return a DOI or its URL as a DOI in lower case. Raises InvalidError."""
    text = text.strip()
    for before in (
        "https://doi.org/",
        "http://doi.org/",
        "https://dx.doi.org/",
        "doi:",
    ):
        if text.casefold().startswith(before):
            text = text[len(before) :].strip()
    # No DOI uses these characters, which could end a link, a BibTeX field or a tag.
    if not DOI.fullmatch(text) or set(text) & set('<>"{}\\^`|'):
        raise InvalidError(
            "invalid_version",
            "This is not a DOI. A DOI looks like 10.5281/zenodo.1234567.",
        )
    return text.lower()


@transaction.atomic
def set_doi(
    *, version: Version, doi: str, person: User | None, agent: str = ""
) -> Version:
    """Store a DOI that was registered elsewhere; an empty ``doi`` removes it.

    The caller checks for an admin of the version's lab.
    """
    doi = normalize_doi(doi) if doi.strip() else ""
    locked = Version.objects.select_for_update().get(pk=version.pk)
    other_versions = Version.objects.filter(doi=doi).exclude(pk=version.pk)
    if doi and other_versions.exists():
        raise InvalidError("invalid_version", "Another version already has this DOI.")
    if locked.doi != doi:
        locked.doi = doi
        locked.save(update_fields=["doi"])
        kind, about = AuditEntry.Kind.SET_DOI, f"{locked.audit_name}: {doi or 'none'}"
        AuditEntry.log(locked.lab, kind, about, person=person, agent=agent)
    return locked


@transaction.atomic
def sign_version(*, version: Version, lab: Lab, person: User, note: str) -> Signature:
    note = clean_text(note.strip(), label=Sentence("note"), multiline=True)
    if not note:
        raise InvalidError("invalid_version", "Describe what you reviewed or repeated.")
    locked = Version.objects.select_for_update().get(pk=version.pk)
    if lab.pk == locked.lab_id:
        raise InvalidError(
            "invalid_version",
            "A lab cannot sign its own version. Another lab must sign it.",
        )
    # Signatures must be independent.
    if locked.lab.memberships.filter(user=person).exists():
        raise InvalidError(
            "invalid_version",
            "You are a member of {lab}, which published this version. A member of "
            "another lab must sign it.",
            lab=locked.lab.name,
        )
    if locked.withdrawn_at:
        raise InvalidError(
            "invalid_version", "The version was withdrawn, so it cannot be signed."
        )
    if locked.signatures.filter(lab=lab).exists():
        raise InvalidError(
            "invalid_version", "{lab} has already signed this version.", lab=lab.name
        )
    for signing_lab in (lab, locked.lab):
        AuditEntry.log(
            signing_lab,
            AuditEntry.Kind.SIGNED_VERSION,
            f"{locked.lab.slug}/{locked.audit_name} ({lab.slug})",
            person=person,
        )
    username = person.get_username()
    return locked.signatures.create(
        lab=lab, person=person, signed_by=username, note=note
    )


def _check_unchanged(job: PublishingJob) -> None:
    if study_version(job.study) != job.data_version:
        raise InvalidError(
            "invalid_version", "The study has changed. Check it and publish it again."
        )


def _reserve_id() -> int:
    """Reserve the id of a version, because its files contain its URL."""
    table = Version._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval(pg_get_serial_sequence(%s, 'id'))", [table])
        return int(cursor.fetchone()[0])


def latest_versions(viewer: Viewer, studies: Collection[int]) -> dict[int, Version]:
    versions = visible_publications(Version, viewer).filter(
        study__in=studies, withdrawn_at=None
    )
    return {version.study_id: version for version in versions.order_by("number")}


def unfinished_publishing_job(study: Study) -> PublishingJob | None:
    unfinished = PublishingJob.objects.filter(stage__in=PublishingJob.UNFINISHED)
    return unfinished.filter(study=study).first()
