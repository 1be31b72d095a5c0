"""What a report shows of a whole study."""

from collections import namedtuple

import pytest

from dashboard.charts.chart import STROKE
from dashboard.exports.report.charts import FARTHEST, Ratio, profile_plot, ratio_plot

Mean = namedtuple("Mean", ("mean", "low", "high", "minimum", "maximum"))
SURE, ALONE = Mean(0.9, 0.8, 1.0, 0.5, 1.1), Mean(0.7, None, None, 0.7, 0.7)


def test_a_component_is_a_panel_with_the_ranges_and_intervals_of_all_systems():
    systems = [("one", (SURE, None)), ("other", (ALONE, ALONE))]
    chart = profile_plot(["CPU", "Disk"], systems)

    cpu, disk = chart.panels
    ranges, intervals, _alone, values = cpu.series
    assert (cpu.title, disk.title) == ("CPU", "Disk")
    assert (ranges.low, ranges.high) == ([0.5], [1.1])
    assert (intervals.low, intervals.high) == ([0.8], [1.0])
    assert (values.x, values.y, values.symbol) == ([0.7], [1], "circle-open")
    assert disk.series[-1].y == [1]
    assert cpu.rules[0].at == 1


def test_more_components_stand_in_further_lines():
    few = profile_plot(["a"] * 4, [("one", (SURE,) * 4)])
    many = profile_plot(["a"] * 5, [("one", (SURE,) * 5)])

    assert few.height < many.height
    assert few.gap < many.gap


def test_plain_values_are_strokes_and_what_has_an_interval_stands_below_in_order():
    ratios = (Ratio(0.5), Ratio(1.2, 1.1, 1.3), Ratio(0.9, 0.8, 1.0))
    chart = ratio_plot([("CPU: Xen", ratios)], "Ratio")

    sure, plain = chart.panels[0].series
    assert (sure.x, sure.low) == ([0.9, 1.2], [0.8, 1.1])
    assert plain.y[0] < sure.y[0] < sure.y[1]
    assert (plain.x, plain.symbol) == ([0.5], STROKE)


@pytest.mark.parametrize(("ratio", "end"), [(1 / 50, 0), (50, 1)])
def test_what_lies_beyond_the_axis_is_an_arrow_on_its_edge(ratio, end):
    chart = ratio_plot([("CPU: Xen", (Ratio(ratio), Ratio(1.0)))], "Ratio")

    (panel,) = chart.panels
    arrow = panel.series[-1]
    assert arrow.x == [panel.x.ends[end]]
    assert arrow.symbol.startswith("triangle")
    assert panel.x.ends[1] < 2 * FARTHEST


def test_each_group_has_its_name_amid_its_band():
    groups = [("a", (Ratio(1.0),)), ("b", (Ratio(1.0, 0.9, 1.1),) * 3)]
    (panel,) = ratio_plot(groups, "Ratio").panels

    (first, _a), (second, _b) = panel.y.ticks
    low, high = min(panel.series[0].y), max(panel.series[0].y)
    assert first < low < second < high
