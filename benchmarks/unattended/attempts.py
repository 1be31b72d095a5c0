"""Units of work that nobody waits for: each is tried alone, later again, or set aside.

A unit that fails stops no other one. What it failed of is kept; it is tried again after
a minute, then after twice as long each time, and set aside after five failures. An
attempt is committed before the work begins, so that one which kills its worker is found
out too. What has changed since, a person or another version tries it again.
"""

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, cast

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from benchmarks.database import sqlstate, was_away
from benchmarks.models import UnfinishedWork
from benchmarks.monitoring.counters import WORK
from benchmarks.sentences import Sentence
from benchmarks.unattended.holding import held

logger = logging.getLogger(__name__)

Kind = UnfinishedWork.Kind
FIRST_DELAY = timedelta(minutes=1)
LONGEST_DELAY = timedelta(hours=1)
QUARANTINE_AFTER = 5
MOST_LETTERS: Final = 2_000
"""How much of an error is kept."""
SUBJECTS: Final = {
    Kind.CHECK: "study_id",
    Kind.ENERGY: "host_id",
    Kind.PLAN: "plan_id",
    Kind.PUBLISHING: "job_id",
    Kind.NEWS: "study_id",
    Kind.WEBHOOK: "webhook_id",
}
# Of a database that answers these are its worker's fault: a statement that took too
# long, more memory than there is, more than PostgreSQL can do at all.
FAULTS_OF_THE_WORK: Final = ("57014", "53200", "54")


@dataclass(frozen=True)
class Unit:
    """A piece of work: its kind, and the id of the study, host, plan or job."""

    kind: UnfinishedWork.Kind
    lab_id: int
    subject_id: int

    def __str__(self) -> str:
        return f"{self.kind.value} of {SUBJECTS[self.kind][:-3]} {self.subject_id}"

    @property
    def keys(self) -> dict[str, Any]:
        """What tells its row from others."""
        empty = dict.fromkeys(SUBJECTS.values())
        subject = {SUBJECTS[self.kind]: self.subject_id}
        return {"kind": self.kind, "lab_id": self.lab_id, **empty, **subject}


def put_off(kind: UnfinishedWork.Kind) -> dict[int, UnfinishedWork]:
    """Return what has failed, by the id of its study, host, plan or job."""
    rows = UnfinishedWork.objects.filter(kind=kind, failures__gt=0)
    return {row.subject_id: row for row in rows}


def is_due(row: UnfinishedWork | None, changed_at: datetime | None = None) -> bool:
    """Return whether a unit may be tried now.

    One that changed after it was tried need not wait, but for a minute: who uploads all
    day must not have it tried all day.
    """
    if row is None:
        return True
    now = timezone.now()
    if changed_at is not None and changed_at > row.tried_at:
        return now >= row.tried_at + FIRST_DELAY or now >= row.next_at
    return row.quarantined_at is None and now >= row.next_at


def attempt(
    unit: Unit, work: Callable[[], bool], changed_at: datetime | None = None
) -> bool:
    """Do a unit of work and return what it answers; False where it is not done.

    Whatever it fails of is noted and raised no further, but for what is nobody's fault:
    a database that went away, or that chose a deadlock's victim.
    """
    with held(f"unattended {unit}") as is_mine:
        if not is_mine or not _begin(unit, changed_at):
            return False
        try:
            is_done = work()
        except Exception as error:
            if is_nobodys_fault(error):
                connection.close_if_unusable_or_obsolete()
                # What cannot be given back was in hand of a PostgreSQL that is no more.
                with suppress(DatabaseError):
                    _give_back(unit)
                raise
            note_error(unit, error)
            return False
        UnfinishedWork.objects.filter(**unit.keys).delete()
        WORK.labels(unit.kind.value, "done").inc()
        return is_done


def is_nobodys_fault(error: Exception) -> bool:
    """Return whether the database was away, or busy with others.

    Not so where it refused what this very work asked of it.
    """
    if not was_away(error):
        return False
    return not (sqlstate(error) or "").startswith(FAULTS_OF_THE_WORK)


@transaction.atomic
def _begin(unit: Unit, changed_at: datetime | None) -> bool:
    """Note that a unit is in hand, if it is due. Committed before the work begins.

    One that is found in hand already killed its worker, unless PostgreSQL was stopped
    meanwhile. Once may be chance: it is tried again at once, as a worker stopped by
    somebody asks for; then as after any failure.
    """
    started_at = _server_started_at()
    row = UnfinishedWork.objects.select_for_update().filter(**unit.keys).first()
    if row is None:
        UnfinishedWork.objects.create(
            **unit.keys, server_started_at=started_at, version=settings.VERSION
        )
        return True
    if row.server_started_at == started_at:
        problem = Sentence("It stopped its worker.")
        _fail(row, problem, timedelta(0) if row.failures == 0 else delay(row.failures))
    if may_begin := is_due(row, changed_at):
        row.server_started_at, row.tried_at = started_at, timezone.now()
    row.save()
    return may_begin


def delay(failures: int) -> timedelta:
    """Return how long to wait after so many failures; at least one."""
    doublings = min(failures - 1, 10)
    return min(FIRST_DELAY * (1 << doublings), LONGEST_DELAY)


def _fail(row: UnfinishedWork, problem: str, wait: timedelta) -> None:
    row.failures += 1
    row.error, row.version = problem, settings.VERSION
    row.server_started_at = None
    row.next_at = timezone.now() + wait
    if row.failures >= QUARANTINE_AFTER and row.quarantined_at is None:
        row.quarantined_at = timezone.now()


def note_error(unit: Unit, error: Exception) -> None:
    """Log what is being handled, and count it against a unit."""
    logger.exception("The %s failed", unit)
    note_failure(unit, f"{type(error).__name__}: {error}")
    WORK.labels(unit.kind.value, "failed").inc()


@transaction.atomic
def note_failure(unit: Unit, problem: str) -> None:
    """Count a failure against a unit, which waits now or is set aside."""
    rows = UnfinishedWork.objects.select_for_update().filter(**unit.keys)
    if row := rows.first():
        # PostgreSQL keeps no such character.
        kept = problem.replace("\0", "\ufffd")[:MOST_LETTERS]
        _fail(row, kept, delay(row.failures + 1))
        row.save()


@transaction.atomic
def set_aside(unit: Unit, problem: str) -> None:
    """Note work that is not tried again by itself, however it failed."""
    now = timezone.now()
    kept = problem.replace("\0", "\ufffd")[:MOST_LETTERS]
    UnfinishedWork.objects.filter(**unit.keys).delete()
    UnfinishedWork.objects.create(
        **unit.keys,
        failures=1,
        error=kept,
        quarantined_at=now,
        version=settings.VERSION,
    )


def _give_back(unit: Unit) -> None:
    rows = UnfinishedWork.objects.filter(**unit.keys)
    rows.filter(failures=0).delete()
    rows.update(server_started_at=None)


def _server_started_at() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_postmaster_start_time()")
        [started_at] = cursor.fetchone()
    return cast(datetime, started_at)


def retry(rows: QuerySet[UnfinishedWork]) -> int:
    """Let work that failed be tried again as if it were new; return how much."""
    failed = rows.filter(failures__gt=0, server_started_at=None)
    return failed.update(failures=0, next_at=timezone.now(), quarantined_at=None)


def retry_after_upgrade() -> int:
    """Let what failed with another version of this program be tried again."""
    return retry(UnfinishedWork.objects.exclude(version=settings.VERSION))


def retry_plans_of(study_ids: Iterable[int]) -> None:
    """Let plans be tried again whose studies have other data now."""
    retry(UnfinishedWork.objects.filter(plan__study__in=study_ids))
