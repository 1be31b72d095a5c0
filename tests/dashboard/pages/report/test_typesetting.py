"""A report as a PDF; names are escaped."""

import re
import warnings
from dataclasses import replace

import pytest

from benchmarks.models import Study
from dashboard.charts.chart import EMPTY_CHART
from dashboard.exports.report.builder import render_pdf
from dashboard.kit.report_elements import (
    ReportDocument,
    ReportFigure,
    ReportSection,
    heading_row,
    plain_table,
    table_row,
)
from tests.dashboard.exports.conftest import HOSTILE
from tests.dashboard.pages.report import pdf_reader
from tests.dashboard.pages.report.conftest import IMPRINT

PLAIN = ReportDocument(
    title="A study",
    byline="Ada Lovelace",
    language="en",
    facts=(("Authors", "Ada Lovelace"),),
    colophon="Made today.",
    sections=(ReportSection("about", "What this is", ("A note.",)),),
    citation="@misc{study,\n}",
)
LINES = "A sentence that goes on. " * 250


def test_report_is_pdf_with_title():
    file = render_pdf(PLAIN, IMPRINT.created_at)

    assert file.startswith(b"%PDF-1.")
    assert b"A study" in file


def test_pdf_declares_accessibility_and_archiving_standards():
    file = render_pdf(PLAIN, IMPRINT.created_at)

    assert b"<pdfuaid:part>1<" in file
    assert b"<pdfaid:part>2<" in file
    assert b"<pdfaid:conformance>A<" in file


@pytest.mark.parametrize("name", ["\N{SLOTH}", "\x01", "\N{CJK RADICAL REPEAT}"])
def test_missing_glyph_only_drops_accessibility_standard(name):
    file = render_pdf(replace(PLAIN, title=name), IMPRINT.created_at)

    assert b"pdfuaid:part" not in file
    assert "A note." in pdf_reader.texts(file)


def test_author_metadata_excludes_affiliation():
    byline = "Ada Lovelace, London, 1843"
    file = render_pdf(
        replace(PLAIN, byline=byline, author="Ada Lovelace"), IMPRINT.created_at
    )

    assert b"<rdf:li>Ada Lovelace</rdf:li>" in file
    assert byline in pdf_reader.texts(file)


def test_contents_list_sections_and_pages():
    parts = [
        ReportSection(name, name.title(), (LINES,)) for name in ("one", "two", "three")
    ]
    found = pdf_reader.pages(
        render_pdf(replace(PLAIN, sections=tuple(parts)), IMPRINT.created_at)
    )
    first = [text.strip() for text, _right, _up in found[0]]

    starts = [
        at
        for at, page in enumerate(found, start=1)
        for text, _right, up in page
        if text == "Two" and up < 790
    ]
    after = first[first.index("Two") + 1 :]
    assert next(text for text in after if text.isdigit()) == str(starts[-1])
    assert starts[-1] > 1


def test_pages_have_running_headers():
    section = ReportSection("long", "A long part", (LINES, LINES))
    first, *others = pdf_reader.pages(
        render_pdf(replace(PLAIN, sections=(section,)), IMPRINT.created_at)
    )

    heads = [[text for text, _right, up in page if up > 790] for page in others]
    assert [text for text, _right, up in first if up > 790] == []
    assert len(heads) > 1
    assert all(head == ["A study", "A long part"] for head in heads[:-1])


def test_decimal_points_are_aligned():
    rows = [("a", "13.82"), ("b", "13.8"), ("c", "13"), ("d", "22.5 MB/s")]
    table = plain_table("Numbers", ("System", "Value"), rows, numbers_from=1)
    section = ReportSection("s", "S", (), (replace(table, number=1),))

    (page,) = pdf_reader.pages(
        render_pdf(replace(PLAIN, sections=(section,)), IMPRINT.created_at)
    )
    begins = {text: right for text, right, _up in page}

    assert begins["13.8"] == pytest.approx(begins["13.82"], abs=0.01)
    assert begins["13"] == pytest.approx(begins["13.82"], abs=0.01)


@pytest.mark.parametrize("is_wide", [True, False])
def test_tall_chart_fits_page(is_wide):
    table = plain_table("Numbers", ("System", "Value"), [("a", "1")], numbers_from=1)
    high = replace(EMPTY_CHART, height=2600)
    chart = ReportFigure("All of them", "all", high, source="Table 1.")
    section = ReportSection(
        "s", "S", (), (replace(table, number=1),), is_wide, figures=(chart,)
    )

    found = pdf_reader.pages(
        render_pdf(replace(PLAIN, sections=(section,)), IMPRINT.created_at)
    )
    (up,) = [up for page in found for text, _right, up in page if "All of" in text]

    assert up > 60


def test_group_heading_is_repeated_on_next_page():
    rows = [table_row(f"row {at}", "1.5") for at in range(150)]
    table = plain_table("Many", ("Case", "Ratio"), [], numbers_from=1)
    table = replace(table, rows=(heading_row("Disk: Iometer", 2), *rows), number=1)
    section = ReportSection("s", "S", (), (table,))

    found = pdf_reader.pages(
        render_pdf(replace(PLAIN, sections=(section,)), IMPRINT.created_at)
    )

    with_rows = [page for page in found if any(t.startswith("row ") for t, *_ in page)]
    assert len(with_rows) > 2
    assert all("Disk: Iometer" in [t for t, *_ in page] for page in with_rows)


def test_output_is_deterministic():
    assert render_pdf(PLAIN, IMPRINT.created_at) == render_pdf(
        PLAIN, IMPRINT.created_at
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_typeset_everywhere(name):
    table = plain_table(name, (name, name), [(name, name)])
    table = replace(
        table, rows=(heading_row(name, 2), *table.rows), note=name, introduction=name
    )
    section = ReportSection(name, name, (name,), (table,), is_landscape=True)
    hostile = ReportDocument(name, name, "en", ((name, name),), name, (section,), name)

    assert render_pdf(hostile, IMPRINT.created_at).startswith(b"%PDF")


def test_markup_in_name_has_no_effect():
    """If the name were markup, it would add pages and read a file."""
    name = '#pagebreak() #pagebreak() #pagebreak() #read("report.typ") = Heading'

    file = render_pdf(replace(PLAIN, title=name, byline=name), IMPRINT.created_at)

    assert len(pdf_reader.pages(file)) == 1


def test_empty_and_long_tables_are_typeset():
    empty = plain_table("Empty", ("A", "B"), [])
    long = plain_table("", ("A", "B"), [(f"row {at}", "x") for at in range(200)])
    section = ReportSection(
        "s", "S", (), (empty, replace(long, rows=(*long.rows, table_row("a", "1"))))
    )

    file = render_pdf(replace(PLAIN, sections=(section,)), IMPRINT.created_at)

    assert len(pdf_reader.pages(file)) > 2


def test_report_of_study_is_typeset(study, submit, run_document, xen, report_of):
    submit(run_document(document="D", table="T"), run_document(9.0, system=xen))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        file = render_pdf(report_of(Study.objects.get()), IMPRINT.created_at)

    assert len(re.findall(rb"/Type\s*/Page\b", file)) >= 2
