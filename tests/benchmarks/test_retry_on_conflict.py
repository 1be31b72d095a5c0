"""Retries after conflicts with concurrent transactions."""

import pytest
from django.db import IntegrityError

from benchmarks.database import MAX_TRIES, retry_on_conflict
from benchmarks.errors import ConflictError, key_reused_error

pytestmark = pytest.mark.django_db


class Store:
    """Fails with a conflict a number of times before it succeeds."""

    def __init__(self, conflicts, error=IntegrityError):
        self.calls, self.conflicts, self.error = 0, conflicts, error

    def __call__(self):
        self.calls += 1
        if self.calls <= self.conflicts:
            raise self.error
        return "stored"


@pytest.mark.parametrize("conflicts", range(MAX_TRIES))
def test_conflict_is_retried(conflicts):
    store = Store(conflicts)

    assert retry_on_conflict(store) == "stored"
    assert store.calls == conflicts + 1


def test_repeated_conflict_is_raised():
    store = Store(MAX_TRIES)

    with pytest.raises(IntegrityError):
        retry_on_conflict(store)

    assert store.calls == MAX_TRIES


def test_other_errors_are_not_retried():
    store = Store(1, key_reused_error("one"))

    with pytest.raises(ConflictError):
        retry_on_conflict(store)

    assert store.calls == 1
