"""What a tool printed in one run, beside the numbers that were read from it."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from django.http import Http404

from benchmarks.comparing.cell_evidence import samples_of_cell
from benchmarks.models import Cell, Run, Study
from benchmarks.uploads.runs import find_run
from benchmarks.viewer import Viewer
from dashboard.kit.upload_text import upload_text

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


@dataclass(frozen=True)
class RunReading:
    """A run's own lines and its samples of one case, cut to what a page can hold."""

    run: Run
    cell: Cell
    samples: tuple[float, ...]
    has_more: bool
    is_raw: bool
    lines: tuple[RawLine, ...]
    is_cut: bool


def reading_of(viewer: Viewer, study: Study, cell_id: int, run_id: int) -> RunReading:
    """Return the reading of a run for a cell; Http404 if the cell has no such run."""
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
    return RunReading(
        run=run,
        cell=cell,
        samples=tuple(values[:SAMPLES_SHOWN]),
        has_more=len(values) > SAMPLES_SHOWN,
        is_raw=upload.is_raw,
        lines=lines,
        is_cut=is_cut or upload.is_cut,
    )


def raw_lines(
    text: str, first: int, values: Collection[float]
) -> tuple[tuple[RawLine, ...], bool]:
    """Return the lines around the first number that was read, and if there are more.

    ``first`` is the number of the text's first line. A line is marked where one of its
    numbers is one of ``values``, in any unit if it has three digits or more.
    """
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
    """Return how many significant digits a number is written with."""
    return len(f"{value:.15g}".partition("e")[0].replace(".", "").strip("-0"))


def _spelling(value: float) -> str:
    """Return a number so that a text's and a stored one are the same, if they are."""
    # Fewer digits than a float has: a change of unit spoils the last ones.
    return f"{value:.9g}"
