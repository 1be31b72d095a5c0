"""What became of things, in words."""

import pytest

from benchmarks.models import Efficiency, Run
from benchmarks.selectors.comparison_row import NOT_YET
from dashboard import state_words


@pytest.mark.parametrize("state", [*Efficiency.State.values, NOT_YET])
def test_every_state_has_a_word_and_a_meaning(state):
    assert state_words.state_name(state)
    assert state_words.state_meaning(state)


@pytest.mark.parametrize("status", Run.Status.values)
def test_every_status_has_a_word(status):
    assert status in state_words.STATUSES
