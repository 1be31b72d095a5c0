"""The published tables of a study: every number, title and unit, in order."""

from collections import Counter
from itertools import groupby, pairwise

from benchmarks.reference.data_files import read_rows
from dashboard.exports.report.builder import render_pdf
from tests.dashboard.pages.report import pdf_reader
from tests.dashboard.pages.report.conftest import IMPRINT
from tests.dashboard.pages.report.report_texts import part

STUDY = "lmu-2010-xen"
SYSTEM = (
    "hypervisor",
    "virtualization",
    "guest_os",
    "guest_bits",
    "hw_virt",
    "guest_tools",
)


def test_xen_study_tables_have_every_printed_number(xen_study, report_of):
    printed = Counter(
        (f"{row.document}: {row.table}", float(row.value))
        for row in read_rows("lmu-2010-xen")
    )

    found = Counter(
        (table.caption, float(number))
        for table in part(report_of(xen_study), "tables").tables
        for line in table.rows
        for entry in line.cells[1:]
        for number in entry.text.split(", ")
        if number
    )

    assert printed.total() == 337
    assert found == printed


def test_pdf_has_printed_tables_of_study(xen_study, report_of):
    """Each table has its title and unit, then its numbers in the order of the study."""
    shown = pdf_reader.texts(render_pdf(report_of(xen_study), IMPRINT.created_at))
    ends = [*(at for at, text in enumerate(shown) if text.startswith("Table ")), None]
    tables = {
        shown[start].partition(". ")[2]: shown[start + 1 : end]
        for start, end in pairwise(ends)
    }

    for name, rows in printed_tables():
        found = tables[name]
        assert rows[0].unit in "".join(found[:4]), name
        numbers = [float(text) for text in found if is_number(text)]
        assert numbers[: len(rows)] in arrangements(rows), name


def printed_tables():
    rows = read_rows(STUDY)
    for name, members in groupby(rows, lambda row: f"{row.document}: {row.table}"):
        yield name, list(members)


def arrangements(rows):
    """Return the numbers by row, with systems or with cases as rows."""
    systems = [tuple(getattr(row, name) for name in (*SYSTEM, "vm")) for row in rows]
    named = ("vms", "metric", "operation", "access", "params")
    cases = [tuple(getattr(row, name) for name in named) for row in rows]
    numbers = [float(row.value) for row in rows]
    return [
        [number for _line, _place, number in sorted(places(lines, others, numbers))]
        for lines, others in ((systems, cases), (cases, systems))
    ]


def places(lines, others, numbers):
    return zip(map(lines.index, lines), map(others.index, others), numbers, strict=True)


def is_number(text):
    return text.replace(".", "", 1).isdigit()
