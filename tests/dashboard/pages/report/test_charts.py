"""The charts of a report: number, caption and table."""

from xml.etree import ElementTree

import pytest

from benchmarks.models import Study
from dashboard.charts.matplotlib_renderer import render_chart_file
from dashboard.charts.svg_renderer import render_svg
from dashboard.exports.report.builder import render_pdf
from tests.dashboard.pages.report import pdf_reader as reading_paper
from tests.dashboard.pages.report.conftest import IMPRINT
from tests.dashboard.pages.report.report_texts import part


@pytest.fixture
def several(submit, run_document, xen):
    """Submit six runs per side, so that there are intervals."""
    submit(
        *(run_document(100 + at / 10) for at in range(6)),
        *(run_document(80 + at / 10, system=xen) for at in range(6)),
    )


def test_charts_have_number_and_source_table(xen_study, report_of):
    document = report_of(xen_study)
    charts = [chart for each in document.sections for chart in each.figures]
    tables = [table for each in document.sections for table in each.tables]

    assert [chart.number for chart in charts] == list(range(1, len(charts) + 1))
    assert [table.number for table in tables] == list(range(1, len(tables) + 1))
    assert all(chart.alt and chart.caption and chart.source for chart in charts)
    (profile,) = part(document, "profile").figures
    (table,) = part(document, "profile").tables
    assert profile.source == f"Data: Table {table.number}."


def test_single_runs_are_drawn_as_values(xen_study, report_of):
    document = report_of(xen_study)

    assert (
        "without a confidence interval" in part(document, "profile").figures[0].caption
    )
    assert (
        "is a ratio without a confidence interval"
        in part(document, "matrix-1").figures[0].caption
    )
    assert "95%" not in part(document, "matrix-1").figures[0].caption


def test_repeated_runs_are_drawn_with_intervals(study, several, report_of):
    (chart,) = part(report_of(study), "matrix-1").figures

    assert "its 95% confidence interval" in chart.caption
    assert "ratio without a confidence interval" not in chart.caption


def test_coruns_and_factor_effects_are_drawn(xen_study, report_of):
    document = report_of(xen_study)

    captions = [chart.caption for chart in part(document, "co-runs").figures]
    assert any("All VMs together" in caption for caption in captions)
    assert any("Individual VMs" in caption for caption in captions)
    assert part(document, "factor-effects").figures
    assert "energy" not in [each.name for each in document.sections]


def test_no_chart_without_numbers(study, submit, run_document, report_of):
    submit(run_document())

    assert [chart for each in report_of(study).sections for chart in each.figures] == []


def test_charts_are_typeset_with_captions(xen_study, report_of):
    shown = reading_paper.texts(render_pdf(report_of(xen_study), IMPRINT.created_at))

    assert "Figure 1. " in shown
    assert any("Overhead profile: the geometric mean" in text for text in shown)


def test_hostile_names_are_escaped(study, submit, run_document, xen, report_of):
    name = "</text><script>alert(1)</script>\x01&"
    submit(
        run_document(),
        run_document(9.0, system={**xen, "hypervisor": name.replace("\x01", "")}),
    )

    for section in report_of(Study.objects.get()).sections:
        for chart in section.figures:
            for drawn in (
                render_chart_file(chart.chart),
                render_svg(chart.chart, chart.alt),
            ):
                tags = {each.tag for each in ElementTree.fromstring(drawn).iter()}
                assert not any(tag.endswith("script") for tag in tags)
