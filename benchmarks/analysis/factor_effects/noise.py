"""How the observations of a design scatter: replication and shared baselines.

The logarithm of an efficiency is ln(VM) - ln(native). Cells that were set against one
native cell share its error: it does not average out over them. With the variance of
one run's logarithm as the unit, the covariance of the responses is::

    V = diag(1 / n) + Z diag(1 / n_native) Z'

where Z says which native cell each observation leans on.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from benchmarks.analysis.factor_effects.factors import Array
from benchmarks.analysis.factor_effects.lenth import ROUNDING

FEWEST_ERROR_DF: Final = 3


@dataclass(frozen=True, slots=True)
class Side:
    """One cell: its runs, and the squared deviations of their logarithms."""

    n: int = 1
    log_m2: float = 0.0


@dataclass(frozen=True, slots=True)
class Observation:
    """The response of one system: the logarithm of its efficiency or of its value.

    ``levels`` are its parameters; empty: not stated. ``baseline`` names the native cell
    that the response leans on; None for a plain value.
    """

    levels: Mapping[str, str]
    log_response: float
    runs: Side = Side()
    baseline: Hashable = None
    baseline_runs: Side = Side()


@dataclass(frozen=True, slots=True)
class Scatter:
    """The variance of one run's logarithm, and the degrees of freedom behind it."""

    variance: float
    df: float


def log_m2(m2: float, mean: float) -> float:
    """Squared deviations of the logarithms, to first order: m2 / mean^2."""
    return m2 / mean**2


def covariance(observations: Sequence[Observation]) -> Array:
    """Return V of n responses (n x n), in units of the variance of one run."""
    own = np.diag([1 / each.runs.n for each in observations])
    baselines = _baselines(observations)
    if not baselines:
        return own
    leans = np.array(
        [[each.baseline == key for key in baselines] for each in observations],
        dtype=np.float64,
    )
    native = np.diag([1 / side.n for side in baselines.values()])
    shared: Array = own + leans @ native @ leans.T
    return shared


def pooled(observations: Sequence[Observation]) -> Scatter | None:
    """Pool the scatter of repeated runs over all cells; None if too few were repeated.

    Cells whose runs are all equal tell nothing of scatter: a printed value that was
    rounded is not a value without error. Nor do those that only rounding tells apart.
    """
    sides = [each.runs for each in observations]
    sides += _baselines(observations).values()
    df = sum(side.n - 1 for side in sides)
    m2 = sum(side.log_m2 for side in sides)
    if df < FEWEST_ERROR_DF or m2 / df < ROUNDING**2:
        return None
    return Scatter(m2 / df, df)


def responses(observations: Sequence[Observation]) -> Array:
    """The logarithms, in the order of the observations."""
    return np.array([each.log_response for each in observations])


def relative_variances(weights: Array, observations: Sequence[Observation]) -> Array:
    """The variance of each weighted sum of n responses, in those of one run.

    ``weights`` has a row for each of the k sums (k x n); so many come back.
    """
    return _quadratic(weights, covariance(observations))


def baseline_shares(weights: Array, observations: Sequence[Observation]) -> Array:
    """Which part of the variance of each weighted sum comes from native runs: 0 to 1.

    ``weights`` has a row for each of the k sums (k x n); so many come back.
    """
    own = np.diag([1 / each.runs.n for each in observations])
    total = relative_variances(weights, observations)
    return np.maximum(0.0, 1 - _quadratic(weights, own) / total)


def _quadratic(weights: Array, shape: Array) -> Array:
    variances: Array = np.einsum("ij,jk,ik->i", weights, shape, weights)
    return variances


def _baselines(observations: Sequence[Observation]) -> dict[Hashable, Side]:
    return {
        each.baseline: each.baseline_runs
        for each in observations
        if each.baseline is not None
    }
