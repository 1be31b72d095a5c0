"""`manage.py sweep`: outbox, rereads, checks, news, mail, energy, plans, publishing.

Of several, on whatever machines, one does it; the others wait until it is gone.
"""

import logging
import os
import select
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import InterfaceError, OperationalError, connection

from benchmarks import tasks
from benchmarks.keeping.retention import Hourly
from benchmarks.memory import Memory
from benchmarks.monitoring import exposition
from benchmarks.monitoring.counters import SWEEP_SECONDS
from benchmarks.monitoring.tracing import new_id, traced
from benchmarks.plans import progress
from benchmarks.power.logs import integrate_due
from benchmarks.studies import checking, data_versions
from benchmarks.studies.rollups import Renewal
from benchmarks.together import events
from benchmarks.unattended.holding import held, take
from benchmarks.uploads import processing, rereading
from benchmarks.wake import is_worker_woken

logger = logging.getLogger(__name__)
SWEEPER = "sweeper"
# As workers: what the sweeper has in hand, no worker can take.
NICENESS = 5
# So long work is left to a worker that was woken and may be at it.
WOKEN_S = 10.0
# Flags are to be current soon after an upload; at rest nobody waits for a look.
SOON_S = 0.2


class Command(BaseCommand):
    """Looks into the outbox every second, until it is told to stop."""

    help = __doc__
    tidy = Hourly()
    memory = Memory()
    is_leading: bool | None = None
    renew_rollups = Renewal()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--every", type=float, default=1.0, help="seconds")
        parser.add_argument(
            "--older-than", type=float, default=4.0, help="leave younger work alone (s)"
        )
        parser.add_argument("--once", action="store_true", help="one look, then end")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["once"]:
            with held(SWEEPER) as is_mine:
                if is_mine:
                    self._look(options["older_than"], options["every"])
                else:
                    self.stdout.write("Another sweeper works: nothing to do here.")
            return
        if settings.METRICS_PORT:
            exposition.serve(settings.METRICS_PORT)
        # Whoever uploads, and reads pages, comes first.
        os.nice(NICENESS)
        with stop_signals() as stopped:
            while True:
                with traced(new_id("sweep-")):
                    pause_s = options["every"]
                    if self._leads():
                        older_than_s = options["older_than"]
                        if is_worker_woken():
                            # Where much waits it takes its time; both would be slower.
                            older_than_s = max(older_than_s, WOKEN_S)
                        pause_s = self._look(older_than_s, options["every"])
                self.memory.give_back()
                if select.select([stopped], [], [], pause_s)[0]:
                    return

    def _leads(self) -> bool:
        """Return whether this is the sweeper that works."""
        try:
            leads = take(SWEEPER)
        except (OperationalError, InterfaceError) as error:
            logger.warning("The database does not answer: %s", error)
            connection.close()
            return False
        if leads != self.is_leading:
            logger.info("This sweeper works" if leads else "Another sweeper works")
        self.is_leading = leads
        return leads

    def _look(self, older_than_s: float, every_s: float) -> float:
        """Do what there is; return after how many seconds to look again."""
        finished = reread = 0
        is_soon_due = False
        try:
            with _logged("The outbox"):
                finished = processing.drain(older_than_s=older_than_s)
            with _logged("Rereading"):
                reread = rereading.proceed()
            with _logged("Checking"):
                checking.check_due_studies()
                is_soon_due = checking.is_soon_due()
            with _logged("Telling"):
                events.tell_due_news()
            with _logged("Sending workers"):
                tasks.send_workers()
            with _logged("Integrating power"):
                integrate_due()
            with _logged("Proceeding with plans"):
                progress.proceed_plans()
            with _logged("Tidying"):
                if gone := {what: n for what, n in self.tidy().items() if n}:
                    logger.info("Deleted what was over: %s", gone)
            with _logged("Notes of changes"):
                data_versions.gather_notes()
            with _logged("Counting"):
                self.renew_rollups()
        except (OperationalError, InterfaceError) as error:
            logger.warning("The database does not answer: %s", error)
            # A broken connection would fail every later look.
            connection.close()
            return every_s
        if finished:
            logger.info("Finished %s runs that nobody was woken for", finished)
        if reread:
            return 0.0
        return min(SOON_S, every_s) if is_soon_due else every_s


@contextmanager
def _logged(duty: str) -> Iterator[None]:
    """Log what a duty fails of, so that the sweeper goes on with the others."""
    try:
        with SWEEP_SECONDS.labels(duty).time():
            yield
    except (OperationalError, InterfaceError):
        raise  # the database is away: it would fail the others as well
    except Exception:  # whatever it is, the other duties are to be done
        logger.exception("%s failed", duty)


@contextmanager
def stop_signals() -> Iterator[socket.socket]:
    """Yield a socket that can be read from once SIGTERM or Ctrl-C came.

    A threading.Event may not be set in a signal's handler: it runs in the very thread
    that may hold the event's lock while it begins to wait.
    """
    stopped, wakes = socket.socketpair()
    with stopped, wakes:
        # Python takes no blocking socket as the fd to wake up.
        wakes.setblocking(False)
        signal.set_wakeup_fd(wakes.fileno())
        numbers = (signal.SIGTERM, signal.SIGINT)
        # They do nothing: the fd tells of the signal, and the default would end us.
        before = [signal.signal(number, lambda *_: None) for number in numbers]
        try:
            yield stopped
        finally:
            signal.set_wakeup_fd(-1)
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)
