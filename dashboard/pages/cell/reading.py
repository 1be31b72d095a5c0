"""What a tool printed in one run, beside the numbers that were read from it."""

from dataclasses import dataclass

from django.http import Http404

from benchmarks.comparing.evidence import samples_of_cell
from benchmarks.models import Cell, Run, Study
from benchmarks.viewer import Viewer
from dashboard.kit.upload_text import upload_text
from dashboard.kit.viewers import run_or_404
from dashboard.pages.cell.raw_lines import RawLine, raw_lines

SAMPLES_SHOWN = 100


@dataclass(frozen=True)
class Reading:
    """A run's own lines and its samples of one case, cut to what a page can hold."""

    run: Run
    cell: Cell
    samples: tuple[float, ...]
    has_more: bool
    is_raw: bool
    lines: tuple[RawLine, ...]
    is_cut: bool


def reading_of(viewer: Viewer, study: Study, cell_id: int, run_id: int) -> Reading:
    """Return the reading of a run for a cell; Http404 if the cell has no such run."""
    cells = Cell.objects.visible_to(viewer).filter(study=study, pk=cell_id)
    cell = cells.select_related("case").first()
    if cell is None:
        raise Http404("This study has no such cell.")
    run = run_or_404(viewer, run_id)
    found = samples_of_cell(cell).filter(run=run).order_by("sequence")
    values = list(found.values_list("value", flat=True)[: SAMPLES_SHOWN + 1])
    if not values:
        raise Http404("This cell has no such run.")
    upload = upload_text(run.upload.text, run.first_line, run.last_line)
    lines, is_cut = raw_lines(upload.lines, run.first_line or 1, values)
    return Reading(
        run=run,
        cell=cell,
        samples=tuple(values[:SAMPLES_SHOWN]),
        has_more=len(values) > SAMPLES_SHOWN,
        is_raw=upload.is_raw,
        lines=lines,
        is_cut=is_cut or upload.is_cut,
    )
