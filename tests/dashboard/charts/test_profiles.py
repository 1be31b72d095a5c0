"""Charts of a report: overhead profile and ratios."""

from collections import namedtuple

import pytest

from dashboard.charts.chart import VERTICAL_STROKE
from dashboard.exports.report.charts import (
    MAX_REPORT_RATIO,
    PlottedRatio,
    profile_plot,
    ratio_plot,
)

Mean = namedtuple("Mean", ("mean", "low", "high", "minimum", "maximum"))
SURE, ALONE = Mean(0.9, 0.8, 1.0, 0.5, 1.1), Mean(0.7, None, None, 0.7, 0.7)


def test_each_component_is_a_panel_with_ranges_and_intervals():
    systems = [("one", (SURE, None)), ("other", (ALONE, ALONE))]
    chart = profile_plot(["CPU", "Disk"], systems)

    cpu, disk = chart.panels
    ranges, intervals, _alone, values = cpu.series
    assert (cpu.title, disk.title) == ("CPU", "Disk")
    assert (ranges.low, ranges.high) == ([0.5], [1.1])
    assert (intervals.low, intervals.high) == ([0.8], [1.0])
    assert (values.x, values.y, values.symbol) == ([0.7], [1], "circle-open")
    assert disk.series[-1].y == [1]
    assert cpu.reference_lines[0].value == 1


def test_many_components_need_several_rows_of_panels():
    few = profile_plot(["a"] * 4, [("one", (SURE,) * 4)])
    many = profile_plot(["a"] * 5, [("one", (SURE,) * 5)])

    assert few.height < many.height
    assert few.gap < many.gap


def test_values_are_strokes_and_intervals_are_sorted_below():
    ratios = (
        PlottedRatio(0.5),
        PlottedRatio(1.2, 1.1, 1.3),
        PlottedRatio(0.9, 0.8, 1.0),
    )
    chart = ratio_plot([("CPU: Xen", ratios)], "Ratio")

    sure, plain = chart.panels[0].series
    assert (sure.x, sure.low) == ([0.9, 1.2], [0.8, 1.1])
    assert plain.y[0] < sure.y[0] < sure.y[1]
    assert (plain.x, plain.symbol) == ([0.5], VERTICAL_STROKE)


@pytest.mark.parametrize(("ratio", "end"), [(1 / 50, 0), (50, 1)])
def test_extreme_ratios_are_arrows_at_the_edge(ratio, end):
    chart = ratio_plot(
        [("CPU: Xen", (PlottedRatio(ratio), PlottedRatio(1.0)))], "Ratio"
    )

    (panel,) = chart.panels
    arrow = panel.series[-1]
    assert arrow.x == [panel.x.limits[end]]
    assert arrow.symbol.startswith("triangle")
    assert panel.x.limits[1] < 2 * MAX_REPORT_RATIO


def test_group_names_are_centered_in_their_bands():
    groups = [("a", (PlottedRatio(1.0),)), ("b", (PlottedRatio(1.0, 0.9, 1.1),) * 3)]
    (panel,) = ratio_plot(groups, "Ratio").panels

    (first, _a), (second, _b) = panel.y.ticks
    low, high = min(panel.series[0].y), max(panel.series[0].y)
    assert first < low < second < high
