"""A durable job queue; each kind of job has a registered handler.

A job is a row, stored in the transaction that makes it necessary. Its subject is the
row that it concerns, such as a study. Jobs of one kind and partition never run at the
same time. See docs/decisions/outbox.md.

A failed job is retried after a minute, then after twice as long each time, up to an
hour. After five failures it is quarantined until a person, a change or another version
of the product retries it. Unavailability of PostgreSQL is not a failure.
"""

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from os import getpid
from socket import gethostname
from typing import Any, Final, cast
from uuid import uuid4

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import Max, Min, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from benchmarks import rls
from benchmarks.database import is_connection_error, sqlstate
from benchmarks.jobs import advisory_locks
from benchmarks.models import Host, Job, Plan, Run, Study
from benchmarks.monitoring.counters import JOBS_TRIED
from benchmarks.sentences import Sentence, template

logger = logging.getLogger(__name__)

JobKind = Job.Kind
Jobs = Sequence[Job]
FIRST_DELAY: Final = timedelta(minutes=1)
MAX_DELAY: Final = timedelta(hours=1)
QUARANTINE_AFTER: Final = 5
OTHERS_CHANGED: Final = {"beside": True}
"""``detail`` of a check that is needed only because other studies changed."""
OWN_CHECK_SQL: Final = (
    f"kind = '{JobKind.CHECK}'"
    f" AND detail IS DISTINCT FROM '{json.dumps(OTHERS_CHANGED)}'::jsonb"
)
"""The condition of jobs whose study has no verdicts until they are done."""
MAX_ERROR_LENGTH: Final = 2_000
JOBS_PER_CLAIM: Final = 50
"""The most subjects of a partition that one call of `run_due_jobs` processes."""
DISPATCH_TIMEOUT: Final = timedelta(seconds=10)
WORKER_KINDS: Final = (
    *(JobKind.PUBLISHING, JobKind.REVIEW, JobKind.REPORT, JobKind.CHART),
    *(JobKind.WEBHOOK, JobKind.EMAIL),
)
"""Kinds of jobs for workers; the sweeper runs the others."""
KILLED_WORKER: Final = template("The worker stopped while processing it.")
# Errors that the job causes: statement timeout, out of memory, program limit exceeded.
JOB_FAULT_SQLSTATES: Final = ("57014", "53200", "54")


@dataclass(frozen=True)
class JobHandler:
    """The handler of a kind of jobs.

    ``handle`` receives all claimed jobs of a subject, calls `finish` in the transaction
    that stores its results, and returns False if there was nothing to do. If
    ``is_divisible``, it receives jobs of many subjects; a failed batch is halved and
    tried again. ``on_failure`` receives the jobs, the error and whether it is final.
    """

    handle: Callable[[Jobs], object]
    max_tries: int = QUARANTINE_AFTER
    first_delay: timedelta = FIRST_DELAY
    is_divisible: bool = False
    on_failure: Callable[[Jobs, str, bool], object] | None = None


HANDLERS: Final[dict[str, JobHandler]] = {}


def job_handler(
    kind: JobKind, **options: Any
) -> Callable[[Callable[[Jobs], object]], Any]:
    def register(handle: Callable[[Jobs], object]) -> Callable[[Jobs], object]:
        HANDLERS[kind] = JobHandler(handle, **options)
        return handle

    return register


class RetryLater(Exception):  # noqa: N818  # not an error: a request to retry
    """A handler's request to run its jobs again at ``retry_at``.

    With ``skips_partition``, the partition's other jobs also have to wait.
    """

    def __init__(self, retry_at: datetime, *, skips_partition: bool = False) -> None:
        super().__init__(retry_at)
        self.retry_at, self.skips_partition = retry_at, skips_partition


@rls.allow_all()  # jobs may concern hidden studies
def enqueue(jobs: Iterable[Job]) -> list[Job]:
    """Call this in the transaction that makes the jobs necessary.

    The default partition is the subject.
    """
    rows = list(jobs)
    for row in rows:
        if row.partition is None:
            row.partition = row.subject_id
    return Job.objects.bulk_create(rows)


@rls.allow_all()
def enqueue_checks(
    study_ids: Iterable[int],
    *,
    others_changed: bool = False,
    created_at: datetime | None = None,
) -> list[Job]:
    """Queue checks of studies.

    With ``others_changed``, they are needed only because other studies changed.
    """
    studies = Study.objects.filter(pk__in=set(study_ids)).order_by("pk")
    return enqueue(
        Job(
            kind=JobKind.CHECK,
            subject_id=pk,
            study_id=pk,
            lab_id=lab_id,
            detail=OTHERS_CHANGED if others_changed else None,
            created_at=created_at or timezone.now(),
        )
        for pk, lab_id in studies.values_list("pk", "lab_id")
    )


@rls.allow_all()
def enqueue_energy(
    spans: Iterable[tuple[int, datetime | None, datetime | None]],
) -> None:
    """Spans are (host, begin, end). Without begin or end, a span covers all times."""
    host_spans = list(spans)
    hosts = Host.objects.filter(pk__in={host for host, *_ in host_spans})
    labs = dict(hosts.values_list("pk", "lab_id"))
    enqueue(
        Job(
            kind=JobKind.ENERGY,
            subject_id=host,
            lab_id=labs[host],
            detail=[moment.timestamp() for moment in (begin, end)]
            if begin and end
            else None,
        )
        for host, begin, end in host_spans
    )


@dataclass(frozen=True)
class JobGroup:
    subject_id: int
    first_created_at: datetime
    last_created_at: datetime
    failures: int
    tried_at: datetime | None
    due_at: datetime
    quarantined_at: datetime | None

    @property
    def is_due(self) -> bool:
        """Return whether to run the jobs now.

        If a job was added after a failed attempt, the subject waits at most
        `FIRST_DELAY` after that attempt, even if it was quarantined.
        """
        now = timezone.now()
        if self.failures and self.tried_at and self.last_created_at > self.tried_at:
            return now >= min(self.tried_at + FIRST_DELAY, self.due_at)
        return self.quarantined_at is None and now >= self.due_at


def due_job_groups(kind: str, **filters: Any) -> list[JobGroup]:
    rows = Job.objects.filter(kind=kind, **filters).order_by().values("subject_id")
    groups = rows.annotate(
        first_created_at=Min("created_at"),
        last_created_at=Max("created_at"),
        failures=Max("failures"),
        tried_at=Max("attempted_at"),
        due_at=Max("due_at"),
        quarantined_at=Max("quarantined_at"),
    )
    due = (JobGroup(**row) for row in groups.order_by("first_created_at", "subject_id"))
    return [unit for unit in due if unit.is_due]


def run_due_jobs(kind: str, partition: int) -> int:
    """Run due jobs of a partition; return the number of successful ones.

    Runs at most `JOBS_PER_CLAIM` subjects, and none if another worker has locked the
    partition. Errors are stored; only transient errors of the database are raised.
    """
    done = 0
    with advisory_locks.advisory_lock(
        _partition_lock_name(kind, partition)
    ) as is_acquired:
        if not is_acquired:
            return 0
        for unit in due_job_groups(kind, partition=partition)[:JOBS_PER_CLAIM]:
            if jobs := _claim(kind, unit.subject_id):
                try:
                    done += run_claimed(kind, jobs)
                except RetryLater:
                    break
    return done


def _partition_lock_name(kind: str, partition: int) -> str:
    return f"job {kind} {partition}"


@transaction.atomic
def _claim(kind: str, subject_id: int) -> list[Job]:
    """Claim a subject's jobs if they are due; the caller holds the partition's lock.

    An old claim means that the jobs killed their worker, unless PostgreSQL was
    restarted.
    """
    subject = Job.objects.filter(kind=kind, subject_id=subject_id).order_by("pk")
    rows = list(subject.select_for_update())
    started_at = server_started_at()
    if abandoned := [
        row for row in rows if row.claimed_server_started_at == started_at
    ]:
        _count_killed_worker(kind, abandoned)
        rows = list(subject)
    return _store_claim(rows) if due_job_groups(kind, subject_id=subject_id) else []


def claim_jobs(kind: str, rows: Jobs, *, lease: timedelta) -> list[Job]:
    """Claim jobs together; the caller has locked their rows.

    After the death of a worker, only half of its jobs are claimed, to find the one that
    killed it.
    """
    started_at = server_started_at()
    abandoned = [row for row in rows if row.claimed_server_started_at == started_at]
    suspects = [row for row in abandoned if row.claim_id == abandoned[0].claim_id]
    if len(suspects) == 1 and suspects[0].claim_size == 1:
        _count_killed_worker(kind, suspects)
        suspects, rows = [], [row for row in rows if row not in abandoned]
    return _store_claim(suspects[: (len(suspects) + 1) // 2] or rows, lease)


def _count_killed_worker(kind: str, jobs: Jobs) -> None:
    """Count a failure of jobs whose worker died; the first retry is immediate."""
    failures = max(row.failures for row in jobs)
    wait = retry_delay(failures) if failures else timedelta(0)
    _store_failure(kind, jobs, Sentence(KILLED_WORKER), wait, QUARANTINE_AFTER)


def _store_claim(rows: Jobs, lease: timedelta = timedelta(0)) -> list[Job]:
    """Store a common claim and return the jobs. It must be committed before the work.

    Other workers may not claim the jobs during the ``lease``.
    """
    now, claim_id = timezone.now(), uuid4()
    fields = {
        "claim_id": claim_id,
        "claim_size": len(rows),
        "worker": f"{gethostname()}:{getpid()}"[:100],
        "claimed_server_started_at": server_started_at(),
        "attempted_at": now,
        "due_at": now + lease,
        "dispatched_at": None,
    }
    Job.objects.filter(pk__in=[row.pk for row in rows]).update(**fields)
    for row in rows:
        row.claim_id = claim_id
    return list(rows)


def run_claimed(kind: str, jobs: Jobs) -> int:
    """Handle claimed jobs and store errors; return the number of successful jobs.

    The jobs of one subject count as one. Raises RetryLater if the rest of the partition
    must wait, and transient errors of the database.
    """
    handler = HANDLERS[kind]
    try:
        is_done = handler.handle(jobs) is not False
    except RetryLater as later:
        _release(jobs, failures=1, due_at=later.retry_at)
        if later.skips_partition:
            raise
        return 0
    except Exception as error:
        if is_transient_error(error):
            connection.close_if_unusable_or_obsolete()
            # Without success, the claims become invalid when PostgreSQL restarts.
            with suppress(DatabaseError):
                _release(jobs)
            raise
        if not handler.is_divisible or len(jobs) == 1:
            record_error(kind, jobs, error)
            return 0
        # Halving finds one bad job in a hundred in seven steps.
        logger.error("Failed together: %s", [str(job) for job in jobs], exc_info=error)
        middle = len(jobs) // 2
        return sum(
            run_claimed(kind, _store_claim(half))
            for half in (jobs[:middle], jobs[middle:])
        )
    finish(jobs)
    JOBS_TRIED.labels(kind, "done").inc()
    return len(jobs) if handler.is_divisible else int(is_done)


def _release(jobs: Jobs, **fields: Any) -> None:
    fields = {"due_at": timezone.now(), **fields}
    _claimed_rows(jobs).update(
        claim_id=None, claim_size=0, claimed_server_started_at=None, **fields
    )


def _claimed_rows(jobs: Jobs) -> QuerySet[Job]:
    return Job.objects.filter(
        pk__in=[row.pk for row in jobs], claim_id=jobs[0].claim_id
    )


def finish(jobs: Jobs) -> None:
    """Delete jobs, in the transaction that stores their results."""
    _claimed_rows(jobs).delete()


def lock_claimed(jobs: Jobs) -> list[Job]:
    return list(_claimed_rows(jobs).select_for_update(of=("self",)).order_by("pk"))


def are_claimed(jobs: Jobs) -> bool:
    """Lock jobs; return whether all are still claimed."""
    return len(lock_claimed(jobs)) == len(jobs)


def is_transient_error(error: Exception) -> bool:
    """Return whether PostgreSQL was unavailable, through no fault of the job."""
    if not is_connection_error(error):
        return False
    return not (sqlstate(error) or "").startswith(JOB_FAULT_SQLSTATES)


def retry_delay(failures: int, first: timedelta = FIRST_DELAY) -> timedelta:
    return min(first * (1 << min(failures - 1, 10)), MAX_DELAY)


def record_error(kind: str, jobs: Jobs, error: Exception) -> None:
    """Log the exception that is being handled, and count a failure of the jobs."""
    logger.exception("The %s failed", jobs[0])
    # PostgreSQL rejects NUL characters.
    problem = f"{type(error).__name__}: {error}".replace("\0", "\ufffd")
    failures = max(row.failures for row in jobs) + 1
    tries = HANDLERS[kind].max_tries
    _store_failure(
        kind,
        jobs,
        problem[:MAX_ERROR_LENGTH],
        retry_delay(failures, HANDLERS[kind].first_delay),
        tries,
    )
    JOBS_TRIED.labels(kind, "failed").inc()


@transaction.atomic
def _store_failure(
    kind: str, jobs: Jobs, problem: str, wait: timedelta, tries: int
) -> None:
    failures = max(row.failures for row in jobs) + 1
    is_final, now = failures >= tries, timezone.now()
    _claimed_rows(jobs).update(
        failures=failures,
        error=problem,
        failed_version=settings.VERSION,
        claim_id=None,
        claimed_server_started_at=None,
        due_at=now + wait,
        quarantined_at=Coalesce("quarantined_at", now if is_final else None),
    )
    if kind in HANDLERS and (failed := HANDLERS[kind].on_failure):
        failed(jobs, problem, is_final)


def server_started_at() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_postmaster_start_time()")
        [started_at] = cursor.fetchone()
    return cast(datetime, started_at)


def retry_failed(rows: QuerySet[Job]) -> int:
    """Let failed jobs run again as if they were new; return the number of subjects."""
    tried = Q(failures__gt=0) | ~Q(quarantined_at=None)
    failed = rows.filter(tried, claimed_server_started_at=None).order_by()
    subjects = list(failed.values_list("kind", "subject_id").distinct())
    with transaction.atomic():
        failed.update(failures=0, due_at=timezone.now(), quarantined_at=None)
        uploads = [pk for kind, pk in subjects if kind == JobKind.UPLOAD]
        runs = Run.objects.filter(pk__in=uploads, status=Run.Status.QUARANTINED)
        runs.update(status=Run.Status.RECEIVED, reason="")
    return len(subjects)


def retry_after_upgrade() -> int:
    return retry_failed(Job.objects.exclude(failed_version=settings.VERSION))


def retry_plans_of(study_ids: Iterable[int]) -> None:
    plans = Plan.objects.filter(study__in=study_ids)
    retry_failed(
        Job.objects.filter(kind=JobKind.PLAN, subject_id__in=plans.values("pk"))
    )


def partitions_to_dispatch() -> list[tuple[str, int]]:
    """Return partitions with due jobs that need a task, and mark these jobs as sent.

    Their task was not sent, or it was lost. Partitions that a worker has locked are
    left out.
    """
    now = timezone.now()
    unsent = Q(dispatched_at=None) | Q(dispatched_at__lt=now - DISPATCH_TIMEOUT)
    due = Job.objects.filter(
        unsent, kind__in=WORKER_KINDS, quarantined_at=None, due_at__lte=now
    )
    partitions = due.order_by("kind", "partition").values_list("kind", "partition")
    unlocked = [
        (kind, partition)
        for kind, partition in partitions.distinct()
        if not advisory_locks.is_locked(_partition_lock_name(kind, partition))
    ]
    for kind, partition in unlocked:
        due.filter(kind=kind, partition=partition).update(dispatched_at=now)
    return unlocked
