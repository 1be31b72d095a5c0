"""Readings that repeat too often, that are 0, or that fill their scale."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Final

import numpy as np

from benchmarks import units
from benchmarks.analysis.energy import WORK_TIMES
from benchmarks.plausibility.facts import (
    NORMAL,
    CellFact,
    Id,
    StudyFacts,
    precision,
)
from benchmarks.plausibility.findings import Doubt, about_cells, further, rule
from benchmarks.plausibility.rules.duplicates import CHANCE, STEADY, steadiness
from benchmarks.sentences import Sentence, counted, joined

TICKS_S: Final = (1.0, 1 / 18.2, 0.02, 1 / 60, 1 / 64, 0.01, 0.004, 0.001)
"""Clocks of systems: DOS, Windows, Linux by how often its timer ticks."""
SHORTEST: Final = 1e-50
"""Of any unit, no time or rate reads less, nor more than one in so many."""
FINELY: Final = 5
"""A tick of fewer printed steps could be anything."""
MOST_TICKS: Final = 1e6
"""Of more ticks than these one is no coarse step."""
CERTAIN: Final = 0.1
FEWEST_RUNS: Final = 5
FEWEST_SIBLINGS: Final = 3
"""So many other systems tell how finely a case repeats itself."""
GIVEN: Final = 0.01
"""Systems of different speeds take equally long only for what ends by the clock."""


@rule("few-distinct-readings", "Too few distinct readings", "implausible")
def few_distinct_readings(study: StudyFacts) -> Iterator[Doubt]:
    """Five runs or more that read at most a third as many distinct values as there are
    runs, though they were printed finely enough: two noisy readings agree with a chance
    of the rounding step over 2 sqrt(pi) standard deviations. The cell's own range (if
    it has any) or a quarter of its kind's noise is taken for the deviation, and the
    number of agreeing pairs must be impossible (less than 1 in 1,000). The length of a
    whole test is left out where the middle half of several systems took the same time
    to 1 %: then it was requested, not measured. So are times (and rates of one amount
    of work) that are whole ticks of a clock: such a reading is coarse, and no error.
    Where three other systems ran the case five times or more, how they scatter (the
    median of their median deviations) stands for the deviation if it is smaller: a disk
    of two speeds repeats each of them.

    Why: readings that repeat to the last digit were copied, or read from a cache of
    results.

    What to do: look at the raw outputs; repeat the runs.
    """
    # How long a test was told to last is no measurement.
    lengths: dict[tuple[str, Id], dict[Id, float]] = defaultdict(dict)
    for cell in study.cells:
        if cell.metric in WORK_TIMES and cell.mean > 0:
            lengths[cell.tool, cell.case][cell.system] = cell.mean
    requested = set()
    for case, systems in lengths.items():
        low, high = np.quantile(list(systems.values()), [0.25, 0.75])
        # One system alone may just be steady.
        if len(systems) > 1 and high / low - 1 <= GIVEN:
            requested.add(case)
    for cell in study.cells:
        if cell.better == "neither" or len(cell.means) < FEWEST_RUNS or cell.mean <= 0:
            continue
        values = sorted(set(cell.means))
        few = len(values) * 3 <= len(cell.means) + 1
        if (cell.tool, cell.case) in requested or not few or _may_agree(cell, study):
            continue
        if _ticks(cell, values):
            continue
        yield about_cells(
            counted(
                "The {runs} runs of {name} read only {n} distinct value: {values}.",
                "The {runs} runs of {name} read only {n} distinct values: {values}.",
                runs=len(cell.means),
                name=cell.name,
                n=len(values),
                values=joined([Sentence("{x:g}", x=x) for x in values], ", "),
            ),
            (cell,),
            distinct=len(values),
            runs=len(cell.means),
            readings=list(cell.means),
        )


def _may_agree(cell: CellFact, study: StudyFacts) -> bool:
    """Whether the repeats can be chance: each fell on one of the distinct values."""
    distinct = len(set(cell.means))
    step = study.step(cell)
    width = max(cell.means) - min(cell.means)
    deviation = max(width / 2, study.noise.of_kind(cell) * STEADY * cell.mean / 2)
    # A disk of two speeds has a wide range, though each speed repeats itself.
    steady = [
        steadiness(other.means)
        for other in study.cells
        if other.case == cell.case
        and other.id != cell.id
        and len(other.means) >= FEWEST_RUNS
    ]
    if len(steady) >= FEWEST_SIBLINGS:
        deviation = min(deviation, NORMAL * float(np.median(steady)))
    chance = min(
        1.0, distinct * step / (2 * math.sqrt(math.pi) * max(deviation, step / 6))
    )
    repeats = len(cell.means) - distinct
    return math.comb(len(cell.means), repeats) * chance**repeats > CHANCE


def _ticks(cell: CellFact, values: Sequence[float]) -> bool:
    """Return whether times (or rates) are whole ticks of a clock."""
    # What no clock reads is not counted in ticks, nor could floats hold the squares.
    if not SHORTEST <= min(values) <= max(values) <= 1 / SHORTEST:
        return False
    printed = precision(values, cell.decimals)
    unit = units.find(cell.unit)
    if unit is not None and unit.dimension == "time":
        in_s = units.convert(1.0, cell.unit, "s")
        for tick in (tick / in_s for tick in TICKS_S):
            if values[-1] / tick > MOST_TICKS:
                continue
            off = [abs(value - tick * round(value / tick)) for value in values]
            step = max(map(printed.step, values))
            if tick >= FINELY * step and max(off) <= 0.51 * step:
                return True
    is_time = cell.better == "lower"
    times = sorted(value if is_time else 1 / value for value in values)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    tick = min(gaps, default=0.0)
    if tick <= 0 or not times[-1] / tick <= MOST_TICKS:
        return False
    # How far rounding alone moves the number of ticks of the longest time.
    rounding = max(printed.step(value) / value for value in values)
    slack = 2 * (times[-1] / tick) ** 2 * rounding
    ticks = [time / tick for time in times]
    off = [abs(count - round(count)) for count in ticks]
    return slack <= CERTAIN and max(off) <= CERTAIN


FULL: Final = 99.4
READABLE: Final = 0.5
SPENT: Final = frozenset({"time", "CPU time per data", "energy", "power"})
"""Dimensions of what every run takes some of."""


@rule("zero-reading", "Zero in a live run", "impossible", family="readings")
def zero_reading(study: StudyFacts) -> Iterator[Doubt]:
    """A CPU utilization of 0 % (all runs), or a rate, time, energy or power of 0, where
    the same case reads at least 0.5 % elsewhere or nothing else is known. Moving data
    costs CPU time: 0 means that nobody measured it, for instance because the counter of
    the guest stands still. Counts, losses, shares of slow requests, jitter and waiting
    may be 0.

    Why: 0 % would be an infinitely efficient system, and it makes every mean over the
    cell wrong.

    What to do: treat the cell as not measured; measure the CPU from the host.
    """
    rows: dict[object, list[float]] = defaultdict(list)
    for cell in study.cells:
        rows[cell.case].append(cell.mean)
    zeros = []
    for cell in study.cells:
        is_rate = cell.unit != "%" and cell.better == "higher"
        if cell.mean == 0 and (cell.is_share or is_rate or _is_never_zero(cell)):
            others = [mean for mean in rows[cell.case] if mean > 0]
            # A share of 0.4 % may well be rounded down to 0 elsewhere.
            if not others or cell.unit != "%" or median(others) >= READABLE:
                zeros.append(cell)
    for cells in _alike(zeros):
        elsewhere = [mean for cell in cells for mean in rows[cell.case] if mean]
        yield about_cells(
            Sentence(
                "{cases} reads 0 {unit} in a live run: it was not measured.",
                cases=further(cells[0].name, len(cells) - 1),
                unit=cells[0].unit,
            ),
            cells,
            reading=0,
            elsewhere=elsewhere[:20],
        )


@rule("saturated-reading", "A CPU that reads 100 %", "implausible", family="readings")
def saturated_reading(study: StudyFacts) -> Iterator[Doubt]:
    """A CPU utilization of exactly 100 % in every run of a test that is not made to
    load the CPU; from 99.4 % on, and in several runs of a test of the CPU, it is a
    check. More than 100 % times the CPUs of the system is impossible; where
    their number is not known, more than 100 % is not judged.

    Why: either the counter is stuck, or the CPU was the limit: then the throughput
    beside it says nothing about the network or the disk.

    What to do: look at the host's own counters; name the CPU as the limit if it was.
    """
    shares = [cell for cell in study.cells if cell.is_share]
    too_much = [
        cell
        for cell in shares
        if (cpus := cell.vcpus or cell.host_cores) is not None
        and cell.mean > 100 * cpus * 1.02
    ]
    for cells in _alike(too_much):
        yield about_cells(
            Sentence(
                "{cases} reads {mean:g} %, and the system has {cpus} CPUs.",
                cases=further(cells[0].name, len(cells) - 1),
                mean=cells[0].mean,
                cpus=cells[0].vcpus or cells[0].host_cores or 0,
            ),
            cells,
            severity="impossible",
            readings=[cell.mean for cell in cells],
        )
    # Full where it need not be; or, in a test of the CPU, without any scatter.
    full = [
        cell
        for cell in shares
        if (cell.component != "CPU" and FULL <= cell.mean <= 100)
        or (cell.component == "CPU" and cell.n > 1 and set(cell.means) == {100.0})
    ]
    for cells in _alike(full):
        stuck = any(cell.component != "CPU" and cell.mean == 100 for cell in cells)
        yield about_cells(
            Sentence(
                "{cases} reads {mean:g} %: a stuck counter, or the CPU was the limit "
                "of this test.",
                cases=further(cells[0].name, len(cells) - 1),
                mean=cells[0].mean,
            ),
            cells,
            severity=None if stuck else "check",
            readings=[cell.mean for cell in cells],
        )


def _is_never_zero(cell: CellFact) -> bool:
    unit = units.find(cell.unit)
    if cell.better != "lower" or unit is None or unit.dimension not in SPENT:
        return False
    # Tools allow CPU times of 0, too, for a guest that idles; a test is no idle guest.
    return not cell.zero_allowed or "cpu time" in cell.metric.casefold()


def _alike(cells: Iterable[CellFact]) -> Iterator[list[CellFact]]:
    """Cells of one system, tool and metric: one doubt."""
    groups: dict[object, list[CellFact]] = defaultdict(list)
    for cell in cells:
        groups[(*cell.column, *cell.kind)].append(cell)
    return iter(groups.values())
