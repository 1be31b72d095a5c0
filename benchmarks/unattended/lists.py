"""What failed in the background, as health, a study's page and a command show it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, Min, Q, QuerySet
from django.db.models.functions import Coalesce

from benchmarks.models import Host, Job, Plan, Study, System
from benchmarks.sentences import Sentence, counted

Kind = Job.Kind


@dataclass(frozen=True)
class Trouble:
    """Failed work, for the members of its lab only: errors may quote private data."""

    sentence: str
    meaning: str
    next_at: datetime
    quarantined_at: datetime | None


_RUNNING = ~Q(server_started_at=None)
FAILED = ~Q(error="") & ~Q(failures=0, quarantined_at=None)
STATES: Final = {
    "waiting": ~_RUNNING & ~FAILED,
    "running": _RUNNING,
    "failed": ~_RUNNING & FAILED,
}
"""The states of jobs, as queries. A job that asked to be done later did not fail."""

MEANINGS: Final[dict[str, Sentence]] = {
    Kind.CHECK: Sentence("Its sessions, flags and verdicts are out of date."),
    Kind.ENERGY: Sentence("The energy shown for them is out of date."),
    Kind.PLAN: Sentence("Its late steps and its budget do not end by themselves."),
    Kind.NEWS: Sentence("Feeds list older news."),
    Kind.WEBHOOK: Sentence("Nothing is sent to its address until then."),
}
"""What failed work of a kind means for readers."""


def subject_text(job: Job) -> str:
    """Name what a job is about."""
    if job.kind == Kind.ENERGY:
        host = Host.objects.filter(pk=job.subject_id).first()
        what = f"host {host.slug if host else job.subject_id}"
    elif job.kind == Kind.UPLOAD and job.study:
        what = f"run {job.subject_id} of study {job.study.slug}"
    elif job.kind in (Kind.CHECK, Kind.NEWS, Kind.PUBLISHING) and job.study:
        what = f"study {job.study.slug}"
    else:
        what = str(job.subject_id)
    return f"{what} of {job.lab.slug}" if job.lab else what


def state_text(job: Job) -> Sentence:
    """Say whether a job waits, is running or failed, and why."""
    if job.server_started_at and job.tried_at:
        at = f"{job.tried_at:%Y-%m-%d %H:%M:%S}"
        return Sentence("running since {at} UTC in {worker}", at=at, worker=job.worker)
    n, error = f"{job.failures:,}", job.error
    if job.quarantined_at is not None:
        return Sentence(
            "failed {n} times, quarantined at {at} UTC: {error}",
            n=n,
            at=f"{job.quarantined_at:%Y-%m-%d %H:%M:%S}",
            error=error,
        )
    at = f"{job.due_at:%Y-%m-%d %H:%M:%S}"
    if job.failures and error:
        return Sentence(
            "failed {n} times, next at {at} UTC: {error}", n=n, at=at, error=error
        )
    return Sentence("waiting, next at {at} UTC", at=at)


def failed_work() -> QuerySet[Job]:
    """Return the jobs that failed. What asked to be done later did not."""
    return Job.objects.filter(FAILED)


def counts_by_kind(jobs: QuerySet[Job]) -> list[dict[str, Any]]:
    """Count the subjects of each kind by state; jobs of one subject count once."""
    states = {name: Count("pk", filter=rows) for name, rows in STATES.items()}
    aside = Count("pk", filter=~Q(quarantined_at=None))
    kinds = one_per_subject(jobs).order_by("kind").values("kind")
    oldest = Min("created_at")
    return list(kinds.annotate(**states, quarantined=aside, oldest=oldest))


def one_per_subject(rows: QuerySet[Job]) -> QuerySet[Job]:
    """Return the job of each subject that failed most: they are done together."""
    worst = rows.order_by("kind", "subject_id", "-failures", "created_at")
    ids = worst.distinct("kind", "subject_id").values("pk")
    return Job.objects.filter(pk__in=ids).select_related("study__lab", "lab")


def by_subject(rows: QuerySet[Job]) -> list[Job]:
    """Return one job of each subject, those first that failed longest ago."""
    tried_at = Coalesce("tried_at", "created_at")
    return list(one_per_subject(rows).order_by(tried_at, "pk"))


def work_of(study: Study) -> QuerySet[Job]:
    """Return the failed work of a study and the energy of its machines, without
    uploads."""
    hosts = System.objects.filter(cells__study=study, host__lab=study.lab_id)
    of_host = Q(kind=Kind.ENERGY, subject_id__in=hosts.values("host"))
    failed = failed_work().exclude(kind=Kind.UPLOAD)
    return failed.filter(Q(study=study) | of_host)


def trouble_of(study: Study) -> tuple[Trouble, ...]:
    """Return what failed of a study, for the members of its lab."""
    return tuple(
        Trouble(
            sentence=told(row),
            meaning=MEANINGS.get(row.kind, Sentence("It can be published again.")),
            next_at=row.due_at,
            quarantined_at=row.quarantined_at,
        )
        for row in by_subject(work_of(study))
    )


def told(row: Job) -> str:
    """Say what failed, how often, and of what."""
    n, error = row.failures, row.error
    if row.kind == Kind.CHECK:
        return counted(
            "The check of this study failed: {error}",
            "The check of this study failed {n} times: {error}",
            n=n,
            error=error,
        )
    if row.kind == Kind.ENERGY:
        return counted(
            "The energy of the runs on {name} was not worked out: {error}",
            "The energy of the runs on {name} was not worked out, {n} times: {error}",
            n=n,
            name=str(Host.objects.get(pk=row.subject_id)),
            error=error,
        )
    if row.kind == Kind.PLAN:
        return counted(
            "The plan {name} could not go on by itself: {error}",
            "The plan {name} could not go on by itself, {n} times: {error}",
            n=n,
            name=str(Plan.objects.get(pk=row.subject_id)),
            error=error,
        )
    if row.kind == Kind.NEWS:
        return Sentence("News could not be added to the feeds: {error}", error=error)
    if row.kind == Kind.WEBHOOK:
        return Sentence("A webhook could not be served: {error}", error=error)
    return Sentence("A version could not be published: {error}", error=error)
