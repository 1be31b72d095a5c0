"""A pytest plugin that starts real PostgreSQL and Valkey before Django is set up.

Loaded with ``-p tests.services``: pytest-django reads the settings before any conftest.
Servers named in DATABASE_URL and REDIS_URL are used instead.
"""

import atexit
import os
import signal
import tempfile
from contextlib import ExitStack
from pathlib import Path

from running import embedded
from running.postgres import OWNER, SUPERUSER

_stack = ExitStack()


def _start() -> None:
    if os.environ.get("DATABASE_URL") and os.environ.get("REDIS_URL"):
        return
    folder = _stack.enter_context(tempfile.TemporaryDirectory(prefix="virtlab-tests-"))
    running = _stack.enter_context(embedded.services(Path(folder) / "var"))
    os.environ.update(running.environment() | running.owner())
    with running.postgres.connect(SUPERUSER) as connection:
        # For the tests' own databases.
        connection.execute(f"alter role {OWNER} createdb")
        # Test data need not survive a power failure; flushing the disk is slow.
        for setting in ("fsync", "full_page_writes"):
            connection.execute(f"alter system set {setting} = off")
        connection.execute("select pg_reload_conf()")
    atexit.register(_stack.close)


def _hear_ctrl_c() -> None:
    """A shell's background job begins without it, and so would all that it starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure() -> None:
    """Stop what was started."""
    _stack.close()


_hear_ctrl_c()
_start()
