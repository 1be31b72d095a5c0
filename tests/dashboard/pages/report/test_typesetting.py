"""A report as a PDF. What names hold is shown, never run."""

import re
import warnings
from dataclasses import replace

import pytest

from benchmarks.models import Study
from dashboard.charts.chart import NOTHING
from dashboard.exports.report.building import pdf
from dashboard.kit.document import Document, Figure, Section, heading, line, plain_table
from tests.dashboard.exports.conftest import HOSTILE
from tests.dashboard.pages.report import paper
from tests.dashboard.pages.report.conftest import IMPRINT

PLAIN = Document(
    title="A study",
    byline="Ada Lovelace",
    language="en",
    facts=(("Authors", "Ada Lovelace"),),
    colophon="Made today.",
    sections=(Section("about", "What this is", ("A note.",)),),
    citation="@misc{study,\n}",
)
LINES = "A sentence that goes on. " * 250


def test_a_report_is_a_pdf_with_its_title():
    file = pdf(PLAIN, IMPRINT.created_at)

    assert file.startswith(b"%PDF-1.")
    assert b"A study" in file


def test_who_hears_it_and_who_keeps_it_for_decades_can_rely_on_it():
    file = pdf(PLAIN, IMPRINT.created_at)

    assert b"<pdfuaid:part>1<" in file
    assert b"<pdfaid:part>2<" in file
    assert b"<pdfaid:conformance>A<" in file


@pytest.mark.parametrize("name", ["\N{SLOTH}", "\x01", "\N{CJK RADICAL REPEAT}"])
def test_a_letter_that_no_font_has_keeps_a_standard_from_it_and_nothing_else(name):
    file = pdf(replace(PLAIN, title=name), IMPRINT.created_at)

    assert b"pdfuaid:part" not in file
    assert "A note." in paper.texts(file)


def test_it_tells_its_author_alone_from_where_and_when():
    byline = "Ada Lovelace, London, 1843"
    file = pdf(replace(PLAIN, byline=byline, author="Ada Lovelace"), IMPRINT.created_at)

    assert b"<rdf:li>Ada Lovelace</rdf:li>" in file
    assert byline in paper.texts(file)


def test_its_contents_name_each_part_and_its_page():
    parts = [Section(name, name.title(), (LINES,)) for name in ("one", "two", "three")]
    found = paper.pages(pdf(replace(PLAIN, sections=tuple(parts)), IMPRINT.created_at))
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


def test_each_page_but_the_first_is_headed_by_the_report_and_its_part():
    section = Section("long", "A long part", (LINES, LINES))
    first, *others = paper.pages(
        pdf(replace(PLAIN, sections=(section,)), IMPRINT.created_at)
    )

    heads = [[text for text, _right, up in page if up > 790] for page in others]
    assert [text for text, _right, up in first if up > 790] == []
    assert len(heads) > 1
    assert all(head == ["A study", "A long part"] for head in heads[:-1])


def test_decimal_points_of_a_column_stand_below_each_other():
    rows = [("a", "13.82"), ("b", "13.8"), ("c", "13"), ("d", "22.5 MB/s")]
    table = plain_table("Numbers", ("System", "Value"), rows, numbers_from=1)
    section = Section("s", "S", (), (replace(table, number=1),))

    (page,) = paper.pages(pdf(replace(PLAIN, sections=(section,)), IMPRINT.created_at))
    begins = {text: right for text, right, _up in page}

    assert begins["13.8"] == pytest.approx(begins["13.82"], abs=0.01)
    assert begins["13"] == pytest.approx(begins["13.82"], abs=0.01)


@pytest.mark.parametrize("is_wide", [True, False])
def test_a_chart_higher_than_a_page_is_made_to_fit(is_wide):
    table = plain_table("Numbers", ("System", "Value"), [("a", "1")], numbers_from=1)
    high = replace(NOTHING, height=2600)
    chart = Figure("All of them", "all", high, source="Table 1.")
    section = Section(
        "s", "S", (), (replace(table, number=1),), is_wide, charts=(chart,)
    )

    found = paper.pages(pdf(replace(PLAIN, sections=(section,)), IMPRINT.created_at))
    (up,) = [up for page in found for text, _right, up in page if "All of" in text]

    assert up > 60


def test_what_rows_have_in_common_stands_again_where_they_go_on():
    rows = [line(f"row {at}", "1.5") for at in range(150)]
    table = plain_table("Many", ("Case", "Ratio"), [], numbers_from=1)
    table = replace(table, lines=(heading("Disk: Iometer", 2), *rows), number=1)
    section = Section("s", "S", (), (table,))

    found = paper.pages(pdf(replace(PLAIN, sections=(section,)), IMPRINT.created_at))

    with_rows = [page for page in found if any(t.startswith("row ") for t, *_ in page)]
    assert len(with_rows) > 2
    assert all("Disk: Iometer" in [t for t, *_ in page] for page in with_rows)


def test_the_same_report_is_the_same_file():
    assert pdf(PLAIN, IMPRINT.created_at) == pdf(PLAIN, IMPRINT.created_at)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_typeset_wherever_it_stands(name):
    table = plain_table(name, (name, name), [(name, name)])
    table = replace(table, lines=(heading(name, 2), *table.lines), note=name, lead=name)
    section = Section(name, name, (name,), (table,), is_wide=True)
    hostile = Document(name, name, "en", ((name, name),), name, (section,), name)

    assert pdf(hostile, IMPRINT.created_at).startswith(b"%PDF")


def test_markup_in_a_name_has_no_effect():
    """Typst would make five pages of it, and read a file, if it were markup."""
    name = '#pagebreak() #pagebreak() #pagebreak() #read("report.typ") = Heading'

    file = pdf(replace(PLAIN, title=name, byline=name), IMPRINT.created_at)

    assert len(paper.pages(file)) == 1


def test_a_table_without_rows_and_one_of_many_pages_are_typeset():
    empty = plain_table("Empty", ("A", "B"), [])
    long = plain_table("", ("A", "B"), [(f"row {at}", "x") for at in range(200)])
    section = Section(
        "s", "S", (), (empty, replace(long, lines=(*long.lines, line("a", "1"))))
    )

    file = pdf(replace(PLAIN, sections=(section,)), IMPRINT.created_at)

    assert len(paper.pages(file)) > 2


def test_the_report_of_a_study_is_typeset(study, submit, run_document, xen, made):
    submit(run_document(document="D", table="T"), run_document(9.0, system=xen))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        file = pdf(made(Study.objects.get()), IMPRINT.created_at)

    assert len(re.findall(rb"/Type\s*/Page\b", file)) >= 2
