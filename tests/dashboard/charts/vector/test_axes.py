"""Axes: every value has a place, and round ones are named."""

import pytest

from dashboard.charts.vector.axes import Axis, even_axis, log_axis


def test_ends_lie_at_the_ends_and_what_is_beyond_stays_there():
    axis = Axis(0.0, 10.0, 100.0, 200.0)

    assert [axis.place(value) for value in (0, 5, 10, 99, -1)] == [
        *(100.0, 150.0, 200.0, 200.0, 100.0)
    ]


def test_a_ratio_and_its_inverse_are_as_far_from_one():
    axis = Axis(0.25, 4.0, 0.0, 100.0, is_log=True)

    assert axis.place(1.0) == pytest.approx(50.0)
    assert axis.place(2.0) - 50 == pytest.approx(50 - axis.place(0.5))


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ([0.0, 97.0], [0, 20, 40, 60, 80, 100]),
        ([0.0, 0.03], [0, 0.01, 0.02, 0.03]),
        ([5.0], [0, 1, 2, 3, 4, 5]),
    ],
)
def test_an_even_axis_names_round_values(values, named):
    axis = even_axis(values, 0, 100, from_zero=True)

    assert axis.ticks() == pytest.approx(named)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ([0.2, 3.0], [0.2, 0.5, 1, 2]),
        ([0.001, 1000.0], [0.001, 0.01, 0.1, 1, 10, 100, 1000]),
        ([0.9, 1.1], [0.9, 0.95, 1.0, 1.05, 1.1]),
    ],
)
def test_a_log_axis_names_round_values(values, named):
    assert log_axis(values, 0, 100).ticks() == pytest.approx(named)


@pytest.mark.parametrize("values", [[], [1.0], [0.0], [-3.0], [5.0, 5.0]])
def test_few_or_equal_values_make_an_axis_too(values):
    for axis in (log_axis(values, 0, 100), even_axis(values, 0, 100, from_zero=False)):
        assert axis.low < axis.high
        assert len(axis.ticks()) > 1


def test_days_stand_at_their_midnight():
    noon_ms = 1_772_366_400_000  # 2026-03-01
    axis = Axis(noon_ms, noon_ms + 2 * 86_400_000, 0, 100)

    assert axis.days() == {
        1_772_409_600_000.0: "2026-03-02",
        1_772_496_000_000.0: "2026-03-03",
    }


def test_a_part_of_a_day_names_none():
    assert Axis(1_772_366_400_000, 1_772_366_460_000, 0, 100).days() == {}
