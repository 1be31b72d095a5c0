"""`manage.py sweep`: outbox, rereads, checks, energy, plans: what nobody woke."""

import logging
import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError, connection

from benchmarks.services import (
    checking,
    energies,
    plan_progress,
    processing,
    rereading,
)

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    """Looks into the outbox every second, until it is told to stop."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--every", type=float, default=1.0, help="seconds")
        parser.add_argument(
            "--older-than", type=float, default=2.0, help="leave younger work alone (s)"
        )
        parser.add_argument("--once", action="store_true", help="one look, then end")

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        while not stop.is_set():
            is_busy = self._look(options["older_than"])
            if options["once"]:
                return
            stop.wait(0 if is_busy else options["every"])

    def _look(self, older_than_s: float) -> bool:
        """Do what there is; return whether there is more to be done at once."""
        try:
            finished = processing.drain(older_than_s=older_than_s)
            reread = rereading.proceed()
            checking.check_due_campaigns()
            energies.integrate_due()
            plan_progress.proceed_plans()
        except DatabaseError as error:
            logger.warning("The database does not answer: %s", error)
            connection.close()
            return False
        if finished:
            logger.info("Finished %s runs that nobody was woken for", finished)
        return reread > 0
