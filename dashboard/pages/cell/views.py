"""The page of one cell, its card, its samples, and what its runs were read from."""

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

from benchmarks.comparing.cell_evidence import sample_lines, samples_of_cell
from benchmarks.models import Cell, Study
from benchmarks.together.comments import Thing
from benchmarks.uploads.runs import find_run
from benchmarks.viewer import ANYONE
from dashboard.exports import MEDIA_TYPES
from dashboard.exports.records import csv_lines
from dashboard.kit import figures
from dashboard.kit.addresses import STUDY, address
from dashboard.kit.comments import comment_thread
from dashboard.kit.embedding import badge, embeddable, embedded, snippets
from dashboard.kit.kept import Content, kept_study_page
from dashboard.kit.routes import DAYS, DISKS, HIDDEN, XEN, page, route
from dashboard.kit.upload_text import upload_text
from dashboard.kit.viewers import query_of, study_or_404, viewer_of
from dashboard.pages.cell.card import cell_card
from dashboard.pages.cell.claims import QUOTED, cell_claim, quoted_in, quoted_of
from dashboard.pages.cell.page import cell_page, evidence_or_404
from dashboard.wording import system_name
from dashboard.wording.evidence import percent_text
from dashboard.wording.states import state_name

SAMPLES_SHOWN: Final = 100
LINES_SHOWN: Final = 120
BEFORE: Final = 10
# What a unit's prefix, binary or decimal, and bits for bytes make of a number.
FACTORS: Final = [
    1000.0**power * 1.024**binary * bits
    for power in range(-3, 4)
    for binary in range(-3, 4)
    for bits in (1, 8, 0.125)
]
# Fewer digits would be found all over a text in some unit.
TELLING: Final = 3
NUMBER: Final = re.compile(r"(?<![\w.])[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class RawLine:
    """A line, its number in the output (from 1), and whether a sample stands in it."""

    number: int
    text: str
    is_read: bool


def raw_lines(
    text: str, first: int, values: Collection[float]
) -> tuple[tuple[RawLine, ...], bool]:
    """Return the lines around the first number that was read, and if there are more."""
    rows = text.split("\n")
    if rows and not rows[-1]:
        rows.pop()
    wanted = {
        _spelling(value * factor)
        for value in values
        for factor in (FACTORS if _digits(value) >= TELLING else [1.0])
    }
    lines = []
    for number, row in enumerate(rows, start=first):
        spellings = {_spelling(float(match)) for match in NUMBER.findall(row)}
        lines.append(RawLine(number, row, is_read=not wanted.isdisjoint(spellings)))
    read = next((place for place, line in enumerate(lines) if line.is_read), 0)
    # From the top, as long as what was read is in sight from there.
    start = 0 if read < LINES_SHOWN else read - BEFORE
    shown = tuple(lines[start : start + LINES_SHOWN])
    return shown, len(shown) < len(lines)


def _digits(value: float) -> int:
    return len(f"{value:.15g}".partition("e")[0].replace(".", "").strip("-0"))


def _spelling(value: float) -> str:
    """Return a number so that a text's and a stored one are the same, if they are."""
    # Fewer digits than a float has: a change of unit spoils the last ones.
    return f"{value:.9g}"


# The columns of a sample in its file, in the order of `sample_lines`.
SAMPLED = (
    *("run", "session", "sitting", "started_at", "clock"),
    *("sequence", "repetition", "value"),
)
SAMPLE_FIELDS = (
    *("side", "host", "system_id", "system", "tool", "case_id", "case", "parameters"),
    *("scenario", "vms", "slot", "load", "unit", *SAMPLED, "address", "made_on"),
)


@kept_study_page
def show_cell(request: HttpRequest, lab: str, slug: str, cell_id: int) -> Content:
    """Show everything a cell stands on: both sides, their samples, shapes, runs."""
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    query = query_of(request)
    page = cell_page(viewer, study, cell_id, query)
    context = {
        "study": study,
        "page": page,
        "claim": cell_claim(
            page["evidence"],
            page=request.build_absolute_uri(request.path),
            baseline=query.get("baseline", ""),
        ),
        "quoted": quoted_in(query.get(QUOTED, "")),
        "now": quoted_of(page["evidence"].row),
        "thread": comment_thread(request, Thing(study, cell=page["evidence"].cell)),
        "snippets": _snippets(request, study, page) if study.is_public else [],
    }
    return Content("cell/cell.html", context)


def _snippets(
    request: HttpRequest, study: Study, page: dict[str, Any]
) -> list[tuple[str, str, str]]:
    place = [study.lab.slug, study.slug, page["evidence"].cell.pk]
    return snippets(
        request,
        reverse("dashboard:embed-cell", args=place) + page["chosen"],
        page["headline"],
        reverse("dashboard:cell", args=place) + page["chosen"],
        reverse("dashboard:cell-badge", args=place) + page["chosen"],
    )


@embeddable
def embed_cell(request: HttpRequest, lab: str, slug: str, cell_id: int) -> Content:
    """Show a cell's chart in a frame of another site."""
    page = _public_page(request, lab, slug, cell_id)
    drawing = page["charts"][0] if page["charts"] else None
    source = reverse("dashboard:cell", args=[lab, slug, cell_id]) + page["chosen"]
    return embedded(
        request,
        drawing.figure if drawing else None,
        page["headline"],
        drawing.title if drawing else "",
        source,
    )


@embeddable
def cell_badge(request: HttpRequest, lab: str, slug: str, cell_id: int) -> Content:
    """Say what a cell is worth in a line."""
    page = _public_page(request, lab, slug, cell_id)
    row = page["evidence"].row
    name, ratio = system_name(page["evidence"].cell.system), row.shown.ratio
    if not page["has_ratio"] or ratio is None:
        return badge(name, state_name(row.shown.state))
    text, judged = figures.ratio(ratio), row.shown.judgement
    if judged and judged.low is not None and judged.high is not None:
        text = percent_text(judged.low, judged.high)
    of = _("of native") if row.shown.kind == "efficiency" else _("of the reference")
    return badge(name, f"{text} {of}")


def _public_page(
    request: HttpRequest, lab: str, slug: str, cell_id: int
) -> dict[str, Any]:
    study = study_or_404(ANYONE, lab, slug)
    return cell_page(ANYONE, study, cell_id, query_of(request))


def show_reading(
    request: HttpRequest, lab: str, slug: str, cell_id: int, run_id: int
) -> HttpResponse:
    """Show what a tool printed in one run beside what was read from it: a part."""
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
    upload = upload_text(run.upload.text, run.first_line, run.last_line)
    lines, is_cut = raw_lines(upload.lines, run.first_line or 1, values)
    reading = {
        "run": run,
        "cell": cell,
        "samples": tuple(values[:SAMPLES_SHOWN]),
        "has_more": len(values) > SAMPLES_SHOWN,
        "is_raw": upload.is_raw,
        "lines": lines,
        "is_cut": is_cut or upload.is_cut,
    }
    return render(request, "cell/_reading.html", {"reading": reading})


@kept_study_page
def show_card(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show what stands behind one cell, for the card beside it."""
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    card = cell_card(viewer, study, query_of(request))
    return Content("cell/_card.html", {"card": card})


def export_samples(
    request: HttpRequest, lab: str, slug: str, cell_id: int
) -> StreamingHttpResponse:
    """Hand out every sample of a cell and of what it is compared with."""
    viewer, query = viewer_of(request), query_of(request)
    study = study_or_404(viewer, lab, slug)
    evidence = evidence_or_404(viewer, study, cell_id, query)
    page = reverse("dashboard:cell", args=[lab, slug, cell_id])
    chosen = address({"baseline": query["baseline"]}) if query.get("baseline") else ""
    source = {
        "address": request.build_absolute_uri(page + chosen),
        "made_on": timezone.now().date().isoformat(),
    }
    sides = (("cell", evidence.cell), ("baseline", evidence.baseline))
    lines = chain.from_iterable(
        _sample_records(cell, {"side": side, **source}) for side, cell in sides if cell
    )
    name = f'attachment; filename="{study.slug}-cell-{cell_id}.csv"'
    # Of a cell of many samples only a few are in memory at a time.
    return StreamingHttpResponse(
        csv_lines(SAMPLE_FIELDS, lines),
        content_type=MEDIA_TYPES["csv"],
        headers={"Content-Disposition": name},
    )


def _sample_records(cell: Cell, stated: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a record a sample, run by run in the order of their start."""
    case, system = cell.case, cell.system
    stated = {
        **stated,
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
    for line in sample_lines(cell):
        sample = dict(zip(SAMPLED, line, strict=True))
        if sample["started_at"] is not None:
            sample["started_at"] = sample["started_at"].isoformat()
        yield {**stated, **sample}


urlpatterns = [
    route(
        f"embed/{STUDY}cells/<int:cell_id>/",
        embed_cell,
        "embed-cell",
        kind="part",
        own=HIDDEN,
    ),
    route(
        f"embed/{STUDY}cells/<int:cell_id>.svg",
        cell_badge,
        "cell-badge",
        kind="file",
        own=HIDDEN,
    ),
    page(
        f"{STUDY}compare/cell/",
        show_card,
        "cell-card",
        kind="part",
        counted=("compare/cell/?cell={cell}", "compare/cell/?cell={cell}&show=energy"),
        ids=("cell={cell}",),
    ),
    page(
        f"{STUDY}cells/<int:cell_id>/samples.csv",
        export_samples,
        "cell-samples",
        kind="file",
        counted=("cells/{cell}/samples.csv",),
        ids=("baseline={system}",),
    ),
    page(
        f"{STUDY}cells/<int:cell_id>/",
        show_cell,
        "cell",
        walked=(
            f"{DISKS}cells/{{bimodal}}/",
            "",
            f"{XEN}cells/{{native}}/",
            f"{DAYS}cells/{{repeated}}/",
        ),
        counted=("cells/{cell}/",),
        ids=("baseline={system}",),
    ),
    page(
        f"{STUDY}cells/<int:cell_id>/runs/<int:run_id>/",
        show_reading,
        "cell-reading",
        kind="part",
    ),
]
