"""A cell and its samples as a side of its charts, and what its shape says."""

from typing import Any

from django.utils.translation import gettext as _

from benchmarks.analysis.intervals import MeanInterval, mean_interval
from benchmarks.analysis.shape import MIN_RUNS
from benchmarks.comparing.evidence import CellSamples
from benchmarks.models import Cell
from dashboard import wording
from dashboard.kit import figures
from dashboard.pages.cell.side import Side, Speed, Strand

FAINT_RUNS = 2


def side_of(cell: Cell, samples: CellSamples, name: str, token: str) -> Side:
    """Return what the charts draw of a cell."""
    shape = cell.shape or {}
    found = shape if shape.get("n") == len(samples.series) else {}
    return Side(
        name=name,
        token=token,
        unit=cell.case.unit,
        strands=tuple(
            Strand(_("run %(n)s") % {"n": run.run_id}, run.session, run.values)
            for run in samples.runs
        ),
        series=samples.series,
        speeds=tuple(speeds_of(cell)) if found else (),
        outliers=tuple(found.get("outliers", ())),
        period=found.get("period"),
        is_first_apart="first_run" in cell.shape_codes.split(","),
        box=_box(cell),
        mean=interval_of(cell),
        mean_label=_("mean"),
        is_faint=cell.n == FAINT_RUNS,
    )


def has_single_figure(cell: Cell) -> bool:
    """Whether one figure may stand for the cell's runs."""
    return not cell.shape_codes


def speeds_of(cell: Cell) -> list[Speed]:
    """Return the two speeds of a cell in words and numbers; none where it has one."""
    modes: list[dict[str, Any]] = (cell.shape or {}).get("modes", [])
    if len(modes) < 2:
        return []
    centres = figures.told_apart(*(mode["centre"] for mode in modes))
    return [
        Speed(
            _("%(centre)s (%(percent)s\N{NO-BREAK SPACE}%%)")
            % {
                "centre": wording.quantity(centre, cell.case.unit),
                "percent": figures.number(100 * mode["share"], ".0f"),
            },
            mode["centre"],
            mode["count"],
        )
        for mode, centre in zip(modes, centres, strict=True)
    ]


def _box(cell: Cell) -> tuple[float, float, float, float, float] | None:
    found = (cell.minimum, cell.q1, cell.median, cell.q3, cell.maximum)
    if cell.n < MIN_RUNS or len(speeds_of(cell)) > 1 or None in found:
        return None
    low, q1, median, q3, high = (each or 0.0 for each in found)
    return low, q1, median, q3, high


def interval_of(cell: Cell) -> MeanInterval | None:
    """Return the mean of the runs with its interval; none where no figure may stand."""
    if cell.mean is None or cell.m2 is None or not has_single_figure(cell):
        return None
    return mean_interval(cell.n, cell.mean, cell.m2, cell.resolution)
