"""Scales: every value has a place, and round ones are named."""

from math import isfinite

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dashboard.charts.chart import Axis, Bars, Box, Panel, Points, Rule
from dashboard.charts.scales import Scale, scale_of, scales_of

FROM_ZERO, LOG = Axis(is_from_zero=True), Axis(scale="log")


def test_ends_lie_at_the_ends_and_what_is_beyond_stays_there():
    scale = Scale(0.0, 10.0)

    assert [scale.share(value) for value in (0, 5, 10, 99, -1)] == [0, 0.5, 1, 1, 0]


def test_a_scale_may_begin_with_its_greater_end():
    rows = Scale(1.5, -0.5)

    assert (rows.share(0), rows.share(1)) == (0.75, 0.25)
    assert (rows.low, rows.high) == (-0.5, 1.5)


def test_a_ratio_and_its_inverse_are_as_far_from_one():
    scale = Scale(0.25, 4.0, is_log=True)

    assert scale.share(1.0) == pytest.approx(0.5)
    assert scale.share(2.0) - 0.5 == pytest.approx(0.5 - scale.share(0.5))


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ([0.0, 97.0], [0, 20, 40, 60, 80, 100]),
        ([0.0, 0.03], [0, 0.01, 0.02, 0.03]),
        ([5.0], [0, 1, 2, 3, 4, 5]),
    ],
)
def test_an_even_scale_names_round_values(values, named):
    assert scale_of(FROM_ZERO, values).ticks() == pytest.approx(named)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ([0.2, 3.0], [0.2, 0.5, 1, 2]),
        ([0.001, 1000.0], [0.001, 0.01, 0.1, 1, 10, 100, 1000]),
        ([0.9, 1.1], [0.9, 0.95, 1.0, 1.05, 1.1]),
    ],
)
def test_a_log_scale_names_round_values(values, named):
    assert scale_of(LOG, values).ticks() == pytest.approx(named)


@pytest.mark.parametrize("values", [[], [1.0], [0.0], [-3.0], [5.0, 5.0]])
def test_few_or_equal_values_make_a_scale_too(values):
    for axis in (LOG, FROM_ZERO, Axis()):
        scale = scale_of(axis, values)
        assert scale.low < scale.high
        assert len(scale.ticks()) > 1


EXTREME = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(EXTREME | st.sampled_from([3e-308, 5e-324, 1.7e308, -1.7e308, 0.0])))
@example([3e-308, 1e300])
@example([1e300, 1e-300])
@example([-1.7e308, 1.7e308])
def test_any_finite_values_make_a_scale(values):
    for axis in (LOG, FROM_ZERO, Axis()):
        scale = scale_of(axis, values)
        assert isfinite(scale.low - scale.high)
        assert scale.low < scale.high
        assert len(scale.ticks()) > 1
        assert all(0 <= scale.share(value) <= 1 for value in values)


def test_days_stand_at_their_midnight():
    noon_ms = 1_772_366_400_000  # 2026-03-01

    assert Scale(noon_ms, noon_ms + 2 * 86_400_000).days() == [
        (1_772_409_600_000.0, "2026-03-02"),
        (1_772_496_000_000.0, "2026-03-03"),
    ]


def test_a_part_of_a_day_names_none():
    assert Scale(1_772_366_400_000, 1_772_366_460_000).days() == []


def test_a_panel_holds_its_bars_intervals_boxes_and_rules():
    stacked = [
        Bars(name="", places=[0], values=[value], colour="ink") for value in (2, 3)
    ]
    point = Points(x=[1.0], y=[1.0], low=[-4.0], high=[None], along="x")
    rule = Rule(at=8, axis="x")
    panel = Panel(
        x=Axis(),
        y=Axis(),
        series=(*stacked, point, Box(0, -6, 1, 2, 3, 4)),
        rules=(rule,),
    )

    x, y = scales_of(panel, "stack")

    assert x.low <= -6
    assert x.high >= 8
    assert y.low <= -0.35
    assert (
        scales_of(Panel(x=Axis(), y=Axis(), series=tuple(stacked)), "stack")[0].high > 5
    )
