"""A cast that is stored once for a module: each test rolls back only its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction


@contextmanager
def standing(blocker: Any) -> Iterator[None]:
    """Let what the block stores stand for all tests of a module, and no longer.

    For tests that ask in this process; a server's threads would see nothing of it
    (`tests.dashboard.serving.committed`).
    """
    block = transaction.atomic()
    block._from_testcase = True  # durable transactions may begin in it, as in a test's
    with blocker.unblock(), block:
        yield
        transaction.set_rollback(True)
