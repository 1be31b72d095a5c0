"""What became of things, in words."""

import pytest

from benchmarks.comparing.row import NOT_YET
from benchmarks.models import Efficiency, Run
from dashboard.wording import states


@pytest.mark.parametrize("state", [*Efficiency.State.values, NOT_YET])
def test_every_state_has_a_word_and_a_meaning(state):
    assert states.state_name(state)
    assert states.state_meaning(state)


@pytest.mark.parametrize("status", Run.Status.values)
def test_every_status_has_a_word(status):
    assert status in states.STATUSES
