"""Chart of a paper: error bars, short names, width."""

from xml.etree import ElementTree

import pytest

from benchmarks.comparison.comparison_table import comparison_table
from dashboard.charts.matplotlib_renderer import _wrap_row_label, render_chart_file
from dashboard.exports.paper_files import (
    MAX_PAPER_SYSTEMS,
    chart_size_problem,
    paper_chart,
    paper_chart_data,
    shortest_labels,
)
from dashboard.kit.comparison_form import RELATIVE_PERFORMANCE
from tests.comparison_rows import changed


def test_only_ratios_with_intervals_have_error_bars(rows, measured):
    other = changed(rows[1], id=3, system_id=3, guest_os="Other")
    values = paper_chart_data(
        comparison_table([rows[0], measured, other]), RELATIVE_PERFORMANCE
    )

    bare, points = sorted(
        paper_chart(values).panels[0].series, key=lambda series: len(series.low)
    )
    assert (points.low, points.high, points.interval_axis) == ([0.94], [0.98], "x")
    assert bare.low == ()
    assert values["rows"] == ["write"]
    # The native machine has no ratio and no symbol.
    assert len(values["systems"]) == 2


@pytest.mark.parametrize(("inches", "points"), [(3.33, 239.76), (7, 504)])
def test_charts_have_the_requested_width_and_complete_names(rows, inches, points):
    long = changed(rows[1], guest_os="A guest of a rather long name " * 3)
    chart = paper_chart(
        paper_chart_data(comparison_table([rows[1], long]), RELATIVE_PERFORMANCE)
    )
    svg = ElementTree.fromstring(render_chart_file(chart, width=inches * 72))

    assert float(svg.get("viewBox").split()[2]) == pytest.approx(points, abs=0.1)


def test_names_have_the_fewest_distinct_parts():
    parts = [["read", "4 KiB", "fio"], ["read", "64 KiB", "fio"], ["write", "4 KiB"]]

    assert shortest_labels(parts) == ["read, 4 KiB", "read, 64 KiB", "write"]
    assert shortest_labels([["same"], ["same"]]) == ["same", "same"]


def test_rows_of_several_tools_name_their_tool(rows):
    other = changed(
        rows[1], id=3, case_id=3, tool="iperf", case="Throughput · received"
    )
    table = comparison_table([rows[1], other])

    labels = paper_chart_data(table, RELATIVE_PERFORMANCE)["rows"]
    assert sorted(label.partition(":")[0] for label in labels) == ["Iometer", "iperf"]


def test_long_names_of_rows_are_complete(rows):
    words = [f"word{number}" for number in range(30)]
    long = changed(rows[1], case=" ".join(words))
    chart = paper_chart(
        paper_chart_data(comparison_table([long]), RELATIVE_PERFORMANCE)
    )

    (label,) = [name for _at, name in chart.panels[0].y.ticks]
    lines = _wrap_row_label(label, 60)
    assert " ".join(lines).replace("\N{NO-BREAK SPACE}", " ").split() == words


def test_too_many_systems_or_rows_give_a_message(rows):
    guests = [
        changed(rows[1], id=at, system_id=at, guest_os=f"Linux {at}")
        for at in range(2, 4 + MAX_PAPER_SYSTEMS)
    ]
    values = paper_chart_data(comparison_table(guests), RELATIVE_PERFORMANCE)

    assert str(MAX_PAPER_SYSTEMS) in chart_size_problem(values)
    assert paper_chart_data(comparison_table([rows[0]]), RELATIVE_PERFORMANCE) is None
