"""Axis scales and ticks."""

from math import isfinite

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dashboard.charts.chart import Bars, Box, ChartAxis, Panel, Points, ReferenceLine
from dashboard.charts.scales import AxisScale, panel_scales, scale_for_axis

FROM_ZERO, LOG = ChartAxis(is_from_zero=True), ChartAxis(scale="log")


def test_positions_are_clamped_to_the_ends():
    scale = AxisScale(0.0, 10.0)

    assert [scale.position(value) for value in (0, 5, 10, 99, -1)] == [0, 0.5, 1, 1, 0]


def test_a_scale_may_be_descending():
    rows = AxisScale(1.5, -0.5)

    assert (rows.position(0), rows.position(1)) == (0.75, 0.25)
    assert (rows.low, rows.high) == (-0.5, 1.5)


def test_a_ratio_and_its_inverse_are_equally_far_from_one():
    scale = AxisScale(0.25, 4.0, is_log=True)

    assert scale.position(1.0) == pytest.approx(0.5)
    assert scale.position(2.0) - 0.5 == pytest.approx(0.5 - scale.position(0.5))


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ([0.0, 97.0], [0, 20, 40, 60, 80, 100]),
        ([0.0, 0.03], [0, 0.01, 0.02, 0.03]),
        ([5.0], [0, 1, 2, 3, 4, 5]),
    ],
)
def test_linear_ticks_are_round_values(values, named):
    assert scale_for_axis(FROM_ZERO, values).ticks() == pytest.approx(named)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ([0.2, 3.0], [0.2, 0.5, 1, 2]),
        ([0.001, 1000.0], [0.001, 0.01, 0.1, 1, 10, 100, 1000]),
        ([0.9, 1.1], [0.9, 0.95, 1.0, 1.05, 1.1]),
    ],
)
def test_log_ticks_are_round_values(values, named):
    assert scale_for_axis(LOG, values).ticks() == pytest.approx(named)


@pytest.mark.parametrize("values", [[], [1.0], [0.0], [-3.0], [5.0, 5.0]])
def test_few_or_equal_values_have_a_scale(values):
    for axis in (LOG, FROM_ZERO, ChartAxis()):
        scale = scale_for_axis(axis, values)
        assert scale.low < scale.high
        assert len(scale.ticks()) > 1


EXTREME = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(EXTREME | st.sampled_from([3e-308, 5e-324, 1.7e308, -1.7e308, 0.0])))
@example([3e-308, 1e300])
@example([1e300, 1e-300])
@example([-1.7e308, 1.7e308])
def test_all_finite_values_have_a_scale(values):
    for axis in (LOG, FROM_ZERO, ChartAxis()):
        scale = scale_for_axis(axis, values)
        assert isfinite(scale.low - scale.high)
        assert scale.low < scale.high
        assert len(scale.ticks()) > 1
        assert all(0 <= scale.position(value) <= 1 for value in values)


def test_date_ticks_are_at_midnight():
    noon_ms = 1_772_366_400_000  # 2026-03-01

    assert AxisScale(noon_ms, noon_ms + 2 * 86_400_000).days() == [
        (1_772_409_600_000.0, "2026-03-02"),
        (1_772_496_000_000.0, "2026-03-03"),
    ]


def test_a_scale_within_a_day_has_no_date_ticks():
    assert AxisScale(1_772_366_400_000, 1_772_366_460_000).days() == []


def test_panel_scales_contain_all_series_and_lines():
    stacked = [
        Bars(name="", positions=[0], values=[value], color="ink") for value in (2, 3)
    ]
    point = Points(x=[1.0], y=[1.0], low=[-4.0], high=[None], interval_axis="x")
    rule = ReferenceLine(value=8, axis="x")
    panel = Panel(
        x=ChartAxis(),
        y=ChartAxis(),
        series=(*stacked, point, Box(0, -6, 1, 2, 3, 4)),
        reference_lines=(rule,),
    )

    x, y = panel_scales(panel, "stack")

    assert x.low <= -6
    assert x.high >= 8
    assert y.low <= -0.35
    assert (
        panel_scales(
            Panel(x=ChartAxis(), y=ChartAxis(), series=tuple(stacked)), "stack"
        )[0].high
        > 5
    )
