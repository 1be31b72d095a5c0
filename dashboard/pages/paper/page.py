"""What stands on the page "For a paper", all of it chosen by its address."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.comparing.cell_evidence import runs_behind
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import ComparisonTable
from benchmarks.models import Study
from dashboard import wording
from dashboard.exports.citation import Citation, bibtex
from dashboard.exports.latex import Tabular, latex
from dashboard.exports.paper.chart import chart_values, too_much
from dashboard.exports.paper.methods import methods, methods_tex
from dashboard.exports.records import ENERGY_FIELDS, FIELDS, table_csv
from dashboard.exports.table_texts import Source, group_text, row_text, source_of
from dashboard.kit.addresses import id_in
from dashboard.kit.figures import for_files, with_digits
from dashboard.kit.judged_tables import JudgedTable, judged_table, part_of
from dashboard.kit.selections import ENERGY, Choice, Menu
from dashboard.kit.table_cells import row_decimals, row_figure
from dashboard.kit.viewers import query_of
from dashboard.wording import Text
from dashboard.wording.verdicts import (
    VALUE,
    ratio_range_text,
    ratio_text,
    shown_interval,
)

PAGE = "page"
NUMBERS: Final = ("2", "3", "4", "5")
MOST_CHOICES: Final = 300
"""Rows to choose from; of more the compare page shows fewer first."""
OWN: Final = ("case", "system", "digits", "width")
"""What an address says of the paper; the rest is the compare page's."""
DIGITS: Final[Mapping[str, Text]] = {
    "": gettext_lazy("As many as its interval justifies"),
    **{number: number for number in NUMBERS},
}
TABLE_WIDTHS: Final[Mapping[str, Text]] = {
    "": gettext_lazy("One column (3 systems a table)"),
    PAGE: gettext_lazy("The page (5 systems a table)"),
}


@dataclass(frozen=True)
class Layout:
    """How a paper wants its numbers; nonsense of an address is as if not said."""

    cases: frozenset[int]
    systems: frozenset[int]
    digits: int | None
    is_wide: bool


@dataclass(frozen=True)
class Paper:
    """The chosen part of a study's comparison, and how it shall be written."""

    study: Study
    whole: JudgedTable
    judged: JudgedTable
    layout: Layout
    source: Source

    @property
    def table(self) -> ComparisonTable:
        return self.judged.table

    @cached_property
    def chart(self) -> dict[str, Any] | None:
        return chart_values(self.table, self.judged.show)

    @property
    def no_chart(self) -> str:
        if self.chart is None:
            return _("None of these results has a ratio to draw.")
        return too_much(self.chart)

    @cached_property
    def paragraphs(self) -> tuple[str, ...]:
        behind = runs_behind([cell.id for cell in self.table.cells])
        return methods(self.study, self.table, self.source, behind)

    def table_tex(self) -> str:
        """Return its table as LaTeX."""
        with with_digits(self.layout.digits):
            return latex(self.table, self.source, Tabular(self.layout.is_wide))

    def texts(self, citation: Citation) -> dict[str, str]:
        """Return its files that are texts, by their names."""
        return {
            "table.tex": self.table_tex(),
            "methods.tex": methods_tex(self.paragraphs),
            "methods.txt": "\n\n".join(self.paragraphs) + "\n",
            "study.bib": bibtex(citation),
            "numbers.csv": table_csv(
                self.table,
                against=self.source.against,
                address=self.source.address,
                made_on=self.source.made_on,
                fields=ENERGY_FIELDS if self.judged.show == ENERGY else FIELDS,
            ),
        }


def chosen_paper(request: HttpRequest, study: Study) -> Paper:
    """Return what an address chooses of a study."""
    asked = query_of(request)
    whole = judged_table(study, asked)
    cases, systems = (
        frozenset(map(id_in, request.GET.getlist(name))) for name in ("case", "system")
    )
    layout = Layout(
        cases=cases,
        systems=systems,
        digits=int(asked["digits"]) if asked.get("digits") in NUMBERS else None,
        is_wide=asked.get("width") == PAGE,
    )
    here = {cell.case.id for cell in whole.table.cells}
    columns = {column.system_id for column in whole.table.head.columns}
    judged = part_of(whole, cases & here, systems & columns)
    source = source_of(request, study, judged, "paper")
    return Paper(study, whole, judged, layout, source)


def paper_page(paper: Paper, query: Mapping[str, str]) -> dict[str, Any]:
    """Return what the page of a chosen paper shows."""
    with for_files(), with_digits(paper.layout.digits):
        lines = list(_lines(paper))
    groups, layout = list(_groups(paper)), paper.layout
    columns = paper.whole.table.head.columns
    here = {cell.case.id for cell in paper.whole.table.cells}
    missing = {
        "case": layout.cases - here,
        "system": layout.systems - {column.system_id for column in columns},
    }
    menus = (
        ("digits", _("Significant digits"), DIGITS),
        ("width", _("As wide as"), TABLE_WIDTHS),
    )
    return {
        # The parts of the address that the compare page understands.
        "kept": [(name, it) for name, it in query.items() if it and name not in OWN],
        "groups": groups,
        "systems": [
            _tick(it.system_id, wording.column_name(it), layout.systems)
            for it in columns
        ],
        "menus": [
            _menu(name, label, texts, query.get(name, ""))
            for name, label, texts in menus
        ],
        "unmet": [
            f"{name}={pk}" for name, ids in missing.items() for pk in sorted(ids)
        ],
        "is_cut": sum(len(group["ticks"]) for group in groups) < len(here),
        "heads": [wording.column_name(it) for it in paper.table.head.columns],
        "lines": lines,
        "paragraphs": paper.paragraphs if lines else (),
        "no_chart": paper.no_chart,
    }


def _tick(pk: int, name: str, chosen: Collection[int]) -> dict[str, Any]:
    return {"id": pk, "name": name, "is_chosen": pk in chosen}


def _menu(name: str, label: str, texts: Mapping[str, Text], value: str) -> Menu:
    chosen = value if value in texts else ""
    choices = (Choice(key, str(text), key == chosen) for key, text in texts.items())
    return Menu(name, label, tuple(choices), chosen != "")


def _groups(paper: Paper) -> Iterator[dict[str, Any]]:
    """Yield the rows to choose from, a benchmark once however many VMs ran it."""
    told: set[int] = set()
    for group in paper.whole.table.groups:
        ticks = []
        for row in group.rows:
            case = next(cell.case.id for cell in row.cells if cell)
            if case not in told and len(told) < MOST_CHOICES:
                told.add(case)
                ticks.append(_tick(case, row_text(row, ", "), paper.layout.cases))
        if ticks:
            yield {
                "name": group_text(group, ", ") or _("All rows"),
                "ticks": ticks,
                "chosen": sum(tick["is_chosen"] for tick in ticks),
            }


def _lines(paper: Paper) -> Iterator[dict[str, Any]]:
    """Yield the table as it will be: what rows share, then each of them."""
    for group in paper.table.groups:
        if title := group_text(group, ", "):
            yield {"name": title}
        for row in group.rows:
            decimals = row_decimals(row.cells)
            cells = [_texts(cell, paper.judged.show, decimals) for cell in row.cells]
            yield {"name": row_text(row, ", "), "cells": cells}


def _texts(row: ComparisonRow | None, show: str, decimals: int) -> tuple[str, str]:
    if row is None:
        return wording.NONE, ""
    if show != VALUE:
        if ratio := ratio_text(row, show):
            return ratio, shown_interval(row, show)
        if between := ratio_range_text(row, show):
            return between, ""
    return row_figure(row.shown, decimals=decimals) or wording.NONE, ""
