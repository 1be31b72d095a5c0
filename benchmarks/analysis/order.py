"""Patterns in the order of a cell's runs: periods, a trend, dependence.

Ten statistics at once: the variance explained by the position modulo 2..5, the
autocorrelations at lags 1..5, and a line. Each becomes an approximately normal score
(E. B. Wilson and M. M. Hilferty, 1931); the largest is compared with its distribution
over permutations, so the whole test has 1 % false alarms (maxT: P. H. Westfall and S.
S. Young, Resampling-Based Multiple Testing, 1993).

A trend must also exceed the standard error of its slope, widened by dependence, and
with three sessions be one of sessions as such.

Everything is within sessions: values are distances from the session's mean, and
permutations stay in it.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from benchmarks.analysis.intervals import Floats
from benchmarks.analysis.sessions import MOST_RHO, REPEATED_SESSIONS

Places = NDArray[np.intp]

PERIODS: Final = (2, 3, 4, 5)
LAGS: Final = (1, 2, 3, 4, 5)
TREND: Final = len(PERIODS) + len(LAGS)
ORDER_RUNS: Final = 8
FALSE_ALARM: Final = 0.01
# So many standard errors a normal deviate exceeds by a chance of 1 %, to either side.
BEYOND_CHANCE: Final = 2.576
PERMUTATIONS: Final = 999
# A first glance settles most cells: ten of 99 permutations as extreme is no finding.
GLANCE, ENOUGH = 99, 10
# From here on the scores are normal enough to do without permutations.
NORMAL_RUNS: Final = 500
DEGREES: Final = np.array([*(k - 1.0 for k in PERIODS), *(1.0 for _ in LAGS), 1.0])
# What a look leaves unexplained counts as at least this: rounding leaves no less.
CLEAR: Final = 1e-12
SPREAD: Final = 2 / (9 * DEGREES)
# Distances from a mean that are no more than this part of the values are its rounding.
ROUNDING: Final = 8 * float(np.finfo(float).eps)


@dataclass(frozen=True, slots=True)
class RunOrder:
    """Patterns in the order of runs; None unless beyond chance.

    ``slope`` is the change per run, ``autocorrelation`` at ``lag`` without the trend,
    ``partial`` what an unfinished period adds to a session's sum.
    """

    p: float
    period: int | None = None
    lag: int | None = None
    autocorrelation: float | None = None
    slope: float | None = None
    partial: float = 0.0


def order_of(values: Floats, sizes: tuple[int, ...] | None = None) -> RunOrder | None:
    """Test for periods, autocorrelation and a trend.

    ``values`` are in order, session by session; ``sizes`` are the runs of each
    (default: one session). None below 8 runs (less one per session), or without any
    spread. The permutations depend on the sizes alone.
    """
    sizes = sizes or (values.size,)
    n = values.size - len(sizes) + 1
    standard = _standardised(values, sizes) if n >= ORDER_RUNS else None
    if standard is None:
        return None

    unit = float(np.abs(values).max())
    looks = _looks(standard[:, None], sizes)[:, 0]
    scores = _scores(looks, n)
    period = int(scores[: len(PERIODS)].argmax())
    two, four = PERIODS.index(2), PERIODS.index(4)
    left = np.maximum(1 - looks, CLEAR)
    # What repeats with 2 repeats with 4 as well: 4 is the period only if it explains
    # half of what 2 leaves over.
    if period == four and left[four] > 0.5 * left[two]:
        period = two
    lag = len(PERIODS) + int(scores[len(PERIODS) : TREND].argmax())
    chosen = [period, lag, TREND]
    p_values = _chances(standard, sizes, scores[chosen], n)
    is_clear = [p <= FALSE_ALARM for p in p_values]
    clear_lag = LAGS[lag - len(PERIODS)] if is_clear[1] else None
    slope = _trend(values / unit, sizes) if is_clear[2] else None
    rest: Floats | None = standard
    if slope is not None:
        rest = _standardised(without_line(values / unit, sizes, slope), sizes)
    return RunOrder(
        p=min(p_values),
        period=PERIODS[period] if is_clear[0] else None,
        lag=clear_lag,
        autocorrelation=None
        if clear_lag is None
        else _autocorrelation(rest, sizes, clear_lag),
        slope=None if slope is None else unit * slope,
        partial=unit * _partial(values / unit, sizes, PERIODS[period])
        if is_clear[0]
        else 0.0,
    )


def session_means(values: Floats, sizes: tuple[int, ...]) -> Floats:
    """Return, for each value, the mean of its session."""
    if len(sizes) == 1:
        return np.full(values.size, values.mean())
    begins = np.cumsum((0, *sizes[:-1]))
    means = np.add.reduceat(values, begins) / sizes
    return np.repeat(means, sizes)


def _standardised(values: Floats, sizes: tuple[int, ...]) -> Floats | None:
    """Distances from the sessions' means with sum of squares 1; None if all are 0."""
    largest = float(np.abs(values).max(initial=0.0))
    if not largest:
        return None
    # In parts of the largest nothing overflows on the way.
    parts = values / largest
    centred = parts - session_means(parts, sizes)
    centred = centred - session_means(centred, sizes)
    widest = float(np.abs(centred).max())
    if widest <= ROUNDING:
        return None
    centred = centred / widest
    standard: Floats = centred / np.sqrt(centred @ centred)
    return standard


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """Where values stand that are arranged session by session."""

    places: Places
    """Each value's place in its session, from 0."""
    line: Floats
    """The same, as distances from the sessions' middles with sum of squares 1."""
    pairs: tuple[NDArray[np.bool_], ...]
    """For each lag, whether a value and that many further are of one session."""
    orders: Places
    """Permutations within sessions, one in each column."""


@lru_cache(maxsize=32)
def _layout(sizes: tuple[int, ...]) -> _Layout:
    places = np.concatenate([np.arange(size) for size in sizes])
    sessions = np.repeat(np.arange(len(sizes)), sizes)
    line = places - session_means(places.astype(float), sizes)
    orders = np.empty((0, PERMUTATIONS), dtype=np.intp)
    if places.size <= NORMAL_RUNS:
        parts = []
        begins = np.cumsum((0, *sizes[:-1]))
        for at, (begin, n) in enumerate(zip(begins, sizes, strict=True)):
            identity = np.tile(np.arange(n)[:, None], (1, PERMUTATIONS))
            # The seed is the size: no global state, the same answer in every process.
            # Sessions of one size get permutations of their own.
            earlier = sizes[:at].count(n)
            random = np.random.default_rng((n, earlier) if earlier else n)
            parts.append(begin + random.permuted(identity, axis=0))
        orders = np.concatenate(parts)
    return _Layout(
        places=places,
        line=line / np.sqrt(line @ line),
        pairs=tuple(sessions[:-lag] == sessions[lag:] for lag in LAGS),
        orders=orders,
    )


def _looks(columns: Floats, sizes: tuple[int, ...]) -> Floats:
    """Return the variances explained by each period, each lag and a line: ten rows.

    Each column of ``columns`` is an order.
    """
    n, layout = columns.shape[0], _layout(sizes)
    squares = _sums(columns[:, 0] ** 2, sizes)
    looks = np.empty((DEGREES.size, columns.shape[1]))
    is_one = len(sizes) == 1
    for row, k in enumerate(PERIODS):
        parts = [
            columns[place::k] if is_one else columns[layout.places % k == place]
            for place in range(k)
        ]
        shares = [part.sum(axis=0) ** 2 / max(len(part), 1) for part in parts]
        looks[row] = np.sum(shares, axis=0)
    for row, lag in enumerate(LAGS, start=len(PERIODS)):
        # What an order without dependence gives: values of a session share their sum.
        pairs = [max(size - lag, 0) for size in sizes]
        count = sum(pairs)
        if not count:
            looks[row] = 0.0
            continue
        expected = -math.fsum(
            number * square / (size * (size - 1))
            for number, square, size in zip(pairs, squares, sizes, strict=True)
            if number
        )
        earlier, later = columns[:-lag], columns[lag:]
        if not is_one:
            earlier, later = (
                earlier[layout.pairs[lag - 1]],
                later[layout.pairs[lag - 1]],
            )
        products = np.einsum("ij,ij->j", earlier, later)
        looks[row] = (products - expected) ** 2 * n / count
    looks[TREND] = (layout.line @ columns) ** 2
    return looks


def _sums(values: Floats, sizes: tuple[int, ...]) -> list[float]:
    begins = np.cumsum((0, *sizes[:-1]))
    return [float(total) for total in np.add.reduceat(values, begins)]


def _factors(n: int) -> Floats:
    """Bartlett's factors: with them, -ln(1 - R^2) is nearly chi squared."""
    return n - 1 - np.array([*(k / 2 for k in PERIODS), *(1.0 for _ in LAGS), 1.0])


def _scores(looks: Floats, n: int) -> Floats:
    squares = -_factors(n) * np.log(np.maximum(1 - looks, CLEAR))
    scores: Floats = (np.cbrt(squares / DEGREES) - (1 - SPREAD)) / np.sqrt(SPREAD)
    return scores


def _chances(
    standard: Floats, sizes: tuple[int, ...], scores: Floats, n: int
) -> list[float]:
    """For each of some scores, the chance that the best of ten looks reaches it."""
    if standard.size > NORMAL_RUNS:
        return [float(p) for p in -np.expm1(DEGREES.size * np.log(ndtr(scores)))]
    # What each look must reach to get a score, the inverse of ``_scores``: comparing
    # with it spares a cube root for every look of every permutation.
    roots = np.maximum(1 - SPREAD + scores[:, None] * np.sqrt(SPREAD), 0)
    # A hair lower: another order of the same values has other last digits.
    levels = -np.expm1(-DEGREES * roots**3 / _factors(n)) * (1 - 1e-9)
    orders = _layout(sizes).orders
    count, exceeding = GLANCE, _exceeding(standard[orders[:, :GLANCE]], sizes, levels)
    if exceeding.min() < ENOUGH:
        count = PERMUTATIONS
        exceeding += _exceeding(standard[orders[:, GLANCE:]], sizes, levels)
    # The order that was measured is one of all: no p is 0.
    return [float(p) for p in (1 + exceeding) / (1 + count)]


def _exceeding(
    columns: Floats, sizes: tuple[int, ...], levels: Floats
) -> NDArray[np.intp]:
    """How many of the orders reach each row of levels in at least one look."""
    looks = _looks(columns, sizes)
    reached = [(looks >= row[:, None]).any(axis=0).sum() for row in levels]
    return np.array(reached)


def without_line(values: Floats, sizes: tuple[int, ...], slope: float) -> Floats:
    """Take from each session a line through its middle."""
    places = _layout(sizes).places
    return values - slope * (places - session_means(places.astype(float), sizes))


def _autocorrelation(
    standard: Floats | None, sizes: tuple[int, ...], lag: int
) -> float:
    if standard is None:
        return 0.0
    is_pair = _layout(sizes).pairs[lag - 1]
    return float(standard[:-lag][is_pair] @ standard[lag:][is_pair])


def unbiased(r: float, n: int, fitted: int = 1) -> float:
    """Return a lag-1 autocorrelation without its bias (Marriott and Pope, 1954), >= 0.

    ``fitted`` is the number of parameters fitted first: 1 for a mean, 2 for a line.
    """
    return min(max((n * r + fitted) / (n - 4), 0.0), MOST_RHO)


def _trend(values: Floats, sizes: tuple[int, ...]) -> float | None:
    """Return the slope through all sessions; None if dependence explains it."""
    line = _layout(sizes).places.astype(float)
    line = line - session_means(line, sizes)
    squares = float(line @ line)
    slope = float(line @ values / squares)
    rest = without_line(values, sizes, slope)
    standard = _standardised(rest, sizes)
    if standard is None:
        return slope
    n = values.size - len(sizes) + 1
    rho = unbiased(_autocorrelation(standard, sizes, 1), n, fitted=2)
    rest = rest - session_means(rest, sizes)
    error = math.sqrt(float(rest @ rest) / (n - 2) / squares)
    wandering = error * math.sqrt((1 + rho) / (1 - rho))
    is_clear = abs(slope) > BEYOND_CHANCE * wandering
    # Of each session the product and the square are sums over its places.
    products, parts = (
        np.array(_sums(each, sizes)) for each in (line * values, line * line)
    )
    return slope if is_clear and is_repeated(products, parts) else None


def is_repeated(distances: Floats, weights: Floats) -> bool:
    """Return whether three or more sessions agree (Student's t, 1 %), or are fewer."""
    is_told = weights > 0
    distances, weights = distances[is_told], weights[is_told]
    count = distances.size
    if count < REPEATED_SESSIONS:
        return True
    mean = distances.sum() / weights.sum()
    off = distances - mean * weights
    error = math.sqrt(float(off @ off) * count / (count - 1)) / float(weights.sum())
    beyond = float(stdtrit(count - 1, 1 - FALSE_ALARM / 2))
    return bool(abs(mean) > beyond * error)


def _partial(values: Floats, sizes: tuple[int, ...], period: int) -> float:
    """How much the first positions of a period add to a sum beyond their mean."""
    centred = values - session_means(values, sizes)
    position = _layout(sizes).places % period
    counts = np.maximum(np.bincount(position, minlength=period), 1)
    levels = np.bincount(position, weights=centred, minlength=period) / counts
    # Wherever the period begins: the widest way between two of its partial sums.
    sums = np.cumsum(levels - levels.mean())
    return float(np.ptp(sums))
