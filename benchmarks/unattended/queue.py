"""One durable queue: each kind of work is a function registered by name.

A job is a row (`models.Job`), stored in the transaction that makes the work necessary.
A subject is claimed under an advisory lock of the worker's session, and the attempt is
committed before the work begins, so a killed worker is noticed. Failed work is retried
after a minute, then after twice as long each time, up to an hour; after five failures
it is quarantined until a person, a change or another version retries it. Errors of an
unavailable PostgreSQL do not count.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
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

from benchmarks import sight
from benchmarks.database import sqlstate, was_away
from benchmarks.models import Host, Job, Plan, Study
from benchmarks.monitoring.counters import WORK
from benchmarks.sentences import Sentence, template
from benchmarks.unattended import holding

logger = logging.getLogger(__name__)

Kind = Job.Kind
Jobs = Sequence[Job]
FIRST_DELAY: Final = timedelta(minutes=1)
LONGEST_DELAY: Final = timedelta(hours=1)
QUARANTINE_AFTER: Final = 5
BESIDE: Final = {"beside": True}
"""Detail of a check of an unchanged study that may lean on cells that changed."""
MOST_LETTERS: Final = 2_000
"""How much of an error is kept."""
AT_ONCE: Final = 50
"""How many subjects of a partition one call does."""
HINT_IS_LOST_AFTER: Final = timedelta(seconds=10)
IN_WORKERS: Final = (
    *(Kind.PUBLISHING, Kind.REVIEW, Kind.REPORT, Kind.PICTURE),
    *(Kind.WEBHOOK, Kind.LETTER),
)
"""What workers do; the sweeper does the rest itself."""
STOPPED_ITS_WORKER: Final = template("It stopped its worker.")
# A statement that took too long, too much memory, more than PostgreSQL can do.
FAULTS_OF_THE_WORK: Final = ("57014", "53200", "54")


@dataclass(frozen=True)
class Work:
    """How a kind of work is done.

    ``do`` gets all claimed jobs of a subject; of many subjects if the work
    ``is_divisible``, and a batch that fails is then halved. It calls `finish` in the
    transaction that stores its results. ``failed`` gets the error and whether it is
    final; ``retried`` gets the ids of subjects to retry.
    """

    do: Callable[[Jobs], object]
    tries: int = QUARANTINE_AFTER
    first_delay: timedelta = FIRST_DELAY
    is_divisible: bool = False
    retried: Callable[[Collection[int]], object] | None = None
    failed: Callable[[Jobs, str, bool], object] | None = None


WORKS: Final[dict[str, Work]] = {}


def job(kind: Kind, **how: Any) -> Callable[[Callable[[Jobs], object]], Any]:
    """Register a function as what does a kind of work."""

    def register(do: Callable[[Jobs], object]) -> Callable[[Jobs], object]:
        WORKS[kind] = Work(do, **how)
        return do

    return register


class Later(Exception):  # noqa: N818  # no error: the work asks to be done later
    """Raised by work to be done again ``at`` a time; ``ends_round`` skips the rest of
    its partition."""

    def __init__(self, at: datetime, *, ends_round: bool = False) -> None:
        super().__init__(at)
        self.at, self.ends_round = at, ends_round


@sight.everything()  # a change concerns studies that its maker may not see
def put(jobs: Iterable[Job]) -> list[Job]:
    """Store jobs, in the transaction of what makes them necessary."""
    rows = list(jobs)
    for row in rows:
        if row.partition is None:
            row.partition = row.subject_id
    return Job.objects.bulk_create(rows)


@sight.everything()
def put_checks(
    study_ids: Iterable[int],
    *,
    is_beside: bool = False,
    created_at: datetime | None = None,
) -> list[Job]:
    """Queue checks of studies; ``is_beside``: only cells they are compared with
    changed."""
    studies = Study.objects.filter(pk__in=set(study_ids)).order_by("pk")
    return put(
        Job(
            kind=Kind.CHECK,
            subject_id=pk,
            study_id=pk,
            lab_id=lab_id,
            detail=BESIDE if is_beside else None,
            created_at=created_at or timezone.now(),
        )
        for pk, lab_id in studies.values_list("pk", "lab_id")
    )


@sight.everything()
def put_energies(spans: Iterable[tuple[int, datetime | None, datetime | None]]) -> None:
    """Note that power or runs of hosts changed, in which span; None: whenever."""
    given = list(spans)
    hosts = Host.objects.filter(pk__in={host for host, *_ in given})
    labs = dict(hosts.values_list("pk", "lab_id"))
    put(
        Job(
            kind=Kind.ENERGY,
            subject_id=host,
            lab_id=labs[host],
            detail=[each.timestamp() for each in (begin, end)]
            if begin and end
            else None,
        )
        for host, begin, end in given
    )


@dataclass(frozen=True)
class Unit:
    """The jobs of a kind and a subject, as one piece of work."""

    subject_id: int
    first: datetime
    last: datetime
    failures: int
    tried_at: datetime | None
    due_at: datetime
    quarantined_at: datetime | None

    @property
    def is_due(self) -> bool:
        """Whether it may be tried now; new jobs of failed work wait for a minute."""
        now = timezone.now()
        if self.failures and self.tried_at and self.last > self.tried_at:
            return now >= min(self.tried_at + FIRST_DELAY, self.due_at)
        return self.quarantined_at is None and now >= self.due_at


def units(kind: str, **which: Any) -> list[Unit]:
    """Return what is due of a kind, oldest first."""
    rows = Job.objects.filter(kind=kind, **which).order_by().values("subject_id")
    found = rows.annotate(
        first=Min("created_at"),
        last=Max("created_at"),
        failures=Max("failures"),
        tried_at=Max("tried_at"),
        due_at=Max("due_at"),
        quarantined_at=Max("quarantined_at"),
    )
    due = (Unit(**row) for row in found.order_by("first", "subject_id"))
    return [unit for unit in due if unit.is_due]


def run(kind: str, partition: int) -> int:
    """Do the due work of a partition, subject by subject; return the number done.

    Errors are stored with the jobs; only errors of the database itself are raised.
    """
    done = 0
    with holding.held(_lock(kind, partition)) as is_mine:
        if not is_mine:
            return 0
        for unit in units(kind, partition=partition)[:AT_ONCE]:
            if jobs := _claim(kind, unit.subject_id):
                try:
                    done += process(kind, jobs)
                except Later:
                    break
    return done


def _lock(kind: str, partition: int) -> str:
    return f"job {kind} {partition}"


@transaction.atomic
def _claim(kind: str, subject_id: int) -> list[Job]:
    """Claim the jobs of a subject, if they are due. The caller holds its lock.

    Jobs that are still claimed killed their worker, unless PostgreSQL was restarted.
    """
    subject = Job.objects.filter(kind=kind, subject_id=subject_id).order_by("pk")
    rows = list(subject.select_for_update())
    started_at = server_started_at()
    if dropped := [row for row in rows if row.server_started_at == started_at]:
        _blame(kind, dropped)
        rows = list(subject)
    return _take(rows) if units(kind, subject_id=subject_id) else []


def claim_some(kind: str, rows: Jobs, *, for_at_least: timedelta) -> list[Job]:
    """Claim some of these locked jobs together, in the caller's transaction.

    Of the jobs of a dead worker half are tried, to find the one that killed it.
    """
    started_at = server_started_at()
    dropped = [row for row in rows if row.server_started_at == started_at]
    suspects = [row for row in dropped if row.batch == dropped[0].batch]
    if len(suspects) == 1 and suspects[0].batch_size == 1:
        _blame(kind, suspects)
        suspects, rows = [], [row for row in rows if row not in dropped]
    return _take(suspects[: (len(suspects) + 1) // 2] or rows, for_at_least)


def _blame(kind: str, jobs: Jobs) -> None:
    """Count the death of their worker against jobs; retry at once the first time."""
    failures = max(row.failures for row in jobs)
    wait = delay(failures) if failures else timedelta(0)
    _fail(kind, jobs, Sentence(STOPPED_ITS_WORKER), wait, QUARANTINE_AFTER)


def _take(rows: Jobs, for_at_least: timedelta = timedelta(0)) -> list[Job]:
    """Store that jobs are claimed together, and return them.

    Committed before the work begins: a killed worker leaves nothing else behind.
    """
    now, batch = timezone.now(), uuid4()
    news = {
        "batch": batch,
        "batch_size": len(rows),
        "worker": f"{gethostname()}:{getpid()}"[:100],
        "server_started_at": server_started_at(),
        "tried_at": now,
        "due_at": now + for_at_least,
        "hinted_at": None,
    }
    Job.objects.filter(pk__in=[row.pk for row in rows]).update(**news)
    for row in rows:
        row.batch = batch
    return list(rows)


def process(kind: str, jobs: Jobs) -> int:
    """Do jobs that are in hand; return how many are done."""
    work = WORKS[kind]
    try:
        is_done = work.do(jobs) is not False
    except Later as later:
        _let_go(jobs, failures=1, due_at=later.at)
        if later.ends_round:
            raise
        return 0
    except Exception as error:
        if is_nobodys_fault(error):
            connection.close_if_unusable_or_obsolete()
            # What cannot be given back was in hand of a PostgreSQL that is no more.
            with suppress(DatabaseError):
                _let_go(jobs)
            raise
        if not work.is_divisible or len(jobs) == 1:
            note_error(kind, jobs, error)
            return 0
        # What fails alone is found among a hundred in seven steps.
        logger.error("Failed together: %s", [str(job) for job in jobs], exc_info=error)
        middle = len(jobs) // 2
        return sum(
            process(kind, _take(half)) for half in (jobs[:middle], jobs[middle:])
        )
    finish(jobs)
    WORK.labels(kind, "done").inc()
    return len(jobs) if work.is_divisible else int(is_done)


def _let_go(jobs: Jobs, **news: Any) -> None:
    """Give back jobs that were not done and are to blame for nothing."""
    news = {"due_at": timezone.now(), **news}
    _mine(jobs).update(batch=None, batch_size=0, server_started_at=None, **news)


def _mine(jobs: Jobs) -> QuerySet[Job]:
    return Job.objects.filter(pk__in=[row.pk for row in jobs], batch=jobs[0].batch)


def finish(jobs: Jobs) -> None:
    """Delete jobs that are done, in the transaction that stores their results."""
    _mine(jobs).delete()


def lock(jobs: Jobs) -> list[Job]:
    """Return those that are still in hand; held until the transaction ends."""
    return list(_mine(jobs).select_for_update(of=("self",)).order_by("pk"))


def are_mine(jobs: Jobs) -> bool:
    """Return whether these are still in hand; held until the transaction ends."""
    return len(lock(jobs)) == len(jobs)


def is_nobodys_fault(error: Exception) -> bool:
    """Return whether the database was away or busy, and not because of this work."""
    if not was_away(error):
        return False
    return not (sqlstate(error) or "").startswith(FAULTS_OF_THE_WORK)


def delay(failures: int, first: timedelta = FIRST_DELAY) -> timedelta:
    """Return how long to wait after so many failures; at least one."""
    return min(first * (1 << min(failures - 1, 10)), LONGEST_DELAY)


def note_error(kind: str, jobs: Jobs, error: Exception) -> None:
    """Log what is being handled, and count it against jobs."""
    logger.exception("The %s failed", jobs[0])
    # PostgreSQL keeps no such character.
    problem = f"{type(error).__name__}: {error}".replace("\0", "\ufffd")
    failures = max(row.failures for row in jobs) + 1
    tries = WORKS[kind].tries
    _fail(
        kind,
        jobs,
        problem[:MOST_LETTERS],
        delay(failures, WORKS[kind].first_delay),
        tries,
    )
    WORK.labels(kind, "failed").inc()


@transaction.atomic
def _fail(kind: str, jobs: Jobs, problem: str, wait: timedelta, tries: int) -> None:
    failures = max(row.failures for row in jobs) + 1
    is_final, now = failures >= tries, timezone.now()
    _mine(jobs).update(
        failures=failures,
        error=problem,
        version=settings.VERSION,
        batch=None,
        server_started_at=None,
        due_at=now + wait,
        quarantined_at=Coalesce("quarantined_at", now if is_final else None),
    )
    if kind in WORKS and (failed := WORKS[kind].failed):
        failed(jobs, problem, is_final)


def server_started_at() -> datetime:
    """Return when the PostgreSQL that answers was started."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_postmaster_start_time()")
        [started_at] = cursor.fetchone()
    return cast(datetime, started_at)


def retry(rows: QuerySet[Job]) -> int:
    """Let work that failed be tried again as if it were new; return how much."""
    tried = Q(failures__gt=0) | ~Q(quarantined_at=None)
    failed = rows.filter(tried, server_started_at=None).order_by()
    found = list(failed.values_list("kind", "subject_id").distinct())
    with transaction.atomic():
        failed.update(failures=0, due_at=timezone.now(), quarantined_at=None)
        for kind, work in WORKS.items():
            if work.retried and (ids := [pk for it, pk in found if it == kind]):
                work.retried(ids)
    return len(found)


def retry_after_upgrade() -> int:
    """Let what failed with another version of this program be tried again."""
    return retry(Job.objects.exclude(version=settings.VERSION))


def retry_plans_of(study_ids: Iterable[int]) -> None:
    """Let plans be tried again whose studies have other data now."""
    plans = Plan.objects.filter(study__in=study_ids)
    retry(Job.objects.filter(kind=Kind.PLAN, subject_id__in=plans.values("pk")))


def to_be_sent() -> list[tuple[str, int]]:
    """Return the partitions that need a worker: its hint was lost or it was killed."""
    now = timezone.now()
    unsent = Q(hinted_at=None) | Q(hinted_at__lt=now - HINT_IS_LOST_AFTER)
    due = Job.objects.filter(
        unsent, kind__in=IN_WORKERS, quarantined_at=None, due_at__lte=now
    )
    partitions = due.order_by("kind", "partition").values_list("kind", "partition")
    found = [
        (kind, partition)
        for kind, partition in partitions.distinct()
        if not holding.is_held(_lock(kind, partition))
    ]
    for kind, partition in found:
        due.filter(kind=kind, partition=partition).update(hinted_at=now)
    return found
