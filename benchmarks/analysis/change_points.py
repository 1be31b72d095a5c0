"""Change points of a series: the results of one system over dates or versions.

E-divisive (Matteson and James, J. Am. Stat. Assoc. 109, 2014) with exponent 2, which
compares means, on ranks, which limit outliers. The series is divided where the
difference is largest, as long as a permutation test finds one. docs/method.md, Changes
over time, has the error rates.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp
from typing import Final

import numpy as np

from benchmarks.analysis.distribution_shape import find_shape
from benchmarks.analysis.intervals import Floats

MIN_SEGMENT_POINTS: Final = 5
MIN_POINTS: Final = 2 * MIN_SEGMENT_POINTS
ALPHA: Final = 0.014
BALANCE: Final = 0.65
"""Exponent of the statistic's weight; with 0.5 the ends of a series dominate chance."""
PERMUTATIONS: Final = 999
PERMUTATION_BATCH: Final = 111
MIN_READING: Final = 1e-75
"""Values from this to its reciprocal have finite ratios."""
MAX_POINTS: Final = 200
"""Only the latest points are searched: the time grows with their square."""
STRONG_BIC_DIFFERENCE: Final = 6.0
"""Kass and Raftery, J. Am. Stat. Assoc. 90, 1995."""
LOCATION_CHI2: Final = 3.84
"""95 % quantile of chi-squared with one degree of freedom."""
NORMAL_QUANTILE: Final = 1.96


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A change of the level of a series, from the point at ``index`` on.

    ``before`` and ``after`` are the medians (on the log scale) up to the neighboring
    change points. ``factor`` is the Hodges-Lehmann estimate of their ratio, with its
    95 % interval. All are None if no single figure describes the points.
    """

    index: int
    p_value: float
    before: float | None = None
    after: float | None = None
    factor: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class SeriesChanges:
    """The change points of a series, or its drift if a line describes it better.

    ``drift`` is the factor from the first to the last point.
    """

    changes: tuple[ChangePoint, ...] = ()
    drift: float | None = None


def find_changes(
    values: Sequence[float], version_starts: Collection[int] = ()
) -> SeriesChanges | None:
    """Return the changes of a series of positive values, in order.

    A change is placed at one of ``version_starts`` (indexes of points) if that explains
    the series about as well. Only the last `MAX_POINTS` points are used. Return None
    for fewer than 10 points, or if one of these is outside 1e-75 to 1e75.
    """
    points = np.asarray(values, dtype=float)[-MAX_POINTS:]
    if len(points) < MIN_POINTS or not np.all(
        (points > MIN_READING) & (points < 1 / MIN_READING)
    ):
        return None
    skipped = len(values) - len(points)
    logs = np.log(points)
    splits = _search(logs, 0)
    if not splits:
        return SeriesChanges()
    starts = [start - skipped for start in version_starts]
    edges = [0, *(split for split, _ in splits), len(logs)]
    slope = _slope(logs)
    if _is_line(logs, slope, edges):
        return SeriesChanges(drift=exp(slope * (len(logs) - 1)))
    for number in range(1, len(edges) - 1):
        edges[number] = _moved_to_version(logs, starts, *edges[number - 1 : number + 2])
    parts = [logs[low:high] for low, high in pairwise(edges)]
    is_level = [find_shape(np.exp(part).tolist()).has_single_figure for part in parts]
    changes = []
    for index, (_, p) in enumerate(splits):
        before, after = parts[index : index + 2]
        change = ChangePoint(skipped + edges[index + 1], p)
        if all(is_level[index : index + 2]):
            factor, low, high = map(exp, _shift(before, after))
            change = replace(
                change,
                before=exp(np.median(before)),
                after=exp(np.median(after)),
                factor=factor,
                low=low,
                high=high,
            )
        changes.append(change)
    return SeriesChanges(tuple(changes))


def _search(logs: Floats, offset: int) -> list[tuple[int, float]]:
    if len(logs) < MIN_POINTS:
        return []
    scores = _ranks(logs)
    random = np.random.default_rng(0)
    statistic, split = (float(array[0]) for array in _largest(scores[np.newaxis]))
    # Summing the same values in another order changes the last digits.
    threshold = statistic * (1 - 1e-9)
    exceeding = 0
    for _ in range(PERMUTATIONS // PERMUTATION_BATCH):
        rows = np.tile(scores, (PERMUTATION_BATCH, 1))
        shuffled = random.permuted(rows, axis=1)
        exceeding += int((_largest(shuffled)[0] >= threshold).sum())
        p = (1 + exceeding) / (1 + PERMUTATIONS)
        if p > ALPHA:
            return []
    cut = int(split)
    before, after = _search(logs[:cut], offset), _search(logs[cut:], offset + cut)
    return [*before, (offset + cut, p), *after]


def _ranks(values: Floats) -> Floats:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[inverse], dtype=float)


def _largest(rows: Floats) -> tuple[Floats, Floats]:
    """Return the largest statistic of each row, and its split.

    The points before the split are compared with those between it and any later end, so
    that a level that returns is found.
    """
    count, n = rows.shape
    sums = np.zeros((count, n + 1))
    np.cumsum(rows - rows.mean(axis=1, keepdims=True), axis=1, out=sums[:, 1:])
    largest, splits = np.full(count, -1.0), np.zeros(count)
    for split in range(MIN_SEGMENT_POINTS, n - MIN_SEGMENT_POINTS + 1):
        ends = np.arange(split + MIN_SEGMENT_POINTS, n + 1)
        sums_before = sums[:, split, np.newaxis]
        between = (sums[:, ends] - sums_before) / (ends - split)
        scale = (split * (ends - split) / ends) ** BALANCE
        statistics = (np.abs(sums_before / split - between) * scale).max(axis=1)
        is_larger = statistics > largest
        largest[is_larger], splits[is_larger] = statistics[is_larger], split
    return largest, splits


def _moved_to_version(
    logs: Floats, starts: Sequence[int], low: int, split: int, high: int
) -> int:
    """Return the start of a version that is as likely as the split, or the split."""
    scores = _ranks(logs[low:high])

    def loss(at: int) -> float:
        parts = (scores[: at - low], scores[at - low :])
        squares = sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
        return len(scores) * float(np.log(max(squares, 1e-300)))

    allowed = range(low + MIN_SEGMENT_POINTS, high - MIN_SEGMENT_POINTS + 1)
    near = [start for start in starts if start in allowed]
    best = min(near, key=loss, default=split)
    return best if loss(best) <= loss(split) + LOCATION_CHI2 else split


def _slope(logs: Floats) -> float:
    """Return the median slope of all pairs (Theil and Sen)."""
    first, second = np.triu_indices(len(logs), 1)
    return float(np.median((logs[second] - logs[first]) / (second - first)))


def _is_line(logs: Floats, slope: float, edges: Sequence[int]) -> bool:
    """Return whether a line is strongly preferred to steps, by BIC.

    Residuals have a Laplace distribution, so that one outlier does not decide.
    """
    rest = logs - slope * np.arange(len(logs))
    line = float(np.abs(rest - np.median(rest)).sum())
    parts = (logs[low:high] for low, high in pairwise(edges))
    steps = sum(float(np.abs(part - np.median(part)).sum()) for part in parts)
    if line == 0 or steps == 0:
        return line < steps
    # A line has two parameters; steps have a level each, and the places between them.
    extra_parameters = 2 * (len(edges) - 1) - 1 - 2
    n = len(logs)
    difference = 2 * n * np.log(steps / line) + extra_parameters * np.log(n)
    return bool(difference > STRONG_BIC_DIFFERENCE)


def _shift(before: Floats, after: Floats) -> tuple[float, float, float]:
    """Return the Hodges-Lehmann shift with its 95 % interval (Moses).

    The interval uses the normal approximation of the Mann-Whitney distribution.
    """
    shifts = np.sort(np.subtract.outer(after, before), axis=None)
    n, m = len(before), len(after)
    spread = NORMAL_QUANTILE * np.sqrt(n * m * (n + m + 1) / 12)
    rank = max(int(n * m / 2 - spread), 1)
    median = float(np.median(shifts))
    return median, float(shifts[rank - 1]), float(shifts[-rank])
