"""Patterns in the order of a cell's runs: periods, a trend, dependence.

See docs/method.md, Tests.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from benchmarks.analysis.intervals import Floats
from benchmarks.analysis.sessions import MAX_RHO, REPEATED_SESSIONS

Indices = NDArray[np.intp]

PERIODS: Final = (2, 3, 4, 5)
LAGS: Final = (1, 2, 3, 4, 5)
TREND_INDEX: Final = len(PERIODS) + len(LAGS)
MIN_ORDER_RUNS: Final = 8
# For each side: of two equal sides without a pattern, 1 % have one in either side.
FALSE_ALARM: Final = 0.005
# Its normal quantile, two-sided.
Z_THRESHOLD: Final = 2.807
PERMUTATIONS: Final = 999
# Ten scores as large as the measured one in 99 permutations rule out a pattern.
EARLY_PERMUTATIONS, EARLY_EXCEEDING = 99, 10
# More runs are compared with the normal distribution instead of permutations.
MIN_NORMAL_RUNS: Final = 500
DEGREES: Final = np.array([*(k - 1.0 for k in PERIODS), *(1.0 for _ in LAGS), 1.0])
MIN_UNEXPLAINED: Final = 1e-12
SCORE_VARIANCE: Final = 2 / (9 * DEGREES)
# Relative distances from a mean up to this are rounding errors.
ROUNDING: Final = 8 * float(np.finfo(float).eps)


@dataclass(frozen=True, slots=True)
class RunOrder:
    """The significant patterns in the order of a cell's runs.

    ``slope`` is the change per run, ``period_bias`` the largest amount that an
    incomplete period adds to the sum of a session.
    """

    p: float
    period: int | None = None
    lag: int | None = None
    autocorrelation: float | None = None
    slope: float | None = None
    period_bias: float = 0.0


def find_run_order(
    values: Floats, session_sizes: tuple[int, ...] | None = None
) -> RunOrder | None:
    """Test for a period, autocorrelation and a trend.

    ``values`` are in order, session by session. Return None if all are equal, or for
    fewer than 8 runs (without the first run of each further session).
    """
    session_sizes = session_sizes or (values.size,)
    n = values.size - len(session_sizes) + 1
    standardized = _standardize(values, session_sizes) if n >= MIN_ORDER_RUNS else None
    if standardized is None:
        return None

    unit = float(np.abs(values).max())
    explained = _explained_variances(standardized[:, None], session_sizes)[:, 0]
    scores = _scores(explained, n)
    period = int(scores[: len(PERIODS)].argmax())
    two, four = PERIODS.index(2), PERIODS.index(4)
    unexplained = np.maximum(1 - explained, MIN_UNEXPLAINED)
    # A period of 2 is also one of 4. Choose 4 only if it explains at least half of the
    # variance that 2 leaves.
    if period == four and unexplained[four] > 0.5 * unexplained[two]:
        period = two
    lag = len(PERIODS) + int(scores[len(PERIODS) : TREND_INDEX].argmax())
    chosen = [period, lag, TREND_INDEX]
    p_values = _permutation_p_values(standardized, session_sizes, scores[chosen], n)
    is_clear = [p <= FALSE_ALARM for p in p_values]
    clear_lag = LAGS[lag - len(PERIODS)] if is_clear[1] else None
    slope = _trend(values / unit, session_sizes) if is_clear[2] else None
    detrended: Floats | None = standardized
    if slope is not None:
        detrended = _standardize(
            remove_trend(values / unit, session_sizes, slope), session_sizes
        )
    return RunOrder(
        p=min(p_values),
        period=PERIODS[period] if is_clear[0] else None,
        lag=clear_lag,
        autocorrelation=None
        if clear_lag is None
        else _autocorrelation(detrended, session_sizes, clear_lag),
        slope=None if slope is None else unit * slope,
        period_bias=unit * _period_bias(values / unit, session_sizes, PERIODS[period])
        if is_clear[0]
        else 0.0,
    )


def session_means(values: Floats, session_sizes: tuple[int, ...]) -> Floats:
    if len(session_sizes) == 1:
        return np.full(values.size, values.mean())
    begins = np.cumsum((0, *session_sizes[:-1]))
    means = np.add.reduceat(values, begins) / session_sizes
    return np.repeat(means, session_sizes)


def _standardize(values: Floats, sizes: tuple[int, ...]) -> Floats | None:
    largest = float(np.abs(values).max(initial=0.0))
    if not largest:
        return None
    parts = values / largest
    centered = parts - session_means(parts, sizes)
    centered = centered - session_means(centered, sizes)
    widest = float(np.abs(centered).max())
    if widest <= ROUNDING:
        return None
    centered = centered / widest
    standardized: Floats = centered / np.sqrt(centered @ centered)
    return standardized


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    positions: Indices
    line: Floats
    """Positions from the middle of their session, scaled to a sum of squares of 1."""
    pairs: tuple[NDArray[np.bool_], ...]
    """For each lag, whether a value and the one ``lag`` later share a session."""
    orders: Indices
    """Permutations within sessions, one in each column."""


@lru_cache(maxsize=32)
def _layout(sizes: tuple[int, ...]) -> _Layout:
    positions = np.concatenate([np.arange(size) for size in sizes])
    sessions = np.repeat(np.arange(len(sizes)), sizes)
    line = positions - session_means(positions.astype(float), sizes)
    orders = np.empty((0, PERMUTATIONS), dtype=np.intp)
    if positions.size <= MIN_NORMAL_RUNS:
        parts = []
        begins = np.cumsum((0, *sizes[:-1]))
        for index, (begin, n) in enumerate(zip(begins, sizes, strict=True)):
            identity = np.tile(np.arange(n)[:, None], (1, PERMUTATIONS))
            # Seed by size for the same results in every process. Sessions of the same
            # size get different permutations.
            earlier = sizes[:index].count(n)
            random = np.random.default_rng((n, earlier) if earlier else n)
            parts.append(begin + random.permuted(identity, axis=0))
        orders = np.concatenate(parts)
    return _Layout(
        positions=positions,
        line=line / np.sqrt(line @ line),
        pairs=tuple(sessions[:-lag] == sessions[lag:] for lag in LAGS),
        orders=orders,
    )


def _explained_variances(columns: Floats, sizes: tuple[int, ...]) -> Floats:
    n, layout = columns.shape[0], _layout(sizes)
    squares = _sums(columns[:, 0] ** 2, sizes)
    explained = np.empty((DEGREES.size, columns.shape[1]))
    is_one_session = len(sizes) == 1
    for row, k in enumerate(PERIODS):
        parts = [
            columns[offset::k]
            if is_one_session
            else columns[layout.positions % k == offset]
            for offset in range(k)
        ]
        group_squares = [part.sum(axis=0) ** 2 / max(len(part), 1) for part in parts]
        explained[row] = np.sum(group_squares, axis=0)
    for row, lag in enumerate(LAGS, start=len(PERIODS)):
        # The expected value without dependence. It is negative because the centered
        # values of a session have the sum 0.
        pairs = [max(size - lag, 0) for size in sizes]
        count = sum(pairs)
        if not count:
            explained[row] = 0.0
            continue
        expected = -math.fsum(
            number * square / (size * (size - 1))
            for number, square, size in zip(pairs, squares, sizes, strict=True)
            if number
        )
        earlier, later = columns[:-lag], columns[lag:]
        if not is_one_session:
            earlier, later = (
                earlier[layout.pairs[lag - 1]],
                later[layout.pairs[lag - 1]],
            )
        products = np.einsum("ij,ij->j", earlier, later)
        explained[row] = (products - expected) ** 2 * n / count
    explained[TREND_INDEX] = (layout.line @ columns) ** 2
    return explained


def _sums(values: Floats, sizes: tuple[int, ...]) -> list[float]:
    begins = np.cumsum((0, *sizes[:-1]))
    return [float(total) for total in np.add.reduceat(values, begins)]


def _factors(n: int) -> Floats:
    """Return a factor for each statistic: times -ln(1 - R^2), it is nearly chi squared
    (Bartlett).
    """
    return n - 1 - np.array([*(k / 2 for k in PERIODS), *(1.0 for _ in LAGS), 1.0])


def _scores(explained: Floats, n: int) -> Floats:
    squares = -_factors(n) * np.log(np.maximum(1 - explained, MIN_UNEXPLAINED))
    scores: Floats = (np.cbrt(squares / DEGREES) - (1 - SCORE_VARIANCE)) / np.sqrt(
        SCORE_VARIANCE
    )
    return scores


def _permutation_p_values(
    standardized: Floats, sizes: tuple[int, ...], scores: Floats, n: int
) -> list[float]:
    if standardized.size > MIN_NORMAL_RUNS:
        return [float(p) for p in -np.expm1(DEGREES.size * np.log(ndtr(scores)))]
    # Turn the scores into explained variances, which avoids a cube root for each
    # permutation.
    roots = np.maximum(
        1 - SCORE_VARIANCE + scores[:, None] * np.sqrt(SCORE_VARIANCE), 0
    )
    # Summing the same values in another order changes the last digits.
    levels = -np.expm1(-DEGREES * roots**3 / _factors(n)) * (1 - 1e-9)
    orders = _layout(sizes).orders
    count = EARLY_PERMUTATIONS
    exceeding = _count_exceeding(
        standardized[orders[:, :EARLY_PERMUTATIONS]], sizes, levels
    )
    if exceeding.min() < EARLY_EXCEEDING:
        count = PERMUTATIONS
        exceeding += _count_exceeding(
            standardized[orders[:, EARLY_PERMUTATIONS:]], sizes, levels
        )
    # The measured order is one of the permutations, so p is never 0.
    return [float(p) for p in (1 + exceeding) / (1 + count)]


def _count_exceeding(
    columns: Floats, sizes: tuple[int, ...], levels: Floats
) -> NDArray[np.intp]:
    explained = _explained_variances(columns, sizes)
    counts = [(explained >= row[:, None]).any(axis=0).sum() for row in levels]
    return np.array(counts)


def remove_trend(
    values: Floats, session_sizes: tuple[int, ...], slope: float
) -> Floats:
    positions = _layout(session_sizes).positions
    return values - slope * (
        positions - session_means(positions.astype(float), session_sizes)
    )


def _autocorrelation(
    standardized: Floats | None, sizes: tuple[int, ...], lag: int
) -> float:
    if standardized is None:
        return 0.0
    is_pair = _layout(sizes).pairs[lag - 1]
    return float(standardized[:-lag][is_pair] @ standardized[lag:][is_pair])


def unbiased_autocorrelation(r: float, n: int, fitted: int = 1) -> float:
    """Return a lag-1 autocorrelation without its bias (Marriott and Pope, 1954), >= 0.

    ``fitted`` is 1 if a mean was removed from the runs, 2 for a line.
    """
    return min(max((n * r + fitted) / (n - 4), 0.0), MAX_RHO)


def _trend(values: Floats, sizes: tuple[int, ...]) -> float | None:
    line = _layout(sizes).positions.astype(float)
    line = line - session_means(line, sizes)
    squares = float(line @ line)
    slope = float(line @ values / squares)
    detrended = remove_trend(values, sizes, slope)
    standardized = _standardize(detrended, sizes)
    if standardized is None:
        return slope
    n = values.size - len(sizes) + 1
    rho = unbiased_autocorrelation(
        _autocorrelation(standardized, sizes, 1), n, fitted=2
    )
    detrended = detrended - session_means(detrended, sizes)
    error = math.sqrt(float(detrended @ detrended) / (n - 2) / squares)
    widened_error = error * math.sqrt((1 + rho) / (1 - rho))
    is_clear = abs(slope) > Z_THRESHOLD * widened_error
    products, weights = (
        np.array(_sums(terms, sizes)) for terms in (line * values, line * line)
    )
    return slope if is_clear and sessions_agree(products, weights) else None


def sessions_agree(distances: Floats, weights: Floats) -> bool:
    """Return whether the weighted mean over sessions differs significantly (1 %) from
    0.

    Fewer than three sessions always agree.
    """
    has_weight = weights > 0
    distances, weights = distances[has_weight], weights[has_weight]
    count = distances.size
    if count < REPEATED_SESSIONS:
        return True
    mean = distances.sum() / weights.sum()
    residuals = distances - mean * weights
    error = math.sqrt(float(residuals @ residuals) * count / (count - 1)) / float(
        weights.sum()
    )
    quantile = float(stdtrit(count - 1, 1 - FALSE_ALARM / 2))
    return bool(abs(mean) > quantile * error)


def _period_bias(values: Floats, sizes: tuple[int, ...], period: int) -> float:
    centered = values - session_means(values, sizes)
    position = _layout(sizes).positions % period
    counts = np.maximum(np.bincount(position, minlength=period), 1)
    levels = np.bincount(position, weights=centered, minlength=period) / counts
    sums = np.cumsum(levels - levels.mean())
    return float(np.ptp(sums))
