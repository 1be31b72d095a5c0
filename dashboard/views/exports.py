"""What leaves the site: a comparison as CSV, JSON or LaTeX, and a citation."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from benchmarks.models import Campaign
from benchmarks.selectors.comparison_table import ComparisonTable
from dashboard import wording
from dashboard.citing import citation_of
from dashboard.comparison_page import JudgedTable, judged_table
from dashboard.exports.citation import Citation, bibtex, csl_json
from dashboard.exports.delimited import csv_text
from dashboard.exports.energy_records import ENERGY_FIELDS, energy_records
from dashboard.exports.latex import Source, latex
from dashboard.exports.records import FIELDS, records
from dashboard.figures import NEUTRAL, written_as
from dashboard.selections import ENERGY, SHOWN, SPEED
from dashboard.viewers import campaign_or_404, query_of, viewer_of

Export = Callable[[ComparisonTable, Source], str]
Cells = tuple[Sequence[str], Iterator[dict[str, Any]]]


def _csv(table: ComparisonTable, source: Source) -> str:
    return csv_text(*_cells(table, source))


def _json(table: ComparisonTable, source: Source) -> str:
    said = {
        "title": source.title,
        "address": source.address,
        "shows": source.show,
        "against": source.against,
        "made_on": source.made_on,
        "cells": list(_cells(table, source)[1]),
    }
    return json.dumps(said, ensure_ascii=False, allow_nan=False)


def _cells(table: ComparisonTable, source: Source) -> Cells:
    """Return the columns and cells of a file: of speeds, or of energies."""
    if source.show == ENERGY:
        return ENERGY_FIELDS, energy_records(table)
    return FIELDS, records(table)


COMPARISONS: dict[str, tuple[str, Export]] = {
    "csv": ("text/csv; charset=utf-8", _csv),
    "json": ("application/json", _json),
    "tex": ("application/x-tex; charset=utf-8", latex),
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
    campaign = campaign_or_404(viewer_of(request), lab, slug)
    judged = judged_table(campaign, query_of(request))
    with written_as(NEUTRAL):
        text = write(judged.table, _source(request, campaign, judged))
    of_what = "" if judged.show == SPEED else f"-{judged.show}"
    return _file(text, kind, f"{campaign.slug}{of_what}.{form}")


@require_safe
def export_citation(
    request: HttpRequest, lab: str, slug: str, form: str
) -> HttpResponse:
    """Hand out how a campaign is cited."""
    if form not in CITATIONS:
        raise Http404("There is no such form.")
    kind, write = CITATIONS[form]
    campaign = campaign_or_404(viewer_of(request), lab, slug)
    return _file(write(citation_of(request, campaign)), kind, f"{campaign.slug}.{form}")


def _source(request: HttpRequest, campaign: Campaign, judged: JudgedTable) -> Source:
    address = reverse("dashboard:compare", args=[campaign.lab.slug, campaign.slug])
    query = request.GET.urlencode()
    whole = f"{address}?{query}" if query else address
    return Source(
        title=campaign.title,
        slug=campaign.slug,
        address=request.build_absolute_uri(whole),
        against=_against(judged),
        made_on=timezone.now().date().isoformat(),
        show=judged.show,
    )


def _against(judged: JudgedTable) -> str:
    if judged.reference is None:
        said = _("set against native")
    else:
        name = wording.system_name(judged.reference)
        said = _("set against %(system)s") % {"system": name}
    if judged.show == SPEED:
        return said
    return f"{str(SHOWN[judged.show]).lower()}, {said}"


def _file(text: str, kind: str, name: str) -> HttpResponse:
    disposition = f'attachment; filename="{name}"'
    headers = {"Content-Disposition": disposition}
    return HttpResponse(text, content_type=kind, headers=headers)
