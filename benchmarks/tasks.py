"""Celery tasks and their dispatch.

Tasks only wake workers, because the jobs are in the database.
"""

import logging
import time
from socket import gethostname

from celery import shared_task
from django.conf import settings
from django.utils import timezone
from kombu.exceptions import OperationalError

from benchmarks import redis_connection

# `webhooks` is imported for its job handler.
from benchmarks.collaboration import outgoing_mail, webhooks  # noqa: F401
from benchmarks.jobs import queue
from benchmarks.jobs.advisory_locks import advisory_lock
from benchmarks.jobs.queue import JobKind
from benchmarks.uploads import processing
from benchmarks.worker_wakeup import BATCH_WAIT_S, WAKEUP_KEYS, extend_wakeup

logger = logging.getLogger(__name__)

# A hundred runs cost little more than one. Therefore workers wait for a pause in
# uploads, at most this long.
MAX_BATCH_WAIT_S = 2.0
INTERACTIVE_KINDS = (JobKind.REPORT, JobKind.CHART, JobKind.EMAIL)


@shared_task
def process_uploads(waits_for_more: bool = True) -> int:
    """Process single uploads, including those that arrive meanwhile."""
    return _drain_lane(is_bulk=False, waits_for_more=waits_for_more)


@shared_task
def process_bulk_uploads(waits_for_more: bool = True) -> int:
    """Process bulk uploads, in at most BULK_WORKERS processes per machine."""
    for number in range(settings.BULK_WORKERS):
        with advisory_lock(f"bulk {gethostname()} {number}") as is_acquired:
            if is_acquired:
                return _drain_lane(is_bulk=True, waits_for_more=waits_for_more)
    redis_connection.connection().delete(WAKEUP_KEYS[True])
    return 0


def _drain_lane(*, is_bulk: bool, waits_for_more: bool) -> int:
    if waits_for_more:
        _wait_for_more(is_bulk)
    redis_connection.connection().delete(WAKEUP_KEYS[is_bulk])
    started_at = timezone.now()
    finished = processing.process_due_uploads(is_bulk=is_bulk)
    # A study may arrive in pieces, or another worker may hold the partition.
    while processing.labs_in_burst(is_bulk) or processing.has_due_uploads(
        started_at, is_bulk
    ):
        time.sleep(BATCH_WAIT_S)
        finished += processing.process_due_uploads(is_bulk=is_bulk)
    return finished


def _wait_for_more(lane: int) -> None:
    deadline = time.monotonic() + MAX_BATCH_WAIT_S
    time.sleep(BATCH_WAIT_S)
    while time.monotonic() < deadline and processing.has_recent_uploads(BATCH_WAIT_S):
        extend_wakeup(lane, BATCH_WAIT_S)
        time.sleep(BATCH_WAIT_S)


@shared_task
def run_jobs(kind: str, partition: int) -> int:
    return queue.run_due_jobs(kind, partition)


def dispatch_jobs(kind: str, partition: int) -> None:
    """If Redis is not available, the sweeper tries again later."""
    expires_s = queue.DISPATCH_TIMEOUT.total_seconds()
    try:
        run_jobs.apply_async(
            (kind, partition),
            queue="interactive" if kind in INTERACTIVE_KINDS else "bulk",
            expires=expires_s,
            retry=False,
        )
    except (OperationalError, OSError) as error:
        logger.warning("Redis did not accept the task %s (%s).", kind, error)


def dispatch_due_jobs() -> None:
    """Send tasks for due retries, and for jobs whose task or worker was lost.

    Also queue due digests.
    """
    outgoing_mail.queue_due_digests()
    for kind, partition in queue.partitions_to_dispatch():
        dispatch_jobs(kind, partition)
