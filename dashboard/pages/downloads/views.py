"""Files of a comparison, and the citation of a study."""

import json
from collections.abc import Callable
from dataclasses import asdict

from django.http import Http404, HttpRequest, HttpResponse

from dashboard.exports import MEDIA_TYPES
from dashboard.exports.citation import Citation, bibtex, citation_of, csl_json
from dashboard.exports.comparison_records import comparison_records, table_csv
from dashboard.exports.latex_tables import latex_tables
from dashboard.exports.table_headings import ExportSource, export_source
from dashboard.kit.comparison_form import RELATIVE_PERFORMANCE
from dashboard.kit.comparison_from_url import AssessedTable, assessed_table
from dashboard.kit.routes import page
from dashboard.kit.url_parts import STUDY_PATH
from dashboard.kit.viewers import query_params, study_or_404, viewer_of


def _csv(assessed: AssessedTable, source: ExportSource) -> str:
    return table_csv(assessed.table, asdict(source))


def _json(assessed: AssessedTable, source: ExportSource) -> str:
    document = {
        "title": source.title,
        "url": source.url,
        "filters": assessed.active_filters,
        "view": source.quantity,
        "compared_with": source.compared_with,
        "created_on": source.created_on,
        "equivalence_margin_percent": source.equivalence_margin_percent,
        "tested_cells": source.tested_count,
        "cells": list(comparison_records(assessed.table)),
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


COMPARISON_FORMATS: dict[str, Callable[[AssessedTable, ExportSource], str]] = {
    "csv": _csv,
    "json": _json,
    "tex": lambda assessed, source: latex_tables(assessed.table, source),
}
CITATION_FORMATS: dict[str, Callable[[Citation], str]] = {
    "bib": bibtex,
    "csl.json": csl_json,
}


def export_comparison(
    request: HttpRequest, lab: str, slug: str, form: str
) -> HttpResponse:
    if form not in COMPARISON_FORMATS:
        raise Http404("Unknown file format.")
    study = study_or_404(viewer_of(request), lab, slug)
    assessed = assessed_table(study, query_params(request))
    source = export_source(request, study, assessed)
    suffix = (
        "" if assessed.quantity == RELATIVE_PERFORMANCE else f"-{assessed.quantity}"
    )
    text = COMPARISON_FORMATS[form](assessed, source)
    return _file(text, f"{study.slug}{suffix}", form)


def export_citation(
    request: HttpRequest, lab: str, slug: str, form: str
) -> HttpResponse:
    if form not in CITATION_FORMATS:
        raise Http404("Unknown file format.")
    study = study_or_404(viewer_of(request), lab, slug)
    text = CITATION_FORMATS[form](citation_of(request, study))
    return _file(text, study.slug, form)


def _file(text: str, name: str, form: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}.{form}"'}
    return HttpResponse(text, content_type=MEDIA_TYPES[form], headers=headers)


urlpatterns = [
    page(
        f"{STUDY_PATH}compare.<str:form>",
        export_comparison,
        "comparison-file",
        kind="file",
        query_count_urls=(
            "compare.csv",
            "compare.csv?show=energy",
            "compare.json",
            "compare.tex",
        ),
    ),
    page(
        f"{STUDY_PATH}cite.<str:form>",
        export_citation,
        "citation-file",
        kind="file",
        query_count_urls=("cite.bib",),
    ),
]
