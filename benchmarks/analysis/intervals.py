"""Intervals of ratios between cells, from the statistics of their run means.

Everything happens on the log scale, where a ratio is a difference: the interval is
never negative, and that of the reciprocal is its reciprocal.

- lnRR-Welch, from 5 runs a side: Hedges, Gurevitch and Curtis, "The meta-analysis of
  response ratios in experimental ecology", Ecology 80 (1999) for the log variance;
  Welch, Biometrika 34 (1947) and Satterthwaite, Biometrics Bulletin 2 (1946) for the
  degrees of freedom.
- MOVER, below: each side keeps its own t quantile. Zou and Donner, "Construction of
  confidence limits about effect measures", Statistics in Medicine 27 (2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.analysis.student import Floats, normal_quantile, t_of_runs, t_quantiles

WELCH_RUNS: Final = 5  # from here on both sides may share one t quantile
NOISY_G: Final = 0.2  # from here on a baseline is too noisy
LEAST_G: Final = 1e-31  # below it readings differ by less than a float can be off
# What is divided by 0 or overflows becomes inf or NaN, and those have no interval.
NO_WARNINGS: Final = np.errstate(all="ignore")


class Method(IntEnum):
    """How an interval was made."""

    NONE = 0
    MOVER = 1
    WELCH = 2


@dataclass(frozen=True, slots=True)
class Rollups:
    """The statistics of many cells: one array each, one entry a cell.

    ``variance`` is the sample variance of the run means (NaN below two runs),
    ``resolution`` the last printed digit's worth (0.01 for "12.34", NaN if unknown).
    """

    n: NDArray[np.int64]
    mean: Floats
    variance: Floats
    resolution: Floats

    @classmethod
    def of(
        cls, n: ArrayLike, mean: ArrayLike, m2: ArrayLike, resolution: ArrayLike
    ) -> Rollups:
        """Take what cells store: ``m2`` is the sum of squared deviations."""
        runs, means, squares, digits = np.broadcast_arrays(
            np.asarray(n, dtype=np.int64),
            *(np.asarray(each, dtype=float) for each in (mean, m2, resolution)),
        )
        variance = np.where(runs > 1, squares / np.maximum(runs - 1, 1), np.nan)
        return cls(runs, means, variance, digits)

    def take(self, rows: NDArray[np.int64]) -> Rollups:
        """Return the cells of these rows."""
        return Rollups(
            self.n[rows], self.mean[rows], self.variance[rows], self.resolution[rows]
        )

    @property
    @NO_WARNINGS
    def is_rounded(self) -> NDArray[np.bool_]:
        """Whether the readings spread less than rounding alone would spread them."""
        return self.variance < self.resolution**2 / 12

    @NO_WARNINGS
    def log_variance(self, n: ArrayLike | None = None) -> Floats:
        """Return the variance of ln(mean), s^2 / (n mean^2), for these or ``n`` runs.

        Readings that are all but identical hide what they vary by in their rounding,
        whose variance is resolution^2 / 12 (GUM, F.2.2.1). All of them are rounded
        alike, so it is not divided by n: more such runs tell nothing more.
        """
        of_mean = self.variance / np.asarray(self.n if n is None else n)
        of_mean = np.where(self.is_rounded, self.resolution**2 / 12, of_mean)
        return np.asarray((np.sqrt(of_mean) / self.mean) ** 2, dtype=float)


@dataclass(frozen=True, slots=True)
class Intervals:
    """Ratios with their intervals; NaN where a ratio or an interval does not exist.

    ``log_half_width`` is half the interval's width on the log scale and
    ``standard_error`` that of the log ratio. ``df`` is NaN for MOVER, which has no
    single one. ``g`` says how near the baseline's own interval comes to 0 (1: reaches
    it) and ``own_g`` the same of the cell: Fieller (1954).
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
        return np.asarray(np.sinh(self.log_half_width), dtype=float)


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

    ``extra_log_variance`` is uncertainty that no repetition shows, such as the gain
    error of two meters: 2 (1.5 %)^2 / 3. There is no interval for a single run, for
    readings of 0 or less, for identical readings of unknown resolution, and where
    either side's own interval reaches 0 (g >= 1).
    """
    probability = (1 + confidence) / 2
    extra = np.asarray(extra_log_variance, dtype=float)
    own, other = cell.log_variance(), baseline.log_variance()
    own_g = t_of_runs(cell.n, probability) ** 2 * own
    g = t_of_runs(baseline.n, probability) ** 2 * other
    ratio = _ratios(cell, baseline, higher_is_better)
    exists = np.isfinite(ratio) & (g < 1) & (own_g < 1)
    exists &= np.minimum(g, own_g) > LEAST_G
    is_welch = exists & (np.minimum(cell.n, baseline.n) >= WELCH_RUNS)
    df = np.where(is_welch, welch_df(own, cell.n, other, baseline.n, extra), np.nan)
    standard_error = np.where(exists, np.sqrt(own + other + extra), np.nan)
    welch = t_quantiles(df, probability) * standard_error
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


def _ratios(cell: Rollups, baseline: Rollups, higher_is_better: ArrayLike) -> Floats:
    above = np.where(higher_is_better, cell.mean, baseline.mean)
    below = np.where(higher_is_better, baseline.mean, cell.mean)
    ratio = above / below
    return np.where((below > 0) & (ratio > 0) & np.isfinite(ratio), ratio, np.nan)


@NO_WARNINGS
def welch_df(
    own: Floats, own_n: ArrayLike, other: Floats, other_n: ArrayLike, extra: Floats
) -> Floats:
    """Return Satterthwaite's degrees of freedom; ``extra`` is known and has no term."""
    own_df, other_df = np.asarray(own_n) - 1.0, np.asarray(other_n) - 1.0
    df = (own + other + extra) ** 2 / (own**2 / own_df + other**2 / other_df)
    return np.asarray(df, dtype=float)
