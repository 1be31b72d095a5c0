"""Wake a worker after an upload; the message is only a hint."""

import logging
import time

from celery import current_app
from kombu.exceptions import OperationalError
from redis import RedisError

from benchmarks import broker

logger = logging.getLogger(__name__)

# What one person or agent sends at once and waits for.
FEW_RUNS = 10
DRAIN = ("benchmarks.tasks.drain", "benchmarks.tasks.drain_bulk")
# Set while a hint is on its way, one per lane (single, bulk); cleared by the worker.
HINT_SENT = ("virtlab:hint-sent", "virtlab:bulk-hint-sent")
# A message may get lost while this key is set: then no other hint would be sent.
HINT_IS_LOST_AFTER_S = 5
# How long a worker waits for more uploads, which it then processes together.
LINGER_S = 0.3
# So many runs at once are not waited for.
TOGETHER = 50
# Until when a lane's worker surely waits for more.
_seen_until = [0.0, 0.0]


def is_bulk(runs: int) -> bool:
    """Return whether so many runs at once wait behind those that come alone."""
    return runs > FEW_RUNS


def wake(runs: int = 1) -> None:
    """Hint at new work; without Redis the sweeper finds it some seconds later."""
    begun = time.monotonic()
    lingers, lane = runs < TOGETHER, is_bulk(runs)
    if lingers and begun < _seen_until[lane]:
        return
    try:
        key = HINT_SENT[lane]
        wait_s = LINGER_S if lingers else 0
        with broker.connection().pipeline(transaction=False) as redis:
            redis.set(key, 1, nx=True, px=_lifetime_ms(wait_s))
            redis.pttl(key)
            is_first, left_ms = redis.execute()
        if is_first:
            # Not tried again: the upload would wait, and the sweeper comes anyway.
            current_app.send_task(DRAIN[lane], (lingers,), retry=False)
        _seen_until[lane] = begun + left_ms / 1000 - HINT_IS_LOST_AFTER_S
    except (OperationalError, RedisError, OSError) as error:
        logger.warning("Redis took no hint (%s); the sweeper will do the work.", error)


def note_wait(lane: int, wait_s: float) -> None:
    """Tell web processes that a lane's worker looks for work only after this time."""
    broker.connection().set(HINT_SENT[lane], 1, xx=True, px=_lifetime_ms(wait_s))


def _lifetime_ms(wait_s: float) -> int:
    """Return how long a hint is kept whose worker waits that long for more uploads."""
    return round(1000 * (HINT_IS_LOST_AFTER_S + wait_s))


def is_worker_woken() -> bool:
    """Return whether a hint is on its way, or a worker waits for what else comes."""
    try:
        return bool(broker.connection().exists(*HINT_SENT))
    except (RedisError, OSError):
        return False
