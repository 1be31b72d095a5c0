"""Data stored once per module, while each test rolls back only its own changes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction


@contextmanager
def standing(blocker: Any) -> Iterator[None]:
    """Keep what the block stores for all tests of a module.

    For tests that make requests in this process; the threads of a server would not see
    the data (`tests.dashboard.served_studies.committed`).
    """
    block = transaction.atomic()
    block._from_testcase = True  # allows durable transactions, as in a test case
    with blocker.unblock(), block:
        yield
        transaction.set_rollback(True)
