"""What a chart takes of its page is known before it is drawn."""

from dataclasses import replace

import pytest

from dashboard.charts.bars import bar_chart, line_chart
from dashboard.charts.chart import (
    ROW_LETTERS,
    Axis,
    Bars,
    Chart,
    Panel,
    Points,
    Stroke,
    row_axis,
)
from dashboard.charts.dots import Dot, Series, dot_plot
from dashboard.charts.forest import ForestMark, forest_chart, forest_marks

SERIES = [
    Series("1 <vCPU>", "Xen"),
    Series("2 vCPUs", "KVM"),
    Series("4 vCPUs", "Xen"),
]


def dots(*series):
    found = [Dot(0, at, 0.5 + at, "system", "told") for at in series]
    return dot_plot(["a", "b"], SERIES, found, axis_title="Ratio")


def test_a_chart_is_as_high_as_it_says_and_on_a_phone_rows_have_names_above():
    figure = dots(0, 1)

    assert figure.room == f"{figure.height / 16:g}rem"
    assert figure.narrow_room == f"{figure.height / 16 + 2:g}rem"


def test_a_chart_in_the_colours_of_tokens_keeps_its_height_on_a_phone():
    figure = replace(dots(0), names_above=False)

    assert figure.narrow_room == figure.room


def test_a_labs_long_name_is_whole_beside_a_forest_in_lines_of_a_phones_width():
    lab = "Ludwig-Maximilians-Universität München, Institut für Informatik"
    none = {"mean": None, "interval": None, "predicted": None}
    unit = {"lab": lab, "year": "2010", "ratio": 0.9, "interval": (0.8, 1.0)}
    unit |= {"weight": 1.0, "is_single_run": False, "is_pooled": False}
    record = {"units": [unit], "pool": none, "single_runs": none}

    (mark,) = forest_marks(record)
    (panel,) = forest_chart([mark], axis_title="ratio").panels

    assert mark.name == f"{lab}, 2010"
    ((_place, shown),) = panel.y.ticks
    assert shown.replace("\n", " ") == mark.name
    assert max(map(len, shown.split("\n"))) <= ROW_LETTERS


def test_a_forest_has_names_above_its_rows_on_a_phone():
    mark = ForestMark("Lab", 0.9, 0.8, 1.0, 1.0, "unit", "0.9", "0.8 to 1.0")
    chart = forest_chart([mark] * 3, axis_title="ratio")

    assert chart.narrow_room == f"{chart.height / 16 + 3:g}rem"


def test_series_stand_under_the_name_of_their_group_as_people_wrote_it():
    assert dots(0, 1, 2).series_groups == [
        ("Xen", [(0, "1 <vCPU>"), (2, "4 vCPUs")]),
        # A group of one is no group.
        ("", [(1, "KVM, 2 vCPUs")]),
    ]


@pytest.mark.parametrize(("series", "has_many"), [((0, 1), False), ((0, 1, 2), True)])
def test_there_is_a_button_for_all_series_where_they_are_many(series, has_many):
    assert dots(*series).has_many is has_many


def test_one_series_needs_no_button_unless_the_figure_says_so():
    figure = dots(1)
    assert figure.series_groups == []

    figure = replace(figure, has_legend=True)
    assert figure.series_groups == [("", [(0, "KVM, 2 vCPUs")])]


def test_a_series_that_no_legend_names_has_no_button():
    figure = dots(0, 1, 2)
    *others, last = figure.panels[0].series
    series = (*others, replace(last, is_listed=False))
    figure = replace(figure, panels=(replace(figure.panels[0], series=series),))

    ((_group, entries),) = figure.series_groups
    assert [name for _at, name in entries] == ["Xen, 1 <vCPU>", "KVM, 2 vCPUs"]


def test_ratios_and_curves_can_be_looked_at_closer_but_not_bars_or_rows():
    line = Points(name="one", x=[1, 2], y=[3, 4], line=Stroke())
    curve = line_chart([line], x_title="x", y_title="y")
    bars = [("one", [1.0, 2.0])]
    stacked = bar_chart(["a", "b"], bars, axis_title="x", mode="stack")

    assert dots(0, 1).is_zoomable
    assert curve.is_zoomable
    assert not stacked.is_zoomable


def test_upright_bars_keep_the_axis_of_their_counts():
    bars = Bars(name="", places=[1], values=[1], colour="series-1", is_upright=True)
    panel = Panel(x=row_axis(["a"]), y=Axis(), series=(bars,))
    assert not Chart(panels=(panel,), height=100).is_zoomable

    panel = replace(panel, x=Axis())
    assert Chart(panels=(panel,), height=100).is_zoomable
