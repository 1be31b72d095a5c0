"""Messages that wake workers; the jobs are in the database.

There are two lanes: single uploads and bulk uploads.
"""

import logging
import time

from celery import current_app
from kombu.exceptions import OperationalError
from redis import RedisError

from benchmarks import redis_connection

logger = logging.getLogger(__name__)

MAX_INTERACTIVE_RUNS = 10
UPLOAD_TASKS = (
    "benchmarks.tasks.process_uploads",
    "benchmarks.tasks.process_bulk_uploads",
)
# Redis keys of pending wake-ups, for single and bulk uploads. Workers delete them.
WAKEUP_KEYS = ("virtlab:hint-sent", "virtlab:bulk-hint-sent")
# After this time, a wake-up is sent again, in case the message was lost.
WAKEUP_TIMEOUT_S = 5
BATCH_WAIT_S = 0.3
# After a request with this many runs, workers do not wait for more.
NO_WAIT_RUNS = 50
# Times until which this process does not wake the worker of a lane again.
_pending_until = [0.0, 0.0]


def is_bulk(runs: int) -> bool:
    return runs > MAX_INTERACTIVE_RUNS


def wake_worker(runs: int = 1) -> None:
    """Wake a worker; without Redis, the sweeper finds the jobs some seconds later."""
    started_at = time.monotonic()
    waits_for_more, lane = runs < NO_WAIT_RUNS, is_bulk(runs)
    if waits_for_more and started_at < _pending_until[lane]:
        return
    try:
        key = WAKEUP_KEYS[lane]
        wait_s = BATCH_WAIT_S if waits_for_more else 0
        with redis_connection.connection().pipeline(transaction=False) as redis:
            redis.set(key, 1, nx=True, px=_lifetime_ms(wait_s))
            redis.pttl(key)
            is_first, left_ms = redis.execute()
        if is_first:
            # A retry would delay the upload.
            current_app.send_task(UPLOAD_TASKS[lane], (waits_for_more,), retry=False)
        _pending_until[lane] = started_at + left_ms / 1000 - WAKEUP_TIMEOUT_S
    except (OperationalError, RedisError, OSError) as error:
        logger.warning(
            "Redis did not accept a wake-up (%s). The sweeper will process uploads.",
            error,
        )


def extend_wakeup(lane: int, wait_s: float) -> None:
    """Keep a wake-up pending, because the worker waits ``wait_s`` seconds longer."""
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
