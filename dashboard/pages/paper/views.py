from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.comparison.cell_details import count_runs
from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.comparison_table import ComparisonTable
from benchmarks.models import Study
from dashboard import wording
from dashboard.exports.chart_files import attachment_response, chart_file_response
from dashboard.exports.citation import Citation, bibtex, citation_of
from dashboard.exports.comparison_records import table_csv
from dashboard.exports.latex_tables import Tabular, latex_tables
from dashboard.exports.paper_files import (
    CHART_FORMATS,
    CHART_WIDTHS_IN,
    chart_size_problem,
    methods_paragraphs,
    methods_tex,
    paper_chart_data,
)
from dashboard.exports.table_headings import (
    ExportSource,
    export_source,
    group_text,
    row_text,
)
from dashboard.kit.comparison_form import FilterMenu
from dashboard.kit.comparison_from_url import (
    AssessedTable,
    assessed_table,
    table_subset,
)
from dashboard.kit.formatting import number_format_for_files, significant_digits
from dashboard.kit.page_cache import PageContent, cached_study_page
from dashboard.kit.routes import EMPTY_STUDY, page
from dashboard.kit.table_cells import row_decimals, value_text
from dashboard.kit.url_parts import STUDY_PATH, parse_id
from dashboard.kit.viewers import query_params, study_or_404, viewer_of
from dashboard.wording import Text
from dashboard.wording.verdicts import (
    MEASURED_VALUE,
    displayed_interval,
    ratio_range_text,
    ratio_text,
)

PAGE_WIDTH = "page"
DIGIT_CHOICES: Final = ("2", "3", "4", "5")
MAX_ROW_CHOICES: Final = 300
PAPER_PARAMETERS: Final = ("case", "system", "digits", "width")
"""Query parameters of this page; all others are those of the compare page."""
DIGIT_TEXTS: Final[Mapping[str, Text]] = {
    "": gettext_lazy("Automatic (from the confidence interval)"),
    **{number: number for number in DIGIT_CHOICES},
}
TABLE_WIDTHS: Final[Mapping[str, Text]] = {
    "": gettext_lazy("One column (3 systems per table)"),
    PAGE_WIDTH: gettext_lazy("Full page (5 systems per table)"),
}


TEXT_FILES = ("table.tex", "methods.tex", "methods.txt", "study.bib", "numbers.csv")
CHART_FILES = {
    f"chart-{inches}in.{form}": (inches, form)
    for inches in CHART_WIDTHS_IN
    for form in CHART_FORMATS
}
ARCHIVE = "paper.zip"


@dataclass(frozen=True)
class PaperSelection:
    """Selected rows, systems and layout; IDs of the query may not exist."""

    study: Study
    all_rows: AssessedTable
    assessed: AssessedTable
    source: ExportSource
    cases: frozenset[int]
    systems: frozenset[int]
    digits: int | None
    is_wide: bool

    @property
    def table(self) -> ComparisonTable:
        return self.assessed.table

    @cached_property
    def chart(self) -> dict[str, Any] | None:
        return paper_chart_data(self.table, self.assessed.quantity)

    @property
    def chart_problem(self) -> str:
        if self.chart is None:
            return _("None of these results has a ratio to plot.")
        return chart_size_problem(self.chart)

    @cached_property
    def paragraphs(self) -> tuple[str, ...]:
        run_counts = count_runs([cell.id for cell in self.table.cells])
        return methods_paragraphs(self.study, self.table, self.source, run_counts)

    def text_files(self, citation: Citation) -> dict[str, str]:
        with significant_digits(self.digits):
            table_tex = latex_tables(self.table, self.source, Tabular(self.is_wide))
        return {
            "table.tex": table_tex,
            "methods.tex": methods_tex(self.paragraphs),
            "methods.txt": "\n\n".join(self.paragraphs) + "\n",
            "study.bib": bibtex(citation),
            "numbers.csv": table_csv(self.table, asdict(self.source)),
        }


def read_paper_selection(request: HttpRequest, study: Study) -> PaperSelection:
    query = query_params(request)
    table = assessed_table(study, query)
    cases, systems = (
        frozenset(map(parse_id, request.GET.getlist(name)))
        for name in ("case", "system")
    )
    case_ids = {cell.case.id for cell in table.table.cells}
    system_ids = {column.system_id for column in table.table.head.columns}
    subset = table_subset(table, cases & case_ids, systems & system_ids)
    source = export_source(request, study, subset, "paper")
    digits = int(query["digits"]) if query.get("digits") in DIGIT_CHOICES else None
    is_wide = query.get("width") == PAGE_WIDTH
    return PaperSelection(study, table, subset, source, cases, systems, digits, is_wide)


def paper_page(paper: PaperSelection, query: Mapping[str, str]) -> dict[str, Any]:
    with number_format_for_files(), significant_digits(paper.digits):
        lines = list(_lines(paper))
    groups = list(_groups(paper))
    columns = paper.all_rows.table.head.columns
    case_ids = {cell.case.id for cell in paper.all_rows.table.cells}
    missing = {
        "case": paper.cases - case_ids,
        "system": paper.systems - {column.system_id for column in columns},
    }
    digits, width = query.get("digits", ""), query.get("width", "")
    digits = digits if digits in DIGIT_TEXTS else ""
    width = width if width in TABLE_WIDTHS else ""
    return {
        "filters": [
            (name, value)
            for name, value in query.items()
            if value and name not in PAPER_PARAMETERS
        ],
        "groups": groups,
        "systems": [
            _tick(column.system_id, wording.column_name(column), paper.systems)
            for column in columns
        ],
        "menus": [
            FilterMenu.from_texts(
                "digits", _("Significant digits"), DIGIT_TEXTS, digits
            ),
            FilterMenu.from_texts("width", _("Table width"), TABLE_WIDTHS, width),
        ],
        "ignored_parameters": [
            f"{name}={pk}" for name, ids in missing.items() for pk in sorted(ids)
        ],
        "is_cut": sum(len(group["ticks"]) for group in groups) < len(case_ids),
        "heads": [wording.column_name(column) for column in paper.table.head.columns],
        "lines": lines,
        "paragraphs": paper.paragraphs if lines else (),
        "no_chart": paper.chart_problem,
    }


def _tick(pk: int, name: str, chosen: Collection[int]) -> dict[str, Any]:
    return {"id": pk, "name": name, "is_chosen": pk in chosen}


def _groups(paper: PaperSelection) -> Iterator[dict[str, Any]]:
    shown_ids: set[int] = set()
    for group in paper.all_rows.table.groups:
        ticks = []
        for row in group.rows:
            case = next(cell.case.id for cell in row.cells if cell)
            if case not in shown_ids and len(shown_ids) < MAX_ROW_CHOICES:
                shown_ids.add(case)
                ticks.append(_tick(case, row_text(row, ", "), paper.cases))
        if ticks:
            yield {
                "name": group_text(group, ", ") or _("All rows"),
                "ticks": ticks,
                "chosen": sum(tick["is_chosen"] for tick in ticks),
            }


def _lines(paper: PaperSelection) -> Iterator[dict[str, Any]]:
    for group in paper.table.groups:
        if title := group_text(group, ", "):
            yield {"name": title}
        for row in group.rows:
            decimals = row_decimals(row.cells)
            cells = [
                _texts(cell, paper.assessed.quantity, decimals) for cell in row.cells
            ]
            yield {"name": row_text(row, ", "), "cells": cells}


def _texts(row: ComparisonRow | None, show: str, decimals: int) -> tuple[str, str]:
    if row is None:
        return wording.DASH, ""
    if show != MEASURED_VALUE:
        if ratio := ratio_text(row, show):
            return ratio, displayed_interval(row, show)
        if range_of_ratios := ratio_range_text(row, show):
            return range_of_ratios, ""
    return value_text(row.result, decimals=decimals) or wording.DASH, ""


@cached_study_page
def show_paper(request: HttpRequest, lab: str, slug: str) -> PageContent:
    study = study_or_404(viewer_of(request), lab, slug)
    page = paper_page(read_paper_selection(request, study), query_params(request))
    query = request.GET.urlencode()
    context = {
        "study": study,
        "page": page,
        "query": query,
        "texts": TEXT_FILES,
        "charts": tuple(CHART_FILES),
        "archive": ARCHIVE,
    }
    return PageContent("paper/paper.html", context)


def export_paper(request: HttpRequest, lab: str, slug: str, form: str) -> HttpResponse:
    study = study_or_404(viewer_of(request), lab, slug)
    if form not in (*TEXT_FILES, *CHART_FILES, ARCHIVE):
        raise Http404(_("File not found."))
    paper = read_paper_selection(request, study)
    name, extension = form.rsplit(".", 1)
    if form in TEXT_FILES:
        text = paper.text_files(citation_of(request, study))[form]
        return attachment_response(f"{slug}-{name}", extension, text)
    chart = None if paper.chart_problem else paper.chart
    if form in CHART_FILES:
        if chart is None:
            raise Http404(paper.chart_problem)
        chart_data = {**chart, "inches": CHART_FILES[form][0]}
        title = _("Drawing the chart")
    else:
        texts = paper.text_files(citation_of(request, study))
        chart_data = {"kind": "archive", "texts": texts, "chart": chart}
        title = _("Packing the files for a paper")
    paper_url = reverse("dashboard:paper", args=[lab, slug])
    return chart_file_response(
        request,
        chart_data=chart_data,
        file_format=extension,
        name=f"{slug}-{name}",
        title=title,
        about=study.title,
        back_url=f"{paper_url}?{request.GET.urlencode()}",
    )


urlpatterns = [
    page(
        f"{STUDY_PATH}paper/",
        show_paper,
        "paper",
        example_urls=("", "?system={one}&digits=3&width=page", f"{EMPTY_STUDY}paper/"),
        query_count_urls=("paper/", "paper/?system={system}"),
        id_queries=("system={system}", "case={case}", "baseline={system}"),
    ),
    page(
        f"{STUDY_PATH}paper/<str:form>",
        export_paper,
        "paper-file",
        kind="file",
        query_count_urls=("paper/table.tex", "paper/methods.txt?digits=2"),
        id_queries=("system={system}&case={case}",),
    ),
]
