"""Copies of run vectors: equal up to rounding, order, a factor and missing runs.

See docs/method.md, Copies. Cells that share a fingerprint are candidates, which
`run_copy` compares.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.special import chdtri

from benchmarks.plausibility.study_facts import find_precision

MIN_COPIED_RUNS: Final = 3
MAX_RUNS: Final = 100
MIN_SHARED: Final = 0.75
"""The share of the runs of the smaller cell that the other one must also have."""
MIN_SURPRISE: Final = math.log(1e9)
"""-ln of the probability below which equal runs are copies: one false alarm in 1,000
cells if a million are compared.
"""
SMALL_CHANGE: Final = 0.05
"""Copied runs may be changed by this share of their deviation."""
CAUTIOUS: Final = 0.9
"""The deviation of runs is taken at the lower end of its one-sided interval."""
MAX_TICK_PARTS: Final = 8
FINEST_LEVEL: Final = 40
LEVELS: Final = (0, 2, 4, 6, 8)
"""Gaps between runs are compared on these grids, each coarser than the finest grid by
the power of two.
"""
WIDTHS: Final = (2, 3, 5, 8, 12)
"""Numbers of gaps in a pattern: the fewest that have `MIN_PATTERN_BITS`."""
MIN_PATTERN_BITS: Final = 16.0
PATTERNS_PER_GRID: Final = 3

Floats = NDArray[np.float64]


# No slots, because of cached_property.
@dataclass(frozen=True)
class RunVector:
    """The run means of a cell, in their order; ``decimals`` is that of the display."""

    means: tuple[float, ...]
    decimals: int | None = None

    @property
    def is_usable(self) -> bool:
        return len(self.means) >= MIN_COPIED_RUNS and all(
            0 < mean < math.inf for mean in self.means
        )

    @cached_property
    def relative_step(self) -> float:
        """The last printed digit relative to the mean."""
        precision = find_precision(
            (float(f"{mean:.12g}") for mean in self.means), self.decimals
        )
        middle = math.fsum(self.means) / len(self.means)
        return precision.step(middle) / middle


@dataclass(frozen=True, slots=True)
class RunCopy:
    """How one cell repeats the runs of another.

    ``factor`` is the ratio of the copied runs to the original ones. ``surprise`` is -ln
    of the probability that independent runs agree so well.
    """

    shared: int
    factor: float
    surprise: float


def run_patterns(cells: Sequence[RunVector]) -> list[tuple[int, ...]]:
    """Return the fingerprints of cells: hashes of gaps between the logs of their runs.

    A factor and (on the coarser grids) rounding do not change the gaps; gaps of sorted
    runs do not depend on order, those of successive runs remain in a part of the runs.
    A cell whose runs may be equal by chance has none.
    """
    patterns: list[tuple[int, ...]] = [()] * len(cells)
    rows_by_size: dict[int, list[int]] = defaultdict(list)
    for row, cell in enumerate(cells):
        if cell.is_usable:
            rows_by_size[min(len(cell.means), MAX_RUNS)].append(row)
    for size, rows in rows_by_size.items():
        logs = np.log([cells[row].means[:size] for row in rows])
        steps = np.array([cells[row].relative_step for row in rows])
        chances = _run_chances(logs, _ticks(np.exp(logs), steps) / 2)
        is_telling = -size * np.log(chances) >= MIN_SURPRISE
        found = _hashed_patterns(logs[is_telling], steps[is_telling])
        for index, hashes in zip(np.flatnonzero(is_telling), found, strict=True):
            patterns[rows[index]] = hashes
    return patterns


def run_copy(original: RunVector, copy: RunVector) -> RunCopy | None:
    """Return how ``copy`` repeats the runs of ``original``; None if it does not.

    The two may be exchanged: the factor is then inverted.
    """
    if not (original.is_usable and copy.is_usable):
        return None
    first, second = (np.log(side.means[:MAX_RUNS]) for side in (original, copy))
    steps = original.relative_step, copy.relative_step
    tick = max(
        float(_ticks(np.exp(logs)[None, :], np.array([step]))[0])
        for logs, step in zip((first, second), steps, strict=True)
    )
    best = _matched(first, second, 0.0, min(steps) / 100, tick / 2, lost=0)
    rounding = sum(steps) / 2 * 1.01
    change = SMALL_CHANGE * min(float(np.std(side)) for side in (first, second))
    for tolerance in (rounding, max(rounding, change)):
        for shift in _common_shifts(first, second, tolerance):
            width = max(tolerance, tick / 2)
            scaled = _matched(first, second, shift, tolerance, width, lost=1)
            if scaled and (best is None or scaled.surprise > best.surprise):
                best = scaled
    return best if best and best.surprise >= MIN_SURPRISE else None


def _ticks(values: Floats, steps: Floats) -> Floats:
    """Return the step of the clock or counter behind each row of runs, relative to its
    mean.

    It is larger than ``steps``, those of the display, if all runs, or the inverses of
    all runs, are multiples of it apart.
    """
    ticks = steps.copy()
    for series in (values, 1 / values):
        lengths = np.sort(series, axis=1) / series.mean(axis=1, keepdims=True)
        lengths = lengths[:, 1:] - lengths[:, :1]
        gaps = np.diff(lengths, axis=1, prepend=0.0)
        gap = np.where(gaps > steps[:, None] / 2, gaps, 1.0).min(axis=1)
        for parts in range(MAX_TICK_PARTS, 0, -1):
            unit, products, squares = gap / parts, 0.0, 1e-300
            # The first lengths are only known to a step: longer ones refine the unit.
            for length in lengths.T:
                count = np.rint(length / unit)
                products, squares = products + count * length, squares + count**2
                unit = np.where(count > 0, products / squares, unit)
            counts = np.rint(lengths / unit[:, None])
            rest = np.abs(lengths - counts * unit[:, None]).max(axis=1)
            fits = (rest <= 1.5 * steps) & (unit > steps)
            ticks = np.where(fits, np.maximum(ticks, unit), ticks)
    return ticks


def _run_chances(logs: Floats, tolerances: Floats) -> Floats:
    """Return, for each row of runs, the probability that two runs agree within the
    tolerance.

    It is that of two normal readings, or the share of equal pairs if that is larger.
    """
    size = logs.shape[1]
    lowest = np.sqrt((size - 1) / chdtri(size - 1, 1 - CAUTIOUS))
    middle = np.median(logs, axis=1, keepdims=True)
    spread = 1.4826 * np.median(np.abs(logs - middle), axis=1)
    deviation = np.minimum(logs.std(axis=1, ddof=1), spread) * lowest
    with np.errstate(divide="ignore", invalid="ignore"):
        by_noise = tolerances / (math.sqrt(math.pi) * deviation)
    gaps = np.diff(np.sort(logs, axis=1), axis=1)
    ties = (gaps <= tolerances[:, None]).mean(axis=1)
    chances = np.maximum(np.nan_to_num(by_noise, nan=1.0), ties / size)
    return np.asarray(np.clip(chances, 1e-9, 1.0), dtype=float)


def _matched(
    first: Floats,
    second: Floats,
    shift: float,
    equal: float,
    tolerance: float,
    *,
    lost: int,
) -> RunCopy | None:
    """Pair runs that agree within ``equal`` after ``shift``; None if too few do.

    ``tolerance`` decides how likely this is by chance; ``lost`` is the number of
    parameters that were fitted.
    """
    sizes = first.size, second.size
    target = first + shift
    pairs = _sorted_pairs(target, second, equal)
    shared = len(pairs)
    if shared < max(MIN_COPIED_RUNS, MIN_SHARED * min(sizes)):
        return None
    chance = max(
        float(_run_chances(side[None, :], np.array([tolerance]))[0])
        for side in (first, second)
    )
    surprise = -(shared - lost) * math.log(chance)
    # Which of the runs are shared, and where in the other cell they are.
    surprise -= math.log(math.comb(min(sizes), shared))
    offsets = [second_at - first_at for first_at, second_at in pairs]
    if len(set(offsets)) == 1:
        surprise -= math.log(sum(sizes))
    else:
        surprise -= math.lgamma(max(sizes) + 1) - math.lgamma(max(sizes) - shared + 1)
    return RunCopy(shared, math.exp(shift), surprise)


def _sorted_pairs(
    first: Floats, second: Floats, tolerance: float
) -> list[tuple[int, int]]:
    """Pair equal values of two series, as their positions, smallest values first."""
    orders = np.argsort(first, kind="stable"), np.argsort(second, kind="stable")
    pairs = []
    i = j = 0
    while i < first.size and j < second.size:
        at = int(orders[0][i]), int(orders[1][j])
        difference = first[at[0]] - second[at[1]]
        if abs(difference) <= tolerance:
            pairs.append(at)
        i += difference <= tolerance
        j += difference >= -tolerance
    return pairs


def _common_shifts(first: Floats, second: Floats, tolerance: float) -> list[float]:
    """Return the shifts of logs under which most runs agree: at most one, and 0."""
    differences = np.sort((second[None, :] - first[:, None]).ravel())
    ends = np.searchsorted(differences, differences + 2 * tolerance, side="right")
    counts = ends - np.arange(differences.size)
    start = int(np.argmax(counts))
    inside = differences[start : int(ends[start])]
    return [float(np.median(inside)), float((inside[0] + inside[-1]) / 2)]


def _hashed_patterns(logs: Floats, steps: Floats) -> list[tuple[int, ...]]:
    hashes: list[set[int]] = [set() for _ in steps]
    finest = np.floor(-np.log2(np.maximum(steps, 2.0**-FINEST_LEVEL)) / 2) * 2
    series = (np.diff(np.sort(logs, axis=1), axis=1), np.diff(logs, axis=1))
    for kind, gaps in enumerate(series):
        for coarser in LEVELS:
            level = finest - coarser
            grid = np.rint(gaps * 2.0 ** level[:, None]).astype(np.int64)
            bits = np.log2(np.abs(grid).mean(axis=1) * math.e + 1)
            needed = MIN_PATTERN_BITS / np.maximum(bits, 1e-9)
            widths = np.searchsorted(WIDTHS, needed)
            seeds = level.astype(np.int64) * len(series) + kind
            for index, width in enumerate(WIDTHS):
                rows = np.flatnonzero(widths == index)
                if rows.size and width <= gaps.shape[1]:
                    windows = sliding_window_view(grid[rows], width, axis=1)
                    hashed = _hash(windows, seeds[rows, None])
                    hashed = np.sort(hashed, axis=1)[:, :PATTERNS_PER_GRID]
                    for row, found in zip(rows, hashed.tolist(), strict=True):
                        hashes[row].update(found)
    return [tuple(sorted(found)) for found in hashes]


def _hash(windows: NDArray[np.int64], seeds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 64-bit hashes of the last axis (splitmix64: Steele et al., 2014)."""
    state = np.broadcast_to(seeds, windows.shape[:-1]).astype(np.uint64)
    for position in range(windows.shape[-1]):
        state = state ^ windows[..., position].astype(np.uint64)
        state = state + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = state ^ (state >> np.uint64(31))
    return state.view(np.int64)
