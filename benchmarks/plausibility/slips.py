"""Runs in another unit than the others of their cell; factors between units.

If everything that a start measured moved as well, the machine ran at another speed.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median, variance
from typing import Final

from benchmarks import units
from benchmarks.plausibility.facts import (
    PRIOR_RUNS,
    CellFact,
    Id,
    StudyFacts,
    factor_of,
    precision,
)
from benchmarks.plausibility.findings import Doubt, about_cells
from benchmarks.sentences import Sentence

FACTORS: Final[Mapping[str, float]] = {
    Sentence("8 (bits and bytes)"): 8,
    "10": 10,
    "100": 100,
    "1000": 1000,
    "1024": 1024,
    Sentence("8000 (kbit and MB)"): 8000,
    "10^6": 1e6,
    "1024^2": 1024**2,
}
FACTORS_OF_TIME: Final[Mapping[str, float]] = {
    "10": 10,
    Sentence("60 (seconds and minutes)"): 60,
    "100": 100,
    "1000": 1000,
    Sentence("3600 (seconds and hours)"): 3600,
    "10^6": 1e6,
    "10^9": 1e9,
}
FACTORS_OF_COUNTS: Final[Mapping[str, float]] = {
    "10": 10,
    "100": 100,
    "1000": 1000,
    "10^6": 1e6,
}
"""Of what is neither data nor time: nothing in it has bits, bytes or minutes."""
SHARES: Final[Mapping[str, float]] = {"100": 100, "1000": 1000}
"""How busy a CPU is may differ tenfold between two systems."""
RECIPROCALS: Final[Mapping[str, float]] = {"ms": 1e3, "us": 1e6, "ns": 1e9}
"""The reciprocal of a time in such a unit is this many a second."""
LEAST: Final = math.log(5)
"""Below a factor of 5 no unit is mistaken for another one; many a setting matters."""
CLEARLY: Final = 3
"""In standard deviations of the siblings' residuals."""
NEAR: Final = 0.3
FARTHEST: Final = 0.5
"""How far from a factor a slip may lie, as a log ratio: 35 %, and where predictions
are worse 2.5 of their standard deviations, but 65 % at most. At 0.9 (as it was) four of
five distances between 5 and 2000 are near a factor, and one of 17.5 was called 10."""
TIMES: Final = frozenset({"s", "ms", "us", "ns", "min", "h", "J", "Wh", "kWh"})
MOVED: Final = math.log(2)
"""A cell twice as far as its other runs has moved: no scatter does that."""
# A cell's means are summed by PostgreSQL, those of the starts here.
SAME: Final = 1e-9
FEWEST: Final = 3
NEAREST: Final = 0.05
"""Quiet siblings allow a slip this much all the same: some percent are the luck of a
start, and who mistakes a unit may take 1000 for 1024 besides (0.024)."""


def nearest_factor(cell: CellFact, off: float, tolerance: float) -> str:
    """The name of the factor that a log ratio comes near to; empty if none."""
    name, miss = factor_and_miss(cell, off)
    return name if miss <= tolerance else ""


def factor_and_miss(cell: CellFact, off: float) -> tuple[str, float]:
    """The name of the factor that is nearest to a log ratio, and how far it is off."""
    factors = factors_of(cell)
    misses = {
        name: abs(abs(off) - math.log(factor)) for name, factor in factors.items()
    }
    name = min(misses, key=misses.__getitem__)
    return name, misses[name]


def reciprocal_miss(cell: CellFact, expected: float) -> float:
    """How far a cell is, as a log, from the reciprocal of what is expected."""
    scale = RECIPROCALS.get(cell.unit, 1.0)
    log = math.log(cell.mean)
    return min(abs(log + expected - math.log(factor)) for factor in {1.0, scale})


def factors_of(cell: CellFact) -> Mapping[str, float]:
    """The factors between two units of what a cell measures, by their names."""
    if cell.is_share:
        return SHARES
    if cell.unit in TIMES:
        return FACTORS_OF_TIME
    unit = units.find(cell.unit)
    is_data = unit is None or unit.dimension in {"data", "data rate"}
    return FACTORS if is_data else FACTORS_OF_COUNTS


def comparable(off: float) -> float:
    """How far something must lie to be as far off as this, roughly, as a log ratio."""
    return max(MOVED, abs(off) / 2)


@dataclass(frozen=True)
class Starts:
    """What each start of a tool read in every cell; built lazily."""

    # No slots here: a cached_property needs the instance's dictionary.
    study: StudyFacts

    def was_another_speed(
        self, cell: CellFact, run: int, off: float, near: float
    ) -> bool:
        """Return whether other cells of that start moved at least half as far.

        Not if all of them moved by the factor of a unit.
        """
        beside = list(self._beside(cell, cell.means[run]))
        far = [other for other, moved in beside if abs(moved) >= comparable(off)]
        alike = [
            abs(moved - off) <= near
            for other, moved in beside
            if other.unit == cell.unit
        ]
        is_whole = all(alike) and all(other.unit == cell.unit for other in far)
        return bool(far) and not is_whole

    def _beside(self, cell: CellFact, value: float) -> Iterator[tuple[CellFact, float]]:
        """Return a start's other cells with log distances from their other starts."""
        for start, mean in self._read.get(cell.id, {}).items():
            # No cell names its starts: the one that read this mean is looked up.
            if abs(mean - value) > SAME * abs(value):
                continue
            for other in self._cells[start]:
                if other.id != cell.id and not other.is_extreme:
                    read = self._read[other.id]
                    others = [mean for run, mean in read.items() if run != start]
                    # Beside one other start nothing tells which of the two moved.
                    middle = median(others) if len(others) > 1 else 0.0
                    known = read[start] > 0 and middle > 0
                    yield other, math.log(read[start] / middle) if known else 0.0

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


@dataclass(frozen=True)
class Companions:
    """What else the runs of a cell measured; built when it is first asked for."""

    # No slots here: a cached_property needs the instance's dictionary.
    study: StudyFacts

    def were_another_speed(self, cell: CellFact, off: float) -> bool:
        """Return whether another metric of the test is off too, not by a unit slip."""
        sign = 1 if cell.better == "higher" else -1
        for other in self._tests[_test(cell)]:
            row = self._rows[other.case, other.metric, _circumstances(other)]
            beside = [math.log(c.mean) for c in row if c.system != cell.system]
            if other.kind == cell.kind or not beside:
                continue
            moved = math.log(other.mean) - median(beside)
            moved *= sign if other.better == "higher" else -sign
            if cell.better == "neither":
                moved = math.copysign(moved, off)
            alike = moved * off > 0 and abs(moved) >= comparable(off)
            if alike and (abs(moved - off) > NEAR or other.unit != cell.unit):
                return True
        return False

    @cached_property
    def _speeds(self) -> list[CellFact]:
        return [cell for cell in self.study.cells if cell.mean > 0 and cell.is_speed]

    @cached_property
    def _tests(self) -> Mapping[object, list[CellFact]]:
        tests: dict[object, list[CellFact]] = defaultdict(list)
        for cell in self._speeds:
            tests[_test(cell)].append(cell)
        return tests

    @cached_property
    def _rows(self) -> Mapping[object, list[CellFact]]:
        rows: dict[object, list[CellFact]] = defaultdict(list)
        for cell in self._speeds:
            rows[cell.case, cell.metric, _circumstances(cell)].append(cell)
        return rows


def _test(cell: CellFact) -> object:
    return cell.column, cell.tool, tuple(sorted(cell.parameters.items()))


def _circumstances(cell: CellFact) -> object:
    return cell.host, cell.circumstances, cell.emulation


def runs_off(cell: CellFact, starts: Starts) -> Iterator[Doubt]:
    """Runs that are off from the others of their cell by the factor of a unit."""
    if len(cell.means) < FEWEST or min(cell.means) <= 0 or cell.is_extreme:
        return
    logs = [math.log(mean) for mean in cell.means]
    middle = median(logs)
    off = [log - middle for log in logs]
    if max(map(abs, off)) < LEAST:
        return
    inner = 2 * CLEARLY * sorted(map(abs, off))[len(logs) // 2]
    # A run in another unit scatters like its siblings do, so it reads the factor times
    # what they read, to three standard deviations of one more run, and its own
    # rounding.
    others = [log for log in off if abs(log) < LEAST]
    if not others:  # two halves of the runs far apart: nothing says which one is off
        return
    freedom = len(others) - 1
    own = variance(others) if freedom else 0.0
    prior = starts.study.noise.of_kind(cell)
    pooled = (freedom * own + PRIOR_RUNS * prior**2) / (freedom + PRIOR_RUNS)
    scatter = CLEARLY * math.sqrt(pooled * (1 + 1 / len(others)))
    printed = precision(cell.means, cell.decimals)
    near = [
        min(NEAR, max(NEAREST, scatter + printed.step(mean) / 2 / mean))
        for mean in cell.means
    ]
    slips = {
        run: factor
        for run, distance in enumerate(off)
        if abs(distance) >= max(LEAST, inner)
        and (factor := nearest_factor(cell, distance, near[run]))
    }
    for run, factor in slips.items():
        # Another run as far off by no factor of a unit: the cell takes several speeds.
        by_itself = any(
            abs(distance) >= max(comparable(off[run]), inner)
            for other, distance in enumerate(off)
            if other not in slips
        )
        if by_itself or starts.was_another_speed(cell, run, off[run], near[run]):
            continue
        yield about_cells(
            Sentence(
                "Run {run} of {name} reads {value:g} {unit}, its other runs about "
                "{others:g}: a factor near {factor}.",
                run=run + 1,
                name=cell.name,
                value=cell.means[run],
                unit=cell.unit,
                others=factor_of(middle),
                factor=factor,
            ),
            (cell,),
            value=cell.means[run],
            expected=factor_of(middle),
            factor=factor,
        )
