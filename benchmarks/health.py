"""Whether everything the product stands on answers."""

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Count, Min, Q
from django.utils import timezone

from benchmarks import broker, replica, sight
from benchmarks.models import Job, Reread
from benchmarks.unattended.lists import Stuck, stuck_work


@dataclass(frozen=True)
class Outbox:
    """The work left to do; ``oldest_s`` is the age of its oldest item in seconds."""

    waiting: int = 0
    oldest_s: float = 0.0
    quarantined: int = 0


@dataclass(frozen=True)
class DueWork:
    """Waiting background work of one kind; ``is_late``: longer than it should."""

    kind: str
    waiting: int
    oldest_s: float
    is_late: bool


@dataclass(frozen=True)
class Standby:
    """Whether pages are read from the standby, and how far it is behind."""

    is_read: bool
    lag_s: float | None
    lag_bytes: int | None


@dataclass(frozen=True)
class Health:
    """``ok``; ``down`` without PostgreSQL.

    ``degraded`` without Redis or a configured standby, with work set aside, or late.
    """

    status: str
    version: str
    database: bool
    redis: bool
    outbox: Outbox | None
    stuck: tuple[Stuck, ...] = ()
    due: tuple[DueWork, ...] = ()
    replica: Standby | None = None


# What waits so long is done by nobody: a worker or the sweeper is away, or hangs.
LATE_S: Final = 600.0
DUE: Final = (
    *("check", "energy", "reread", "news", "letter", "report", "publishing", "review"),
)


@sight.everything()
def due_work() -> tuple[DueWork, ...]:
    """Return how much work of each kind waits, whatever it is."""
    waits = Job.objects.filter(quarantined_at=None).order_by().values("kind")
    rows = waits.annotate(waiting=Count("pk"), oldest=Min("created_at"))
    found = {row["kind"]: row for row in rows}
    reread = Reread.objects.filter(finished_at=None)
    found["reread"] = reread.aggregate(waiting=Count("pk"), oldest=Min("created_at"))
    due = []
    for kind in DUE:
        row = found.get(kind, {"waiting": 0, "oldest": None})
        oldest_s = _age_s(row["oldest"]) if row["oldest"] else 0.0
        due.append(DueWork(kind, row["waiting"], oldest_s, oldest_s > LATE_S))
    return tuple(due)


@sight.everything()
def health() -> Health:
    """Ask PostgreSQL and Redis now."""
    outbox: Outbox | None = None
    stuck: tuple[Stuck, ...] = ()
    due: tuple[DueWork, ...] = ()
    standby: Standby | None = None
    waiting = Q(quarantined_at=None)
    try:
        row = Job.objects.filter(kind=Job.Kind.UPLOAD).aggregate(
            waiting=Count("pk", filter=waiting),
            oldest=Min("created_at", filter=waiting),
            quarantined=Count("pk", filter=~waiting),
        )
        failed = stuck_work()
        due = due_work()
        if replica.is_configured():
            lag = replica.lag()
            standby = Standby(not lag.problem, lag.seconds, lag.bytes)
    except DatabaseError:
        connection.close()  # a broken one would fail every later request too
    else:
        oldest = row["oldest"]
        age_s = _age_s(oldest) if oldest else 0.0
        outbox = Outbox(row["waiting"], age_s, row["quarantined"])
        stuck = failed
    try:
        is_redis_up = bool(broker.connection().ping())
    except (redis.RedisError, OSError):
        is_redis_up = False
    is_stuck = any(each.quarantined for each in stuck)
    is_late = any(each.is_late for each in due) or (outbox and outbox.oldest_s > LATE_S)
    is_well = is_redis_up and (standby is None or standby.is_read)
    up = "ok" if is_well and not is_stuck and not is_late else "degraded"
    return Health(
        status=up if outbox else "down",
        version=settings.VERSION,
        database=outbox is not None,
        redis=is_redis_up,
        outbox=outbox,
        stuck=stuck,
        due=due,
        replica=standby,
    )


@dataclass(frozen=True)
class Readiness:
    """Whether this process can answer requests; ``problem`` says why not."""

    ready: bool
    problem: str = ""


def readiness() -> Readiness:
    """Ask whether PostgreSQL answers and has the tables that this version needs."""
    try:
        applied = set(MigrationRecorder(connection).applied_migrations())
    except DatabaseError:
        connection.close()
        return Readiness(False, "PostgreSQL does not answer.")
    if not applied >= _migrations():
        return Readiness(False, "The database is not migrated: run manage.py prepare.")
    return Readiness(True)


@cache
def _migrations() -> frozenset[tuple[str, str]]:
    """Return the migrations of this version; reading the files takes a while."""
    return frozenset(MigrationLoader(None).disk_migrations)


def _age_s(since: datetime) -> float:
    return round((timezone.now() - since).total_seconds(), 3)
