"""A pytest plugin that starts real PostgreSQL and Valkey before Django is set up.

Loaded with ``-p tests.services``: pytest-django reads the settings before any conftest.
Servers named in DATABASE_URL and REDIS_URL are used instead.
"""

import atexit
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

from config import embedded

_stack = ExitStack()


def _start() -> None:
    if os.environ.get("DATABASE_URL") and os.environ.get("REDIS_URL"):
        return
    folder = _stack.enter_context(tempfile.TemporaryDirectory(prefix="virtlab-tests-"))
    running = _stack.enter_context(embedded.services(Path(folder) / "var"))
    os.environ.update(running.environment())
    atexit.register(_stack.close)


def pytest_unconfigure() -> None:
    """Stop what was started."""
    _stack.close()


_start()
