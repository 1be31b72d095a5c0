"""Effects (ln ratios) of several studies pooled with random effects.

- tau^2: restricted maximum likelihood (Fisher scoring: Harville, JASA 72 (1977);
  Viechtbauer, Journal of Educational and Behavioral Statistics 30 (2005)). DerSimonian
  and Laird's mean (Controlled Clinical Trials 7 (1986)) is a check.
- Mean: Hartung and Knapp, Statistics in Medicine 20 (2001), t with k - 1 degrees of
  freedom, never narrower than Wald's (Roever, Knapp and Friede, BMC Medical Research
  Methodology 15 (2015)).
- Prediction interval of the next study: Higgins, Thompson and Spiegelhalter, JRSS A 172
  (2009); Partlett and Riley, Statistics in Medicine 36 (2017). Its coverage in
  simulations is in docs/method.md, Across studies.
- Interval of tau^2: Q-profile (Viechtbauer, Statistics in Medicine 26 (2007)).
- I^2: Higgins and Thompson, Statistics in Medicine 21 (2002).

Functions work on many pools at once: entry i belongs to pool ``pool_index[i]``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtri

from benchmarks.analysis.intervals import (
    NO_WARNINGS,
    Floats,
    t_quantiles,
)
from benchmarks.analysis.verdicts import CONFIDENCE, DEFAULT_MARGIN

Indices = NDArray[np.int64]

MIN_POOLED: Final = 3
"""The fewest labs or machines that are pooled: two do not show how much they differ."""
MIN_STRONG_LABS: Final = 5
MAX_ITERATIONS: Final = 500
CONVERGENCE: Final = 1e-10
"""The iteration ends at smaller steps, relative to the largest variance."""
HETEROGENEOUS: Final = 0.75
"""Above this I^2, studies with opposite directions contradict each other."""
UNDECIDED: Final = 2


@dataclass(frozen=True, slots=True)
class PooledArrays:
    """Pooled effects on the log scale, one entry per pool; NaN for missing numbers.

    ``predicted_*`` is the prediction interval of another study, ``weight`` each
    effect's share of the weights of its pool.
    """

    study_count: Indices
    mean: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    predicted_low: Floats
    predicted_high: Floats
    tau2: Floats
    i2: Floats
    weight: Floats


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """The differences between the effects of a pool beyond their noise.

    ``tau2`` is by REML, ``q`` is Cochran's statistic, ``mean_dl`` the mean by
    DerSimonian and Laird.
    """

    tau2: float
    tau2_low: float
    tau2_high: float
    i2: float
    q: float
    mean_dl: float
    leave_one_out: tuple[float, ...]


class EvidenceStrength(IntEnum):
    NONE = 0
    CONTRADICTORY = 1
    WEAK = 2
    MODERATE = 3
    STRONG = 4

    @property
    def slug(self) -> str:
        return self.name.lower()


@NO_WARNINGS
def pool_effects(
    effects: ArrayLike,
    variances: ArrayLike,
    pool_index: ArrayLike,
    count: int,
    *,
    confidence: float = CONFIDENCE,
) -> PooledArrays:
    """Pool effects (ln ratios) into ``count`` pools; a pool of two effects has no mean.

    Raise ValueError for effects that are not finite or have no variance above 0.
    """
    y, v = (np.asarray(values, dtype=float) for values in (effects, variances))
    pool = np.asarray(pool_index, dtype=np.int64)
    if not (np.all(np.isfinite(y)) and np.all(np.isfinite(v) & (v > 0))):
        raise ValueError("an effect needs a finite value and a variance above 0")

    tau2 = _tau2_reml(y, v, pool, count)
    w = 1 / (v + tau2[pool])
    sums = _pool_sums(pool, count)
    k = np.bincount(pool, minlength=count)
    total = sums(w)
    mean = sums(w * y) / total
    spread = sums(w * (y - mean[pool]) ** 2) / (k - 1)
    variance = np.maximum(spread, 1.0) / total

    is_pool = k >= MIN_POOLED
    probability = (1 + confidence) / 2
    quantile = np.full(count, np.nan)
    quantile[is_pool] = t_quantiles((k[is_pool] - 1).astype(float), probability)
    is_single = k == 1
    quantile[is_single] = t_quantiles(np.array([np.inf]), probability)[0]
    standard_error = np.sqrt(np.where(is_single, 1 / total, variance))
    standard_error[~is_pool & ~is_single] = np.nan
    mean[~is_pool & ~is_single] = np.nan
    half_width = quantile * standard_error
    prediction_half_width = quantile * np.sqrt(tau2 + variance)
    prediction_half_width[~is_pool] = np.nan

    fixed = 1 / v
    typical = (k - 1) * sums(fixed) / (sums(fixed) ** 2 - sums(fixed**2))
    i2 = np.where(is_pool, tau2 / (tau2 + typical), np.nan)
    return PooledArrays(
        study_count=k.astype(np.int64),
        mean=mean,
        standard_error=standard_error,
        low=mean - half_width,
        high=mean + half_width,
        predicted_low=mean - prediction_half_width,
        predicted_high=mean + prediction_half_width,
        tau2=np.where(is_pool, tau2, np.nan),
        i2=i2,
        weight=w / total[pool],
    )


@NO_WARNINGS
def pool_single_runs(
    effects: ArrayLike,
    pool_index: ArrayLike,
    count: int,
    *,
    confidence: float = CONFIDENCE,
) -> PooledArrays:
    """Pool effects of single runs with equal weights, by Student's t over studies."""
    y = np.asarray(effects, dtype=float)
    pool = np.asarray(pool_index, dtype=np.int64)
    sums = _pool_sums(pool, count)
    k = np.bincount(pool, minlength=count)
    mean = sums(y) / k
    spread = sums((y - mean[pool]) ** 2) / (k - 1)
    is_pool = k >= MIN_POOLED
    quantile = np.full(count, np.nan)
    probability = (1 + confidence) / 2
    quantile[is_pool] = t_quantiles((k[is_pool] - 1).astype(float), probability)
    standard_error = np.where(is_pool, np.sqrt(spread / k), np.nan)
    mean = np.where(is_pool | (k == 1), mean, np.nan)
    half_width = quantile * standard_error
    prediction_half_width = quantile * np.sqrt(spread * (1 + 1 / k))
    unknown = np.full(count, np.nan)
    return PooledArrays(
        study_count=k.astype(np.int64),
        mean=mean,
        standard_error=standard_error,
        low=mean - half_width,
        high=mean + half_width,
        predicted_low=mean - prediction_half_width,
        predicted_high=mean + prediction_half_width,
        tau2=unknown,
        i2=unknown,
        weight=1 / k[pool],
    )


@NO_WARNINGS
def heterogeneity(
    effects: Sequence[float],
    variances: Sequence[float],
    *,
    left_out: Sequence[int] | None = None,
    confidence: float = CONFIDENCE,
) -> Heterogeneity | None:
    """Return the heterogeneity of a pool; None for fewer than three effects.

    ``left_out`` are the effects to leave out one at a time (default: each).
    """
    y, v = np.asarray(effects, dtype=float), np.asarray(variances, dtype=float)
    k = y.size
    if k < MIN_POOLED:
        return None
    one_pool = np.zeros(k, dtype=np.int64)
    pooled = pool_effects(y, v, one_pool, 1, confidence=confidence)
    fixed = 1 / v
    q = _q(y, v, 0.0)
    scale = fixed.sum() - (fixed**2).sum() / fixed.sum()
    tau2_dl = max(0.0, (q - (k - 1)) / scale)
    w = 1 / (v + tau2_dl)
    return Heterogeneity(
        tau2=float(pooled.tau2[0]),
        tau2_low=_tau2_where_q_is(y, v, float(chdtri(k - 1, (1 - confidence) / 2))),
        tau2_high=_tau2_where_q_is(y, v, float(chdtri(k - 1, (1 + confidence) / 2))),
        i2=float(pooled.i2[0]),
        q=q,
        mean_dl=float((w * y).sum() / w.sum()),
        leave_one_out=_leave_one_out(y, v, left_out),
    )


def _leave_one_out(
    y: Floats, v: Floats, left_out: Sequence[int] | None
) -> tuple[float, ...]:
    k = y.size
    rows = np.arange(k) if left_out is None else np.asarray(left_out, dtype=np.int64)
    is_included = np.ones((rows.size, k), dtype=bool)
    is_included[np.arange(rows.size), rows] = False
    pool, entry = np.nonzero(is_included)
    means = np.full(k, np.nan)
    means[rows] = pool_effects(y[entry], v[entry], pool, rows.size).mean
    return tuple(means.tolist())


def interval_direction(low: float, high: float, margin: float = DEFAULT_MARGIN) -> int:
    """Return the direction of the interval of a log ratio: -1 (slower), 1 (faster), 0
    (equivalent) or `UNDECIDED`.
    """
    below, above = float(np.log1p(-margin)), float(np.log1p(margin))
    if high < below:
        return -1
    if low > above:
        return 1
    return 0 if below < low and high < above else UNDECIDED


def grade_evidence(
    *,
    labs: int,
    mean_interval: tuple[float, float],
    predicted: tuple[float, float],
    i2: float,
    directions: Sequence[int],
    margin: float = DEFAULT_MARGIN,
) -> EvidenceStrength:
    """Return the strength of a pool's evidence; intervals are of log ratios."""
    if not labs:
        return EvidenceStrength.NONE
    if i2 > HETEROGENEOUS and {-1, 1} <= set(directions):
        return EvidenceStrength.CONTRADICTORY
    if labs >= MIN_STRONG_LABS and interval_direction(*predicted, margin) != UNDECIDED:
        return EvidenceStrength.STRONG
    if labs >= MIN_POOLED and interval_direction(*mean_interval, margin) != UNDECIDED:
        return EvidenceStrength.MODERATE
    return EvidenceStrength.WEAK


def _pool_sums(pool: Indices, count: int) -> Callable[[Floats], Floats]:
    return lambda values: np.asarray(
        np.bincount(pool, weights=values, minlength=count), dtype=float
    )


def _tau2_reml(y: Floats, v: Floats, pool: Indices, count: int) -> Floats:
    """Return tau^2 of each pool by Fisher scoring.

    With weights w = 1 / (v + tau^2) and P the projection off the weighted mean, each
    step adds (y'PPy - tr P) / tr PP to tau^2, which stays at least 0, until it
    converges.
    """
    sums = _pool_sums(pool, count)
    k = np.bincount(pool, minlength=count)
    raw = sums(y) / k
    tau2 = np.maximum(sums((y - raw[pool]) ** 2) / (k - 1) - sums(v) / k, 0.0)
    tau2[k < 2] = 0.0
    largest = np.zeros(count)
    np.maximum.at(largest, pool, v)
    scale = np.maximum(largest, tau2)
    step_before = np.zeros(count)
    damping = np.ones(count)
    for _ in range(MAX_ITERATIONS):
        w = 1 / (v + tau2[pool])
        total, squares, cubes = sums(w), sums(w**2), sums(w**3)
        mean = sums(w * y) / total
        gradient = sums((w * (y - mean[pool])) ** 2) - (total - squares / total)
        curvature = squares - 2 * cubes / total + (squares / total) ** 2
        step = np.where(k > 1, gradient / curvature, 0.0)
        damping = np.where(step * step_before < 0, damping / 2, damping)
        step_before = step
        grown = np.maximum(tau2 + damping * step, 0.0)
        if np.all(np.abs(grown - tau2) <= CONVERGENCE * scale):
            return grown
        tau2 = grown
    return tau2


def _q(y: Floats, v: Floats, tau2: float) -> float:
    w = 1 / (v + tau2)
    mean = (w * y).sum() / w.sum()
    return float((w * (y - mean) ** 2).sum())


def _tau2_where_q_is(y: Floats, v: Floats, target: float) -> float:
    if _q(y, v, 0.0) <= target:
        return 0.0
    high = max(float(v.max()), float(np.var(y)))
    while _q(y, v, high) > target:
        high *= 2
    low = 0.0
    for _ in range(200):
        middle = (low + high) / 2
        if _q(y, v, middle) > target:
            low = middle
        else:
            high = middle
    return (low + high) / 2
