"""What is stored although somebody else stores it at the same moment."""

import pytest
from django.db import IntegrityError

from benchmarks.database import TRIES, despite_others
from benchmarks.errors import ConflictError, key_reused

pytestmark = pytest.mark.django_db


class Store:
    """Meets somebody else's row so many times before it stores its own."""

    def __init__(self, conflicts, error=IntegrityError):
        self.calls, self.conflicts, self.error = 0, conflicts, error

    def __call__(self):
        self.calls += 1
        if self.calls <= self.conflicts:
            raise self.error
        return "stored"


@pytest.mark.parametrize("conflicts", range(TRIES))
def test_it_looks_again_when_somebody_was_faster(conflicts):
    store = Store(conflicts)

    assert despite_others(store) == "stored"
    assert store.calls == conflicts + 1


def test_it_gives_up_when_somebody_always_is():
    store = Store(TRIES)

    with pytest.raises(IntegrityError):
        despite_others(store)

    assert store.calls == TRIES


def test_it_tries_nothing_again_that_is_wrong_by_itself():
    store = Store(1, key_reused("one"))

    with pytest.raises(ConflictError):
        despite_others(store)

    assert store.calls == 1
