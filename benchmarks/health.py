"""Whether everything the product stands on answers."""

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Count, Min, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from benchmarks import broker, replica, sight
from benchmarks.models import Job, Reread
from benchmarks.unattended.lists import FAILED


@dataclass(frozen=True)
class Outbox:
    """The work left to do; ``oldest_s`` is the age of its oldest item in seconds."""

    waiting: int = 0
    oldest_s: float = 0.0
    quarantined: int = 0


@dataclass(frozen=True)
class Stuck:
    """Failed work of one kind: how much is retried, set aside, and since when."""

    kind: str
    failing: int
    quarantined: int
    since_s: float


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
def health() -> Health:
    """Ask PostgreSQL and Redis now."""
    outbox: Outbox | None = None
    stuck: tuple[Stuck, ...] = ()
    due: tuple[DueWork, ...] = ()
    standby: Standby | None = None
    waits = Q(quarantined_at=None)
    try:
        kinds = Job.objects.order_by("kind").values("kind")
        rows = kinds.annotate(
            waiting=Count("pk", filter=waits),
            oldest=Min("created_at", filter=waits),
            aside=Count("pk", filter=~waits),
            failing=Count("subject_id", filter=FAILED & waits, distinct=True),
            quarantined=Count("subject_id", filter=FAILED & ~waits, distinct=True),
            since=Min(Coalesce("tried_at", "created_at"), filter=FAILED),
        )
        found: dict[str, dict[str, Any]] = {row["kind"]: row for row in rows}
        upload = found.pop(Job.Kind.UPLOAD, {"waiting": 0, "oldest": None, "aside": 0})
        stuck = tuple(
            Stuck(kind, row["failing"], row["quarantined"], _age_s(row["since"]))
            for kind, row in found.items()
            if row["since"]
        )
        reread = Reread.objects.filter(finished_at=None)
        found["reread"] = reread.aggregate(
            waiting=Count("pk"), oldest=Min("created_at")
        )
        for kind in DUE:
            row = found.get(kind, {"waiting": 0, "oldest": None})
            age_s = _age_s(row["oldest"])
            due += (DueWork(kind, row["waiting"], age_s, age_s > LATE_S),)
        if replica.is_configured():
            lag = replica.lag()
            standby = Standby(not lag.problem, lag.seconds, lag.bytes)
        outbox = Outbox(upload["waiting"], _age_s(upload["oldest"]), upload["aside"])
    except DatabaseError:
        connection.close()  # a broken one would fail every later request too
        stuck, due = (), ()
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


def _age_s(since: datetime | None) -> float:
    return round((timezone.now() - since).total_seconds(), 3) if since else 0.0
