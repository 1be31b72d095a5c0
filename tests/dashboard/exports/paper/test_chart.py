"""The chart of a paper: error bars, names as short as they may be, the width asked."""

from xml.etree import ElementTree

import pytest

from benchmarks.comparing.table import comparison_table
from dashboard.charts.paper import paper
from dashboard.exports.paper_files import (
    MOST_SYSTEMS,
    chart_of,
    chart_values,
    short_labels,
    too_much,
)
from dashboard.kit.selections import SPEED
from tests.comparison_rows import changed


def test_a_ratio_has_its_error_bar_and_one_without_runs_has_none(rows, measured):
    other = changed(rows[1], id=3, system_id=3, guest_os="Other")
    values = chart_values(comparison_table([rows[0], measured, other]), SPEED)

    bare, points = sorted(
        chart_of(values).panels[0].series, key=lambda series: len(series.low)
    )
    assert (points.low, points.high, points.along) == ([0.94], [0.98], "x")
    assert bare.low == ()
    assert values["rows"] == ["write"]
    # The native machine has no ratio: it is no mark.
    assert len(values["systems"]) == 2


@pytest.mark.parametrize(("inches", "points"), [(3.33, 239.76), (7, 504)])
def test_it_is_as_wide_as_asked_and_no_name_is_cut(rows, inches, points):
    long = changed(rows[1], guest_os="A guest of a rather long name " * 3)
    chart = chart_of(chart_values(comparison_table([rows[1], long]), SPEED))
    svg = ElementTree.fromstring(paper(chart, width=inches * 72))

    assert float(svg.get("viewBox").split()[2]) == pytest.approx(points, abs=0.1)


def test_names_have_as_few_parts_as_tell_them_apart():
    parts = [["read", "4 KiB", "fio"], ["read", "64 KiB", "fio"], ["write", "4 KiB"]]

    assert short_labels(parts) == ["read, 4 KiB", "read, 64 KiB", "write"]
    assert short_labels([["same"], ["same"]]) == ["same", "same"]


def test_more_than_paper_can_tell_apart_is_said_instead_of_drawn(rows):
    guests = [
        changed(rows[1], id=at, system_id=at, guest_os=f"Linux {at}")
        for at in range(2, 4 + MOST_SYSTEMS)
    ]
    values = chart_values(comparison_table(guests), SPEED)

    assert str(MOST_SYSTEMS) in too_much(values)
    assert chart_values(comparison_table([rows[0]]), SPEED) is None
