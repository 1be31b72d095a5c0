"""Change points of a series of runs.

Binary segmentation (Scott and Knott, Biometrics 30, 1974; Vostrikova, Soviet
Mathematics Doklady 24, 1981) on the largest standardized difference of means (CUSUM:
Page, Biometrika 41, 1954), tested by permutation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from benchmarks.analysis.distribution_shape import find_shape
from benchmarks.analysis.intervals import Floats

MIN_SEGMENT_RUNS: Final = 10
ALPHA: Final = 0.01
PERMUTATIONS: Final = 999
MIN_READING: Final = 1e-75
"""Values from this to its reciprocal have finite ratios."""
MAX_RUNS: Final = 2000
"""Only the latest runs are searched, because the time grows with their number."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A change of the mean of a series, from the run at ``run_index`` on.

    ``before`` and ``after`` are the means of the runs up to the neighboring change
    points; None if no single figure describes these runs.
    """

    run_index: int
    before: float | None
    after: float | None
    p_value: float

    @property
    def factor(self) -> float | None:
        if self.before is None or self.after is None:
            return None
        return self.after / self.before


def change_points(means: Sequence[float]) -> tuple[ChangePoint, ...] | None:
    """Return the change points of a series of run means, in order.

    Only the last `MAX_RUNS` runs are used. Return None for fewer than 20 runs, or if
    one of these is outside 1e-75 to 1e75.
    """
    values = np.asarray(means, dtype=float)[-MAX_RUNS:]
    if len(values) < 2 * MIN_SEGMENT_RUNS or not np.all(
        (values > MIN_READING) & (values < 1 / MIN_READING)
    ):
        return None
    skipped = len(means) - len(values)
    random = np.random.default_rng(0)
    changes = _search(np.log(values), 0, random)
    edges = [0, *(split for split, _ in changes), len(values)]
    parts = [values[low:high] for low, high in pairwise(edges) if changes]
    levels = [
        float(part.mean()) if find_shape(part.tolist()).has_single_figure else None
        for part in parts
    ]
    return tuple(
        ChangePoint(skipped + split, levels[index], levels[index + 1], p)
        for index, (split, p) in enumerate(changes)
    )


def _search(
    logs: Floats, offset: int, random: np.random.Generator
) -> list[tuple[int, float]]:
    if len(logs) < 2 * MIN_SEGMENT_RUNS:
        return []
    statistics = _statistics(logs[np.newaxis])[0]
    split = MIN_SEGMENT_RUNS + int(np.argmax(statistics))
    shuffled = random.permuted(np.tile(logs, (PERMUTATIONS, 1)), axis=1)
    # Summing the same values in another order changes the last digits.
    largest = float(statistics.max()) * (1 - 1e-9)
    is_as_large = _statistics(shuffled).max(axis=1) >= largest
    p = float((1 + is_as_large.sum()) / (1 + PERMUTATIONS))
    if p > ALPHA:
        return []
    before = _search(logs[:split], offset, random)
    after = _search(logs[split:], offset + split, random)
    return [*before, (offset + split, p), *after]


def _statistics(rows: Floats) -> Floats:
    n = rows.shape[1]
    split = np.arange(MIN_SEGMENT_RUNS, n - MIN_SEGMENT_RUNS + 1)
    centered = rows - rows.mean(axis=1, keepdims=True)
    sums = np.cumsum(centered, axis=1)[:, split - 1]
    return np.asarray(np.abs(sums) / np.sqrt(split * (n - split) / n), dtype=float)
