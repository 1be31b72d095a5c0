"""Failed background jobs, for health, study pages and the `jobs` command."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, Min, Q, QuerySet
from django.db.models.functions import Coalesce

from benchmarks.models import Host, Job, Plan, Study, System
from benchmarks.sentences import Sentence, pluralized

JobKind = Job.Kind


@dataclass(frozen=True)
class JobFailure:
    """A failed job, for lab members only: errors may contain private data."""

    message: str
    consequence: str
    retry_at: datetime
    quarantined_at: datetime | None


_RUNNING = ~Q(claimed_server_started_at=None)
FAILED_CONDITION = ~Q(error="") & ~Q(failures=0, quarantined_at=None)
STATE_CONDITIONS: Final = {
    "waiting": ~_RUNNING & ~FAILED_CONDITION,
    "running": _RUNNING,
    "failed": ~_RUNNING & FAILED_CONDITION,
}
"""The condition of each state. A job that raised `RetryLater` has not failed."""

CONSEQUENCES: Final[dict[str, Sentence]] = {
    JobKind.CHECK: Sentence(
        "The sessions, flags and verdicts of this study are out of date."
    ),
    JobKind.ENERGY: Sentence("The energy shown for these runs is out of date."),
    JobKind.PLAN: Sentence(
        "Late steps of this plan do not end automatically, nor does the plan when "
        "its time budget is used up."
    ),
    JobKind.EVENTS: Sentence("Feeds do not show the latest news."),
    JobKind.WEBHOOK: Sentence(
        "In the meantime, nothing is sent to the URL of this webhook."
    ),
}


def subject_text(job: Job) -> str:
    if job.kind == JobKind.ENERGY:
        host = Host.objects.filter(pk=job.subject_id).first()
        subject = f"host {host.slug if host else job.subject_id}"
    elif job.kind == JobKind.UPLOAD and job.study:
        subject = f"run {job.subject_id} of study {job.study.slug}"
    elif job.kind in (JobKind.CHECK, JobKind.EVENTS, JobKind.PUBLISHING) and job.study:
        subject = f"study {job.study.slug}"
    else:
        subject = str(job.subject_id)
    return f"{subject} of {job.lab.slug}" if job.lab else subject


def state_text(job: Job) -> Sentence:
    if job.claimed_server_started_at and job.attempted_at:
        at = f"{job.attempted_at:%Y-%m-%d %H:%M:%S}"
        return Sentence("running since {at} UTC on {worker}", at=at, worker=job.worker)
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
            "failed {n} times, next attempt at {at} UTC: {error}",
            n=n,
            at=at,
            error=error,
        )
    return Sentence("waiting, next attempt at {at} UTC", at=at)


def failed_jobs() -> QuerySet[Job]:
    return Job.objects.filter(FAILED_CONDITION)


def counts_by_kind(jobs: QuerySet[Job]) -> list[dict[str, Any]]:
    states = {name: Count("pk", filter=rows) for name, rows in STATE_CONDITIONS.items()}
    quarantined = Count("pk", filter=~Q(quarantined_at=None))
    kinds = most_failed_job_per_subject(jobs).order_by("kind").values("kind")
    oldest = Min("created_at")
    return list(kinds.annotate(**states, quarantined=quarantined, oldest=oldest))


def most_failed_job_per_subject(rows: QuerySet[Job]) -> QuerySet[Job]:
    worst = rows.order_by("kind", "subject_id", "-failures", "created_at")
    ids = worst.distinct("kind", "subject_id").values("pk")
    return Job.objects.filter(pk__in=ids).select_related("study__lab", "lab")


def jobs_by_subject(rows: QuerySet[Job]) -> list[Job]:
    """Return the job with the most failures of each subject, earliest attempt first."""
    tried_at = Coalesce("attempted_at", "created_at")
    return list(most_failed_job_per_subject(rows).order_by(tried_at, "pk"))


def failed_jobs_of_study(study: Study) -> QuerySet[Job]:
    """Return failed jobs of a study except uploads, and energy jobs of its hosts."""
    hosts = System.objects.filter(cells__study=study, host__lab=study.lab_id)
    of_host = Q(kind=JobKind.ENERGY, subject_id__in=hosts.values("host"))
    failed = failed_jobs().exclude(kind=JobKind.UPLOAD)
    return failed.filter(Q(study=study) | of_host)


def study_failures(study: Study) -> tuple[JobFailure, ...]:
    return tuple(
        JobFailure(
            message=failure_text(row),
            consequence=CONSEQUENCES.get(
                row.kind, Sentence("You can publish it again.")
            ),
            retry_at=row.due_at,
            quarantined_at=row.quarantined_at,
        )
        for row in jobs_by_subject(failed_jobs_of_study(study))
    )


def failure_text(row: Job) -> str:
    n, error = row.failures, row.error
    if row.kind == JobKind.CHECK:
        return pluralized(
            "The check of this study failed: {error}",
            "The check of this study failed {n} times: {error}",
            n=n,
            error=error,
        )
    if row.kind == JobKind.ENERGY:
        return pluralized(
            "The energy of the runs on {name} could not be calculated: {error}",
            "The energy of the runs on {name} could not be calculated ({n} "
            "attempts): {error}",
            n=n,
            name=str(Host.objects.get(pk=row.subject_id)),
            error=error,
        )
    if row.kind == JobKind.PLAN:
        return pluralized(
            "The plan {name} could not continue automatically: {error}",
            "The plan {name} could not continue automatically ({n} attempts): {error}",
            n=n,
            name=str(Plan.objects.get(pk=row.subject_id)),
            error=error,
        )
    if row.kind == JobKind.EVENTS:
        return Sentence("News could not be added to the feeds: {error}", error=error)
    if row.kind == JobKind.WEBHOOK:
        return Sentence("A webhook could not be delivered: {error}", error=error)
    return Sentence("A version could not be published: {error}", error=error)
