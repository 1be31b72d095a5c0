"""What the browser tests serve: studies, committed for the server's threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.core.management import call_command
from django.db import connection
from pytest_django.live_server_helper import LiveServer

from benchmarks.services import checking


@contextmanager
def served() -> Iterator[str]:
    """Serve what is committed until the block ends; give the address."""
    server = LiveServer("127.0.0.1")
    try:
        yield server.url
    finally:
        server.stop()
        _end_sessions()


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
    checking.check_due_campaigns(timedelta(0))


def _end_sessions() -> None:
    """End what the server's threads left open, or the database cannot be dropped."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )
