"""Names of stored states."""

import pytest

from benchmarks.comparison.comparison_row import NOT_COMPARED_YET
from benchmarks.models import Efficiency, Run
from dashboard.wording import state_names


@pytest.mark.parametrize("state", [*Efficiency.State.values, NOT_COMPARED_YET])
def test_every_cell_state_has_a_name_and_a_meaning(state):
    assert state_names.state_name(state)
    assert state_names.state_meaning(state)


@pytest.mark.parametrize("status", Run.Status.values)
def test_every_run_status_has_a_name(status):
    assert status in state_names.RUN_STATUSES
