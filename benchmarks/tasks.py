"""What Celery runs. A message is only a hint that there is work in the outbox."""

import logging
import time
from socket import gethostname

from celery import shared_task
from django.conf import settings
from django.utils import timezone
from kombu.exceptions import OperationalError

from benchmarks import broker
from benchmarks.together import letters
from benchmarks.unattended import queue
from benchmarks.unattended.holding import held
from benchmarks.unattended.queue import Kind
from benchmarks.uploads import processing
from benchmarks.wake import HINT_SENT, LINGER_S, note_wait

logger = logging.getLogger(__name__)

# Processing a hundred runs costs little more than one: wait until nothing came for a
# moment, but no longer than this.
LINGER_AT_MOST_S = 2.0
# Somebody waits for these.
AWAITED = (Kind.REPORT, Kind.PICTURE, Kind.LETTER)


@shared_task
def drain(lingers: bool = True) -> int:
    """Process uploads that came alone or few at once, and what comes in a moment."""
    return _drain_lane(is_bulk=False, lingers=lingers)


@shared_task
def drain_bulk(lingers: bool = True) -> int:
    """Process bulk uploads, in some of a machine's processes only."""
    for place in range(settings.BULK_PROCESSES):
        with held(f"bulk {gethostname()} {place}") as is_mine:
            if is_mine:
                return _drain_lane(is_bulk=True, lingers=lingers)
    broker.connection().delete(HINT_SENT[True])
    return 0


def _drain_lane(*, is_bulk: bool, lingers: bool) -> int:
    if lingers:
        _linger(is_bulk)
    broker.connection().delete(HINT_SENT[is_bulk])
    begun = timezone.now()
    finished = processing.drain(is_bulk=is_bulk)
    # Of a study that comes piece by piece; or another worker has the same in hand.
    while processing.flooded_labs(is_bulk) or processing.is_left(begun, is_bulk):
        time.sleep(LINGER_S)
        finished += processing.drain(is_bulk=is_bulk)
    return finished


def _linger(lane: int) -> None:
    end = time.monotonic() + LINGER_AT_MOST_S
    time.sleep(LINGER_S)
    while time.monotonic() < end and processing.is_still_coming(LINGER_S):
        note_wait(lane, LINGER_S)
        time.sleep(LINGER_S)


@shared_task
def run_jobs(kind: str, partition: int) -> int:
    """Do what waits of a kind of work that the sweeper leaves to workers."""
    return queue.run(kind, partition)


def send(kind: str, partition: int) -> None:
    """Send a worker to jobs; without Redis the sweeper does it again a while later."""
    expires_s = queue.HINT_IS_LOST_AFTER.total_seconds()
    try:
        run_jobs.apply_async(
            (kind, partition),
            queue="interactive" if kind in AWAITED else "bulk",
            expires=expires_s,
            retry=False,
        )
    except (OperationalError, OSError) as error:
        logger.warning("Redis took no %s (%s).", kind, error)


def send_workers() -> None:
    """Send workers to jobs whose hint or worker was lost, or that are to be retried."""
    letters.note_digests()
    for kind, partition in queue.to_be_sent():
        send(kind, partition)
