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
from scipy.special import chdtri, gammaln

from benchmarks.analysis.cell_statistics import display_step
from benchmarks.plausibility.study_facts import find_precision

MIN_COPIED_RUNS: Final = 3
MAX_RUNS: Final = 100
MIN_SHARED: Final = 0.75
"""The share of the runs of the smaller cell that the other one must also have."""
MIN_SURPRISE: Final = math.log(1e9)
"""-ln of the probability below which equal runs are copies: one false alarm in 1,000
cells if a million are compared.
"""
MIN_PARTIAL_SURPRISE: Final = MIN_SURPRISE / 2
"""Enough for a cell if the other systems of the machine agree, too."""
SMALL_CHANGE: Final = 0.05
"""Copied runs may be changed by this share of their deviation."""
CAUTIOUS: Final = 0.9
"""The deviation of runs is taken at the lower end of its one-sided interval."""
NEAR_SHARE: Final = 0.2
"""The density of runs is taken from the nearest pairs, this share of all."""
MAX_PAIRED_RUNS: Final = 32
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
DECIMAL_PLACES: Final = 3
DECIMAL_SEED: Final = 1 << 20

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


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
        """The step of the display relative to the mean.

        It is the last printed digit, or a larger number of which all runs are
        multiples.
        """
        means = [float(f"{mean:.12g}") for mean in self.means]
        middle = math.fsum(means) / len(means)
        printed = find_precision(means, self.decimals).step(middle)
        return max(printed, display_step(means, self.decimals) or 0.0) / middle


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
    Hashes of rounded runs remain if a copy has few digits. A cell whose runs may be
    equal by chance has none.
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
        is_telling = -size * np.log(chances) >= MIN_PARTIAL_SURPRISE
        telling = logs[is_telling], steps[is_telling]
        found = zip(_hashed_gaps(*telling), _hashed_values(*telling), strict=True)
        for index, hashes in zip(np.flatnonzero(is_telling), found, strict=True):
            patterns[rows[index]] = tuple(sorted(set().union(*hashes)))
    return patterns


def run_copy(original: RunVector, copy: RunVector) -> RunCopy | None:
    """Return how ``copy`` repeats the runs of ``original``; None if it does not.

    The two may be exchanged: the factor is then inverted.
    """
    best = similar_runs(original, copy)
    return best if best and best.surprise >= MIN_SURPRISE else None


def joint_surprise(surprises: Sequence[float], compared: int) -> float:
    """Return the surprise of independent agreements of some of ``compared`` systems.

    Fisher's combination of probabilities, for the most surprising choice of systems.
    """
    ordered = sorted(surprises, reverse=True)
    total = 0.0
    best = 0.0
    for count, surprise in enumerate(ordered, start=1):
        total += surprise
        terms = [
            place * math.log(max(total, 1e-300)) - math.lgamma(place + 1)
            for place in range(count)
        ]
        chosen = math.log(math.comb(max(compared, count), count))
        best = max(best, total - float(np.logaddexp.reduce(terms)) - chosen)
    return best


def similar_runs(original: RunVector, copy: RunVector) -> RunCopy | None:
    """Return the most surprising agreement of two cells, None if most runs differ."""
    if not (original.is_usable and copy.is_usable):
        return None
    first, second = (np.log(side.means[:MAX_RUNS]) for side in (original, copy))
    steps = original.relative_step, copy.relative_step
    tick = max(
        float(_ticks(np.exp(logs)[None, :], np.array([step]))[0])
        for logs, step in zip((first, second), steps, strict=True)
    )
    rounding = sum(steps) / 2 * 1.01
    best = max(
        (
            found
            for equal in (min(steps) / 100, rounding)
            if (found := _matched(first, second, 0.0, equal, max(equal, tick / 2)))
        ),
        key=lambda found: found.surprise,
        default=None,
    )
    change = SMALL_CHANGE * min(float(np.std(side)) for side in (first, second))
    for tolerance in (rounding, max(rounding, change)):
        for shift in _common_shifts(first, second, tolerance):
            width = max(tolerance, tick / 2)
            scaled = _matched(first, second, shift, tolerance, width, lost=1)
            if scaled and (best is None or scaled.surprise > best.surprise):
                best = scaled
    return best


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

    It is that of two normal readings or, if larger, that of the distances between the
    row's own runs (few distinct values, two speeds).
    """
    size = logs.shape[1]
    lowest = np.sqrt((size - 1) / chdtri(size - 1, 1 - CAUTIOUS))
    middle = np.median(logs, axis=1, keepdims=True)
    spread = 1.4826 * np.median(np.abs(logs - middle), axis=1)
    deviation = np.minimum(logs.std(axis=1, ddof=1), spread) * lowest
    sample = logs[:, :: -(-size // MAX_PAIRED_RUNS)]
    distances = np.sort(
        np.abs(sample[:, :, None] - sample[:, None, :])[
            :, *np.triu_indices(sample.shape[1], 1)
        ],
        axis=1,
    )
    equal = (distances <= tolerances[:, None]).mean(axis=1)
    near = distances[:, int(NEAR_SHARE * distances.shape[1])]
    with np.errstate(divide="ignore", invalid="ignore"):
        by_noise = tolerances / (math.sqrt(math.pi) * deviation)
        by_distance = np.where(near > tolerances, NEAR_SHARE * tolerances / near, equal)
    chances = np.maximum(np.nan_to_num(by_noise, nan=1.0), by_distance)
    return np.asarray(np.clip(np.maximum(chances, equal), 1e-9, 1.0), dtype=float)


def _matched(
    first: Floats,
    second: Floats,
    shift: float,
    equal: float,
    tolerance: float,
    *,
    lost: int = 0,
) -> RunCopy | None:
    """Pair runs that agree within ``equal`` after ``shift``; None if too few do.

    ``tolerance`` decides how likely this is by chance; ``lost`` is the number of
    parameters that were fitted.
    """
    sizes = first.size, second.size
    target = first + shift
    chance = None
    best = None
    for pairs, is_aligned in (
        (_aligned_pairs(target, second, equal), True),
        (_sorted_pairs(target, second, equal), False),
    ):
        shared = len(pairs)
        if shared < max(MIN_COPIED_RUNS, MIN_SHARED * min(sizes)):
            continue
        chance = chance or max(
            float(_run_chances(side[None, :], np.array([tolerance]))[0])
            for side in (first, second)
        )
        surprise = -(shared - lost) * math.log(chance)
        # Which of the runs are shared, and where in the other cell they are.
        surprise -= math.log(math.comb(min(sizes), shared))
        if is_aligned:
            surprise -= math.log(sum(sizes))
        else:
            surprise -= math.lgamma(max(sizes) + 1)
            surprise += math.lgamma(max(sizes) - shared + 1)
            surprise += max(
                _log_orders(side[[pair[place] for pair in pairs]])
                for place, side in enumerate((first, second))
            )
        if best is None or surprise > best.surprise:
            best = RunCopy(shared, math.exp(shift), surprise)
    return best


def _log_orders(values: Floats) -> float:
    """Return the logarithm of the number of orders that only exchange equal values."""
    counts = np.unique(values, return_counts=True)[1]
    return float(gammaln(counts + 1).sum())


def _aligned_pairs(
    first: Floats, second: Floats, tolerance: float
) -> list[tuple[int, int]]:
    """Pair equal runs that are equally many places apart in both series."""
    is_equal = np.abs(first[:, None] - second[None, :]) <= tolerance
    rows, columns = np.nonzero(is_equal)
    if not rows.size:
        return []
    offsets = columns - rows
    counts = np.bincount(offsets + first.size - 1)
    kept = offsets + first.size - 1 == int(np.argmax(counts))
    return list(zip(rows[kept].tolist(), columns[kept].tolist(), strict=True))


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


def _hashed_gaps(logs: Floats, steps: Floats) -> list[set[int]]:
    hashes: list[set[int]] = [set() for _ in steps]
    finest = np.floor(-np.log2(np.maximum(steps, 2.0**-FINEST_LEVEL)) / 2) * 2
    series = (np.diff(np.sort(logs, axis=1), axis=1), np.diff(logs, axis=1))
    for kind, gaps in enumerate(series):
        for coarser in LEVELS:
            level = finest - coarser
            grid = np.rint(gaps * 2.0 ** level[:, None]).astype(np.int64)
            bits = np.log2(np.abs(grid).mean(axis=1) * math.e + 1)
            seeds = level.astype(np.int64) * len(series) + kind
            _add_windows(hashes, grid, bits, seeds)
    return hashes


def _hashed_values(logs: Floats, steps: Floats) -> list[set[int]]:
    """Return hashes of the runs rounded to decimal places below their deviation."""
    hashes: list[set[int]] = [set() for _ in steps]
    means = np.exp(logs)
    scale = means.mean(axis=1) * np.maximum(2 * logs.std(axis=1), 2.0**-FINEST_LEVEL)
    for kind, series in enumerate((np.sort(means, axis=1), means)):
        for finer in range(DECIMAL_PLACES):
            place = np.floor(np.log10(scale)) - finer
            is_printed = 10.0**place >= steps * means.mean(axis=1) * 0.99
            scaled = np.minimum(series / 10.0 ** place[:, None], 2.0**62)
            grid = np.rint(scaled).astype(np.int64)
            distance = np.abs(grid - np.sort(grid, axis=1)[:, [grid.shape[1] // 2]])
            bits = np.log2(distance.mean(axis=1) * math.e + 1)
            seeds = DECIMAL_SEED + place.astype(np.int64) * 2 + kind
            _add_windows(hashes, grid, np.where(is_printed, bits, 0.0), seeds)
    return hashes


def _add_windows(
    hashes: list[set[int]], grid: NDArray[np.int64], bits: Floats, seeds: Indices
) -> None:
    """Add hashes of successive values; ``bits`` is what a value of each row tells."""
    widths = np.searchsorted(WIDTHS, MIN_PATTERN_BITS / np.maximum(bits, 1e-9))
    for index, width in enumerate(WIDTHS):
        rows = np.flatnonzero(widths == index)
        if rows.size and width <= grid.shape[1]:
            windows = sliding_window_view(grid[rows], width, axis=1)
            hashed = np.sort(_hash(windows, seeds[rows, None]), axis=1)
            for row, found in zip(
                rows, hashed[:, :PATTERNS_PER_GRID].tolist(), strict=True
            ):
                hashes[row].update(found)


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
