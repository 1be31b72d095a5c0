import logging

from kombu.exceptions import OperationalError

from benchmarks.collaboration import outgoing_mail
from benchmarks.jobs import queue
from benchmarks.jobs.queue import JobKind
from benchmarks.tasks import run_jobs

logger = logging.getLogger(__name__)

INTERACTIVE_KINDS = (JobKind.REPORT, JobKind.CHART, JobKind.EMAIL)


def dispatch_jobs(kind: str, partition: int) -> None:
    """Send a task that runs the jobs of a partition.

    If Redis is not available, the sweeper tries again later.
    """
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
