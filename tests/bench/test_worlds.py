"""The worlds of the calibration are what they are called."""

import numpy as np
import pytest

from bench.worlds import LAYOUTS, WORLDS, days

SIZE = (400, 3, 60)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_a_world_is_one_in_the_long_run(world):
    drawn = world.draw(np.random.default_rng(1), SIZE)

    assert drawn.shape == SIZE
    assert abs(drawn.mean() - 1) < 0.002


@pytest.mark.parametrize("rho", [0.2, 0.5, 0.8])
def test_neighbours_of_a_session_are_as_alike_as_they_are_said_to_be(rho):
    world = next(each for each in WORLDS if each.name == f"AR(1) {rho}")

    drawn = world.draw(np.random.default_rng(2), SIZE) - 1

    assert drawn.std() == pytest.approx(0.02, rel=0.03)
    alike = (drawn[..., 1:] * drawn[..., :-1]).mean() / drawn.var()
    assert alike == pytest.approx(rho, abs=0.02)
    across = (drawn[:, 1, 0] * drawn[:, 0, -1]).mean() / drawn.var()
    assert abs(across) < 0.2


def test_a_day_moves_both_sides_of_a_shared_session_alike():
    layout = next(each for each in LAYOUTS if each.shared == 3)

    own, other = days(np.random.default_rng(3), 500, layout, 0.03)

    assert np.array_equal(own, other)
    assert np.log(own).std() == pytest.approx(0.03, rel=0.1)


def test_a_day_moves_other_sessions_by_themselves():
    layout = next(each for each in LAYOUTS if each.own == 5 and not each.shared)

    own, other = days(np.random.default_rng(4), 500, layout, 0.03)

    moved = np.log(own).ravel(), np.log(other).ravel()
    assert abs(np.corrcoef(*moved)[0, 1]) < 0.1
