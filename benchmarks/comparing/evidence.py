"""What stands behind one cell of a comparison: its runs and those of its baseline."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Avg, Count

from benchmarks.comparing.cell_samples import CellSamples, cell_samples, samples_of_cell
from benchmarks.comparing.comparisons import compared_cells, comparison_row
from benchmarks.comparing.references import Reference
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.verdicts import study_verdicts
from benchmarks.errors import NotFoundError
from benchmarks.models import Cell, Flag, Run, Study, System
from benchmarks.sentences import Sentence
from benchmarks.studies.flags import visible_flags
from benchmarks.uploads.run_lists import visible_runs
from benchmarks.viewer import Viewer

RUNS_SHOWN = 100


@dataclass(frozen=True)
class RunValue:
    """A run and the mean of its samples of the case."""

    run: Run
    value: float
    samples: int


@dataclass(frozen=True)
class Evidence:
    """A cell with the runs it was summarised from, and those it was set against.

    ``flags`` are those of both sides: either withholds the verdict.
    """

    row: ComparisonRow
    cell: Cell
    baseline: Cell | None
    runs: tuple[RunValue, ...]
    baseline_runs: tuple[RunValue, ...]
    samples: CellSamples
    baseline_samples: CellSamples
    flags: tuple[Flag, ...] = ()
    tested: int = 0


def evidence(
    viewer: Viewer, study: Study, cell_id: int, reference_id: int | None
) -> Evidence:
    """Return a cell's evidence, against native or a chosen reference system.

    Raises NotFoundError when the study has no such cell or system.
    """
    cells = compared_cells(viewer, study=study, filters={"pk": cell_id})
    cell = cells.first()
    if cell is None:
        raise NotFoundError(Sentence("cell"), cell_id)
    reference = None if reference_id is None else _reference(cell, reference_id)
    verdicts = study_verdicts(study, reference.system if reference else None)
    row = comparison_row(cell, reference, verdicts.of(cell.pk))
    baseline = _baseline(viewer, cell, reference)
    samples, baseline_samples = cell_samples(cell), cell_samples(baseline)
    means = _run_means(cell, samples), _run_means(baseline, baseline_samples)
    wanted = [pk for side in means for pk, _mean, _n in side]
    runs = visible_runs(viewer, pk__in=wanted).in_bulk()
    sides = [each.pk for each in (cell, baseline) if each is not None]
    own, other = (_run_values(side, runs) for side in means)
    return Evidence(
        row=row,
        cell=cell,
        baseline=baseline,
        runs=own,
        baseline_runs=other,
        samples=samples,
        baseline_samples=baseline_samples,
        flags=tuple(visible_flags(viewer, cells__in=sides).distinct()),
        tested=verdicts.tested,
    )


def _reference(cell: Cell, system_id: int) -> Reference:
    system = System.objects.filter(cells__study=cell.study, pk=system_id).first()
    if system is None:
        raise NotFoundError(Sentence("system"), system_id)
    return Reference.of(cell.study, system)


def _baseline(viewer: Viewer, cell: Cell, reference: Reference | None) -> Cell | None:
    """Return the cell that this one was set against, where the viewer may see it."""
    if reference is None:
        stored = getattr(cell, "efficiency", None)
        wanted = {"pk": stored.baseline_id if stored else None}
    else:
        same = ("case_id", "study_id", "scenario", "vms", "slot", "load")
        wanted = {name: getattr(cell, name) for name in same}
        wanted["system_id"] = reference.system.pk
    cells = Cell.objects.visible_to(viewer).filter(**wanted).exclude(pk=cell.pk)
    return cells.select_related("system__host", "study__lab", "case").first()


def _run_means(cell: Cell | None, samples: CellSamples) -> list[tuple[int, float, int]]:
    """Return the first runs of a cell, each with the mean and number of its samples."""
    if cell is None:
        return []
    if not samples.is_cut:
        runs = samples.runs[:RUNS_SHOWN]
        return [(run.run_id, run.mean, len(run.values)) for run in runs]
    values = samples_of_cell(cell).values_list("run")
    found = values.annotate(Avg("value"), Count("value")).order_by("run")
    return list(found[:RUNS_SHOWN])


def _run_values(
    means: list[tuple[int, float, int]], runs: Mapping[int, Run]
) -> tuple[RunValue, ...]:
    return tuple(RunValue(runs[pk], mean, n) for pk, mean, n in means if pk in runs)
