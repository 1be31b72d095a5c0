"""Wake-up messages to workers; jobs are in the database."""

import logging
import time

from celery import current_app
from kombu.exceptions import OperationalError
from redis import RedisError

from benchmarks import redis_connection

logger = logging.getLogger(__name__)

# Larger batches are bulk.
MAX_INTERACTIVE_RUNS = 10
UPLOAD_TASKS = (
    "benchmarks.tasks.process_uploads",
    "benchmarks.tasks.process_bulk_uploads",
)
# Pending wake-ups per lane (single, bulk); cleared by the worker.
WAKEUP_KEYS = ("virtlab:hint-sent", "virtlab:bulk-hint-sent")
# In case the message is lost.
WAKEUP_TIMEOUT_S = 5
# Wait for more uploads to process together.
BATCH_WAIT_S = 0.3
# The worker does not wait after this many runs.
NO_WAIT_RUNS = 50
# Time until which each lane's worker waits for uploads.
_pending_until = [0.0, 0.0]


def is_bulk(runs: int) -> bool:
    return runs > MAX_INTERACTIVE_RUNS


def wake_worker(runs: int = 1) -> None:
    """Wake a worker; without Redis, the sweeper finds the jobs some seconds later."""
    started_at = time.monotonic()
    lingers, lane = runs < NO_WAIT_RUNS, is_bulk(runs)
    if lingers and started_at < _pending_until[lane]:
        return
    try:
        key = WAKEUP_KEYS[lane]
        wait_s = BATCH_WAIT_S if lingers else 0
        with redis_connection.connection().pipeline(transaction=False) as redis:
            redis.set(key, 1, nx=True, px=_lifetime_ms(wait_s))
            redis.pttl(key)
            is_first, left_ms = redis.execute()
        if is_first:
            # A retry would delay the upload.
            current_app.send_task(UPLOAD_TASKS[lane], (lingers,), retry=False)
        _pending_until[lane] = started_at + left_ms / 1000 - WAKEUP_TIMEOUT_S
    except (OperationalError, RedisError, OSError) as error:
        logger.warning("Redis took no hint (%s); the sweeper will do the work.", error)


def extend_wakeup(lane: int, wait_s: float) -> None:
    """Keep a wake-up pending: its worker looks again after this time."""
    redis_connection.connection().set(
        WAKEUP_KEYS[lane], 1, xx=True, px=_lifetime_ms(wait_s)
    )


def _lifetime_ms(wait_s: float) -> int:
    return round(1000 * (WAKEUP_TIMEOUT_S + wait_s))


def is_wakeup_pending() -> bool:
    try:
        return bool(redis_connection.connection().exists(*WAKEUP_KEYS))
    except (RedisError, OSError):
        return False
