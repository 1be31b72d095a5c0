import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from dashboard.exports.chart_files import attachment_response
from dashboard.exports.comparison_records import csv_text

FORMATS: Final = {"csv": "CSV", "json": "JSON"}


def record_file_links(route_name: str, *arguments: str) -> list[tuple[str, str, str]]:
    """Return (URL, format, name) of each file, as `kit/_export.html` lists them."""
    return [
        (reverse(f"dashboard:{route_name}", args=[*arguments, form]), form, name)
        for form, name in FORMATS.items()
    ]


def record_file(
    name: str,
    form: str,
    fields: Sequence[str],
    key: str,
    records: Iterable[Mapping[str, Any]],
) -> HttpResponse:
    """Return records as a file; raise Http404 for an unknown format."""
    if form not in FORMATS:
        raise Http404(_("Unknown file format."))
    text = (
        csv_text(fields, records)
        if form == "csv"
        else json.dumps({key: list(records)}, ensure_ascii=False, indent=1) + "\n"
    )
    return attachment_response(name, form, text)
