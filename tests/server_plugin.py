"""A pytest plugin that starts real PostgreSQL and Valkey before Django is set up.

Loaded with ``-p tests.server_plugin``: pytest-django reads the settings before any
conftest. Servers named in DATABASE_URL and REDIS_URL are used instead.
"""

import atexit
import os
import signal
import tempfile
from contextlib import ExitStack
from pathlib import Path

from running import embedded_servers
from running.postgres import OWNER, SUPERUSER

_stack = ExitStack()


def _start() -> None:
    if os.environ.get("DATABASE_URL") and os.environ.get("REDIS_URL"):
        return
    folder = _stack.enter_context(tempfile.TemporaryDirectory(prefix="virtlab-tests-"))
    running = _stack.enter_context(
        embedded_servers.embedded_servers(Path(folder) / "var")
    )
    os.environ.update(running.environment() | running.owner_environment())
    with running.postgres.connect(SUPERUSER) as connection:
        # For the tests' databases.
        connection.execute(f"alter role {OWNER} createdb")
        # Test data need not survive a power failure; flushing the disk is slow.
        for setting in ("fsync", "full_page_writes"):
            connection.execute(f"alter system set {setting} = off")
        connection.execute("select pg_reload_conf()")
    atexit.register(_stack.close)


def _hear_ctrl_c() -> None:
    """Restore SIGINT: a shell's background job and all its children ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure() -> None:
    """Stop the servers."""
    _stack.close()


_hear_ctrl_c()
_start()
