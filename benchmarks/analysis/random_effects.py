"""Random-effects model of machines nested in labs, for many pools at once.

Effect i of machine j in lab l is mu + u_l + w_j + e_i with the known variance of e_i,
Var(u) = tau2_lab and Var(w) = tau2_machine.

- Estimates: restricted maximum likelihood by Fisher scoring (Harville, JASA 72 (1977)),
  as ``rma.mv(yi, vi, random = ~ 1 | lab/machine)`` of the R package metafor.
- Intervals: the posterior of mu and of the effect on another machine under the
  reference prior of both variances, which has no scale to choose (Berger and Bernardo,
  Bayesian Statistics 4 (1992); Tiao and Tan, Biometrika 52 (1965); with one machine per
  lab: Bodnar, Link, Arendacka, Possolo and Elster, Statistics in Medicine 36 (2017),
  "Jeffreys" in the R package bayesmeta). The coverage is in docs/figures/method.md.

Both variances are integrated over a grid of their logarithms, so that an estimate of 0
never means that machines do not differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from benchmarks.analysis.intervals import NO_WARNINGS, Floats

Indices = NDArray[np.int64]

NODES: Final = 16
NESTED_NODES: Final = 15
"""The nodes of the grid per variance, in pools without and with several machines per
lab. More nodes move the ends of intervals by less than 0.1 % of the width."""
REFINEMENTS: Final = 3
"""How often the grid is narrowed to the nodes with a weight."""
NEGLIGIBLE: Final = 1e-4
"""Nodes with a smaller weight, relative to the largest, are outside of the grid."""
MAX_ITERATIONS: Final = 200
CONVERGENCE: Final = 1e-10
"""The iteration ends at smaller steps, relative to the largest variance."""
MAX_QUANTILE_STEPS: Final = 60
PRECISION: Final = 1e-8


@dataclass(frozen=True, slots=True)
class NestedEffects:
    """Effects sorted by pool and lab. Each pool has at least two labs.

    ``lab_start`` are the indexes of each lab's first effect, ``pool_start`` the indexes
    of each pool's first lab. ``is_nested`` states whether labs have several machines;
    otherwise ``tau2_machine`` is not separable, and stays 0.
    """

    effect: Floats
    variance: Floats
    lab_start: Indices
    pool_start: Indices
    is_nested: bool

    def by_lab(self, values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(values, self.lab_start, axis=-1))

    def by_pool(self, labs: Floats) -> Floats:
        return np.asarray(np.add.reduceat(labs, self.pool_start, axis=-1))

    def of_labs(self, pools: Floats) -> Floats:
        """Repeat a value of each pool for each of its labs."""
        sizes = np.diff(self.pool_start, append=self.lab_start.size)
        return np.repeat(pools, sizes, axis=-1)

    def of_machines(self, labs: Floats) -> Floats:
        sizes = np.diff(self.lab_start, append=self.effect.size)
        return np.repeat(labs, sizes, axis=-1)


@dataclass(frozen=True, slots=True)
class Fit:
    """A pool's generalized least squares estimate at given variances.

    ``robust_error`` is the standard error by the sandwich estimator with labs as
    clusters, times sqrt(labs / (labs - 1)), as ``robust(fit, cluster = lab)`` of
    metafor. ``weight`` has an entry per machine and adds up to 1 in a pool, ``q`` is
    the generalized sum of squared residuals.
    """

    mean: Floats
    standard_error: Floats
    robust_error: Floats
    weight: Floats
    q: Floats


@dataclass(frozen=True, slots=True)
class Estimate:
    """REML estimates of pools and their intervals, one entry per pool."""

    tau2_lab: Floats
    tau2_machine: Floats
    low: Floats
    high: Floats
    predicted_low: Floats
    predicted_high: Floats


@dataclass(frozen=True, slots=True)
class _Machines:
    """The machines of labs at a given ``tau2_machine``, reduced to labs.

    ``log_likelihood`` and ``information`` (on the variance) are those of the
    differences within labs.
    """

    mean: Floats
    variance: Floats
    log_likelihood: Floats
    information: Floats


@NO_WARNINGS
def fit(data: NestedEffects, tau2_lab: Floats, tau2_machine: Floats) -> Fit:
    p = 1 / (data.variance + data.of_machines(data.of_labs(tau2_machine)))
    precision = data.by_lab(p)
    lab_mean = data.by_lab(p * data.effect) / precision
    w = 1 / (data.of_labs(tau2_lab) + 1 / precision)
    total = data.by_pool(w)
    mean = data.by_pool(w * lab_mean) / total
    distance = lab_mean - data.of_labs(mean)
    labs = data.by_pool(np.ones_like(w))
    within = data.by_lab(p * (data.effect - data.of_machines(lab_mean)) ** 2)
    return Fit(
        mean=mean,
        standard_error=1 / np.sqrt(total),
        robust_error=np.sqrt(data.by_pool((w * distance) ** 2) * labs / (labs - 1))
        / total,
        weight=p * data.of_machines(w / precision / data.of_labs(total)),
        q=data.by_pool(w * distance**2 + within),
    )


@NO_WARNINGS
def estimate(data: NestedEffects, confidence: float) -> Estimate:
    log_low, log_high = _first_grid(data)
    ranges = [(log_low, log_high)] * (2 if data.is_nested else 1)
    for _ in range(REFINEMENTS):
        grid = _Grid.of(data, ranges)
        ranges = grid.narrowed_ranges()
    tau2_lab, tau2_machine = _reml(data, grid.likeliest_variances())
    tails = ((1 - confidence) / 2, (1 + confidence) / 2)
    means = [grid.quantile(grid.variance, tail) for tail in tails]
    predictions = [
        grid.quantile(grid.variance + grid.tau2_lab + grid.tau2_machine, tail)
        for tail in tails
    ]
    return Estimate(tau2_lab, tau2_machine, *means, *predictions)


def _first_grid(data: NestedEffects) -> tuple[Floats, Floats]:
    """Return wide limits of the logarithm of a variance, for each pool."""
    machine_pool_start = data.lab_start[data.pool_start]
    smallest = np.minimum.reduceat(data.variance, machine_pool_start)
    count = data.by_pool(data.by_lab(np.ones_like(data.effect)))
    mean = data.by_pool(data.by_lab(data.effect)) / count
    distance = data.effect - data.of_machines(data.of_labs(mean))
    spread = data.by_pool(data.by_lab(distance**2)) / (count - 1)
    return np.log(1e-4 * smallest), np.log(1e4 * np.maximum(spread, smallest))


@dataclass(frozen=True, slots=True)
class _Grid:
    """The posterior on a grid of shape (machine nodes, lab nodes, pools).

    Given both variances, mu is normal with ``mean`` and ``variance``.
    """

    log_tau2_lab: Floats
    log_tau2_machine: Floats
    tau2_lab: Floats
    tau2_machine: Floats
    mean: Floats
    variance: Floats
    log_likelihood: Floats
    weight: Floats

    @classmethod
    def of(cls, data: NestedEffects, ranges: list[tuple[Floats, Floats]]) -> _Grid:
        nodes = NESTED_NODES if data.is_nested else NODES
        position = np.linspace(0, 1, nodes)[:, None]
        logs = [low + (high - low) * position for low, high in ranges]
        log_lab = logs[0]
        lab = np.exp(log_lab)
        if data.is_nested:
            log_machine = logs[1]
            machine = np.exp(log_machine)
        else:
            machine = np.zeros((1, log_lab.shape[1]))
            log_machine = np.zeros_like(machine)
        shape = (len(machine), nodes, log_lab.shape[1])
        mean, variance, log_likelihood, log_weight = np.empty((4, *shape))
        for row, tau2_machine in enumerate(machine):
            labs = _machines(data, tau2_machine)
            w = 1 / (data.of_labs(lab) + labs.variance)
            total, squares, cubes = map(data.by_pool, (w, w**2, w**3))
            mean[row] = data.by_pool(w * labs.mean) / total
            variance[row] = 1 / total
            q = data.by_pool(w * (labs.mean - data.of_labs(mean[row])) ** 2)
            log_determinant = np.log(total) - data.by_pool(np.log(w))
            log_likelihood[row] = labs.log_likelihood - (log_determinant + q) / 2
            information = squares - 2 * cubes / total + (squares / total) ** 2
            # The prior of the variances is the root of their information; the grid is
            # one of logarithms.
            log_weight[row] = (
                log_likelihood[row]
                + np.log(information * labs.information) / 2
                + log_lab
                + log_machine[row]
            )
        log_weight -= log_weight.max(axis=(0, 1))
        weight = np.exp(log_weight)
        weight /= weight.sum(axis=(0, 1))
        return cls(
            log_lab,
            log_machine,
            lab[None],
            machine[:, None],
            mean,
            variance,
            log_likelihood,
            weight,
        )

    def narrowed_ranges(self) -> list[tuple[Floats, Floats]]:
        """Return the ranges of the nodes with a weight, and one node on each side."""
        ranges = [_narrowed(self.log_tau2_lab, self.weight.sum(axis=0))]
        if len(self.log_tau2_machine) > 1:
            ranges.append(_narrowed(self.log_tau2_machine, self.weight.sum(axis=1)))
        return ranges

    def likeliest_variances(self) -> Floats:
        """Return ``tau2_lab`` and ``tau2_machine`` with the largest likelihood."""
        _, labs, pools = self.weight.shape
        row = self.log_likelihood.reshape(-1, pools).argmax(axis=0)
        pool = np.arange(pools)
        return np.array(
            [
                self.tau2_lab[0, row % labs, pool],
                self.tau2_machine[row // labs, 0, pool],
            ]
        )

    def quantile(self, variance: Floats, probability: float) -> Floats:
        """Return a quantile of the mixture of normals with these variances."""
        pools = self.weight.shape[-1]
        weight = self.weight.reshape(-1, pools)
        mean = self.mean.reshape(-1, pools)
        deviation = np.sqrt(variance).reshape(-1, pools)
        center = (weight * mean).sum(axis=0)
        second = (weight * (deviation**2 + (mean - center) ** 2)).sum(axis=0)
        # By Chebyshev's inequality the quantile is inside.
        reach = np.sqrt(second / min(probability, 1 - probability))
        low, high = center - reach, center + reach
        score = ndtri(probability)
        x = center + score * np.sqrt(second)
        for _ in range(MAX_QUANTILE_STEPS):
            z = (x - mean) / deviation
            tail = (weight * ndtr(z)).sum(axis=0)
            density = (weight * np.exp(-(z**2) / 2) / deviation).sum(axis=0)
            low, high = (
                np.where(tail < probability, x, low),
                np.where(tail < probability, high, x),
            )
            # Newton's steps for normal scores, which are almost linear in x.
            distance = ndtri(tail) - score
            newton = x - distance * np.exp(-(ndtri(tail) ** 2) / 2) / density
            is_inside = (newton >= low) & (newton <= high)
            following = np.where(is_inside, newton, (low + high) / 2)
            # A pool that has converged does not depend on the others any more.
            is_done = np.abs(following - x) <= PRECISION * reach
            x = np.where(is_done, x, following)
            if np.all(is_done):
                break
        return np.asarray(x)


def _narrowed(nodes: Floats, weight: Floats) -> tuple[Floats, Floats]:
    is_heavy = weight > NEGLIGIBLE * weight.max(axis=0)
    last = len(nodes) - 1
    first_index = np.maximum(is_heavy.argmax(axis=0) - 1, 0)
    last_index = np.minimum(last - is_heavy[::-1].argmax(axis=0) + 1, last)
    pool = np.arange(nodes.shape[1])
    return nodes[first_index, pool], nodes[last_index, pool]


def _machines(data: NestedEffects, tau2_machine: Floats) -> _Machines:
    if not data.is_nested:
        none = np.zeros(data.pool_start.size)
        return _Machines(data.effect, data.variance, none, none + 1)
    p = 1 / (data.variance + data.of_machines(data.of_labs(tau2_machine)))
    precision, squares, cubes = map(data.by_lab, (p, p**2, p**3))
    mean = data.by_lab(p * data.effect) / precision
    q = data.by_lab(p * (data.effect - data.of_machines(mean)) ** 2)
    log_determinant = np.log(precision) - data.by_lab(np.log(p))
    information = squares - 2 * cubes / precision + (squares / precision) ** 2
    return _Machines(
        mean=mean,
        variance=1 / precision,
        log_likelihood=-data.by_pool(log_determinant + q) / 2,
        information=data.by_pool(information),
    )


@dataclass(frozen=True, slots=True)
class _Likelihood:
    """The restricted log likelihood of pools, its gradient and information, times 2."""

    value: Floats
    gradient: Floats
    information: Floats


def _reml(data: NestedEffects, start: Floats) -> Floats:
    """Return both variances of each pool by Fisher scoring with step halving.

    A variance at 0 stays there while the likelihood does not grow with it.
    """
    largest = np.maximum.reduceat(data.variance, data.lab_start[data.pool_start])
    scale = np.maximum(largest, start.sum(axis=0))
    tau2, at = start, _likelihood(data, *start)
    damping = np.ones(data.pool_start.size)
    is_done = np.zeros(data.pool_start.size, dtype=bool)
    is_usable = np.array([[True], [data.is_nested]])
    for _ in range(MAX_ITERATIONS):
        is_free = is_usable & ((tau2 > 0) | (at.gradient > 0))
        lab, machine = np.where(is_free, at.gradient, 0)
        lab2, both, machine2 = at.information
        both = np.where(is_free.all(axis=0), both, 0)
        determinant = lab2 * machine2 - both**2
        step = np.array([machine2 * lab - both * machine, lab2 * machine - both * lab])
        step /= np.where(determinant > 0, determinant, np.inf)
        tried = np.maximum(tau2 + damping * step, 0)
        there = _likelihood(data, *tried)
        is_done |= np.abs(tried - tau2).max(axis=0) <= CONVERGENCE * scale
        is_better = (there.value >= at.value - 1e-13 * np.abs(at.value)) & ~is_done
        tau2 = np.where(is_better, tried, tau2)
        at = _Likelihood(
            np.where(is_better, there.value, at.value),
            np.where(is_better, there.gradient, at.gradient),
            np.where(is_better, there.information, at.information),
        )
        damping = np.where(is_better, np.minimum(2 * damping, 1), damping / 2)
        if np.all(is_done):
            break
    return tau2


def _likelihood(
    data: NestedEffects, tau2_lab: Floats, tau2_machine: Floats
) -> _Likelihood:
    """Return the likelihood of REML at these variances.

    With V the covariance matrix of the effects and P the projection off the weighted
    mean, the gradient is y'PZPy - tr PZ and the information tr PZPZ, where Z has the
    blocks 11' of labs for ``tau2_lab`` and is 1 for ``tau2_machine``.
    """
    p = 1 / (data.variance + data.of_machines(data.of_labs(tau2_machine)))
    precision, squares, cubes = map(data.by_lab, (p, p**2, p**3))
    lab_mean = data.by_lab(p * data.effect) / precision
    tau2 = data.of_labs(tau2_lab)
    growth = 1 + tau2 * precision
    w = precision / growth
    sums: Callable[[Floats], Floats] = data.by_pool
    total, w2, w3 = sums(w), sums(w**2), sums(w**3)
    mean = sums(w * lab_mean) / total
    distance = lab_mean - data.of_labs(mean)
    difference = data.effect - data.of_machines(lab_mean)
    residual = p * (difference + data.of_machines(distance / growth))
    q = sums(w * distance**2 + data.by_lab(p * difference**2))
    log_determinant = np.log(total) + sums(np.log(growth) - data.by_lab(np.log(p)))
    c = tau2 / growth
    # Sums over the machines of a lab, with z = V^-1 1: z'z and z'V^-1 z.
    z2 = squares / growth**2
    z3 = (cubes - c * squares**2) / growth**2
    z2_sum = sums(z2)
    gradient = np.array(
        [
            sums((w * distance) ** 2) - (total - w2 / total),
            sums(data.by_lab(residual**2) - precision + c * squares) + z2_sum / total,
        ]
    )
    information = np.array(
        [
            w2 - 2 * w3 / total + (w2 / total) ** 2,
            z2_sum - 2 * sums(z2 * w) / total + w2 * z2_sum / total**2,
            sums(squares - 2 * c * cubes + (c * squares) ** 2)
            - 2 * sums(z3) / total
            + (z2_sum / total) ** 2,
        ]
    )
    return _Likelihood(-(log_determinant + q), gradient, information)
