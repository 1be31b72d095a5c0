"""Storing what somebody else may be storing at the same moment."""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from django.db import IntegrityError, transaction

TRIES = 3

Stored = TypeVar("Stored")


def despite_others(store: Callable[[], Stored]) -> Stored:
    """Return what ``store`` does in a transaction of its own.

    It looks before it stores. If a row of the same key is stored in between, it is
    called again, and finds that row.
    """
    for _ in range(TRIES - 1):
        with suppress(IntegrityError), transaction.atomic():
            return store()
    with transaction.atomic():
        return store()
