"""The connection to Redis (Valkey), for what is not a Celery message."""

from functools import cache

import redis
from django.conf import settings

# Redis carries hints only: no request waits for one longer than this.
PATIENCE_S = 1


@cache
def connection() -> redis.Redis:
    """Return the process's client; it opens and reopens connections by itself."""
    # Celery and redis-py have different schemes for a Unix socket.
    url = settings.REDIS_URL.replace("redis+socket://", "unix://", 1)
    return redis.Redis.from_url(
        url, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S
    )
