"""The connection to Redis (Valkey), except Celery's."""

from functools import cache

import redis
from django.conf import settings

# Only wake-ups and counts: requests do not wait longer.
REDIS_TIMEOUT_S = 1


@cache
def connection() -> redis.Redis:
    """Return this process's client, which reconnects."""
    # Celery names Unix sockets differently.
    url = settings.REDIS_URL.replace("redis+socket://", "unix://", 1)
    return redis.Redis.from_url(
        url, socket_timeout=REDIS_TIMEOUT_S, socket_connect_timeout=REDIS_TIMEOUT_S
    )
