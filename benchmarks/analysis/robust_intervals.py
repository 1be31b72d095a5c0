"""Intervals that a few outlying runs do not dominate.

See docs/method.md, Outliers. Hodges and Lehmann, "Estimates of location based on rank
tests", Annals of Mathematical Statistics 34 (1963).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from benchmarks.analysis.cell_statistics import MIN_ROBUST_RUNS
from benchmarks.analysis.intervals import (
    NO_WARNINGS,
    Floats,
    Intervals,
    Method,
    RunStatistics,
    t_quantiles,
)
from benchmarks.analysis.run_vectors import RunVectors
from benchmarks.analysis.session_intervals import DesignIntervals, SessionDesign
from benchmarks.analysis.sessions import (
    MAX_RHO,
    MIN_BIAS_DIVISOR,
    MIN_LAG_RUNS,
    Indices,
    SessionStatistics,
)

# Larger products of the numbers of runs of both sides would take too much memory.
MAX_PAIRS: Final = 250_000
MAX_EXACT_RUNS: Final = 50


def robust_rows(sides: tuple[RunVectors, RunVectors]) -> NDArray[np.bool_]:
    """Return the cells that a robust interval decides."""
    own, other = (side.counts for side in sides)
    is_positive = np.ones(own.shape, dtype=np.bool_)
    for side in sides:
        is_positive[side.row[~(side.value > 0)]] = False
    has_outliers = sides[0].outliers + sides[1].outliers > 0
    is_enough = np.minimum(own, other) >= MIN_ROBUST_RUNS
    return has_outliers & is_enough & is_positive & (own * other <= MAX_PAIRS)


@NO_WARNINGS
def without_outliers(
    cells: RunStatistics,
    sessions: SessionStatistics,
    runs: RunVectors,
    rows: NDArray[np.bool_],
) -> tuple[RunStatistics, SessionStatistics]:
    """Return statistics without the outliers of ``rows``.

    Means are those of the other runs, variances are winsorized: an outlier counts as
    the nearest other run. The lowest and highest runs stay. An outlying first run
    counts as one of the outliers.
    """
    runs = runs.take(rows[runs.row])
    if not runs.row.size:
        return cells, sessions
    group, is_outlier = runs.groups, runs.is_outlier
    first = np.concatenate([[0], np.flatnonzero(np.diff(group)) + 1])
    base = int(max(sessions.session.max(), runs.session.max())) + 2
    codes = sessions.row * base + sessions.session + 1
    entries = np.searchsorted(codes, runs.row[first] * base + runs.session[first] + 1)
    statistics = _trimmed(group, runs.value, is_outlier)
    column = {
        name: np.array(getattr(sessions, name))
        for name in ("n", "mean", "variance", "rho", "first_mean")
    }
    for name in ("n", "mean", "variance"):
        column[name][entries] = statistics[name]
    has_order = np.isfinite(column["rho"][entries])
    column["rho"][entries] = np.where(has_order, statistics["rho"], np.nan)
    is_first = is_outlier[first]
    column["first_mean"][entries[is_first]] = np.nan
    whole = _trimmed(
        np.unique(runs.row, return_inverse=True)[1], runs.value, is_outlier
    )
    changed = np.unique(runs.row)
    of_cells = {
        name: np.array(getattr(cells, name)) for name in ("n", "mean", "variance")
    }
    for name, values in of_cells.items():
        values[changed] = whole[name]
    return replace(cells, **of_cells), replace(sessions, **column)


def _trimmed(
    group: Indices, value: Floats, is_outlier: NDArray[np.bool_]
) -> dict[str, Floats]:
    size = int(group[-1]) + 1
    counts = np.bincount(group, minlength=size)
    kept = np.bincount(group, ~is_outlier, size)
    # A session of outliers only keeps its runs.
    is_left = ~is_outlier | (kept == 0)[group]
    kept = np.bincount(group, is_left, size)
    mean = np.bincount(group, np.where(is_left, value, 0.0), size) / kept
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, group[is_left], value[is_left])
    np.maximum.at(high, group[is_left], value[is_left])
    distance = np.clip(value, low[group], high[group]) - mean[group]
    squares = np.bincount(group, distance**2, size)
    residual = np.where(is_left, value - mean[group], 0.0)
    total = np.bincount(group, residual**2, size)
    products = np.where(np.diff(group) == 0, residual[:-1] * residual[1:], 0.0)
    r = np.bincount(group[1:], products, size) / total
    rho = (counts * r + 1) / np.maximum(counts - 4, MIN_BIAS_DIVISOR)
    return {
        "n": kept,
        "mean": mean,
        "variance": squares / (kept - 1),
        "rho": np.where(counts >= MIN_LAG_RUNS, np.minimum(rho, MAX_RHO), np.nan),
    }


@NO_WARNINGS
def with_robust_intervals(
    designed: DesignIntervals,
    sides: tuple[RunVectors, RunVectors],
    rows: NDArray[np.bool_],
    higher_is_better: ArrayLike,
    *,
    extra_log_variance: ArrayLike,
    confidence: float,
) -> DesignIntervals:
    """Return intervals of Hodges-Lehmann ratios where runs, not sessions, decide.

    ``designed`` are the designs `without_outliers`; their widening for dependent runs
    is applied to the robust intervals, too.
    """
    rows = rows & designed.has_design(
        SessionDesign.ONE_SHARED,
        SessionDesign.UNREPEATED,
        SessionDesign.ASSUMED_ONE_SESSION,
    )
    changed = np.flatnonzero(rows)
    if not changed.size:
        return designed
    sign = np.where(np.broadcast_to(higher_is_better, rows.shape), 1.0, -1.0)
    extra = np.broadcast_to(np.asarray(extra_log_variance, dtype=float), rows.shape)
    vectors = []
    for side in sides:
        is_compared = rows[side.row]
        is_compared &= (designed.design[side.row] != SessionDesign.ONE_SHARED) | (
            side.session == designed.session[side.row]
        )
        vectors.append(side.take(is_compared))
    # The only shared session may have too few runs.
    counts = np.minimum(*(side.counts[changed] for side in vectors))
    changed = changed[counts >= MIN_ROBUST_RUNS]
    estimate, half_width = _hodges_lehmann(vectors, changed)
    plain, widened = designed.independent, designed.intervals
    factor = widened.log_half_width[changed] / plain.log_half_width[changed]
    df = np.asarray(
        vectors[0].counts[changed] + vectors[1].counts[changed] - 2, dtype=float
    )
    quantile = t_quantiles(df, (1 + confidence) / 2)
    rounding = sum(
        np.where(runs.is_rounded, (runs.resolution / runs.mean) ** 2 / 12, 0.0)[changed]
        for runs in designed.independent_runs
    )
    added = quantile**2 * (rounding + extra[changed])
    log_ratio = sign[changed] * estimate
    independent, intervals = (
        _with_rank_intervals(
            each, changed, log_ratio, np.sqrt(width**2 + added), df, quantile
        )
        for each, width in ((plain, half_width), (widened, half_width * factor))
    )
    low, high = np.array(designed.deciding_low), np.array(designed.deciding_high)
    low[changed] = log_ratio - intervals.log_half_width[changed]
    high[changed] = log_ratio + intervals.log_half_width[changed]
    return replace(
        designed,
        intervals=intervals,
        independent=independent,
        deciding_low=low,
        deciding_high=high,
    )


def _with_rank_intervals(
    intervals: Intervals,
    rows: Indices,
    log_ratio: Floats,
    log_half_width: Floats,
    df: Floats,
    quantile: Floats,
) -> Intervals:
    """Return intervals with those of ``rows`` replaced.

    The standard error is the one with which Student's interval would be equal.
    """
    changed = {
        "ratio": np.exp(log_ratio),
        "log_half_width": log_half_width,
        "standard_error": log_half_width / quantile,
        "df": df,
        "method": np.where(np.isfinite(log_half_width), Method.RANKS, Method.NONE),
    }
    columns = {}
    for name, values in changed.items():
        columns[name] = np.array(getattr(intervals, name))
        columns[name][rows] = values
    return replace(intervals, **columns)


def _hodges_lehmann(sides: list[RunVectors], rows: Indices) -> tuple[Floats, Floats]:
    """Return the median difference of the logarithms of all pairs, and half the width
    of its interval by ranks, for ``rows``.
    """
    counts = np.stack([side.counts[rows] for side in sides])
    first = [np.cumsum(side.counts) - side.counts for side in sides]
    logs = [np.log(side.value) for side in sides]
    estimate, half_width = np.full((2, rows.size), np.nan)
    for n, m in np.unique(counts, axis=1).T.tolist():
        rank = critical_rank(n, m)
        if not rank:
            continue
        group = np.flatnonzero((counts[0] == n) & (counts[1] == m))
        own, other = (
            values[begin[rows[group]][:, None] + np.arange(count)]
            for values, begin, count in zip(logs, first, (n, m), strict=True)
        )
        differences = (own[:, :, None] - other[:, None, :]).reshape(group.size, -1)
        differences.sort(axis=1)
        middle = np.median(differences, axis=1)
        estimate[group] = middle
        low, high = differences[:, rank - 1], differences[:, -rank]
        half_width[group] = np.maximum(high - middle, middle - low)
    return estimate, half_width


@lru_cache(maxsize=4096)
def critical_rank(n: int, m: int, alpha: float = 0.05) -> int:
    """Return c: the c-th lowest to the c-th highest difference of the pairs of n and m
    runs are the ends of an interval with confidence 1 - ``alpha``; 0 for too few runs.

    Mann and Whitney (1947). Above 50 runs, U is taken as normal.
    """
    if max(n, m) > MAX_EXACT_RUNS:
        deviation = np.sqrt(n * m * (n + m + 1) / 12)
        quantile = float(stdtrit(np.inf, 1 - alpha / 2))
        return max(int(n * m / 2 - quantile * deviation), 0)
    # The number of arrangements with each U is a Gaussian binomial coefficient.
    ways = np.zeros(n * m + 1)
    ways[0] = 1.0
    for k in range(1, n + 1):
        for u in range(n * m, m + k - 1, -1):
            ways[u] -= ways[u - m - k]
        for u in range(k, n * m + 1):
            ways[u] += ways[u - k]
    tail = np.cumsum(ways / ways.sum())
    return int(np.searchsorted(tail, alpha / 2, side="right"))
