"""The compare page, its chart, and what leaves the site: files and a citation."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from benchmarks.comparing.table import ComparisonTable
from benchmarks.models import Study
from dashboard import wording
from dashboard.charts.plotly import figure
from dashboard.exports.citation import Citation, bibtex, citation_of, csl_json
from dashboard.exports.latex import Source, latex
from dashboard.exports.records import (
    ENERGY_FIELDS,
    FIELDS,
    SOURCED,
    csv_text,
    records,
    sourced,
)
from dashboard.kit.addresses import STUDY
from dashboard.kit.kept import Answer, Content, kept_page
from dashboard.kit.selections import ENERGY, SHOWN, SPEED, chooser
from dashboard.kit.viewers import query_of, study_or_404, viewer_of
from dashboard.pages.compare.grid import grid_rows
from dashboard.pages.compare.page import (
    JudgedTable,
    comparison_page,
    figure_of,
    judged_table,
)


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
@kept_page
def show_comparison(request: HttpRequest, lab: str, slug: str) -> Answer:
    """Show a study's cases against its systems; htmx gets only what changes.

    Two systems that are pinned have a page of their own.
    """
    study = study_or_404(viewer_of(request), lab, slug)
    choice = chooser(study, query_of(request))
    if choice.is_direct:
        whole = reverse("dashboard:direct", args=[lab, slug])
        return redirect(f"{whole}?{request.GET.urlencode()}")
    page = comparison_page(study, choice)
    is_part = request.headers.get("HX-Target") == "comparison"
    template = "_comparison.html" if is_part else "compare.html"
    context = {
        "study": study,
        "page": page,
        "rows": grid_rows(page),
        "is_part": is_part,
    }
    return Content(f"compare/{template}", context)


@require_safe
def draw_comparison(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Answer with the chart of the same address, once somebody comes near it."""
    study = study_or_404(viewer_of(request), lab, slug)
    chart = figure_of(study, query_of(request))
    return JsonResponse(figure(chart) if chart else {})


Export = Callable[[JudgedTable, Source], str]
Cells = tuple[Sequence[str], Iterator[dict[str, Any]]]


def _csv(judged: JudgedTable, source: Source) -> str:
    fields, cells = _cells(judged.table, source)
    lines = sourced(
        cells,
        against=source.against,
        address=source.address,
        made_on=source.made_on,
    )
    return csv_text([*fields, *SOURCED], lines)


def _json(judged: JudgedTable, source: Source) -> str:
    said = {
        "title": source.title,
        "address": source.address,
        "filters": judged.narrowed,
        "shows": source.show,
        "against": source.against,
        "made_on": source.made_on,
        "equivalence_margin_percent": source.equivalence_margin_percent,
        "tested": source.tested,
        "cells": list(_cells(judged.table, source)[1]),
    }
    return json.dumps(said, ensure_ascii=False, allow_nan=False)


def _tex(judged: JudgedTable, source: Source) -> str:
    return latex(judged.table, source)


def _cells(table: ComparisonTable, source: Source) -> Cells:
    """Return the columns and cells of a file: of speeds, or of energies."""
    return ENERGY_FIELDS if source.show == ENERGY else FIELDS, records(table)


COMPARISONS: dict[str, tuple[str, Export]] = {
    "csv": ("text/csv; charset=utf-8", _csv),
    "json": ("application/json", _json),
    "tex": ("application/x-tex; charset=utf-8", _tex),
}
CITATIONS: dict[str, tuple[str, Callable[[Citation], str]]] = {
    "bib": ("application/x-bibtex; charset=utf-8", bibtex),
    "csl.json": ("application/vnd.citationstyles.csl+json", csl_json),
}


@require_safe
def export_comparison(
    request: HttpRequest, lab: str, slug: str, form: str
) -> HttpResponse:
    """Hand out what the compare page shows for the same query."""
    if form not in COMPARISONS:
        raise Http404("There is no such form.")
    kind, write = COMPARISONS[form]
    study = study_or_404(viewer_of(request), lab, slug)
    judged = judged_table(study, query_of(request))
    text = write(judged, _source(request, study, judged))
    of_what = "" if judged.show == SPEED else f"-{judged.show}"
    return _file(text, kind, f"{study.slug}{of_what}.{form}")


@require_safe
def export_citation(
    request: HttpRequest, lab: str, slug: str, form: str
) -> HttpResponse:
    """Hand out how a study is cited."""
    if form not in CITATIONS:
        raise Http404("There is no such form.")
    kind, write = CITATIONS[form]
    study = study_or_404(viewer_of(request), lab, slug)
    return _file(write(citation_of(request, study)), kind, f"{study.slug}.{form}")


def _source(request: HttpRequest, study: Study, judged: JudgedTable) -> Source:
    page = reverse("dashboard:compare", args=[study.lab.slug, study.slug])
    query = request.GET.urlencode()
    whole = f"{page}?{query}" if query else page
    return Source(
        title=study.title,
        slug=study.slug,
        address=request.build_absolute_uri(whole),
        against=_against(judged),
        made_on=timezone.now().date().isoformat(),
        show=judged.show,
        equivalence_margin_percent=study.equivalence_margin_percent,
        tested=judged.tested,
    )


def _against(judged: JudgedTable) -> str:
    said = wording.against_text(judged.reference)
    if judged.show == SPEED:
        return said
    return f"{str(SHOWN[judged.show]).lower()}, {said}"


def _file(text: str, kind: str, name: str) -> HttpResponse:
    return HttpResponse(text, content_type=kind, headers=_attached(name))


def _attached(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


urlpatterns = [
    path(f"{STUDY}compare/", show_comparison, name="compare"),
    path(f"{STUDY}compare.<str:form>", export_comparison, name="export"),
    path(f"{STUDY}cite.<str:form>", export_citation, name="cite"),
    path(f"{STUDY}compare/chart/", draw_comparison, name="chart"),
]
