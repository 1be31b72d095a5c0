"""A comparison's files, and the citation of a study."""

import json
from collections.abc import Callable
from dataclasses import asdict

from django.http import Http404, HttpRequest, HttpResponse

from dashboard.exports import MEDIA_TYPES
from dashboard.exports.citation import Citation, bibtex, citation_of, csl_json
from dashboard.exports.latex import latex
from dashboard.exports.records import records, table_csv
from dashboard.exports.table_texts import Source, source_of
from dashboard.kit.addresses import STUDY
from dashboard.kit.judged_tables import JudgedTable, judged_table
from dashboard.kit.routes import page
from dashboard.kit.selections import SPEED
from dashboard.kit.viewers import query_of, study_or_404, viewer_of


def _csv(judged: JudgedTable, source: Source) -> str:
    return table_csv(judged.table, asdict(source))


def _json(judged: JudgedTable, source: Source) -> str:
    document = {
        "title": source.title,
        "address": source.address,
        "filters": judged.narrowed,
        "shows": source.show,
        "against": source.against,
        "made_on": source.made_on,
        "equivalence_margin_percent": source.equivalence_margin_percent,
        "tested": source.tested,
        "cells": list(records(judged.table)),
    }
    # NaN is no JSON: no file is better than one that programs refuse.
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


COMPARISONS: dict[str, Callable[[JudgedTable, Source], str]] = {
    "csv": _csv,
    "json": _json,
    "tex": lambda judged, source: latex(judged.table, source),
}
CITATIONS: dict[str, Callable[[Citation], str]] = {
    "bib": bibtex,
    "csl.json": csl_json,
}


def export_comparison(
    request: HttpRequest, lab: str, slug: str, form: str
) -> HttpResponse:
    """Hand out what the compare page shows for the same query."""
    if form not in COMPARISONS:
        raise Http404("There is no such form.")
    study = study_or_404(viewer_of(request), lab, slug)
    judged = judged_table(study, query_of(request))
    source = source_of(request, study, judged)
    of_what = "" if judged.show == SPEED else f"-{judged.show}"
    text = COMPARISONS[form](judged, source)
    return _file(text, f"{study.slug}{of_what}", form)


def export_citation(
    request: HttpRequest, lab: str, slug: str, form: str
) -> HttpResponse:
    if form not in CITATIONS:
        raise Http404("There is no such form.")
    study = study_or_404(viewer_of(request), lab, slug)
    text = CITATIONS[form](citation_of(request, study))
    return _file(text, study.slug, form)


def _file(text: str, name: str, form: str) -> HttpResponse:
    attached = {"Content-Disposition": f'attachment; filename="{name}.{form}"'}
    return HttpResponse(text, content_type=MEDIA_TYPES[form], headers=attached)


urlpatterns = [
    page(
        f"{STUDY}compare.<str:form>",
        export_comparison,
        "export",
        kind="file",
        counted=(
            "compare.csv",
            "compare.csv?show=energy",
            "compare.json",
            "compare.tex",
        ),
    ),
    page(
        f"{STUDY}cite.<str:form>",
        export_citation,
        "cite",
        kind="file",
        counted=("cite.bib",),
    ),
]
