"""Intervals of ratios between cells and of their means, from the statistics of runs.

On the log scale a ratio is a difference: intervals are never negative, and the interval
of the reciprocal is the reciprocal interval.

- lnRR-Welch, from 5 runs a side: Hedges, Gurevitch and Curtis, Ecology 80 (1999) for
  the log variance; Welch, Biometrika 34 (1947) and Satterthwaite, Biometrics Bulletin 2
  (1946) for the degrees of freedom.
- MOVER, below: each side keeps its own t quantile. Zou and Donner, Statistics in
  Medicine 27 (2008).
- Robust estimates from 10 runs: Hodges and Lehmann, Annals of Mathematical Statistics
  34 (1963). They need the run means themselves.
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
# Pieces of 1/df on which the quantile is a polynomial of this degree to 14 digits.
PIECES: Final = ((0.0, 1 / 3), (1 / 3, 1.0))
DEGREE: Final = 16
MOST_TABLED: Final = 1000

WELCH_RUNS: Final = 5  # from here on both sides may share one t quantile
NOISY_G: Final = 0.2  # from here on a baseline is too noisy
LEAST_G: Final = 1e-31  # below it readings differ by less than a float can be off
# What is divided by 0 or overflows becomes inf or NaN, and those have no interval.
NO_WARNINGS: Final = np.errstate(all="ignore")

LEAST_RUNS: Final = 10


class Method(IntEnum):
    """How an interval was made."""

    NONE = 0
    MOVER = 1
    WELCH = 2
    SESSIONS = 3  # a session is the unit: see designs.py


MOST_LOG: Final = 700.0


@dataclass(frozen=True, slots=True)
class Rollups:
    """The statistics of many cells: one array each, one entry per cell.

    ``variance`` is the sample variance of the run means (NaN below two runs),
    ``resolution`` the value of the last printed digit (NaN if unknown), ``independent``
    the equivalent number of independent runs (None: all).
    """

    n: NDArray[np.int64]
    mean: Floats
    variance: Floats
    resolution: Floats
    independent: Floats | None = None

    @classmethod
    def of(
        cls, n: ArrayLike, mean: ArrayLike, m2: ArrayLike, resolution: ArrayLike
    ) -> Rollups:
        """Take what cells store: ``m2`` is the sum of squared deviations."""
        runs, means, squares, digits = np.broadcast_arrays(
            np.asarray(n, dtype=np.int64),
            *(np.asarray(numbers, dtype=float) for numbers in (mean, m2, resolution)),
        )
        variance = np.where(runs > 1, squares / np.maximum(runs - 1, 1), np.nan)
        return cls(runs, means, variance, digits)

    def take(self, rows: NDArray[np.int64]) -> Rollups:
        return Rollups(
            self.n[rows],
            self.mean[rows],
            self.variance[rows],
            self.resolution[rows],
            None if self.independent is None else self.independent[rows],
        )

    @property
    def worth(self) -> NDArray[np.int64] | Floats:
        """The equivalent number of independent runs."""
        return self.n if self.independent is None else self.independent

    @property
    @NO_WARNINGS
    def is_rounded(self) -> NDArray[np.bool_]:
        """Whether the readings spread less than rounding alone would spread them."""
        return self.variance < self.resolution**2 / 12

    @NO_WARNINGS
    def log_variance(self, n: ArrayLike | None = None) -> Floats:
        """Return the variance of ln(mean), s^2 / (n mean^2), for these or ``n`` runs.

        At least the variance of rounding, resolution^2 / 12 (GUM, F.2.2.1), which
        repetition does not reduce.
        """
        runs = self.worth if n is None else np.asarray(n) * (self.worth / self.n)
        of_mean = self.variance / runs
        of_mean = np.where(self.is_rounded, self.resolution**2 / 12, of_mean)
        # Divided first: the square of a mean may overflow, a quotient's does not.
        return np.asarray((np.sqrt(of_mean) / self.mean) ** 2, dtype=float)


@dataclass(frozen=True, slots=True)
class Intervals:
    """Ratios with their intervals; NaN where a ratio or an interval does not exist.

    ``log_half_width`` and ``standard_error`` are of the log ratio. ``df`` is NaN for
    MOVER. ``g`` is how near the baseline's own interval comes to 0 (1: reaches it),
    ``own_g`` the cell's: Fieller (1954).
    """

    ratio: Floats
    log_half_width: Floats
    standard_error: Floats
    df: Floats
    method: NDArray[np.int8]
    g: Floats
    own_g: Floats

    @property
    def low(self) -> Floats:
        return np.asarray(self.ratio * np.exp(-self.log_half_width), dtype=float)

    @property
    def high(self) -> Floats:
        return np.asarray(self.ratio * np.exp(self.log_half_width), dtype=float)

    @property
    def half_width(self) -> Floats:
        """Half the interval's width as a part of the ratio: 0.01 is 1 %."""
        # Half of the way from e^-w to e^w.
        return np.asarray(np.sinh(self.log_half_width), dtype=float)


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean and the ends of its 95 % interval, in the unit of the readings."""

    mean: float
    low: float
    high: float


def t_quantiles(df: Floats, probability: float) -> Floats:
    """Return the t quantile of each number of degrees of freedom, which are >= 1.

    Equals ``scipy.special.stdtrit`` to 1e-12 but is twenty times faster: Chebyshev
    interpolation in 1/df. NaN stays NaN.
    """
    inverse = 1 / df
    quantiles = np.full_like(inverse, np.nan)
    for low, high in PIECES:
        inside = (inverse >= low) & (inverse <= high)
        if not inside.any():
            continue
        place = (2 * inverse[inside] - low - high) / (high - low)
        quantiles[inside] = chebyshev.chebval(place, _polynomial(probability, low))
    return quantiles


def t_of_runs(n: NDArray[np.int64] | Floats, probability: float) -> Floats:
    """Return the t quantile of each number of runs, n - 1 degrees; NaN below two."""
    if n.dtype.kind == "i" and n.size and n.max() <= MOST_TABLED:
        # Numbers of runs are small and whole: looking up is faster than computing.
        return _table(probability)[n]
    return t_quantiles(np.where(n > 1, n - 1.0, np.nan), probability)


def normal_quantile(probability: float) -> float:
    """Return the quantile for a variance that is known: infinitely many degrees."""
    return float(stdtrit(np.inf, probability))


def tail(statistic: Floats, df: Floats) -> Floats:
    """Return the one-sided probability of each t: at least so far above 0."""
    return np.asarray(stdtr(df, -statistic), dtype=float)


@lru_cache(maxsize=64)
def _table(probability: float) -> Floats:
    runs = np.arange(MOST_TABLED + 1.0)
    return t_quantiles(np.where(runs > 1, runs - 1, np.nan), probability)


@lru_cache(maxsize=64)
def _polynomial(probability: float, low: float) -> Floats:
    """Return the Chebyshev coefficients of the quantile over one piece of 1/df."""
    # A piece is known by its lower end, which with the probability is the cache's key.
    high = dict(PIECES)[low]
    places = chebyshev.chebpts1(DEGREE + 1)
    inverse = (places * (high - low) + low + high) / 2
    quantiles = stdtrit(1 / inverse, probability)
    return np.asarray(chebyshev.chebfit(places, quantiles, DEGREE), dtype=float)


@NO_WARNINGS
def log_ratio_intervals(
    cell: Rollups,
    baseline: Rollups,
    higher_is_better: ArrayLike,
    *,
    extra_log_variance: ArrayLike = 0.0,
    confidence: float = 0.95,
) -> Intervals:
    """Return cell / baseline (baseline / cell where lower is better) with intervals.

    ``extra_log_variance`` is not shown by repetition, such as the gain error of two
    meters: 2 (1.5 %)^2 / 3. No interval exists for a single run, readings of 0 or less,
    identical readings of unknown resolution, and where a side's own interval reaches 0
    (g >= 1).
    """
    probability = (1 + confidence) / 2
    extra = np.asarray(extra_log_variance, dtype=float)
    own, other = cell.log_variance(), baseline.log_variance()
    own_g = t_of_runs(cell.worth, probability) ** 2 * own
    g = t_of_runs(baseline.worth, probability) ** 2 * other
    above = np.where(higher_is_better, cell.mean, baseline.mean)
    below = np.where(higher_is_better, baseline.mean, cell.mean)
    ratio = above / below
    is_ratio = (below > 0) & (ratio > 0) & np.isfinite(ratio)
    ratio = np.where(is_ratio, ratio, np.nan)
    exists = np.isfinite(ratio) & (g < 1) & (own_g < 1)
    # No spread is no certainty: runs that all read the same have no interval.
    exists &= np.minimum(g, own_g) > LEAST_G
    is_welch = exists & (np.minimum(cell.n, baseline.n) >= WELCH_RUNS)
    df = welch_df(own, cell.worth, other, baseline.worth, extra)
    df = np.where(is_welch, df, np.nan)
    standard_error = np.where(exists, np.sqrt(own + other + extra), np.nan)
    welch = t_quantiles(df, probability) * standard_error
    # g is t^2 v: on the log scale MOVER is the root of the sum of squares.
    mover = np.sqrt(own_g + g + normal_quantile(probability) ** 2 * extra)
    return Intervals(
        ratio=ratio,
        log_half_width=np.where(is_welch, welch, np.where(exists, mover, np.nan)),
        standard_error=standard_error,
        df=df,
        method=np.where(is_welch, Method.WELCH, exists * Method.MOVER).astype(np.int8),
        g=g,
        own_g=own_g,
    )


@NO_WARNINGS
def welch_df(
    own: Floats, own_n: ArrayLike, other: Floats, other_n: ArrayLike, extra: Floats
) -> Floats:
    """Return Satterthwaite's degrees of freedom; ``extra`` is known and has no term."""
    own_df, other_df = np.asarray(own_n) - 1.0, np.asarray(other_n) - 1.0
    df = (own + other + extra) ** 2 / (own**2 / own_df + other**2 / other_df)
    return np.asarray(df, dtype=float)


@NO_WARNINGS
def mean_intervals(cells: Rollups) -> tuple[Floats, Floats]:
    """Return the ends of 95 % intervals; NaN where none exists (as for ratios)."""
    g = t_of_runs(cells.n, 0.975) ** 2 * cells.log_variance()
    exists = (cells.n > 1) & (cells.mean > 0) & (g < 1) & (g > LEAST_G)
    factor = np.exp(np.sqrt(np.where(exists, g, np.nan)))
    return cells.mean / factor, cells.mean * factor


def mean_interval(
    n: int, mean: float, m2: float, resolution: float | None = None
) -> MeanInterval | None:
    """Return Student's interval of the mean of ``n`` runs; None where there is none.

    ``m2`` is the sum of squared deviations. The variance is at least that of rounding,
    resolution^2 / 12 (GUM, F.2.2.1); identical readings of unknown resolution have no
    interval.
    """
    if n < 2:
        return None
    step = resolution or 0.0
    variance, rounding = m2 / (n - 1), step * step / 12
    of_mean = rounding if variance < rounding else variance / n
    if of_mean == 0:
        return None
    half_width = _student(n - 1) * math.sqrt(of_mean)
    low, high = mean - half_width, mean + half_width
    return MeanInterval(mean, low, high) if math.isfinite(high - low) else None


@lru_cache(maxsize=1000)
def _student(freedom: int) -> float:
    return float(stdtrit(freedom, 0.975))


def hodges_lehmann(run_means: ArrayLike) -> float:
    """Return the median of the means of all pairs, each run paired with itself too."""
    values = _values(run_means)
    first, second = np.triu_indices(len(values))
    # Halved first: the sum of two of the largest numbers is none.
    means = np.sort(values[first] / 2 + values[second] / 2)
    low, high = means[(means.size - 1) // 2], means[means.size // 2]
    middle = float(low) if low == high else float(low / 2 + high / 2)
    return min(max(middle, float(values.min())), float(values.max()))


def hodges_lehmann_ratio(
    run_means: ArrayLike, baseline_means: ArrayLike, *, higher_is_better: bool
) -> float:
    """Return the median ratio of all pairs of a run and a baseline run.

    ValueError for readings of 0 or less, or fewer than 10 runs on a side.
    """
    values, baselines = _values(run_means), _values(baseline_means)
    if min(values.min(), baselines.min()) <= 0:
        raise ValueError("a ratio needs readings above 0")
    logs = np.log(values)[:, None] - np.log(baselines)[None, :]
    # No float is larger than e^709, and the reciprocal is to be one, too.
    ratio = float(np.exp(np.clip(np.median(logs), -MOST_LOG, MOST_LOG)))
    return ratio if higher_is_better else 1 / ratio


def _values(run_means: ArrayLike) -> Floats:
    values = np.asarray(run_means, dtype=float)
    if values.size < LEAST_RUNS:
        raise ValueError(f"{values.size} runs: this estimate needs {LEAST_RUNS}")
    return values
