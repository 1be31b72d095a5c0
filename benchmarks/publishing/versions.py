"""Assess, publish and sign versions of a study; enter their DOI."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Count, Max, Q

from benchmarks.analysis.publishing import Assessment, MeasuredCell, assess
from benchmarks.errors import InvalidError
from benchmarks.evidence.replication import reproduced_by
from benchmarks.models import (
    AuditEntry,
    Cell,
    Job,
    Lab,
    PublishingJob,
    Run,
    Signature,
    Study,
    System,
    Version,
    VersionFile,
)
from benchmarks.own_tools.lookup import declarations_of
from benchmarks.publishing.making import Stage, note, order
from benchmarks.publishing.publications import new_files, visible_publications
from benchmarks.sentences import Sentence
from benchmarks.studies.data_versions import study_version
from benchmarks.studies.flags import studies_quoted
from benchmarks.studies.lists import tally_of
from benchmarks.text import clean_text
from benchmarks.together.events import tell_published
from benchmarks.unattended import queue
from benchmarks.unattended.queue import Jobs, Kind
from benchmarks.viewer import Viewer

Write = Callable[[Version], Mapping[str, bytes]]


def request_version(
    *, study: Study, person: User, site: str, licence: str, licence_note: str
) -> tuple[PublishingJob, bool]:
    """Request a version of a study as it is now; return whether the request is new.

    A study has one unfinished request at most. Raise InvalidError if runs still wait,
    or if the question about licences is not answered.
    """
    answer = clean_text(
        licence_note.strip(), what=Sentence("answer about the licence"), multiline=True
    )
    if licence not in Version.Licence.values:
        raise InvalidError(
            "version",
            "Say whether a licence of these hypervisors restricts publishing.",
        )
    if licence == Version.Licence.PERMITTED and not answer:
        raise InvalidError(
            "version", "Say who permitted it and when: the answer is kept."
        )
    check_settled(study)
    with transaction.atomic():
        wanted, is_new = PublishingJob.objects.get_or_create(
            study=study,
            stage__in=PublishingJob.UNFINISHED,
            defaults={
                "person": person,
                "site": site,
                "licence": licence,
                "licence_note": answer,
                "data_version": study_version(study),
            },
        )
        if is_new:
            # Replace jobs that failed.
            Job.objects.filter(kind=Kind.PUBLISHING, study=study).delete()
            order(Kind.PUBLISHING, wanted, study)
    return wanted, is_new


def note_publishing_failed(jobs: Jobs, error: str, is_final: bool) -> None:
    """Show on its page why a version was not published."""
    rows = PublishingJob.objects.filter(
        pk=jobs[0].subject_id, stage__in=PublishingJob.UNFINISHED
    )
    if not is_final:
        rows.update(stage=Stage.WAITING)
        return
    problem = Sentence("The files could not be written. See the log of the workers.")
    if error == queue.STOPPED_ITS_WORKER:
        problem = Sentence(
            "It stopped its worker {n} times, so it is not tried again. "
            "The reason is in the log of the workers.",
            n=queue.QUARANTINE_AFTER,
        )
    rows.update(stage=Stage.FAILED, problem=problem)


def check_settled(study: Study) -> None:
    """Raise InvalidError if a study has no results or unprocessed runs."""
    tally = tally_of(study)
    if not tally.cells:
        raise InvalidError("version", "The study has no results yet to be cited.")
    if tally.stuck:
        raise InvalidError(
            "version",
            "The check of this study failed: its verdicts are out of date. "
            "Try the check again on the page of the study, then publish it.",
        )
    if tally.waiting or tally.unchecked:
        raise InvalidError(
            "version",
            "Runs of this study are still being processed. "
            "Publish it when they are done.",
        )


def publish_version(*, job: PublishingJob, write: Write) -> Version:
    """Publish a study with files that ``write`` makes of the new version.

    Files are written before the short transaction that stores the version. Raises
    InvalidError if runs still wait or the study changed since the request.
    """
    # Checked again below: uploads go on while files are written.
    _check_unchanged(job)
    check_settled(job.study)
    study, person = job.study, job.person
    judged = study_assessment(study).reproduced(reproduced_by(study))
    # The number is free: a study has one unfinished job at most.
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
        # Locked until the transaction ends: no other worker stores this version.
        if not queue.are_mine(job.jobs):
            raise InvalidError("version", "Another worker has taken it over.")
        # A run that is stored refers to this row and waits for the commit.
        Study.objects.select_for_update().get(pk=job.study_id)
        _check_unchanged(job)
        rows = new_files(version, files)
        # It has an id already: without force Django would try an UPDATE first.
        version.save(force_insert=True)
        VersionFile.objects.bulk_create(rows)
        version.quotes.set(studies_quoted(study))
        note(job, Stage.DONE, version=version)
        queue.finish(job.jobs)
        AuditEntry.log(
            version.lab, AuditEntry.Kind.PUBLISHED, version.audit_name, person=person
        )
        tell_published(study, version.number, version.pk)
    return version


DOI: Final = re.compile(r"10\.\d{4,9}/[!-~]{1,180}")


def checked_doi(text: str) -> str:
    """Return a DOI or the address of one in small letters."""
    text = text.strip()
    for before in (
        "https://doi.org/",
        "http://doi.org/",
        "https://dx.doi.org/",
        "doi:",
    ):
        if text.casefold().startswith(before):
            text = text[len(before) :].strip()
    # No DOI in use contains characters that end a link, a BibTeX field or a tag.
    if not DOI.fullmatch(text) or set(text) & set('<>"{}\\^`|'):
        raise InvalidError(
            "version", "A DOI looks like 10.5281/zenodo.1234567; this does not."
        )
    return text.lower()


@transaction.atomic
def set_doi(
    *, version: Version, doi: str, person: User | None, agent: str = ""
) -> Version:
    """Store the DOI of a version that was registered elsewhere; "" removes it.

    The caller checks that an admin of the version's lab enters it.
    """
    doi = checked_doi(doi) if doi.strip() else ""
    locked = Version.objects.select_for_update().get(pk=version.pk)
    others = Version.objects.filter(doi=doi).exclude(pk=version.pk)
    if doi and others.exists():
        raise InvalidError("version", "Another version has this DOI.")
    if locked.doi != doi:
        locked.doi = doi
        locked.save(update_fields=["doi"])
        kind, about = AuditEntry.Kind.SET_DOI, f"{locked.audit_name}: {doi or 'none'}"
        AuditEntry.log(locked.lab, kind, about, person=person, agent=agent)
    return locked


@transaction.atomic
def sign_version(*, version: Version, lab: Lab, person: User, note: str) -> Signature:
    """Sign another lab's version, with a note on what was reviewed or repeated."""
    note = clean_text(note.strip(), what=Sentence("note"), multiline=True)
    if not note:
        raise InvalidError("version", "Describe what you reviewed or repeated.")
    locked = Version.objects.select_for_update().get(pk=version.pk)
    if lab.pk == locked.lab_id:
        raise InvalidError(
            "version", "A lab cannot sign its own version: another one must."
        )
    # Signatures are independent: nobody who belongs to both labs can sign.
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
    # Both labs read their own log.
    for place in (lab, locked.lab):
        AuditEntry.log(
            place,
            AuditEntry.Kind.SIGNED,
            f"{locked.lab.slug}/{locked.audit_name} ({lab.slug})",
            person=person,
        )
    who = person.get_username()
    return locked.signatures.create(lab=lab, person=person, who=who, note=note)


def _check_unchanged(job: PublishingJob) -> None:
    if study_version(job.study) != job.data_version:
        raise InvalidError(
            "version", "The study has changed. Look at it and publish it again."
        )


def _next_address() -> int:
    """Reserve an id: files contain the address of their version."""
    table = Version._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval(pg_get_serial_sequence(%s, 'id'))", [table])
        return int(cursor.fetchone()[0])


def latest_versions(viewer: Viewer, studies: Collection[int]) -> dict[int, Version]:
    """Return the newest version of each of these studies that is not withdrawn."""
    versions = visible_publications(Version, viewer).filter(
        study__in=studies, withdrawn_at=None
    )
    return {version.study_id: version for version in versions.order_by("number")}


def unfinished_publishing_job(study: Study) -> PublishingJob | None:
    """Return the unfinished publishing job of a study."""
    unfinished = PublishingJob.objects.filter(stage__in=PublishingJob.UNFINISHED)
    return unfinished.filter(study=study).first()


STATED_OF_SYSTEM = (
    "hypervisor",
    "hypervisor_version",
    "virtualization",
    "vcpus",
    "memory_bytes",
)


def study_assessment(study: Study) -> Assessment:
    """Judge a study by rule set 1, in four queries."""
    # From plain values: an object each would cost more than all else.
    cells = Cell.objects.filter(study=study, n__gt=0).exclude(case__better="neither")
    names = ("pk", "case__label", "case__component", "n", "mean", "m2")
    measured = [
        MeasuredCell(
            id=pk,
            label=label,
            component=component,
            n=n,
            mean=mean,
            variance=m2 / (n - 1) if n > 1 else None,
        )
        for pk, label, component, n, mean, m2 in cells.order_by("pk").values_list(
            *names
        )
    ]
    systems = list(
        System.objects.filter(cells__study=study).select_related("host").distinct()
    )
    guests = [system for system in systems if not system.is_native]
    hypervisors = [
        _names(guest.options)
        | {name for name in STATED_OF_SYSTEM if getattr(guest, name)}
        for guest in guests
    ]

    of_runs = _stated_by_all_runs(study)
    runs = Run.objects.filter(study=study, status=Run.Status.PARSED)
    silent = runs.aggregate(
        tool_version=Count("pk", filter=Q(tool_version="")),
        started_at=Count("pk", filter=Q(started_at=None)),
    )
    of_study = {
        **{name: count == 0 for name, count in silent.items()},
        "author": bool(study.author),
    }
    return assess(
        measured,
        {
            "host": _common(_names(system.host.facts) for system in systems) | of_runs,
            "hypervisor": _common(hypervisors) | of_runs,
            "guest": _common(_names(guest.options) for guest in guests) | of_runs,
            "benchmark": of_runs | {name for name, holds in of_study.items() if holds},
        },
    )


def _stated_by_all_runs(study: Study) -> frozenset[str]:
    """Return the facts that every run of the study states."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT name FROM {Run._meta.db_table}, jsonb_object_keys(facts) AS name
                WHERE study_id = %(study)s AND status = 'parsed'
                GROUP BY name HAVING count(*) = (
                    SELECT count(*) FROM {Run._meta.db_table}
                    WHERE study_id = %(study)s AND status = 'parsed')""",
            {"study": study.pk},
        )
        return frozenset(name for (name,) in cursor.fetchall())


def _names(facts: Any) -> frozenset[str]:
    # False and 0 are statements.
    return frozenset(name for name, value in facts.items() if value not in ("", None))


def _common(stated: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return what all state; nothing is common to none."""
    sets = list(stated)
    return frozenset.intersection(*sets) if sets else frozenset()
