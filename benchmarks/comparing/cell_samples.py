"""Every sample behind a cell, run by run, in the order in which they were measured."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean
from typing import Any

from django.db.models import QuerySet

from benchmarks.analysis.shape import MIN_RUNS
from benchmarks.models import Cell, Sample

SAMPLES_SHOWN = 5_000
KEY = ("study_id", "system_id", "scenario", "vms", "slot", "load")


@dataclass(frozen=True, slots=True)
class RunSamples:
    """The samples that one run has of a case, in their order."""

    run_id: int
    session: str
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.values)


@dataclass(frozen=True, slots=True)
class CellSamples:
    """A cell's runs with their samples; ``is_cut``: there are more than these."""

    runs: tuple[RunSamples, ...] = ()
    is_cut: bool = False

    @property
    def count(self) -> int:
        """How many samples are here."""
        return sum(len(run.values) for run in self.runs)

    @property
    def is_of_run_means(self) -> bool:
        """Whether there are enough runs for their means to be the series."""
        return len(self.runs) >= MIN_RUNS

    @property
    def series(self) -> tuple[float, ...]:
        """What a cell's shape is found in: run means, or the iterations of few runs."""
        if self.is_of_run_means:
            return tuple(run.mean for run in self.runs)
        return tuple(value for run in self.runs for value in run.values)


def samples_of_cell(cell: Cell) -> QuerySet[Sample]:
    """Return the samples that a cell was summarised from."""
    same_run: dict[str, Any] = {f"run__{name}": getattr(cell, name) for name in KEY}
    return Sample.objects.filter(lab_id=cell.lab_id, case_id=cell.case_id, **same_run)


LINE = (
    *("run_id", "run__session__name", "run__started_at", "run__clock"),
    *("sequence", "repetition", "value"),
)


def sample_lines(cell: Cell) -> Iterator[tuple[Any, ...]]:
    """Yield all of a cell's samples as `LINE` has them, few in memory at a time."""
    ordered = samples_of_cell(cell).order_by("run__started_at", "run_id", "sequence")
    return ordered.values_list(*LINE).iterator(chunk_size=SAMPLES_SHOWN)


def cell_samples(cell: Cell | None) -> CellSamples:
    """Return a cell's samples in one query, at most ``SAMPLES_SHOWN``.

    In the order in which its shape was looked at. A run that the limit would cut in
    two is left out, unless it is the only one.
    """
    if cell is None:
        return CellSamples()
    ordered = samples_of_cell(cell).order_by("run__started_at", "run_id", "sequence")
    rows = ordered.values_list("run_id", "run__session__name", "value")
    found = list(rows[: SAMPLES_SHOWN + 1])
    is_cut = len(found) > SAMPLES_SHOWN
    runs = _runs(found[:SAMPLES_SHOWN])
    if is_cut and len(runs) > 1 and found[-1][0] == runs[-1].run_id:
        runs = runs[:-1]
    return CellSamples(runs, is_cut)


def _runs(rows: Iterable[tuple[int, str | None, float]]) -> tuple[RunSamples, ...]:
    grouped = groupby(rows, key=lambda row: (row[0], row[1]))
    return tuple(
        RunSamples(run_id, session or "", tuple(row[2] for row in members))
        for (run_id, session), members in grouped
    )
