"""The charts of a report: numbered, captioned, each beside the table it draws."""

from xml.etree import ElementTree

import pytest

from benchmarks.models import Study
from dashboard.charts.paper import paper
from dashboard.charts.sketch import sketch
from dashboard.exports.report.building import pdf
from tests.dashboard.pages.report import paper as reading_paper
from tests.dashboard.pages.report.conftest import IMPRINT
from tests.dashboard.pages.report.reading import part


@pytest.fixture
def several(submit, run_document, xen):
    """Six runs a side: there are intervals."""
    submit(
        *(run_document(100 + at / 10) for at in range(6)),
        *(run_document(80 + at / 10, system=xen) for at in range(6)),
    )


def test_each_chart_says_its_number_and_where_its_numbers_stand(xen_study, made):
    document = made(xen_study)
    charts = [chart for each in document.sections for chart in each.charts]
    tables = [table for each in document.sections for table in each.tables]

    assert [chart.number for chart in charts] == list(range(1, len(charts) + 1))
    assert [table.number for table in tables] == list(range(1, len(tables) + 1))
    assert all(chart.alt and chart.caption and chart.source for chart in charts)
    (profile,) = part(document, "profile").charts
    (table,) = part(document, "profile").tables
    assert profile.source == f"Data: Table {table.number}."


def test_a_study_of_single_runs_is_drawn_as_plain_values(xen_study, made):
    document = made(xen_study)

    assert "no interval" in part(document, "profile").charts[0].caption
    assert "a plain value" in part(document, "matrix-1").charts[0].caption
    assert "95 %" not in part(document, "matrix-1").charts[0].caption


def test_repeated_runs_are_drawn_with_their_intervals(study, several, made):
    (chart,) = part(made(study), "matrix-1").charts

    assert "its 95\xa0% interval" in chart.caption
    assert "plain value" not in chart.caption


def test_co_runs_and_influence_are_drawn_where_there_are_any(xen_study, made):
    document = made(xen_study)

    captions = [chart.caption for chart in part(document, "co-runs").charts]
    assert any("All VMs together" in caption for caption in captions)
    assert any("Each VM by itself" in caption for caption in captions)
    assert part(document, "factor-effects").charts
    assert "energy" not in [each.name for each in document.sections]


def test_nothing_is_drawn_without_numbers(study, submit, run_document, made):
    submit(run_document())

    assert [chart for each in made(study).sections for chart in each.charts] == []


def test_charts_are_typeset_with_their_words(xen_study, made):
    shown = reading_paper.texts(pdf(made(xen_study), IMPRINT.created_at))

    assert "Figure 1. " in shown
    assert any("Overhead profile: the geometric mean" in text for text in shown)


def test_hostile_names_are_drawn_as_words(study, submit, run_document, xen, made):
    name = "</text><script>alert(1)</script>\x01&"
    submit(
        run_document(),
        run_document(9.0, system={**xen, "hypervisor": name.replace("\x01", "")}),
    )

    for section in made(Study.objects.get()).sections:
        for chart in section.charts:
            for drawn in (paper(chart.chart), sketch(chart.chart, chart.alt)):
                tags = {each.tag for each in ElementTree.fromstring(drawn).iter()}
                assert not any(tag.endswith("script") for tag in tags)
