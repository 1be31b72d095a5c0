"""Whether everything the product stands on answers."""

from dataclasses import dataclass

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count, Min, Q
from django.utils import timezone

from benchmarks import broker
from benchmarks.models import OutboxItem


@dataclass(frozen=True)
class Outbox:
    """The work left to do; ``oldest_s`` is the age of its oldest item in seconds."""

    waiting: int = 0
    oldest_s: float = 0.0
    quarantined: int = 0


@dataclass(frozen=True)
class Health:
    """``ok``; ``degraded`` without Redis (slower, nothing lost); ``down`` otherwise."""

    status: str
    version: str
    database: bool
    redis: bool
    outbox: Outbox | None


def health() -> Health:
    """Ask PostgreSQL and Redis now."""
    outbox: Outbox | None = None
    waiting = Q(quarantined_at=None)
    try:
        row = OutboxItem.objects.aggregate(
            waiting=Count("pk", filter=waiting),
            oldest=Min("created_at", filter=waiting),
            quarantined=Count("pk", filter=~waiting),
        )
    except DatabaseError:
        connection.close()  # a broken one would fail every later request too
    else:
        oldest = row["oldest"]
        age_s = (timezone.now() - oldest).total_seconds() if oldest else 0.0
        outbox = Outbox(row["waiting"], round(age_s, 3), row["quarantined"])
    try:
        is_redis_up = bool(broker.connection().ping())
    except (redis.RedisError, OSError):
        is_redis_up = False
    up = "ok" if is_redis_up else "degraded"
    return Health(
        status=up if outbox else "down",
        version=settings.VERSION,
        database=outbox is not None,
        redis=is_redis_up,
        outbox=outbox,
    )
