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

from benchmarks import redis_connection, replica, rls
from benchmarks.jobs.failures import FAILED_CONDITION
from benchmarks.models import Job, Reparse


@dataclass(frozen=True)
class Outbox:
    waiting: int = 0
    oldest_age_s: float = 0.0
    quarantined: int = 0


@dataclass(frozen=True)
class FailedJobs:
    """Failed jobs of a kind, and the time since the earliest of their last attempts."""

    kind: str
    retrying: int
    quarantined: int
    last_attempt_age_s: float


@dataclass(frozen=True)
class WaitingJobs:
    """Waiting jobs of a kind; they are late if the oldest waits over `LATE_AFTER_S`."""

    kind: str
    waiting: int
    oldest_age_s: float
    is_late: bool


@dataclass(frozen=True)
class ReplicaStatus:
    is_in_use: bool
    lag_s: float | None
    lag_bytes: int | None


@dataclass(frozen=True)
class Health:
    """The health of the installation; ``status`` is ``ok``, ``degraded`` or ``down``.

    It is ``down`` if PostgreSQL is unavailable. It is ``degraded`` if Redis or a
    configured standby is unavailable, or jobs are quarantined or late.
    """

    status: str
    version: str
    database: bool
    redis: bool
    outbox: Outbox | None
    failed_jobs: tuple[FailedJobs, ...] = ()
    waiting_jobs: tuple[WaitingJobs, ...] = ()
    replica: ReplicaStatus | None = None


# Jobs wait this long only without a working worker or sweeper.
LATE_AFTER_S: Final = 600.0
MONITORED_KINDS: Final = (
    *(
        "check",
        "energy",
        "reparse",
        "events",
        "email",
        "report",
        "publishing",
        "review",
    ),
)


@rls.allow_all()
def check_health() -> Health:
    outbox: Outbox | None = None
    failed: tuple[FailedJobs, ...] = ()
    due: tuple[WaitingJobs, ...] = ()
    standby: ReplicaStatus | None = None
    waits = Q(quarantined_at=None)
    try:
        kinds = Job.objects.order_by("kind").values("kind")
        rows = kinds.annotate(
            waiting=Count("pk", filter=waits),
            oldest=Min("created_at", filter=waits),
            quarantined_jobs=Count("pk", filter=~waits),
            failing=Count("subject_id", filter=FAILED_CONDITION & waits, distinct=True),
            quarantined=Count(
                "subject_id", filter=FAILED_CONDITION & ~waits, distinct=True
            ),
            since=Min(Coalesce("attempted_at", "created_at"), filter=FAILED_CONDITION),
        )
        outbox_by_kind: dict[str, dict[str, Any]] = {row["kind"]: row for row in rows}
        upload = outbox_by_kind.pop(
            Job.Kind.UPLOAD, {"waiting": 0, "oldest": None, "quarantined_jobs": 0}
        )
        failed = tuple(
            FailedJobs(kind, row["failing"], row["quarantined"], _age_s(row["since"]))
            for kind, row in outbox_by_kind.items()
            if row["since"]
        )
        reparses = Reparse.objects.filter(finished_at=None)
        outbox_by_kind["reparse"] = reparses.aggregate(
            waiting=Count("pk"), oldest=Min("created_at")
        )
        for kind in MONITORED_KINDS:
            row = outbox_by_kind.get(kind, {"waiting": 0, "oldest": None})
            age_s = _age_s(row["oldest"])
            due += (WaitingJobs(kind, row["waiting"], age_s, age_s > LATE_AFTER_S),)
        if replica.is_configured():
            lag = replica.lag()
            standby = ReplicaStatus(not lag.problem, lag.seconds, lag.bytes)
        outbox = Outbox(
            upload["waiting"], _age_s(upload["oldest"]), upload["quarantined_jobs"]
        )
    except DatabaseError:
        connection.close()  # a broken connection would fail later requests
        failed, due = (), ()
    try:
        is_redis_up = bool(redis_connection.connection().ping())
    except (redis.RedisError, OSError):
        is_redis_up = False
    is_quarantined = any(jobs.quarantined for jobs in failed)
    is_late = any(jobs.is_late for jobs in due) or (
        outbox and outbox.oldest_age_s > LATE_AFTER_S
    )
    is_well = is_redis_up and (standby is None or standby.is_in_use)
    up = "ok" if is_well and not is_quarantined and not is_late else "degraded"
    return Health(
        status=up if outbox else "down",
        version=settings.VERSION,
        database=outbox is not None,
        redis=is_redis_up,
        outbox=outbox,
        failed_jobs=failed,
        waiting_jobs=due,
        replica=standby,
    )


@dataclass(frozen=True)
class Readiness:
    ready: bool
    problem: str = ""


def check_readiness() -> Readiness:
    try:
        applied = set(MigrationRecorder(connection).applied_migrations())
    except DatabaseError:
        connection.close()
        return Readiness(False, "PostgreSQL is not responding.")
    if not applied >= _migrations():
        return Readiness(False, "The database is not migrated: run manage.py prepare.")
    return Readiness(True)


@cache
def _migrations() -> frozenset[tuple[str, str]]:
    """Return the migrations of this version; cached, because reading files is slow."""
    return frozenset(MigrationLoader(None).disk_migrations)


def _age_s(since: datetime | None) -> float:
    return round((timezone.now() - since).total_seconds(), 3) if since else 0.0
