"""Size and accessibility of large tables."""

import re
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser

import pytest
from django.db import connection
from django.template.loader import render_to_string

from dashboard.kit.comparison_form import comparison_form
from dashboard.pages.compare import page as grid
from dashboard.pages.compare.page import INITIAL_ROWS, comparison_page, grid_rows

SYSTEMS = 40
# A cell has the same size in every row, but many rows are slow to create.
FEW_CASES = 20
CASES = 200
MOST_BYTES = 220
MOST_ELEMENTS = 5


@pytest.fixture
def wide(submit, run_document, xen, study):
    """Return the rows of 40 systems, one of them native, in some cases."""
    systems = [{**xen, "options": {"swap": f"disk {at}"}} for at in range(SYSTEMS - 1)]
    submit(
        run_document(samples=samples(0, FEW_CASES)),
        *(run_document(system=it, samples=samples(1, FEW_CASES)) for it in systems),
    )
    return grid_rows(comparison_page(study, comparison_form(study, {})))


def html_of(rows):
    return "".join(render_to_string("compare/_row.html", {"row": row}) for row in rows)


def rows_of(grid):
    return html_of(row for group in grid.groups for row in group.first + group.deferred)


@pytest.fixture
def long(submit, run_document, xen, study):
    """Submit many cases of two systems."""
    submit(
        run_document(samples=samples(0)), run_document(system=xen, samples=samples(1))
    )
    with connection.cursor() as cursor:
        # A query plan made for empty tables takes minutes on full ones.
        cursor.execute("ANALYZE")
    return study


def samples(lost, cases=CASES):
    return [
        {
            "metric": "network throughput",
            "parameters": {"operation": "read", "block_size": f"{case + 1} KiB"},
            "value": 1234.5 + case - lost,
            "unit": "MB/s",
        }
        for case in range(cases)
    ]


@dataclass
class Elements(HTMLParser):
    """Counter of the elements inside cells."""

    def __post_init__(self):
        super().__init__()
        self.cells = self.inside = 0
        self.is_inside = False

    def handle_starttag(self, tag, attrs):
        if tag in ("tr", "td", "th"):
            self.is_inside = tag == "td"
            self.cells += self.is_inside
        self.inside += self.is_inside


def test_cell_is_small(wide):
    html = rows_of(wide)
    elements = Elements()
    elements.feed(html)

    assert elements.cells == SYSTEMS * FEW_CASES
    assert len(html) / elements.cells < MOST_BYTES
    assert elements.inside / elements.cells <= MOST_ELEMENTS


def test_rows_and_cells_have_roles(wide):
    html = rows_of(wide)

    assert html.count('<tr role="row">') == html.count("<tr")
    assert html.count('<td role="cell"') == html.count("<td")
    assert html.count('role="rowheader"') == html.count("<th")


@pytest.mark.parametrize(("value", "width"), [(3.0, "cells-5"), (1 / 3e-9, "cells-8")])
def test_column_width_fits_longest_text(value, width, submit, run_document, study):
    submit(run_document(value))

    assert grid_rows(comparison_page(study, comparison_form(study, {}))).width == width


def test_verdict_is_accessible(submit, run_document, xen, study):
    natives = [run_document(100.0 + at / 10) for at in range(5)]
    guests = [run_document(40.0 + at / 10, system=xen) for at in range(5)]
    submit(*natives, *guests)

    html = rows_of(grid_rows(comparison_page(study, comparison_form(study, {}))))

    signs = re.findall(r'class="sign" role="img"\saria-label="([^"]+)">([^<]+)<', html)
    # These runs state no start times: a star and a text say so.
    assert signs == [("Verdict: slower. Weak evidence.", "▼*")]


def test_fragment_defers_later_rows(client, long):
    part = {"HX-Request": "true", "HX-Target": "comparison"}
    answer = client.get("/studies/alpha-lab/study/compare/", headers=part)

    now, *later = re.split("<!--rows:|-->", answer.content.decode())
    assert now.count('<th class="case"') == INITIAL_ROWS
    assert later[0].count('<th class="case"') == CASES - INITIAL_ROWS
    assert later[0].endswith("</tr>\n")
    assert len(later) == 2


def test_name_cannot_close_deferred_rows(client, submit, run_document, xen, study):
    name = "--><script>alert(1)</script>"
    system = {**xen, "options": {"swap": name}}
    submit(run_document(system=system, samples=samples(0), load=name))
    part = {"HX-Request": "true", "HX-Target": "comparison"}
    answer = client.get("/studies/alpha-lab/study/compare/", headers=part)

    assert answer.content.count(b"-->") == 1
    assert b"<script>alert" not in answer.content


@pytest.mark.parametrize(("q", "count"), [("", INITIAL_ROWS), ("19 KiB", 12), ("x", 0)])
def test_hidden_rows_are_not_counted(long, q, count):
    groups = grid_rows(comparison_page(long, comparison_form(long, {"q": q}))).groups

    seen = html_of(row for group in groups for row in group.first)
    assert seen.count('<tr role="row">') == count


def test_wide_table_starts_with_first_rows(client, long, monkeypatch):
    monkeypatch.setattr(grid, "MAX_INITIAL_TABLE", 2 * CASES - 1)
    monkeypatch.setattr(grid, "INITIAL_CELLS", 60)
    url = "/studies/alpha-lab/study/compare/"

    page = client.get(url, {"show": "value"}).content.decode()
    assert page.count('<th class="case"') == 30
    assert f"<strong>{CASES - 30}</strong> more benchmarks" in page
    [more] = re.findall(r'href="([^"]+)" data-load-all-rows', page)
    whole = client.get(url + unescape(more)).content.decode()
    assert whole.count('<th class="case"') == CASES
    assert "data-load-all-rows" not in whole
    assert page.split("<tbody")[0].count("<th") == whole.split("<tbody")[0].count("<th")


def test_search_in_wide_table_finds_unsent_rows(client, long, monkeypatch):
    monkeypatch.setattr(grid, "MAX_INITIAL_TABLE", 2 * CASES - 1)
    monkeypatch.setattr(grid, "INITIAL_CELLS", 60)

    page = client.get("/studies/alpha-lab/study/compare/", {"q": "199 KiB"})

    assert page.content.decode().count('<th class="case"') == 1
    assert b"data-load-all-rows" not in page.content
