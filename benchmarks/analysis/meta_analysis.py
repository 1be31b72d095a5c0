"""Effects (ln ratios) of machines pooled with random effects of labs and machines.

- Estimates and intervals: `random_effects`. The mean and both variances equal those of
  ``rma.mv(yi, vi, random = ~ 1 | lab/machine)`` of the R package metafor.
- DerSimonian and Laird's mean (Controlled Clinical Trials 7 (1986)) and the interval
  with robust standard errors by lab are checks.
- Interval of tau^2: Q-profile (Viechtbauer, Statistics in Medicine 26 (2007)).
- I^2: Higgins and Thompson, Statistics in Medicine 21 (2002).
- Effects of single runs: the mean of labs' means with Student's t between labs.

A *lab* is any cluster of machines that may share effects, such as a provider of clouds.
Functions work on many pools at once: entry i is a machine of lab ``lab_index[i]`` in
pool ``pool_index[i]``. Without ``lab_index``, each machine has its own lab.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri

from benchmarks.analysis.intervals import NO_WARNINGS, Floats, t_quantiles
from benchmarks.analysis.random_effects import Indices, NestedEffects, estimate, fit
from benchmarks.analysis.verdicts import CONFIDENCE, DEFAULT_MARGIN

MIN_POOLED: Final = 3
"""The fewest labs, or machines of one lab, that are pooled: two do not show how much
they differ."""
MIN_STRONG_LABS: Final = 5
HETEROGENEOUS: Final = 0.75
"""Above this I^2, studies with opposite directions contradict each other."""
UNDECIDED: Final = 2


@dataclass(frozen=True, slots=True)
class PooledArrays:
    """Pooled effects on the log scale, one entry per pool; NaN for missing numbers.

    Pools of three or more labs are pooled over labs. Pools of one lab with three or
    more machines are pooled over its machines, and their prediction is for a machine of
    this lab (``is_one_lab``). Others have no mean, except a single machine.

    ``predicted_*`` is the prediction interval of another machine, ``weight`` each
    effect's share of the weights of its pool. If each lab has one machine,
    ``tau2_lab`` includes the variance between machines and ``tau2_machine`` is NaN; in
    pools of one lab, ``tau2_lab`` is NaN.
    """

    machine_count: Indices
    lab_count: Indices
    is_one_lab: np.ndarray[tuple[int], np.dtype[np.bool_]]
    mean: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    predicted_low: Floats
    predicted_high: Floats
    tau2: Floats
    tau2_lab: Floats
    tau2_machine: Floats
    i2: Floats
    weight: Floats


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """The differences between the effects of a pool beyond their noise.

    ``tau2`` is the sum of the variances between labs and between machines by REML, with
    its Q-profile interval (at the estimated share of labs). ``q`` is Cochran's
    statistic. ``robust_error`` is the standard error of the mean with labs as clusters.
    ``mean_dl`` is the mean by DerSimonian and Laird, which ignores labs. In pools of
    several labs, ``leave_one_out`` has the mean without all machines of the same lab.
    """

    tau2: float
    tau2_low: float
    tau2_high: float
    i2: float
    q: float
    robust_error: float
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


@dataclass(frozen=True, slots=True)
class _Layout:
    """The machines and labs of pools. ``cluster`` numbers the labs of all pools.

    ``unit_count`` are the labs or, in pools of one lab, the machines.
    """

    pool: Indices
    cluster: Indices
    cluster_pool: Indices
    machine_count: Indices
    lab_count: Indices

    @classmethod
    def of(
        cls, pool_index: ArrayLike, lab_index: ArrayLike | None, count: int
    ) -> "_Layout":
        pool = np.asarray(pool_index, dtype=np.int64)
        lab = np.arange(pool.size) if lab_index is None else np.asarray(lab_index)
        _, lab = np.unique(lab, return_inverse=True)
        keys, cluster = np.unique(
            pool * (lab.max(initial=0) + 1) + lab, return_inverse=True
        )
        cluster_pool = keys // (lab.max(initial=0) + 1)
        return cls(
            pool,
            cluster.astype(np.int64),
            cluster_pool,
            np.bincount(pool, minlength=count).astype(np.int64),
            np.bincount(cluster_pool, minlength=count).astype(np.int64),
        )

    @property
    def is_one_lab(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.asarray((self.lab_count == 1) & (self.machine_count > 1))

    @property
    def unit_count(self) -> Indices:
        return np.where(self.is_one_lab, self.machine_count, self.lab_count)

    @property
    def is_nested(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.asarray((self.lab_count > 1) & (self.lab_count < self.machine_count))


@NO_WARNINGS
def pool_effects(
    effects: ArrayLike,
    variances: ArrayLike,
    pool_index: ArrayLike,
    count: int,
    *,
    lab_index: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
) -> PooledArrays:
    """Pool effects (ln ratios) of machines into ``count`` pools.

    Raise ValueError for effects that are not finite or have no variance above 0.
    """
    y, v = (np.asarray(values, dtype=float) for values in (effects, variances))
    if not (np.all(np.isfinite(y)) and np.all(np.isfinite(v) & (v > 0))):
        raise ValueError("an effect needs a finite value and a variance above 0")
    layout = _Layout.of(pool_index, lab_index, count)
    pooled = _empty(layout, count)
    fixed = 1 / v
    total, squares = (
        np.bincount(layout.pool, values, count) for values in (fixed, fixed**2)
    )
    pooled.weight[:] = fixed / total[layout.pool]
    single = np.flatnonzero(layout.machine_count[layout.pool] == 1)
    pool = layout.pool[single]
    pooled.mean[pool] = y[single]
    pooled.standard_error[pool] = np.sqrt(v[single])
    half_width = t_quantiles(np.array([np.inf]), (1 + confidence) / 2) * np.sqrt(
        v[single]
    )
    pooled.low[pool], pooled.high[pool] = y[single] - half_width, y[single] + half_width
    for is_nested in (False, True):
        selected = (layout.unit_count >= MIN_POOLED) & (layout.is_nested == is_nested)
        pools = np.flatnonzero(selected)
        if not pools.size:
            continue
        rows, data = _nested_effects(y, v, layout, selected)
        found = estimate(data, confidence)
        at = fit(data, found.tau2_lab, found.tau2_machine)
        pooled.mean[pools], pooled.standard_error[pools] = at.mean, at.standard_error
        pooled.weight[rows] = at.weight
        for name in ("low", "high", "predicted_low", "predicted_high"):
            getattr(pooled, name)[pools] = getattr(found, name)
        pooled.tau2[pools] = found.tau2_lab + found.tau2_machine
        if is_nested:
            pooled.tau2_lab[pools] = found.tau2_lab
            pooled.tau2_machine[pools] = found.tau2_machine
    is_flat = ~layout.is_nested
    for is_level, values in (
        (is_flat & ~layout.is_one_lab, pooled.tau2_lab),
        (layout.is_one_lab, pooled.tau2_machine),
    ):
        values[is_level] = pooled.tau2[is_level]
    typical = (layout.machine_count - 1) * total / (total**2 - squares)
    pooled.i2[:] = pooled.tau2 / (pooled.tau2 + typical)
    return pooled


def _empty(layout: _Layout, count: int) -> PooledArrays:
    names = [field.name for field in fields(PooledArrays)][3:-1]
    return PooledArrays(
        layout.machine_count,
        layout.lab_count,
        layout.is_one_lab,
        **{name: np.full(count, np.nan) for name in names},
        weight=np.full(layout.pool.size, np.nan),
    )


def _nested_effects(
    y: Floats,
    v: Floats,
    layout: _Layout,
    selected: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> tuple[Indices, NestedEffects]:
    """Return the rows of the selected pools and their effects, sorted alike."""
    rows = np.flatnonzero(selected[layout.pool])
    # `cluster` is sorted by pool. In pools of one lab the machines take its place.
    rows = rows[np.argsort(layout.cluster[rows], kind="stable")]
    pool, cluster = layout.pool[rows], layout.cluster[rows]
    is_new = np.ones(rows.size, dtype=bool)
    is_new[1:] = (np.diff(cluster) != 0) | layout.is_one_lab[pool[1:]]
    lab_start = np.flatnonzero(is_new)
    pool_start = np.flatnonzero(np.diff(pool[lab_start], prepend=-1))
    is_nested = lab_start.size < rows.size
    return rows, NestedEffects(y[rows], v[rows], lab_start, pool_start, is_nested)


@NO_WARNINGS
def pool_single_runs(
    effects: ArrayLike,
    pool_index: ArrayLike,
    count: int,
    *,
    lab_index: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
) -> PooledArrays:
    """Pool effects of unknown variance: the mean of labs' means by Student's t.

    With the standard deviation s of the means of m labs and the pooled variance w^2
    within labs of n_j machines, the prediction of a machine of another lab is
    t(m - 1) sqrt(s^2 (1 + 1/m) + w^2 (1 - mean(1/n_j))) wide to each side.
    """
    y = np.asarray(effects, dtype=float)
    layout = _Layout.of(pool_index, lab_index, count)
    pooled = _empty(layout, count)
    cluster, of_cluster = layout.cluster, layout.cluster_pool
    if layout.is_one_lab.any():
        # The machines of one lab take the place of labs.
        own = np.flatnonzero(layout.is_one_lab[layout.pool])
        cluster = cluster.copy()
        cluster[own] = of_cluster.size + np.arange(own.size)
        of_cluster = np.concatenate([of_cluster, layout.pool[own]])
    size = np.bincount(cluster, minlength=of_cluster.size)
    mean = np.bincount(cluster, y, of_cluster.size) / size
    is_used = size > 0
    of_cluster, size, mean = of_cluster[is_used], size[is_used], mean[is_used]
    residual = y - (np.bincount(cluster, y) / np.bincount(cluster))[cluster]

    def by_pool(values: Floats) -> Floats:
        return np.bincount(of_cluster, values, count).astype(float)

    m = layout.unit_count
    center = by_pool(mean) / m
    between = by_pool((mean - center[of_cluster]) ** 2) / (m - 1)
    degrees = layout.machine_count - m
    within = np.bincount(layout.pool, residual**2, count) / np.maximum(degrees, 1)
    is_pool = m >= MIN_POOLED
    is_shown = is_pool | (layout.machine_count == 1)
    pooled.mean[is_shown] = center[is_shown]
    quantile = t_quantiles((m[is_pool] - 1).astype(float), (1 + confidence) / 2)
    error = np.sqrt(between / m)[is_pool]
    prediction = between * (1 + 1 / m) + within * (1 - by_pool(1 / size) / m)
    reach = quantile * np.sqrt(prediction[is_pool])
    pooled.standard_error[is_pool] = error
    pooled.low[is_pool] = center[is_pool] - quantile * error
    pooled.high[is_pool] = center[is_pool] + quantile * error
    pooled.predicted_low[is_pool] = center[is_pool] - reach
    pooled.predicted_high[is_pool] = center[is_pool] + reach
    sizes = np.bincount(cluster)[cluster]
    pooled.weight[:] = 1 / (m[layout.pool] * sizes)
    return pooled


@NO_WARNINGS
def heterogeneity(
    effects: Sequence[float],
    variances: Sequence[float],
    *,
    labs: Sequence[object] | None = None,
    left_out: Sequence[int] | None = None,
    confidence: float = CONFIDENCE,
) -> Heterogeneity | None:
    """Return the heterogeneity of a pool; None for a pool without a mean.

    ``left_out`` are the effects to leave out one at a time, each with the other
    machines of its lab (default: each effect).
    """
    y, v = np.asarray(effects, dtype=float), np.asarray(variances, dtype=float)
    k = y.size
    if k < MIN_POOLED:
        return None
    one_pool = np.zeros(k, dtype=np.int64)
    lab = (
        np.arange(k)
        if labs is None
        else np.unique([str(name) for name in labs], return_inverse=True)[1]
    )
    pooled = pool_effects(y, v, one_pool, 1, lab_index=lab, confidence=confidence)
    if not np.isfinite(pooled.tau2[0]):
        return None
    layout = _Layout.of(one_pool, lab, 1)
    _, data = _nested_effects(y, v, layout, np.ones(1, dtype=bool))
    # Without several machines per lab, the model only has the variance of labs.
    lab_share = 1.0
    if data.is_nested and pooled.tau2[0] > 0:
        lab_share = float(pooled.tau2_lab[0] / pooled.tau2[0])

    def q(tau2: float) -> float:
        total = np.array([tau2])
        return float(fit(data, total * lab_share, total * (1 - lab_share)).q[0])

    def tau2_where_q_is(probability: float) -> float:
        return _where_q_is(q, float(chdtri(k - 1, probability)), start=float(np.var(y)))

    fixed = 1 / v
    q0 = q(0.0)
    scale = fixed.sum() - (fixed**2).sum() / fixed.sum()
    tau2_dl = max(0.0, (q0 - (k - 1)) / scale)
    w = 1 / (v + tau2_dl)
    tau2 = pooled.tau2[:1]
    return Heterogeneity(
        tau2=float(tau2[0]),
        tau2_low=tau2_where_q_is((1 - confidence) / 2),
        tau2_high=tau2_where_q_is((1 + confidence) / 2),
        i2=float(pooled.i2[0]),
        q=q0,
        robust_error=float(
            fit(data, tau2 * lab_share, tau2 * (1 - lab_share)).robust_error[0]
        ),
        mean_dl=float((w * y).sum() / w.sum()),
        leave_one_out=_leave_one_out(y, v, lab, left_out),
    )


def _leave_one_out(
    y: Floats, v: Floats, lab: Indices, left_out: Sequence[int] | None
) -> tuple[float, ...]:
    k = y.size
    rows = np.arange(k) if left_out is None else np.asarray(left_out, dtype=np.int64)
    one_lab = lab.max() == lab.min()
    units = np.arange(k) if one_lab else lab
    is_included = units[rows][:, None] != units[None, :]
    pool, entry = np.nonzero(is_included)
    means = np.full(k, np.nan)
    means[rows] = pool_effects(
        y[entry], v[entry], pool, rows.size, lab_index=lab[entry]
    ).mean
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
    """Intervals are of log ratios."""
    if not labs:
        return EvidenceStrength.NONE
    if i2 > HETEROGENEOUS and {-1, 1} <= set(directions):
        return EvidenceStrength.CONTRADICTORY
    if labs >= MIN_STRONG_LABS and interval_direction(*predicted, margin) != UNDECIDED:
        return EvidenceStrength.STRONG
    if labs >= MIN_POOLED and interval_direction(*mean_interval, margin) != UNDECIDED:
        return EvidenceStrength.MODERATE
    return EvidenceStrength.WEAK


def _where_q_is(q: Callable[[float], float], target: float, *, start: float) -> float:
    """Return the tau^2 at which the decreasing function ``q`` is ``target``, or 0."""
    if q(0.0) <= target:
        return 0.0
    high = start
    while q(high) > target:
        high *= 2
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        if q(middle) > target:
            low = middle
        else:
            high = middle
    return (low + high) / 2
