"""Starts of a tool: whether all that one start measured moved together."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median
from typing import Final

from benchmarks.plausibility.facts import CellFact, StudyFacts
from benchmarks.plausibility.findings import Id
from benchmarks.plausibility.relations import ORDER

MOVED: Final = math.log(2)
"""A cell twice as far as its other runs has moved: no scatter does that."""
SAME: Final = 1e-9
EXTREMES: Final = frozenset({*ORDER, "percentile"} - {"p50"})


def is_extreme(cell: CellFact) -> bool:
    """Whether it reads a minimum, a maximum or the tail of a distribution.

    The slowest of a million requests may be a hundred times slower in the next run.
    """
    return cell.metric.rpartition(" ")[2] in EXTREMES


def comparable(off: float) -> float:
    """How far something must lie to be as far off as this, roughly, as a log ratio."""
    return max(MOVED, abs(off) / 2)


def _same(one: CellFact, other: CellFact) -> bool:
    return one.unit == other.unit


@dataclass(frozen=True)
class Starts:
    """What each start of a tool read in every cell; built when it is first asked for,
    for hardly any study has a run that is far off."""

    study: StudyFacts

    def was_another_speed(
        self, cell: CellFact, run: int, off: float, near: float
    ) -> bool:
        """Whether other cells of that start moved as well, and by no slip.

        Whoever mistakes a unit does so in one reading or in all of that unit, and then
        by one factor. Where a rate falls and a time grows, or two of eight block sizes
        rise, the machine ran at another speed. What moved by less than half as much,
        as a log ratio, explains nothing.
        """
        beside = list(self._beside(cell, cell.means[run]))
        far = [other for other, moved in beside if abs(moved) >= comparable(off)]
        alike = [
            abs(moved - off) <= near for other, moved in beside if _same(other, cell)
        ]
        is_whole = all(alike) and all(_same(other, cell) for other in far)
        return bool(far) and not is_whole

    def _beside(self, cell: CellFact, value: float) -> Iterator[tuple[CellFact, float]]:
        """The other cells of the start that read this value, and how far each is off
        from its other starts, as a log ratio."""
        for start, mean in self._read.get(cell.id, {}).items():
            if abs(mean - value) <= SAME * abs(value):
                for other in self._cells[start]:
                    if other.id != cell.id and not is_extreme(other):
                        yield other, self._moved(other, start)

    def _moved(self, cell: CellFact, start: Id) -> float:
        own = self._read[cell.id][start]
        others = [each for run, each in self._read[cell.id].items() if run != start]
        middle = median(others) if len(others) > 1 else 0.0
        return math.log(own / middle) if own > 0 and middle > 0 else 0.0

    @cached_property
    def _read(self) -> Mapping[Id, Mapping[Id, float]]:
        """Of each cell the mean of every start."""
        samples: dict[tuple[Id, Id], list[float]] = defaultdict(list)
        for run in self.study.runs:
            for sample in run.samples:
                if sample.cell is not None:
                    samples[sample.cell, run.id].append(sample.value)
        read: dict[Id, dict[Id, float]] = defaultdict(dict)
        for (cell, start), values in samples.items():
            read[cell][start] = fmean(values)
        return read

    @cached_property
    def _cells(self) -> Mapping[Id, list[CellFact]]:
        """Of each start the cells that it is part of."""
        known = {cell.id: cell for cell in self.study.cells}
        cells: dict[Id, list[CellFact]] = defaultdict(list)
        for cell, runs in self._read.items():
            for run in runs if cell in known else ():
                cells[run].append(known[cell])
        return cells
