"""Run due background work: outbox, reparses, checks, events, email, plans, publishing.

If several sweepers run, one works and the others stand by.
"""

import logging
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import InterfaceError, OperationalError, connection

from benchmarks.collaboration import study_events
from benchmarks.jobs.advisory_locks import acquire_lock, advisory_lock
from benchmarks.maintenance.retention import HourlyCleanup
from benchmarks.memory_trimming import MemoryTrimmer
from benchmarks.monitoring import exposition
from benchmarks.monitoring.counters import SCHEDULER_SECONDS
from benchmarks.monitoring.request_ids import new_id, use_request_id
from benchmarks.plans import automatic_progress
from benchmarks.power.meter_logs import integrate_due
from benchmarks.studies import checking, data_versions
from benchmarks.studies.study_rollups import RollupRenewal
from benchmarks.tasks import dispatch_due_jobs
from benchmarks.uploads import processing, reparsing
from benchmarks.worker_wakeup import is_wakeup_pending

logger = logging.getLogger(__name__)
SCHEDULER_LOCK = "sweeper"
# The same as that of workers, which wait for jobs that the sweeper has claimed.
NICENESS = 5
# While a wake-up is pending, newer uploads are left to the worker.
WAKEUP_WAIT_S = 10.0
# The pause if a check is due soon, so that flags are soon current.
SHORT_WAIT_S = 0.2
# Imports take seconds of CPU time, so a grown process is replaced only this often.
MIN_RESTART_S = 600.0


class Command(BaseCommand):
    help = __doc__
    tidy = HourlyCleanup()
    memory = MemoryTrimmer()
    is_leading: bool | None = None
    renew_rollups = RollupRenewal()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--every", type=float, default=1.0, help="interval (s)")
        parser.add_argument(
            "--older-than", type=float, default=4.0, help="ignore newer work (s)"
        )
        parser.add_argument("--once", action="store_true", help="run once, then exit")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["once"]:
            with advisory_lock(SCHEDULER_LOCK) as is_mine:
                if is_mine:
                    self._run_cycle(options["older_than"], options["every"])
                else:
                    self.stdout.write("Nothing to do: another sweeper is running.")
            return
        if settings.METRICS_PORT:
            exposition.serve(settings.METRICS_PORT)
        # Not `nice`, which would add up over restarts.
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
        started = time.monotonic()
        with stop_signals() as stop_socket:
            while True:
                with use_request_id(new_id("sweep-")):
                    pause_s = options["every"]
                    if self._is_leader():
                        older_than_s = options["older_than"]
                        if is_wakeup_pending():
                            older_than_s = max(older_than_s, WAKEUP_WAIT_S)
                        pause_s = self._run_cycle(older_than_s, options["every"])
                self.memory.trim()
                if select.select([stop_socket], [], [], pause_s)[0]:
                    return
                is_old = time.monotonic() > started + MIN_RESTART_S
                if is_old and self.memory.has_grown_too_much:
                    break
        self._restart()

    def _restart(self) -> None:
        """Replace this process by a new one with the same number and less memory."""
        logger.info("Restarting: a new process will need less memory")
        connection.close()
        os.execv(sys.executable, sys.orig_argv)

    def _is_leader(self) -> bool:
        try:
            is_leader = acquire_lock(SCHEDULER_LOCK)
        except (OperationalError, InterfaceError) as error:
            logger.warning("The database is not responding: %s", error)
            connection.close()
            return False
        if is_leader != self.is_leading:
            logger.info(
                "This sweeper is active" if is_leader else "Another sweeper is active"
            )
        self.is_leading = is_leader
        return is_leader

    def _run_cycle(self, min_age_s: float, every_s: float) -> float:
        """Do all due work once; return the pause until the next cycle in seconds."""
        finished = reparsed = 0
        is_soon_due = False
        try:
            with _logged("Processing uploads"):
                finished = processing.process_due_uploads(min_age_s=min_age_s)
            with _logged("Parsing again"):
                reparsed = reparsing.advance_reparses()
            with _logged("Checking studies"):
                checking.check_due_studies()
                is_soon_due = checking.has_check_due_soon()
            with _logged("Publishing events"):
                study_events.publish_due_events()
            with _logged("Dispatching jobs"):
                dispatch_due_jobs()
            with _logged("Integrating power"):
                integrate_due()
            with _logged("Advancing plans"):
                automatic_progress.advance_plans()
            with _logged("Deleting expired data"):
                if deleted := {label: n for label, n in self.tidy().items() if n}:
                    logger.info("Deleted expired data: %s", deleted)
            with _logged("Merging change counts"):
                data_versions.merge_change_counts()
            with _logged("Renewing rollups"):
                self.renew_rollups()
        except (OperationalError, InterfaceError) as error:
            logger.warning("The database is not responding: %s", error)
            # A broken connection would fail every later cycle.
            connection.close()
            return every_s
        if finished:
            logger.info("Finished %s runs for which no worker was woken", finished)
        if reparsed:
            return 0.0
        return min(SHORT_WAIT_S, every_s) if is_soon_due else every_s


@contextmanager
def _logged(task: str) -> Iterator[None]:
    """Measure a task's time, and log its exceptions except errors of the database."""
    try:
        with SCHEDULER_SECONDS.labels(task).time():
            yield
    except (OperationalError, InterfaceError):
        raise  # the other tasks would fail, too
    except Exception:
        logger.exception("%s failed", task)


@contextmanager
def stop_signals() -> Iterator[socket.socket]:
    """Yield a socket that is readable after SIGTERM or SIGINT.

    Setting a threading.Event in a signal handler may deadlock.
    """
    stopped, wakes = socket.socketpair()
    with stopped, wakes:
        # Required by set_wakeup_fd.
        wakes.setblocking(False)
        signal.set_wakeup_fd(wakes.fileno())
        numbers = (signal.SIGTERM, signal.SIGINT)
        # The default handlers would end the process.
        previous = [signal.signal(number, lambda *_: None) for number in numbers]
        try:
            yield stopped
        finally:
            signal.set_wakeup_fd(-1)
            for number, handler in zip(numbers, previous, strict=True):
                signal.signal(number, handler)
