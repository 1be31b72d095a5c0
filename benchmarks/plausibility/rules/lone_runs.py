"""A run in another unit than the other runs of its cell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median, variance
from typing import Final

from benchmarks.plausibility.facts import CellFact, StudyFacts
from benchmarks.plausibility.precision import PRIOR_RUNS, precision
from benchmarks.plausibility.registry import Doubt, about_cells
from benchmarks.plausibility.starts import Starts, comparable, is_extreme
from benchmarks.plausibility.unit_factors import CLEARLY, LEAST, NEAR, nearest_factor
from benchmarks.sentences import Sentence

FEWEST: Final = 3
NEAREST: Final = 0.05
"""Quiet siblings allow a slip this much all the same: some percent are the luck of a
start, and who mistakes a unit may take 1000 for 1024 besides (0.024)."""


def runs_off(cell: CellFact, starts: Starts) -> Iterator[Doubt]:
    """Runs that are off from the others of their cell by the factor of a unit."""
    if len(cell.means) < FEWEST or min(cell.means) <= 0 or is_extreme(cell):
        return
    logs = [math.log(each) for each in cell.means]
    middle = median(logs)
    off = [each - middle for each in logs]
    inner = 2 * CLEARLY * sorted(map(abs, off))[len(logs) // 2]
    near = [_tolerance(cell, each, off, starts.study) for each in cell.means]
    slips = {
        run: factor
        for run, each in enumerate(off)
        if abs(each) >= max(LEAST, inner)
        and (factor := nearest_factor(cell, each, near[run]))
    }
    for run, factor in slips.items():
        by_itself = any(
            abs(each) >= max(comparable(off[run]), inner)
            for other, each in enumerate(off)
            if other not in slips
        )
        if not by_itself and not starts.was_another_speed(
            cell, run, off[run], near[run]
        ):
            yield _doubt(cell, run, math.exp(middle), factor)


def _tolerance(
    cell: CellFact, value: float, off: Sequence[float], study: StudyFacts
) -> float:
    """How near to a factor a slip lies, as a log ratio: as near as the others lie.

    A run in another unit scatters like its siblings do, so it reads the factor times
    what they read, to three standard deviations of one more run, and its own rounding.
    """
    others = [each for each in off if abs(each) < LEAST]
    freedom = len(others) - 1
    own = variance(others) if freedom else 0.0
    prior = study.noise.of_kind(cell)
    pooled = (freedom * own + PRIOR_RUNS * prior**2) / (freedom + PRIOR_RUNS)
    scatter = CLEARLY * math.sqrt(pooled * (1 + 1 / len(others)))
    rounding = precision(cell.means, cell.decimals).step(value) / 2 / value
    return min(NEAR, max(NEAREST, scatter + rounding))


def _doubt(cell: CellFact, run: int, others: float, factor: str) -> Doubt:
    return about_cells(
        Sentence(
            "Run {run} of {name} reads {value:g} {unit}, its other runs about "
            "{others:g}: a factor near {factor}.",
            run=run + 1,
            name=cell.name,
            value=cell.means[run],
            unit=cell.unit,
            others=others,
            factor=factor,
        ),
        (cell,),
        value=cell.means[run],
        expected=others,
        factor=factor,
    )
