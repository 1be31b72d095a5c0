"""What the browser tests serve: studies, committed for the server's threads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.core.management import call_command
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from pytest_django.live_server_helper import LiveServer

from benchmarks.studies import checking

CONNECTED = (
    "FROM pg_stat_activity WHERE datname = current_database()"
    " AND backend_type = 'client backend'"
)


@contextmanager
def served() -> Iterator[str]:
    """Serve what is committed until the block ends; give the address."""
    others = _sessions()
    own: list[BaseDatabaseWrapper] = []

    def note(connection: BaseDatabaseWrapper, **_: Any) -> None:
        # There may be several in this thread: Playwright's loop has one of its own.
        if threading.current_thread() is threading.main_thread():
            own.append(connection)

    connection_created.connect(note)
    server = LiveServer("127.0.0.1")
    try:
        yield server.url
    finally:
        connection_created.disconnect(note)
        server.stop()
        _end_all_but(others)
        # The tests' own were ended, too. Whoever goes on with one connects anew; it
        # would find it dead, and left open the database could not be dropped.
        for connection in own:
            connection.close()


@contextmanager
def committed(blocker: Any) -> Iterator[None]:
    """Let what the block stores stand for all tests of a module, and no longer."""
    with blocker.unblock():
        connection.close()  # another module's site may have ended it
        try:
            yield
        finally:
            call_command("flush", interactive=False, verbosity=0)
            # Playwright's loop has a connection of its own, which nobody else closes.
            connection.close()


def check_all() -> None:
    """Look for flags in what was loaded."""
    checking.check_due_studies(timedelta(0))


def _sessions() -> list[int]:
    """Return who is connected; Playwright's loop is not the only one in its thread."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pid {CONNECTED}")
        return [pid for (pid,) in cursor.fetchall()]


def _end_all_but(others: list[int]) -> None:
    """End what the server's threads left open, or the database cannot be dropped."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT pg_terminate_backend(pid) {CONNECTED}"
            " AND pid <> pg_backend_pid() AND pid <> ALL(%s)",
            [others],
        )
