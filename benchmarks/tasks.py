"""What Celery runs. A message is only a hint that there is work in the outbox."""

import logging
import time
from functools import partial
from socket import gethostname

from celery import current_app, shared_task
from django.conf import settings
from django.utils import timezone
from kombu.exceptions import OperationalError
from redis import RedisError

from benchmarks import broker
from benchmarks.publishing import jobs, reviews
from benchmarks.together import digests, letters
from benchmarks.together.webhooks import (
    HINT_IS_LOST_AFTER,
    deliver_due,
    due_webhooks,
)
from benchmarks.unattended.attempts import Kind, Unit, attempt
from benchmarks.unattended.holding import held
from benchmarks.uploads import processing
from benchmarks.wake import HINT_SENT, LINGER_S

logger = logging.getLogger(__name__)

# What comes together is processed together, for most of what processing costs is the
# same for one run and for a hundred: a worker waits until nothing came for a moment,
# but no longer than this where it comes all the time.
LINGER_AT_MOST_S = 2.0


@shared_task
def drain(lingers: bool = True) -> int:
    """Process uploads that came alone or few at once, and what comes in a moment."""
    return _drain_lane(is_bulk=False, lingers=lingers)


@shared_task
def drain_bulk(lingers: bool = True) -> int:
    """Process what came in bulk, with some of a machine's processes and not with all.

    So one is free for uploads that come alone, whatever bulk has left to do. Whoever
    works goes on until nothing is left; what comes at its last moment the sweeper sees.
    """
    for place in range(settings.BULK_PROCESSES):
        with held(f"bulk {gethostname()} {place}") as is_mine:
            if is_mine:
                return _drain_lane(is_bulk=True, lingers=lingers)
    broker.connection().delete(HINT_SENT[True])
    return 0


def _drain_lane(*, is_bulk: bool, lingers: bool) -> int:
    if lingers:
        _linger()
    broker.connection().delete(HINT_SENT[is_bulk])
    begun = timezone.now()
    finished = processing.drain(is_bulk=is_bulk)
    # Of a study that comes piece by piece; or another worker has the same in hand.
    while processing.flooded_labs(is_bulk) or processing.is_left(begun, is_bulk):
        time.sleep(LINGER_S)
        finished += processing.drain(is_bulk=is_bulk)
    return finished


def _linger() -> None:
    end = time.monotonic() + LINGER_AT_MOST_S
    time.sleep(LINGER_S)
    while time.monotonic() < end and processing.is_still_coming(LINGER_S):
        time.sleep(LINGER_S)


def send_forgotten_publishing_jobs() -> None:
    """Send versions and reviews whose hint or maker was lost to a worker once more.

    A message nobody took until the next is sent is dropped: they do not pile up.
    """
    for pk in jobs.requeue_publishing_jobs():
        send_by_name(jobs.PUBLISH_TASK, pk)
    for pk in reviews.requeue_reviews():
        send_by_name(reviews.REVIEW_TASK, pk)


@shared_task
def tell_webhook(pk: int, lab_id: int) -> bool:
    """Tell one address what waits for it; its failures are its own."""
    return attempt(Unit(Kind.WEBHOOK, lab_id, pk), partial(deliver_due, pk))


def send_to_webhooks() -> None:
    """Send workers to the addresses for which something waits.

    Not the sweeper itself: an address may take ten seconds to say nothing.
    """
    for pk, lab_id in due_webhooks():
        expires_s = HINT_IS_LOST_AFTER.total_seconds()
        try:
            tell_webhook.apply_async((pk, lab_id), expires=expires_s, retry=False)
        except (OperationalError, OSError) as error:
            logger.warning("Redis took no webhook (%s).", error)


LETTERS_SENT = "virtlab:letters-sent"


@shared_task
def send_letters() -> int:
    """Send the letters that wait."""
    broker.connection().delete(LETTERS_SENT)
    return letters.send_due()


def send_to_letters() -> None:
    """Send a worker to the letters that wait, or to digests that are due.

    Not the sweeper itself: a server for mail may take long to say nothing.
    """
    if settings.EMAIL is None or not (letters.are_due() or digests.are_due()):
        return
    try:
        # A message may get lost, or wait behind others.
        if broker.connection().set(LETTERS_SENT, 1, nx=True, ex=60):
            send_letters.apply_async(expires=60, retry=False)
    except (OperationalError, RedisError, OSError) as error:
        logger.warning("Redis took no letters (%s).", error)


def send_by_name(task: str, pk: int) -> None:
    """Send a task that is the dashboard's, which the domain does not know.

    Without Redis the sweeper sends it again.
    """
    expires_s = jobs.UNTAKEN.total_seconds()
    try:
        current_app.send_task(task, (pk,), expires=expires_s, retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("Redis took no %s (%s).", task, error)
