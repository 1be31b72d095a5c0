"""Change points of a series of runs.

Binary segmentation (Scott and Knott, Biometrics 30, 1974; Vostrikova, Soviet
Mathematics Doklady 24, 1981) on the largest standardised difference of means (CUSUM:
Page, Biometrika 41, 1954), each split tested by permutation: at most ``ALPHA`` false
alarms for exchangeable runs. A slow drift is reported as one or more steps. Each side
needs ten runs (`docs/method.md`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from benchmarks.analysis.intervals import Floats
from benchmarks.analysis.shape import shape_of

LEAST_RUNS: Final = 10
ALPHA: Final = 0.01
PERMUTATIONS: Final = 999
LEAST: Final = 1e-75
"""No reading is smaller: a ratio of two levels is a number."""
MOST_RUNS: Final = 2000
"""Only the latest are searched: the work grows with runs times permutations."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A new level from run ``at`` (from 0); None for levels without one figure."""

    at: int
    before: float | None
    after: float | None
    p_value: float

    @property
    def factor(self) -> float | None:
        if self.before is None or self.after is None:
            return None
        return self.after / self.before


def change_points(means: Sequence[float]) -> tuple[ChangePoint, ...] | None:
    """Return change points in order; None below 20 runs or with readings of 0."""
    values = np.asarray(means, dtype=float)[-MOST_RUNS:]
    if len(values) < 2 * LEAST_RUNS or not np.all(
        (values > LEAST) & (values < 1 / LEAST)
    ):
        return None
    skipped = len(means) - len(values)
    # The same seed for all: a page says the same whenever it is asked for.
    random = np.random.default_rng(0)
    changes = _search(np.log(values), 0, random)
    edges = [0, *(split for split, _ in changes), len(values)]
    # Without a change no level is told, and no shape need be looked at.
    parts = [values[low:high] for low, high in pairwise(edges) if changes]
    levels = [
        float(part.mean()) if shape_of(part.tolist()).has_single_figure else None
        for part in parts
    ]
    return tuple(
        ChangePoint(skipped + split, levels[place], levels[place + 1], p)
        for place, (split, p) in enumerate(changes)
    )


def _search(
    logs: Floats, offset: int, random: np.random.Generator
) -> list[tuple[int, float]]:
    if len(logs) < 2 * LEAST_RUNS:
        return []
    statistics = _statistics(logs[np.newaxis])[0]
    split = LEAST_RUNS + int(np.argmax(statistics))
    shuffled = random.permuted(np.tile(logs, (PERMUTATIONS, 1)), axis=1)
    # Sums in another order differ in their last digits.
    largest = float(statistics.max()) * (1 - 1e-9)
    is_as_large = _statistics(shuffled).max(axis=1) >= largest
    p = float((1 + is_as_large.sum()) / (1 + PERMUTATIONS))
    if p > ALPHA:
        return []
    # One generator for all: which part is searched first decides what it draws.
    before = _search(logs[:split], offset, random)
    after = _search(logs[split:], offset + split, random)
    return [*before, (offset + split, p), *after]


def _statistics(rows: Floats) -> Floats:
    """Return |difference of means| over its scale, for every split that is allowed."""
    n = rows.shape[1]
    split = np.arange(LEAST_RUNS, n - LEAST_RUNS + 1)
    centred = rows - rows.mean(axis=1, keepdims=True)
    sums = np.cumsum(centred, axis=1)[:, split - 1]
    return np.asarray(np.abs(sums) / np.sqrt(split * (n - split) / n), dtype=float)
