"""A study for a paper: the page and its files, chosen by the query."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.comparing.cell_evidence import runs_behind
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import ComparisonTable
from benchmarks.models import Study
from dashboard import wording
from dashboard.exports.citation import Citation, bibtex, citation_of
from dashboard.exports.latex import Tabular, latex
from dashboard.exports.paper_files import (
    CHART_FORMS,
    WIDTHS,
    chart_values,
    methods,
    methods_tex,
    too_much,
)
from dashboard.exports.pictures import attached, picture_answer
from dashboard.exports.records import table_csv
from dashboard.exports.table_texts import Source, group_text, row_text, source_of
from dashboard.kit.addresses import STUDY, id_in
from dashboard.kit.figures import for_files, with_digits
from dashboard.kit.judged_tables import JudgedTable, judged_table, part_of
from dashboard.kit.kept import Content, kept_study_page
from dashboard.kit.routes import BARE, page
from dashboard.kit.selections import Menu
from dashboard.kit.table_cells import row_decimals, row_figure
from dashboard.kit.viewers import query_of, study_or_404, viewer_of
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


TEXTS = ("table.tex", "methods.tex", "methods.txt", "study.bib", "numbers.csv")
CHARTS = {
    f"chart-{inches}in.{form}": (inches, form)
    for inches in WIDTHS
    for form in CHART_FORMS
}
ARCHIVE = "paper.zip"


@dataclass(frozen=True)
class Paper:
    """The chosen part of a study's comparison, and its layout.

    ``cases`` and ``systems`` are the chosen ids, whether or not the study has them.
    """

    study: Study
    whole: JudgedTable
    judged: JudgedTable
    source: Source
    cases: frozenset[int]
    systems: frozenset[int]
    digits: int | None
    is_wide: bool

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

    def texts(self, citation: Citation) -> dict[str, str]:
        """Return the text files by name."""
        with with_digits(self.digits):
            table_tex = latex(self.table, self.source, Tabular(self.is_wide))
        return {
            "table.tex": table_tex,
            "methods.tex": methods_tex(self.paragraphs),
            "methods.txt": "\n\n".join(self.paragraphs) + "\n",
            "study.bib": bibtex(citation),
            "numbers.csv": table_csv(self.table, asdict(self.source)),
        }


def chosen_paper(request: HttpRequest, study: Study) -> Paper:
    """Return the part of a study that the query chooses."""
    asked = query_of(request)
    whole = judged_table(study, asked)
    cases, systems = (
        frozenset(map(id_in, request.GET.getlist(name))) for name in ("case", "system")
    )
    here = {cell.case.id for cell in whole.table.cells}
    columns = {column.system_id for column in whole.table.head.columns}
    judged = part_of(whole, cases & here, systems & columns)
    source = source_of(request, study, judged, "paper")
    digits = int(asked["digits"]) if asked.get("digits") in NUMBERS else None
    is_wide = asked.get("width") == PAGE
    return Paper(study, whole, judged, source, cases, systems, digits, is_wide)


def paper_page(paper: Paper, query: Mapping[str, str]) -> dict[str, Any]:
    with for_files(), with_digits(paper.digits):
        lines = list(_lines(paper))
    groups = list(_groups(paper))
    columns = paper.whole.table.head.columns
    here = {cell.case.id for cell in paper.whole.table.cells}
    missing = {
        "case": paper.cases - here,
        "system": paper.systems - {column.system_id for column in columns},
    }
    digits, width = query.get("digits", ""), query.get("width", "")
    digits = digits if digits in DIGITS else ""
    width = width if width in TABLE_WIDTHS else ""
    return {
        # The parts of the address that the compare page understands.
        "kept": [
            (name, value) for name, value in query.items() if value and name not in OWN
        ],
        "groups": groups,
        "systems": [
            _tick(column.system_id, wording.column_name(column), paper.systems)
            for column in columns
        ],
        "menus": [
            Menu.of("digits", _("Significant digits"), DIGITS, digits),
            Menu.of("width", _("As wide as"), TABLE_WIDTHS, width),
        ],
        "unmet": [
            f"{name}={pk}" for name, ids in missing.items() for pk in sorted(ids)
        ],
        "is_cut": sum(len(group["ticks"]) for group in groups) < len(here),
        "heads": [wording.column_name(column) for column in paper.table.head.columns],
        "lines": lines,
        "paragraphs": paper.paragraphs if lines else (),
        "no_chart": paper.no_chart,
    }


def _tick(pk: int, name: str, chosen: Collection[int]) -> dict[str, Any]:
    return {"id": pk, "name": name, "is_chosen": pk in chosen}


def _groups(paper: Paper) -> Iterator[dict[str, Any]]:
    """Yield the rows to choose from; a benchmark once, whatever the number of VMs."""
    told: set[int] = set()
    for group in paper.whole.table.groups:
        ticks = []
        for row in group.rows:
            case = next(cell.case.id for cell in row.cells if cell)
            if case not in told and len(told) < MOST_CHOICES:
                told.add(case)
                ticks.append(_tick(case, row_text(row, ", "), paper.cases))
        if ticks:
            yield {
                "name": group_text(group, ", ") or _("All rows"),
                "ticks": ticks,
                "chosen": sum(tick["is_chosen"] for tick in ticks),
            }


def _lines(paper: Paper) -> Iterator[dict[str, Any]]:
    """Yield the lines of the table: a heading for each group, then its rows."""
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


@kept_study_page
def show_paper(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show the chosen rows and columns of a study and their files."""
    study = study_or_404(viewer_of(request), lab, slug)
    page = paper_page(chosen_paper(request, study), query_of(request))
    query = request.GET.urlencode()
    context = {
        "study": study,
        "page": page,
        "query": query,
        "texts": TEXTS,
        "charts": tuple(CHARTS),
        "archive": ARCHIVE,
    }
    return Content("paper/paper.html", context)


def export_paper(request: HttpRequest, lab: str, slug: str, form: str) -> HttpResponse:
    """Return one file of a paper; a worker draws charts and packs the archive."""
    study = study_or_404(viewer_of(request), lab, slug)
    if form not in (*TEXTS, *CHARTS, ARCHIVE):
        raise Http404(_("There is no such file."))
    paper = chosen_paper(request, study)
    name, ending = form.rsplit(".", 1)
    if form in TEXTS:
        text = paper.texts(citation_of(request, study))[form]
        return attached(f"{slug}-{name}", ending, text)
    chart = None if paper.no_chart else paper.chart
    if form in CHARTS:
        if chart is None:
            raise Http404(paper.no_chart)
        drawn = {**chart, "inches": CHARTS[form][0]}
        title = _("Drawing the chart")
    else:
        texts = paper.texts(citation_of(request, study))
        drawn = {"kind": "archive", "texts": texts, "chart": chart}
        title = _("Packing the files for a paper")
    back = reverse("dashboard:paper", args=[lab, slug])
    return picture_answer(
        request,
        drawn=drawn,
        form=ending,
        name=f"{slug}-{name}",
        title=title,
        about=study.title,
        back=f"{back}?{request.GET.urlencode()}",
    )


urlpatterns = [
    page(
        f"{STUDY}paper/",
        show_paper,
        "paper",
        walked=("", "?system={one}&digits=3&width=page", f"{BARE}paper/"),
        counted=("paper/", "paper/?system={system}"),
        ids=("system={system}", "case={case}", "baseline={system}"),
    ),
    page(
        f"{STUDY}paper/<str:form>",
        export_paper,
        "paper-file",
        kind="file",
        counted=("paper/table.tex", "paper/methods.txt?digits=2"),
        ids=("system={system}&case={case}",),
    ),
]
