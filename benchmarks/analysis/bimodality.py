"""Detection of bimodal runs, which form two groups of different speed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from statistics import median
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.analysis.intervals import Floats
from benchmarks.analysis.run_order import Indices, session_means

MIN_RUNS: Final = 5
# docs/method.md, Tests, explains these cutoffs, which depend on the number of runs.
CUTOFFS: Final = {
    **{5: 0.990, 6: 0.981, 7: 0.972, 8: 0.961, 9: 0.952, 10: 0.943},
    **{11: 0.935, 12: 0.928, 15: 0.911, 20: 0.890, 30: 0.866, 50: 0.840},
}
CUTOFF_LIMIT: Final = 0.75
OUTLIER_Z: Final = 3.5
MIN_MODE_SHARE: Final = 0.15
MIN_MODE_RUNS: Final = 3
# This share of the runs at each end is outside of the middle, whose width is measured.
TAIL_SHARE: Final = 0.1
CUTOFF_SESSION_FACTOR: Final = 1.45


@dataclass(frozen=True, slots=True)
class Mode:
    median: float
    share: float
    count: int

    def scaled_by(self, unit: float) -> Mode:
        largest = float(np.finfo(float).max)
        center = min(max(self.median * unit, -largest), largest)
        return Mode(center, self.share, self.count)


@dataclass(frozen=True, slots=True, eq=False)
class ModeSplit:
    """One or two modes of a cell's values, which are ordered by session.

    ``session_adjusted`` are the values without the differences between sessions.
    ``groups`` has the indices of each mode, lower mode first.
    """

    session_adjusted: Floats
    groups: tuple[Indices, ...]
    eta_squared: float | None
    cutoff: float | None

    @property
    def modes(self) -> tuple[Mode, ...]:
        n = self.session_adjusted.size
        return tuple(
            Mode(_median(self.session_adjusted[group]), group.size / n, group.size)
            for group in self.groups
        )

    @property
    def center(self) -> float:
        return _median(self.session_adjusted)


def _median(values: Floats) -> float:
    """Return the median, ten times faster than numpy for a few values."""
    return float(median(values.tolist()))


@cache
def bimodal_cutoff(n: int) -> float | None:
    """Return the share of variance that two modes must explain; None below 5 runs."""
    if n < MIN_RUNS:
        return None
    sizes = sorted(CUTOFFS, reverse=True)
    positions = [0.0, *(1 / math.sqrt(size) for size in sizes)]
    cutoffs = [CUTOFF_LIMIT, *(CUTOFFS[size] for size in sizes)]
    return float(np.interp(1 / math.sqrt(n), positions, cutoffs))


def find_modes(
    values: Floats, session_sizes: tuple[int, ...], step: float
) -> ModeSplit:
    """Find two modes, each with at least 15 % of the runs and at least 3 runs."""
    all_runs = np.arange(values.size)
    labels = np.repeat(np.arange(len(session_sizes)), session_sizes)
    split = _best_split(values, labels, step)
    outliers = (
        split.smaller
        if split.is_clear
        else _far_outliers(values - session_means(values, session_sizes))
    )
    can_retry = 0 < outliers.size <= values.size - 2 * MIN_MODE_RUNS
    if split.cutoff is not None and can_retry and not split.has_modes:
        rest = np.delete(all_runs, outliers)
        retry = _best_split(values[rest], labels[rest], step)
        if retry.has_modes:
            low, high = values[rest[~retry.is_upper]], values[rest[retry.is_upper]]
            is_upper = values > low.max() / 2 + high.min() / 2
            is_upper[rest] = retry.is_upper
            split = replace(retry, is_upper=is_upper)
    groups: tuple[Indices, ...] = (all_runs,)
    adjusted = values - _offsets(values, session_sizes, None)
    if split.has_modes:
        lower, upper = np.flatnonzero(~split.is_upper), np.flatnonzero(split.is_upper)
        mode_adjusted = values - _offsets(values, session_sizes, split.is_upper)
        if _median(mode_adjusted[lower]) < _median(mode_adjusted[upper]):
            groups, adjusted = (lower, upper), mode_adjusted
    return ModeSplit(
        session_adjusted=adjusted,
        groups=groups,
        eta_squared=None if split.cutoff is None else split.eta_squared,
        cutoff=split.cutoff,
    )


def outliers_in(split: ModeSplit, groups: tuple[Indices, ...], step: float) -> set[int]:
    """Return indices of values with a modified z above 3.5 within their mode.

    ``step`` is the value of the last digit. See docs/method.md, Tests.
    """
    outliers: set[int] = set()
    for group in groups:
        distances = np.abs(
            split.session_adjusted[group] - _median(split.session_adjusted[group])
        )
        mad = max(_median(distances), step / 2)
        outliers.update(group[0.6745 * distances / mad > OUTLIER_Z].tolist())
    return outliers


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """The best cut of a cell's values into two groups.

    ``smaller`` are the runs of the smaller group in sessions that have both groups.
    """

    eta_squared: float
    cutoff: float | None
    is_upper: NDArray[np.bool_]
    smaller: Indices
    is_large_enough: bool = False

    @property
    def is_clear(self) -> bool:
        return self.cutoff is not None and self.eta_squared > self.cutoff

    @property
    def has_modes(self) -> bool:
        return self.is_clear and self.is_large_enough


def _best_split(values: Floats, labels: Indices, step: float) -> _Split:
    n = values.size
    counts = np.bincount(labels)
    sizes = tuple(int(size) for size in counts[counts > 0])
    freedom = n - len(sizes) + 1
    cutoff = bimodal_cutoff(freedom)
    if cutoff is not None and len(sizes) > 1:
        # Each session mean is one more fitted parameter.
        weights = [size for size in sizes if size > 1]
        increase = (
            CUTOFF_SESSION_FACTOR * sum(1 / size for size in weights) / sum(weights)
        )
        cutoff = 1 - (1 - cutoff) * (1 - increase)
    no_split = _Split(0.0, cutoff, np.zeros(n, dtype=bool), np.arange(0))
    if cutoff is None:
        return no_split
    centered = values - session_means(values, sizes)
    total = float(centered @ centered) + freedom * step * step / 12
    best, is_upper = 0.0, None
    for key in (values,) if len(sizes) == 1 else (values, centered):
        order = np.argsort(key, kind="stable")
        rank, size = _ranks_in_sessions(labels[order])
        lower = np.cumsum(np.where(rank + 1 < size, 1, -rank))
        upper = np.cumsum(np.where(rank > 0, -1, size - 1))
        is_cut = np.minimum(lower, upper) >= 2
        if not is_cut.any():
            continue
        spread = np.cumsum((size - 2 * rank - 1) / size)
        explained = np.zeros(n)
        explained[is_cut] = np.cumsum(centered[order])[is_cut] ** 2 / spread[is_cut]
        cut = int(explained.argmax())
        if explained[cut] / total > best:
            best = float(explained[cut]) / total
            is_upper = np.zeros(n, dtype=bool)
            is_upper[order[cut + 1 :]] = True
    if is_upper is None:
        return no_split
    upper_share = session_means(is_upper.astype(float), sizes)
    is_mixed = (upper_share > 0) & (upper_share < 1)
    below = np.flatnonzero(is_mixed & ~is_upper)
    above = np.flatnonzero(is_mixed & is_upper)
    smaller = above if above.size < below.size else below
    run_count = sum(size for size in sizes if size > 1)
    is_large_enough = smaller.size >= max(MIN_MODE_RUNS, MIN_MODE_SHARE * run_count)
    return _Split(best, cutoff, is_upper, smaller, is_large_enough)


def _ranks_in_sessions(labels: Indices) -> tuple[Indices, Indices]:
    if labels[0] == labels[-1] and not np.ptp(labels):
        return np.arange(labels.size), np.full(labels.size, labels.size)
    by_label = np.argsort(labels, kind="stable")
    _, begins, counts = np.unique(
        labels[by_label], return_index=True, return_counts=True
    )
    ranks = np.empty(labels.size, dtype=np.intp)
    ranks[by_label] = np.arange(labels.size) - np.repeat(begins, counts)
    sizes = np.empty(labels.size, dtype=np.intp)
    sizes[by_label] = np.repeat(counts, counts)
    return ranks, sizes


def _far_outliers(centered: Floats) -> Indices:
    ordered, last = np.sort(centered), centered.size - 1
    low = ordered[math.ceil(TAIL_SHARE * last)]
    high = ordered[math.floor((1 - TAIL_SHARE) * last)]
    width = high - low
    return np.flatnonzero((centered < low - width) | (centered > high + width))


def _offsets(
    values: Floats, sizes: tuple[int, ...], is_upper: NDArray[np.bool_] | None
) -> Floats:
    if len(sizes) == 1:
        return np.zeros(values.size)
    if is_upper is None:
        ends = np.cumsum(sizes)
        parts = np.split(values, ends[:-1])
        levels = np.repeat([_median(part) for part in parts], sizes)
    else:
        centered = values - session_means(values, sizes)
        upper = is_upper - session_means(is_upper.astype(float), sizes)
        difference = float(centered @ upper) / float(upper @ upper)
        levels = session_means(values - difference * is_upper, sizes)
    return np.asarray(levels - levels.mean(), dtype=float)
