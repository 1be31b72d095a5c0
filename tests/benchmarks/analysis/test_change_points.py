"""Change points are found at level shifts only."""

import numpy as np
import pytest

from benchmarks.analysis.change_points import (
    MAX_POINTS,
    MIN_SEGMENT_POINTS,
    find_changes,
)


def noise(n, seed, deviation=0.02):
    return np.exp(np.random.default_rng(seed).normal(0, deviation, n)) * 100


def step(size, seed, sides=(10, 10)):
    before, after = sides
    return np.concatenate([noise(before, seed), noise(after, seed + 1) * (1 + size)])


def test_a_step_is_found_where_it_happened_with_its_interval():
    (change,) = find_changes(step(-0.1, 1, (25, 15))).changes

    assert abs(change.index - 25) <= 1
    assert change.low < 0.9 < change.high
    assert change.factor == pytest.approx(0.9, abs=0.02)
    assert change.p_value <= 0.014


def test_two_steps_are_both_found_with_the_levels_between():
    series = np.concatenate([noise(30, 3), 1.2 * noise(30, 4), noise(30, 5)])

    first, second = find_changes(series).changes

    assert (abs(first.index - 30) <= 1, abs(second.index - 60) <= 1) == (True, True)
    assert first.after == second.before == pytest.approx(120, rel=0.02)


def test_a_level_that_returns_is_found():
    series = np.concatenate([noise(10, 3), 1.08 * noise(10, 4), noise(10, 5)])

    assert len(find_changes(series).changes) == 2


def test_below_ten_points_there_is_no_search():
    assert find_changes([100.0] * 5 + [50.0] * 4) is None
    assert len(find_changes([100.0] * 5 + [50.0] * 5).changes) == 1


def test_a_step_near_the_end_needs_five_points():
    late = np.concatenate([noise(40, 6), 0.5 * noise(3, 7)])

    indexes = [change.index for change in find_changes(late).changes]

    assert max(indexes, default=0) <= 43 - MIN_SEGMENT_POINTS


def test_a_change_is_placed_at_a_new_version_nearby():
    series, clear = step(0.05, 30), step(0.3, 8)
    (free,) = find_changes(series).changes
    near = free.index + 1

    assert find_changes(series, [near]).changes[0].index == near
    assert find_changes(clear, [6]).changes[0].index == 10


def test_a_reading_of_zero_has_no_change_points():
    assert find_changes([1.0] * 20 + [0.0]) is None


def test_constant_readings_have_no_change():
    assert find_changes([7.0] * 30).changes == ()


def test_only_the_latest_points_are_searched_but_indexes_count_all():
    series = np.concatenate([noise(MAX_POINTS, 1), noise(100, 2), 1.1 * noise(100, 3)])

    (change,) = find_changes(series).changes

    assert abs(change.index - (MAX_POINTS + 100)) <= 1


def test_the_same_series_gives_the_same_answer_in_any_unit():
    series = np.concatenate([noise(20, 8), 1.1 * noise(20, 9)])

    assert [change.index for change in find_changes(series).changes] == [
        change.index for change in find_changes(series * 1e6).changes
    ]


def test_a_drift_is_not_described_as_steps():
    drift = noise(40, 4) * np.exp(np.linspace(0, 0.3, 40))

    found = find_changes(drift)

    assert found.changes == ()
    assert found.drift == pytest.approx(np.exp(0.3), rel=0.05)


def test_one_outlier_does_not_hide_a_step():
    series = step(0.12, 12)
    series[4] *= 10

    (change,) = find_changes(series).changes

    assert abs(change.index - 10) <= 1
    assert change.factor == pytest.approx(1.12, abs=0.03)


@pytest.mark.parametrize("kind", ["normal", "heavy", "outlier", "coarse"])
def test_false_alarms_come_in_fewer_than_two_of_a_hundred_series(kind):
    random = np.random.default_rng(17)

    def draw():
        values = random.standard_t(3, 20) if kind == "heavy" else random.normal(size=20)
        if kind == "outlier":
            values[random.integers(20)] += 30
        return np.round(values) if kind == "coarse" else values

    found = [find_changes(np.exp(0.03 * draw())) for _ in range(600)]
    alarms = sum(bool(each.changes or each.drift) for each in found)

    assert alarms <= 22  # 10.8 expected; 99.9 % of binomial(600, 0.018) are at most 22


def test_four_of_five_shifts_of_two_standard_deviations_are_found():
    random = np.random.default_rng(5)

    def draw():
        return np.exp(0.02 * (random.normal(size=20) + np.repeat([0, 2], 10)))

    found = [find_changes(draw()) for _ in range(400)]

    # 2.5 standard deviations below 80 %
    assert sum(bool(each.changes or each.drift) for each in found) >= 300
