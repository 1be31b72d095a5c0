"""A report as a PDF. What names hold is shown, never run."""

import re
import warnings
from dataclasses import replace

import pytest

from benchmarks.models import Campaign
from dashboard.report.document import Document, Section, heading, line, plain_table
from dashboard.report.typesetting import pdf, pictures
from tests.dashboard.exports.conftest import HOSTILE
from tests.dashboard.report.conftest import MAKING

PLAIN = Document(
    title="A study",
    byline="Ada Lovelace",
    language="en",
    facts=(("Authors", "Ada Lovelace"),),
    colophon="Made today.",
    sections=(Section("about", "What this is", ("A note.",)),),
    citation="@misc{study,\n}",
)


def test_a_report_is_a_pdf_with_its_title():
    file = pdf(PLAIN, MAKING.made_at)

    assert file.startswith(b"%PDF-1.")
    assert b"A study" in file


def test_the_same_report_is_the_same_file():
    assert pdf(PLAIN, MAKING.made_at) == pdf(PLAIN, MAKING.made_at)


def test_its_pages_can_be_looked_at():
    (page,) = pictures(PLAIN, MAKING.made_at)

    assert page.startswith(b"\x89PNG")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_typeset_wherever_it_stands(name):
    table = plain_table(name, (name, name), [(name, name)])
    table = replace(table, lines=(heading(name, 2), *table.lines), note=name, lead=name)
    section = Section(name, name, (name,), (table,), is_wide=True)
    hostile = Document(name, name, "en", ((name, name),), name, (section,), name)

    assert pdf(hostile, MAKING.made_at).startswith(b"%PDF")


def test_markup_in_a_name_has_no_effect():
    """Typst would make five pages of it, and read a file, if it were markup."""
    name = '#pagebreak() #pagebreak() #pagebreak() #read("report.typ") = Heading'

    assert len(pictures(replace(PLAIN, title=name, byline=name), MAKING.made_at)) == 1


def test_a_table_without_rows_and_one_of_many_pages_are_typeset():
    empty = plain_table("Empty", ("A", "B"), [])
    long = plain_table("", ("A", "B"), [(f"row {at}", "x") for at in range(200)])
    section = Section(
        "s", "S", (), (empty, replace(long, lines=(*long.lines, line("a", "1"))))
    )

    assert len(pictures(replace(PLAIN, sections=(section,)), MAKING.made_at)) > 2


def test_the_report_of_a_campaign_is_typeset(campaign, submit, run_document, xen, made):
    submit(run_document(document="D", table="T"), run_document(9.0, system=xen))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        file = pdf(made(Campaign.objects.get()), MAKING.made_at)

    assert len(re.findall(rb"/Type\s*/Page\b", file)) >= 2
