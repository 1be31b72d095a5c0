import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.collaboration.comments import CommentTarget
from benchmarks.comparison.cell_details import iter_samples, samples_of_cell
from benchmarks.models import Cell, Study
from benchmarks.uploads.run_queries import find_run
from benchmarks.viewer import ANYONE
from dashboard.exports import MEDIA_TYPES
from dashboard.exports.comparison_records import csv_lines
from dashboard.kit import formatting
from dashboard.kit.comments import comment_thread
from dashboard.kit.embeds import badge, embed_snippets, embeddable, embedded_chart
from dashboard.kit.page_cache import PageContent, cached_study_page
from dashboard.kit.routes import (
    DISK_STUDY,
    HIDDEN,
    MULTI_DAY_STUDY,
    XEN_STUDY,
    page,
    route,
)
from dashboard.kit.upload_excerpt import readable_upload
from dashboard.kit.url_parts import STUDY_PATH, query_string
from dashboard.kit.viewers import query_params, study_or_404, viewer_of
from dashboard.pages.cell.card import cell_card
from dashboard.pages.cell.page import cell_evidence_or_404, cell_page
from dashboard.pages.cell.quotable_claims import (
    QUOTED_PARAMETER,
    cell_claim,
    current_quote,
    parse_quote,
)
from dashboard.wording import system_name
from dashboard.wording.evidence import percent_range
from dashboard.wording.state_names import state_name

SAMPLES_SHOWN: Final = 100
LINES_SHOWN: Final = 120
LINES_BEFORE: Final = 10
# Factors between units: decimal and binary prefixes, bits and bytes.
UNIT_FACTORS: Final = [
    1000.0**power * 1.024**binary * bits
    for power in range(-3, 4)
    for binary in range(-3, 4)
    for bits in (1, 8, 0.125)
]
# Shorter numbers are searched only in their own unit, to avoid false matches.
MIN_DIGITS: Final = 3
NUMBER_IN_TEXT: Final = re.compile(
    r"(?<![\w.])[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
)


@dataclass(frozen=True)
class OutputLine:
    number: int
    text: str
    is_read: bool


def output_lines(
    text: str, first: int, values: Collection[float]
) -> tuple[tuple[OutputLine, ...], bool]:
    """Return the lines around the first one with a number that is in ``values``.

    Also return whether the text has more lines. ``first`` is the number of the first
    line of ``text``.
    """
    rows = text.split("\n")
    if rows and not rows[-1]:
        rows.pop()
    value_texts = {
        _number_text(value * factor)
        for value in values
        for factor in (UNIT_FACTORS if _digits(value) >= MIN_DIGITS else [1.0])
    }
    lines = []
    for number, row in enumerate(rows, start=first):
        spellings = {
            _number_text(float(match)) for match in NUMBER_IN_TEXT.findall(row)
        }
        lines.append(
            OutputLine(number, row, is_read=not value_texts.isdisjoint(spellings))
        )
    first_match = next((index for index, line in enumerate(lines) if line.is_read), 0)
    start = 0 if first_match < LINES_SHOWN else first_match - LINES_BEFORE
    shown = tuple(lines[start : start + LINES_SHOWN])
    return shown, len(shown) < len(lines)


def _digits(value: float) -> int:
    return len(f"{value:.15g}".partition("e")[0].replace(".", "").strip("-0"))


def _number_text(value: float) -> str:
    # After a unit conversion, the last digits of a float may be wrong.
    return f"{value:.9g}"


SAMPLE_LINE_COLUMNS = (
    *("run", "declared_session", "session", "started_at", "clock"),
    *("sequence", "repetition", "value"),
)
SAMPLE_FILE_COLUMNS = (
    *("role", "host", "system_id", "system", "tool", "case_id", "case", "parameters"),
    *("scenario", "vms", "slot", "load", "unit"),
    *SAMPLE_LINE_COLUMNS,
    *("url", "created_on"),
)


@cached_study_page
def show_cell(request: HttpRequest, lab: str, slug: str, cell_id: int) -> PageContent:
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    query = query_params(request)
    page = cell_page(viewer, study, cell_id, query)
    context = {
        "study": study,
        "page": page,
        "claim": cell_claim(
            page["evidence"],
            page=request.build_absolute_uri(request.path),
            baseline=query.get("baseline", ""),
        ),
        "quoted": parse_quote(query.get(QUOTED_PARAMETER, "")),
        "now": current_quote(page["evidence"].row),
        "thread": comment_thread(
            request, CommentTarget(study, cell=page["evidence"].cell)
        ),
        "snippets": _snippets(request, study, page) if study.is_public else [],
    }
    return PageContent("cell/cell.html", context)


def _snippets(
    request: HttpRequest, study: Study, page: dict[str, Any]
) -> list[tuple[str, str, str]]:
    url_args = [study.lab.slug, study.slug, page["evidence"].cell.pk]
    return embed_snippets(
        request,
        reverse("dashboard:embed-cell", args=url_args) + page["chosen"],
        page["headline"],
        reverse("dashboard:cell", args=url_args) + page["chosen"],
        reverse("dashboard:cell-badge", args=url_args) + page["chosen"],
    )


@embeddable
def embed_cell(request: HttpRequest, lab: str, slug: str, cell_id: int) -> PageContent:
    page = _public_page(request, lab, slug, cell_id)
    chart_section = page["charts"][0] if page["charts"] else None
    source = reverse("dashboard:cell", args=[lab, slug, cell_id]) + page["chosen"]
    return embedded_chart(
        request,
        chart_section.chart if chart_section else None,
        page["headline"],
        chart_section.title if chart_section else "",
        source,
    )


@embeddable
def cell_badge(request: HttpRequest, lab: str, slug: str, cell_id: int) -> PageContent:
    page = _public_page(request, lab, slug, cell_id)
    row = page["evidence"].row
    name, ratio = system_name(page["evidence"].cell.system), row.result.ratio
    if not page["has_ratio"] or ratio is None:
        return badge(name, state_name(row.result.state))
    text, assessment = formatting.ratio(ratio), row.result.assessment
    if assessment and assessment.low is not None and assessment.high is not None:
        text = percent_range(assessment.low, assessment.high)
    reference_text = (
        _("of native performance")
        if row.result.ratio_kind == "efficiency"
        else _("of the reference system's performance")
    )
    return badge(name, f"{text} {reference_text}")


def _public_page(
    request: HttpRequest, lab: str, slug: str, cell_id: int
) -> dict[str, Any]:
    study = study_or_404(ANYONE, lab, slug)
    return cell_page(ANYONE, study, cell_id, query_params(request))


def show_run_output(
    request: HttpRequest, lab: str, slug: str, cell_id: int, run_id: int
) -> HttpResponse:
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    cells = Cell.objects.visible_to(viewer).filter(study=study, pk=cell_id)
    cell = cells.select_related("case").first()
    if cell is None:
        raise Http404("This study has no such cell.")
    run = find_run(viewer, run_id)
    samples = samples_of_cell(cell).filter(run=run).order_by("sequence")
    values = list(samples.values_list("value", flat=True)[: SAMPLES_SHOWN + 1])
    if not values:
        raise Http404("This cell has no such run.")
    upload = readable_upload(run.upload.text, run.first_line, run.last_line)
    lines, is_cut = output_lines(upload.lines, run.first_line or 1, values)
    run_output = {
        "run": run,
        "cell": cell,
        "samples": tuple(values[:SAMPLES_SHOWN]),
        "has_more": len(values) > SAMPLES_SHOWN,
        "is_raw": upload.is_raw,
        "lines": lines,
        "is_cut": is_cut or upload.is_truncated,
    }
    return render(request, "cell/_run_output.html", {"run_output": run_output})


@cached_study_page
def show_card(request: HttpRequest, lab: str, slug: str) -> PageContent:
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    card = cell_card(viewer, study, query_params(request))
    return PageContent("cell/_card.html", {"card": card})


def export_samples(
    request: HttpRequest, lab: str, slug: str, cell_id: int
) -> StreamingHttpResponse:
    viewer, query = viewer_of(request), query_params(request)
    study = study_or_404(viewer, lab, slug)
    evidence = cell_evidence_or_404(viewer, study, cell_id, query)
    page = reverse("dashboard:cell", args=[lab, slug, cell_id])
    chosen = (
        query_string({"baseline": query["baseline"]}) if query.get("baseline") else ""
    )
    source = {
        "url": request.build_absolute_uri(page + chosen),
        "created_on": timezone.now().date().isoformat(),
    }
    cells = (("cell", evidence.cell), ("baseline", evidence.baseline))
    lines = chain.from_iterable(
        _sample_records(cell, {"role": role, **source}) for role, cell in cells if cell
    )
    name = f'attachment; filename="{study.slug}-cell-{cell_id}.csv"'
    # The response is streamed, because a cell may have very many samples.
    return StreamingHttpResponse(
        csv_lines(SAMPLE_FILE_COLUMNS, lines),
        content_type=MEDIA_TYPES["csv"],
        headers={"Content-Disposition": name},
    )


def _sample_records(
    cell: Cell, common_fields: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    case, system = cell.case, cell.system
    common_fields = {
        **common_fields,
        "host": system.host.slug,
        "system_id": system.pk,
        "system": system.label,
        "tool": case.tool,
        "case_id": case.pk,
        "case": case.label,
        "parameters": case.parameters,
        "scenario": cell.scenario,
        "vms": cell.vms,
        "slot": cell.slot,
        "load": cell.load,
        "unit": case.unit,
    }
    for line in iter_samples(cell):
        sample = dict(zip(SAMPLE_LINE_COLUMNS, line, strict=True))
        if sample["started_at"] is not None:
            sample["started_at"] = sample["started_at"].isoformat()
        yield {**common_fields, **sample}


urlpatterns = [
    route(
        f"embed/{STUDY_PATH}cells/<int:cell_id>/",
        embed_cell,
        "embed-cell",
        kind="part",
        member_statuses=HIDDEN,
    ),
    route(
        f"embed/{STUDY_PATH}cells/<int:cell_id>.svg",
        cell_badge,
        "cell-badge",
        kind="file",
        member_statuses=HIDDEN,
    ),
    page(
        f"{STUDY_PATH}compare/cell/",
        show_card,
        "cell-card",
        kind="part",
        query_count_urls=(
            "compare/cell/?cell={cell}",
            "compare/cell/?cell={cell}&show=energy",
        ),
        id_queries=("cell={cell}",),
    ),
    page(
        f"{STUDY_PATH}cells/<int:cell_id>/samples.csv",
        export_samples,
        "cell-samples",
        kind="file",
        query_count_urls=("cells/{cell}/samples.csv",),
        id_queries=("baseline={system}",),
    ),
    page(
        f"{STUDY_PATH}cells/<int:cell_id>/",
        show_cell,
        "cell",
        example_urls=(
            f"{DISK_STUDY}cells/{{bimodal}}/",
            "",
            f"{XEN_STUDY}cells/{{native}}/",
            f"{MULTI_DAY_STUDY}cells/{{repeated}}/",
        ),
        query_count_urls=("cells/{cell}/",),
        id_queries=("baseline={system}",),
    ),
    page(
        f"{STUDY_PATH}cells/<int:cell_id>/runs/<int:run_id>/",
        show_run_output,
        "cell-run-output",
        kind="part",
    ),
]
