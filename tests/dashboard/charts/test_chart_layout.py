"""Chart sizes that are known before the chart is drawn."""

from dataclasses import replace

import pytest

from dashboard.charts.bars_and_lines import bar_chart, line_chart
from dashboard.charts.chart import (
    ROW_NAME_CHARACTERS,
    Bars,
    Chart,
    ChartAxis,
    LineStyle,
    Panel,
    Points,
    row_axis,
)
from dashboard.charts.dot_plot import Dot, DotSeries, dot_plot
from dashboard.charts.forest_plot import ForestRow, forest_chart, forest_rows

SERIES = [
    DotSeries("1 <vCPU>", "Xen"),
    DotSeries("2 vCPUs", "KVM"),
    DotSeries("4 vCPUs", "Xen"),
]


def dots(*series):
    found = [Dot(0, at, 0.5 + at, "system", "told") for at in series]
    return dot_plot(["a", "b"], SERIES, found, axis_title="Ratio")


def test_css_heights_include_row_labels_on_a_phone():
    figure = dots(0, 1)

    assert figure.css_height == f"{figure.height / 16:g}rem"
    assert figure.narrow_css_height == f"{figure.height / 16 + 2:g}rem"


def test_a_chart_without_labels_above_rows_keeps_its_height_on_a_phone():
    figure = replace(dots(0), has_names_above=False)

    assert figure.narrow_css_height == figure.css_height


def test_long_lab_names_are_wrapped_in_a_forest_plot():
    lab = "Ludwig-Maximilians-Universität München, Institut für Informatik"
    none = {"mean": None, "interval": None, "predicted": None}
    unit = {"lab": lab, "year": "2010", "ratio": 0.9, "interval": (0.8, 1.0)}
    unit |= {"weight": 1.0, "is_single_run": False, "is_pooled": False}
    record = {"units": [unit], "pool": none, "single_runs": none}

    (mark,) = forest_rows(record)
    (panel,) = forest_chart([mark], axis_title="ratio").panels

    assert mark.name == f"{lab}, 2010"
    ((_place, shown),) = panel.y.ticks
    assert shown.replace("\n", " ") == mark.name
    assert max(map(len, shown.split("\n"))) <= ROW_NAME_CHARACTERS


def test_a_forest_plot_has_labels_above_rows_on_a_phone():
    mark = ForestRow("Lab", 0.9, 0.8, 1.0, 1.0, "unit", "0.9", "0.8 to 1.0")
    chart = forest_chart([mark] * 3, axis_title="ratio")

    assert chart.narrow_css_height == f"{chart.height / 16 + 3:g}rem"


def test_series_are_listed_by_group_unescaped():
    assert dots(0, 1, 2).series_groups == [
        ("Xen", [(0, "1 <vCPU>"), (2, "4 vCPUs")]),
        # Groups with a single series are merged.
        ("", [(1, "KVM, 2 vCPUs")]),
    ]


@pytest.mark.parametrize(("series", "has_many"), [((0, 1), False), ((0, 1, 2), True)])
def test_a_button_toggles_all_series_if_there_are_many(series, has_many):
    assert dots(*series).has_toggle_all is has_many


def test_a_single_series_has_a_toggle_only_with_a_legend():
    figure = dots(1)
    assert figure.series_groups == []

    figure = replace(figure, has_legend=True)
    assert figure.series_groups == [("", [(0, "KVM, 2 vCPUs")])]


def test_series_outside_the_legend_have_no_toggle():
    figure = dots(0, 1, 2)
    *others, last = figure.panels[0].series
    series = (*others, replace(last, is_in_legend=False))
    figure = replace(figure, panels=(replace(figure.panels[0], series=series),))

    ((_group, entries),) = figure.series_groups
    assert [name for _at, name in entries] == ["Xen, 1 <vCPU>", "KVM, 2 vCPUs"]


def test_value_axes_can_be_zoomed_but_not_bars_or_rows():
    line = Points(name="one", x=[1, 2], y=[3, 4], line=LineStyle())
    curve = line_chart([line], x_title="x", y_title="y")
    bars = [("one", [1.0, 2.0])]
    stacked = bar_chart(["a", "b"], bars, axis_title="x", mode="stack")

    assert dots(0, 1).is_zoomable
    assert curve.is_zoomable
    assert not stacked.is_zoomable


def test_vertical_bars_cannot_be_zoomed():
    bars = Bars(name="", positions=[1], values=[1], color="series-1", is_upright=True)
    panel = Panel(x=row_axis(["a"]), y=ChartAxis(), series=(bars,))
    assert not Chart(panels=(panel,), height=100).is_zoomable

    panel = replace(panel, x=ChartAxis())
    assert Chart(panels=(panel,), height=100).is_zoomable
