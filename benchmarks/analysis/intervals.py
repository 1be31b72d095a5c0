"""Confidence intervals of means and of ratios of means, from statistics of runs.

See docs/method.md, Intervals. The sources are in docs/figures/method.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

Floats: TypeAlias = NDArray[np.float64]
# A polynomial in 1/df for each of these ranges of 1/df equals the t quantile to 14
# digits.
QUANTILE_PIECES: Final = ((0.0, 1 / 3), (1 / 3, 1.0))
POLYNOMIAL_DEGREE: Final = 16
MAX_TABLED_DF: Final = 1000

WELCH_RUNS: Final = 5  # fewer runs on one side: MOVER
# g is the square of half the width of a mean's interval, relative to the mean.
NOISY_G: Final = 0.2
MIN_G: Final = 1e-31  # smaller: the readings differ by float rounding only
NO_WARNINGS: Final = np.errstate(all="ignore")

MIN_HODGES_LEHMANN_RUNS: Final = 10


class Method(IntEnum):
    NONE = 0
    MOVER = 1
    WELCH = 2
    SESSIONS = 3
    RANKS = 4


MAX_LOG: Final = 700.0  # the exponential of more overflows


@dataclass(frozen=True, slots=True)
class RunStatistics:
    """Statistics of the run means of many cells, one entry per cell.

    ``variance`` is the sample variance, ``resolution`` the value of the last printed
    digit, ``effective_runs`` the number of independent runs that the runs are worth
    (None: all).
    """

    n: NDArray[np.int64]
    mean: Floats
    variance: Floats
    resolution: Floats
    effective_runs: Floats | None = None

    @classmethod
    def from_sums(
        cls, n: ArrayLike, mean: ArrayLike, m2: ArrayLike, resolution: ArrayLike
    ) -> RunStatistics:
        runs, means, squares, digits = np.broadcast_arrays(
            np.asarray(n, dtype=np.int64),
            *(np.asarray(numbers, dtype=float) for numbers in (mean, m2, resolution)),
        )
        variance = np.where(runs > 1, squares / np.maximum(runs - 1, 1), np.nan)
        return cls(runs, means, variance, digits)

    def take(self, rows: NDArray[np.int64]) -> RunStatistics:
        return RunStatistics(
            self.n[rows],
            self.mean[rows],
            self.variance[rows],
            self.resolution[rows],
            None if self.effective_runs is None else self.effective_runs[rows],
        )

    @property
    def effective_n(self) -> NDArray[np.int64] | Floats:
        return self.n if self.effective_runs is None else self.effective_runs

    @property
    @NO_WARNINGS
    def is_rounded(self) -> NDArray[np.bool_]:
        """Whether the readings scatter by less than half a step of their display.

        Then rounding does not average out over the runs.
        """
        return self.variance < self.resolution**2 / 4

    @NO_WARNINGS
    def log_variance(self, n: ArrayLike | None = None) -> Floats:
        """Return the variance of ln(mean), s^2 / (n mean^2); ``n`` replaces the number
        of runs.

        If the readings `is_rounded`, the variance of rounding is added, resolution^2 /
        12 (GUM, F.2.2.1).
        """
        runs = (
            self.effective_n
            if n is None
            else np.asarray(n) * (self.effective_n / self.n)
        )
        mean_variance = self.variance / runs
        mean_variance = mean_variance + np.where(
            self.is_rounded, self.resolution**2 / 12, 0.0
        )
        # The square of a mean may overflow.
        return np.asarray((np.sqrt(mean_variance) / self.mean) ** 2, dtype=float)


@NO_WARNINGS
def known_ranges(
    runs: RunStatistics, minimum: Floats, maximum: Floats
) -> tuple[Floats, Floats]:
    """Return the ranges of runs; where they are unknown, bounds that no run exceeds.

    By Samuelson's inequality, no run is further from the mean than (n - 1) / sqrt(n)
    standard deviations. A printed deviation may be too small by half a step.
    """
    deviation = np.sqrt(runs.variance) + np.nan_to_num(runs.resolution) / 2
    reach = deviation * (runs.n - 1) / np.sqrt(runs.n)
    is_unknown = np.isnan(minimum) & (runs.n > 1)
    return (
        np.where(is_unknown, runs.mean - reach, minimum),
        np.where(is_unknown, runs.mean + reach, maximum),
    )


@dataclass(frozen=True, slots=True)
class Intervals:
    """Ratios with their intervals; NaN where a ratio or an interval does not exist.

    ``log_half_width`` and ``standard_error`` are of the log ratio. ``df`` is NaN for
    MOVER. ``baseline_g`` and ``cell_g`` are g of the two means: the interval of a mean
    with g = 1 reaches 0 (Fieller, 1954).
    """

    ratio: Floats
    log_half_width: Floats
    standard_error: Floats
    df: Floats
    method: NDArray[np.int8]
    baseline_g: Floats
    cell_g: Floats

    @property
    def low(self) -> Floats:
        return np.asarray(self.ratio * np.exp(-self.log_half_width), dtype=float)

    @property
    def high(self) -> Floats:
        return np.asarray(self.ratio * np.exp(self.log_half_width), dtype=float)

    @property
    def half_width(self) -> Floats:
        """Relative to the ratio: 0.01 is 1 %."""
        return np.asarray(np.sinh(self.log_half_width), dtype=float)


@dataclass(frozen=True, slots=True)
class MeanInterval:
    mean: float
    low: float
    high: float


def t_quantiles(df: Floats, probability: float) -> Floats:
    """Twenty times faster than ``scipy.special.stdtrit``."""
    inverse = 1 / df
    quantiles = np.full_like(inverse, np.nan)
    for low, high in QUANTILE_PIECES:
        inside = (inverse >= low) & (inverse <= high)
        if not inside.any():
            continue
        position = (2 * inverse[inside] - low - high) / (high - low)
        quantiles[inside] = chebyshev.chebval(position, _polynomial(probability, low))
    return quantiles


def t_quantiles_of_runs(n: NDArray[np.int64] | Floats, probability: float) -> Floats:
    if n.dtype.kind == "i" and n.size and n.max() <= MAX_TABLED_DF:
        return _quantile_table(probability)[n]
    return t_quantiles(np.where(n > 1, n - 1.0, np.nan), probability)


def normal_quantile(probability: float) -> float:
    return float(stdtrit(np.inf, probability))


def t_tail(statistic: Floats, df: Floats) -> Floats:
    return np.asarray(stdtr(df, -statistic), dtype=float)


@lru_cache(maxsize=64)
def _quantile_table(probability: float) -> Floats:
    runs = np.arange(MAX_TABLED_DF + 1.0)
    return t_quantiles(np.where(runs > 1, runs - 1, np.nan), probability)


@lru_cache(maxsize=64)
def _polynomial(probability: float, low: float) -> Floats:
    high = dict(QUANTILE_PIECES)[low]
    nodes = chebyshev.chebpts1(POLYNOMIAL_DEGREE + 1)
    inverse = (nodes * (high - low) + low + high) / 2
    quantiles = stdtrit(1 / inverse, probability)
    return np.asarray(
        chebyshev.chebfit(nodes, quantiles, POLYNOMIAL_DEGREE), dtype=float
    )


@NO_WARNINGS
def log_ratio_intervals(
    cell: RunStatistics,
    baseline: RunStatistics,
    higher_is_better: ArrayLike,
    *,
    extra_log_variance: ArrayLike = 0.0,
    confidence: float = 0.95,
) -> Intervals:
    """Return the ratio of each cell to its baseline, with its interval.

    The ratio is cell / baseline, or the reciprocal if lower is better.
    ``extra_log_variance`` is variance that repeated runs do not show. An interval does
    not exist for a single run, for readings of 0 or less, for identical readings of
    unknown resolution, and if the interval of either mean reaches 0.
    """
    probability = (1 + confidence) / 2
    extra = np.asarray(extra_log_variance, dtype=float)
    cell_variance, baseline_variance = cell.log_variance(), baseline.log_variance()
    cell_g = t_quantiles_of_runs(cell.effective_n, probability) ** 2 * cell_variance
    baseline_g = (
        t_quantiles_of_runs(baseline.effective_n, probability) ** 2 * baseline_variance
    )
    numerator = np.where(higher_is_better, cell.mean, baseline.mean)
    denominator = np.where(higher_is_better, baseline.mean, cell.mean)
    ratio = numerator / denominator
    is_ratio = (denominator > 0) & (ratio > 0) & np.isfinite(ratio)
    ratio = np.where(is_ratio, ratio, np.nan)
    exists = np.isfinite(ratio) & (baseline_g < 1) & (cell_g < 1)
    exists &= np.minimum(baseline_g, cell_g) > MIN_G
    is_welch = exists & (np.minimum(cell.n, baseline.n) >= WELCH_RUNS)
    df = welch_df(
        cell_variance, cell.effective_n, baseline_variance, baseline.effective_n, extra
    )
    df = np.where(is_welch, df, np.nan)
    standard_error = np.where(
        exists, np.sqrt(cell_variance + baseline_variance + extra), np.nan
    )
    welch = t_quantiles(df, probability) * standard_error
    # g is t^2 v: on the log scale MOVER is the root of the sum of squares.
    mover = np.sqrt(cell_g + baseline_g + normal_quantile(probability) ** 2 * extra)
    return Intervals(
        ratio=ratio,
        log_half_width=np.where(is_welch, welch, np.where(exists, mover, np.nan)),
        standard_error=standard_error,
        df=df,
        method=np.where(is_welch, Method.WELCH, exists * Method.MOVER).astype(np.int8),
        baseline_g=baseline_g,
        cell_g=cell_g,
    )


@NO_WARNINGS
def welch_df(
    cell_variance: Floats,
    cell_n: ArrayLike,
    baseline_variance: Floats,
    baseline_n: ArrayLike,
    extra: Floats,
) -> Floats:
    """Return Satterthwaite's degrees of freedom of a log ratio.

    ``extra`` is an additional variance that is known exactly.
    """
    cell_df, baseline_df = np.asarray(cell_n) - 1.0, np.asarray(baseline_n) - 1.0
    df = (cell_variance + baseline_variance + extra) ** 2 / (
        cell_variance**2 / cell_df + baseline_variance**2 / baseline_df
    )
    return np.asarray(df, dtype=float)


@NO_WARNINGS
def mean_interval_ends(cells: RunStatistics) -> tuple[Floats, Floats]:
    """Calculate 95 % intervals on the log scale; NaN without an interval."""
    g = t_quantiles_of_runs(cells.n, 0.975) ** 2 * cells.log_variance()
    exists = (cells.n > 1) & (cells.mean > 0) & (g < 1) & (g > MIN_G)
    factor = np.exp(np.sqrt(np.where(exists, g, np.nan)))
    return cells.mean / factor, cells.mean * factor


def mean_interval(
    n: int, mean: float, m2: float, resolution: float | None = None
) -> MeanInterval | None:
    """Return Student's interval of the mean.

    Return None for a single run, or for identical readings of unknown resolution.
    """
    if n < 2:
        return None
    step = resolution or 0.0
    variance, rounding = m2 / (n - 1), step * step
    mean_variance = variance / n + (rounding / 12 if variance < rounding / 4 else 0.0)
    if mean_variance == 0:
        return None
    half_width = _t_quantile_95(n - 1) * math.sqrt(mean_variance)
    low, high = mean - half_width, mean + half_width
    return MeanInterval(mean, low, high) if math.isfinite(high - low) else None


@lru_cache(maxsize=1000)
def _t_quantile_95(freedom: int) -> float:
    return float(stdtrit(freedom, 0.975))


def hodges_lehmann(run_means: ArrayLike) -> float:
    """Return the median of the means of all pairs of runs, also of a run and itself.

    Raise ValueError for fewer than 10 runs.
    """
    values = _values(run_means)
    first, second = np.triu_indices(len(values))
    # The sum of two large floats may overflow.
    means = np.sort(values[first] / 2 + values[second] / 2)
    low, high = means[(means.size - 1) // 2], means[means.size // 2]
    middle = float(low) if low == high else float(low / 2 + high / 2)
    return min(max(middle, float(values.min())), float(values.max()))


def hodges_lehmann_ratio(
    run_means: ArrayLike, baseline_means: ArrayLike, *, higher_is_better: bool
) -> float:
    """Return the median ratio of all pairs of a run and a baseline run.

    Raise ValueError for readings of 0 or less, or fewer than 10 runs on either side.
    """
    values, baselines = _values(run_means), _values(baseline_means)
    if min(values.min(), baselines.min()) <= 0:
        raise ValueError("a ratio needs readings above 0")
    logs = np.log(values)[:, None] - np.log(baselines)[None, :]
    ratio = float(np.exp(np.clip(np.median(logs), -MAX_LOG, MAX_LOG)))
    return ratio if higher_is_better else 1 / ratio


def _values(run_means: ArrayLike) -> Floats:
    values = np.asarray(run_means, dtype=float)
    if values.size < MIN_HODGES_LEHMANN_RUNS:
        raise ValueError(
            f"{values.size} runs: this estimate needs {MIN_HODGES_LEHMANN_RUNS}"
        )
    return values
