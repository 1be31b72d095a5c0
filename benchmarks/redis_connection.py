"""The connection to Redis (Valkey); Celery has its own."""

from functools import cache

import redis
from django.conf import settings

# Redis carries only wake-ups and counts, so requests do not wait longer for it.
REDIS_TIMEOUT_S = 1


@cache
def connection() -> redis.Redis:
    """Return this process's client, which reconnects."""
    # The URL is written for Celery, which names Unix sockets differently.
    url = settings.REDIS_URL.replace("redis+socket://", "unix://", 1)
    return redis.Redis.from_url(
        url, socket_timeout=REDIS_TIMEOUT_S, socket_connect_timeout=REDIS_TIMEOUT_S
    )
