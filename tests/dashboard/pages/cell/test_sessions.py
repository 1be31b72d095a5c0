"""The sessions of a cell, and their ratios."""

from datetime import timedelta

import pytest

from benchmarks.models import Cell
from benchmarks.studies import checking
from dashboard.charts.matplotlib_renderer import render_chart_file
from dashboard.charts.plotly_renderer import plotly_figure
from dashboard.charts.svg_renderer import render_svg
from dashboard.pages.cell.sessions import SessionRatioRow, session_ratio_chart
from dashboard.wording import DASH
from tests.benchmarks.studies.test_sessions import at


@pytest.fixture
def measure(submit, run_document, xen):
    """Return a function that measures both sides and returns the Xen cell.

    Each side has five runs on each given day of May 2021.
    """

    def on(native, guest):
        sides = (({}, native, 100.0), (xen, guest, 90.0))
        submit(
            *(
                run_document(
                    value * (1 + 0.001 * run) + day,
                    system=system,
                    started_at=at(day, 8, run) if day else None,
                )
                for system, days, value in sides
                for day in days
                for run in range(5)
            )
        )
        checking.check_due_studies(timedelta(0))
        return Cell.objects.get(system__hypervisor="Xen")

    return on


@pytest.fixture
def sessions_and_page(client):
    """Return a function that returns a cell's sessions and the HTML of its page."""

    def page_of(cell):
        answer = client.get(f"/studies/alpha-lab/study/cells/{cell.pk}/")
        return answer.context["page"]["sessions"], answer.content.decode()

    return page_of


def symbols(drawing):
    return [points.symbol for points in drawing.chart.series]


def test_shared_sessions_have_ratios(measure, sessions_and_page):
    cell = measure([3, 4, 6], [3, 4, 6])

    sessions, page = sessions_and_page(cell)

    assert [line["ratio"] for line in sessions["lines"]] == ["0.903", "0.904", "0.906"]
    assert symbols(sessions["chart"]) == ["circle"] * 3 + ["square"]
    assert "The result and its baseline were measured in the same sessions" in page
    assert "The sessions of this result differ by 0.1" in sessions["spread"]
    for kept in cell.sessions.all():
        assert f"/sessions/?session={kept.session_id}" in page


def test_two_shared_sessions_are_faint(measure, sessions_and_page):
    sessions, _page = sessions_and_page(measure([3, 4], [3, 4]))

    *each, whole = sessions["chart"].chart.series
    assert whole.opacity < 1
    assert {points.opacity for points in each} == {1}


def test_sessions_of_one_side_are_hollow(measure, sessions_and_page):
    sessions, _page = sessions_and_page(measure([3], [5, 7]))

    assert symbols(sessions["chart"]) == ["circle-open"] * 2 + ["square-open"]
    native = sessions["lines"][0]
    assert (native["own"], native["ratio"]) == (DASH, DASH)
    assert "The result and its baseline have no session in common" in sessions["note"]


def test_single_session_has_no_chart(measure, sessions_and_page):
    sessions, _page = sessions_and_page(measure([3], [3]))

    assert sessions["chart"] is None
    assert len(sessions["lines"]) == 1


def test_unknown_times_are_weak_evidence(measure, sessions_and_page):
    sessions, page = sessions_and_page(measure([0], [0]))

    (line,) = sessions["lines"]
    assert (line["name"], line["query"]) == ("start time unknown", "")
    assert "weak evidence" in page


def test_every_renderer_draws_chart():
    marks = [
        SessionRatioRow("day <1>", 0.95, 0.93, 0.97, "0.95"),
        SessionRatioRow("day 2", 0.96, None, None, "0.96", strength="hollow"),
        SessionRatioRow(
            "all", 0.955, 0.94, 0.97, "0.955", is_overall=True, strength="faint"
        ),
    ]

    chart = session_ratio_chart(marks, 0.02, "ratio")

    assert len(plotly_figure(chart)["data"]) == 3
    assert "day &lt;1&gt;" in render_svg(chart, "ratios")
    assert b"<svg" in render_chart_file(chart)
