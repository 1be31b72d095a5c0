"""Live server with committed studies for browser tests."""

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
    """Run a live server with the committed data; yield its URL."""
    others = _sessions()
    own: list[BaseDatabaseWrapper] = []

    def note(connection: BaseDatabaseWrapper, **_: Any) -> None:
        # Playwright's event loop has another connection in this thread.
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
        # Connections of this process were ended, too. Close them, so that the next test
        # reconnects and the database can be dropped.
        for connection in own:
            connection.close()


@contextmanager
def committed(blocker: Any) -> Iterator[None]:
    """Commit the data stored in the block, for all tests of a module."""
    with blocker.unblock():
        connection.close()  # another module's site may have ended it
        try:
            yield
        finally:
            call_command("flush", interactive=False, verbosity=0)
            # Close the connection of Playwright's event loop.
            connection.close()


def check_all() -> None:
    """Look for flags in the loaded data."""
    checking.check_due_studies(timedelta(0))


def _sessions() -> list[int]:
    """Return the connected database sessions, including Playwright's."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pid {CONNECTED}")
        return [pid for (pid,) in cursor.fetchall()]


def _end_all_but(others: list[int]) -> None:
    """End connections of the server's threads, so that the database can be dropped."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT pg_terminate_backend(pid) {CONNECTED}"
            " AND pid <> pg_backend_pid() AND pid <> ALL(%s)",
            [others],
        )
