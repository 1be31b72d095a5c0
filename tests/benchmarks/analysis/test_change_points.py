"""Change points are found at level shifts only."""

import numpy as np
import pytest

from benchmarks.analysis.change_points import MIN_SEGMENT_RUNS, change_points


def noise(n, seed, deviation=0.02):
    return np.exp(np.random.default_rng(seed).normal(0, deviation, n)) * 100


def test_a_step_is_found_where_it_happened():
    series = np.concatenate([noise(25, 1), 0.9 * noise(15, 2)])

    (change,) = change_points(series)

    assert abs(change.run_index - 25) <= 1
    assert change.factor == pytest.approx(0.9, abs=0.02)
    assert change.p_value <= 0.01


def test_two_steps_are_both_found_with_the_levels_between():
    series = np.concatenate([noise(30, 3), 1.2 * noise(30, 4), noise(30, 5)])

    first, second = change_points(series)

    assert (abs(first.run_index - 30) <= 1, abs(second.run_index - 60) <= 1) == (
        True,
        True,
    )
    assert first.after == second.before == pytest.approx(120, rel=0.02)


def test_below_ten_runs_per_side_there_is_no_change_point():
    assert change_points([100.0] * 10 + [50.0] * 9) is None
    assert change_points([100.0] * 10 + [50.0] * 10) is not None


def test_a_step_near_the_end_needs_ten_runs():
    late = np.concatenate([noise(40, 6), 0.5 * noise(3, 7)])

    assert all(
        change.run_index <= 43 - MIN_SEGMENT_RUNS for change in change_points(late)
    )


def test_a_reading_of_zero_has_no_change_points():
    assert change_points([1.0] * 20 + [0.0]) is None


def test_constant_readings_have_no_change():
    assert change_points([7.0] * 30) == ()


def test_the_same_series_gives_the_same_answer_in_any_unit():
    series = np.concatenate([noise(20, 8), 1.1 * noise(20, 9)])

    assert [change.run_index for change in change_points(series)] == [
        change.run_index for change in change_points(series * 1e6)
    ]


@pytest.mark.parametrize("kind", ["normal", "heavy"])
def test_false_alarms_come_in_one_of_a_hundred_series(kind):
    random = np.random.default_rng(17)
    draws = {
        "normal": lambda: random.normal(0, 0.03, 30),
        "heavy": lambda: 0.03 * random.standard_t(3, 30),
    }
    alarms = sum(bool(change_points(np.exp(draws[kind]()))) for _ in range(600))

    assert alarms <= 14  # 6 expected; 99.8 % of binomial(600, 0.01) are at most 14
