"""Whether everything the product stands on answers."""

from dataclasses import dataclass
from datetime import datetime

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count, Min, Q
from django.utils import timezone

from benchmarks import broker
from benchmarks.models import OutboxItem
from benchmarks.unattended.lists import stuck_work


@dataclass(frozen=True)
class Outbox:
    """The work left to do; ``oldest_s`` is the age of its oldest item in seconds."""

    waiting: int = 0
    oldest_s: float = 0.0
    quarantined: int = 0


@dataclass(frozen=True)
class StuckWork:
    """Background work of one kind that failed; ``since_s`` is for how long, in seconds.

    ``failing`` is tried again by itself, ``quarantined`` was set aside. No word of
    whose it is: health is for everybody.
    """

    kind: str
    failing: int
    quarantined: int
    since_s: float


@dataclass(frozen=True)
class Health:
    """``ok``; ``down`` without PostgreSQL.

    ``degraded`` without Redis (slower, nothing lost) and where work was set aside.
    """

    status: str
    version: str
    database: bool
    redis: bool
    outbox: Outbox | None
    stuck: tuple[StuckWork, ...] = ()


def health() -> Health:
    """Ask PostgreSQL and Redis now."""
    outbox: Outbox | None = None
    stuck: tuple[StuckWork, ...] = ()
    waiting = Q(quarantined_at=None)
    try:
        row = OutboxItem.objects.aggregate(
            waiting=Count("pk", filter=waiting),
            oldest=Min("created_at", filter=waiting),
            quarantined=Count("pk", filter=~waiting),
        )
        failed = stuck_work()
    except DatabaseError:
        connection.close()  # a broken one would fail every later request too
    else:
        oldest = row["oldest"]
        age_s = _age_s(oldest) if oldest else 0.0
        outbox = Outbox(row["waiting"], age_s, row["quarantined"])
        stuck = tuple(
            StuckWork(each.kind, each.failing, each.quarantined, _age_s(each.oldest))
            for each in failed
        )
    try:
        is_redis_up = bool(broker.connection().ping())
    except (redis.RedisError, OSError):
        is_redis_up = False
    is_stuck = any(each.quarantined for each in stuck)
    up = "ok" if is_redis_up and not is_stuck else "degraded"
    return Health(
        status=up if outbox else "down",
        version=settings.VERSION,
        database=outbox is not None,
        redis=is_redis_up,
        outbox=outbox,
        stuck=stuck,
    )


def _age_s(since: datetime) -> float:
    return round((timezone.now() - since).total_seconds(), 3)
