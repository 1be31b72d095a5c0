"""What Celery runs. A message is only a hint that there is work in the outbox."""

import logging

from celery import shared_task
from kombu.exceptions import OperationalError

from benchmarks.services import processing

logger = logging.getLogger(__name__)


@shared_task
def drain() -> int:
    """Do the work that waits in the outbox."""
    return processing.drain()


def wake() -> None:
    """Hint at new work; without Redis the sweeper finds it a second later."""
    try:
        drain.apply_async(retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("Redis took no hint (%s); the sweeper will do the work.", error)
