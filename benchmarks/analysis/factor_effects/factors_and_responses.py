"""Factors of a set of systems, and the covariance of the systems' responses.

A response is the logarithm of a system's relative performance or value. Responses with
the same native cell share its error; docs/factor-effects.md, Chance, has their
covariance.
"""

import math
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from benchmarks.analysis.intervals import Floats

Levels = Mapping[str, str]
"""The parameters of a system with their values."""

MIN_ERROR_DF: Final = 3
ROUNDING: Final = 1e-9
OFF_LEVELS: Final = frozenset({"absent", "no", "none", "off"})
LEVEL_SEPARATOR: Final = " · "
MAX_SCATTER: Final = 1e75


@dataclass(frozen=True, slots=True)
class Factor:
    """A parameter with its levels, reference first.

    Parameters that always change together are one factor.
    """

    names: tuple[str, ...]
    levels: tuple[str, ...]

    def level(self, system: Levels) -> str:
        if len(self.names) == 1:
            return system.get(self.names[0], "")
        stated = [system.get(name, "") for name in self.names]
        return LEVEL_SEPARATOR.join(stated) if all(stated) else ""

    def coding(self) -> Floats:
        """Return the sum-to-zero coding, one row per level; the reference is -1."""
        return _coding(len(self.levels))[:-1]

    def columns(self, systems: Sequence[Levels]) -> Floats:
        """Return one row of the coding per system, zeros for an unreported level."""
        row_of_level = {level: row for row, level in enumerate(self.levels)}
        unreported = len(self.levels)
        rows = [row_of_level.get(self.level(system), unreported) for system in systems]
        return _coding(len(self.levels))[rows]


@cache
def _coding(levels: int) -> Floats:
    """Return one row per level, and zeros for an unreported one."""
    identity = np.eye(levels - 1)
    zeros = np.zeros(levels - 1)
    coding = np.vstack([-np.ones(levels - 1), identity, zeros])
    coding.flags.writeable = False
    return coding


Term = tuple[Factor, ...]
"""A main effect, or an interaction of two factors."""


@dataclass(frozen=True, slots=True)
class Combination:
    levels: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class RunScatter:
    """The number of runs, and the sum of squared deviations of their logarithms."""

    n: int = 1
    log_m2: float = 0.0


@dataclass(frozen=True, slots=True)
class Observation:
    """The response of one system; a plain value has no baseline."""

    levels: Levels
    log_response: float
    scatter: RunScatter = RunScatter()
    baseline_id: Hashable = None
    baseline_scatter: RunScatter = RunScatter()


@dataclass(frozen=True, slots=True)
class PooledScatter:
    variance: float
    df: float


def find_factors(systems: Sequence[Levels]) -> tuple[Factor, ...]:
    """Return the parameters in which systems differ."""
    factors: list[Factor] = []
    for name in dict.fromkeys(name for system in systems for name in system):
        factor = _factor((name,), systems)
        if len(factor.levels) < 2:
            continue
        while related := [
            candidate
            for candidate in factors
            if _follows(candidate, factor, systems)
            or _follows(factor, candidate, systems)
        ]:
            factors.remove(related[0])
            factor = _factor(related[0].names + factor.names, systems)
        factors.append(factor)
    return tuple(factors)


def _factor(names: tuple[str, ...], systems: Sequence[Levels]) -> Factor:
    factor = Factor(names, ())
    levels = {factor.level(system) for system in systems} - {""}
    return Factor(names, tuple(sorted(levels, key=_level_order)))


def _follows(factor: Factor, other: Factor, systems: Sequence[Levels]) -> bool:
    pairs = {(other.level(system), factor.level(system)) for system in systems}
    is_stated = all(all(pair) for pair in pairs)
    return is_stated and len(pairs) == len(other.levels)


def _level_order(level: str) -> tuple[bool, list[tuple[bool, int, str]], str]:
    natural = [
        (False, int(part), "") if part.isdecimal() else (True, 0, part.casefold())
        for part in re.findall(r"\d+|\D+", level)
    ]
    return (level.casefold() not in OFF_LEVELS, natural, level)


def combinations(
    factors: Sequence[Factor], systems: Sequence[Levels]
) -> tuple[Combination, ...]:
    counts = Counter(
        tuple(factor.level(system) for factor in factors) for system in systems
    )
    level_orders = [(*factor.levels, "") for factor in factors]
    return tuple(
        Combination(levels, counts[levels])
        for levels in sorted(
            counts,
            key=lambda levels: [
                order.index(level)
                for order, level in zip(level_orders, levels, strict=True)
            ],
        )
    )


def joint_factor(factors: Sequence[Factor], systems: Sequence[Levels]) -> Factor:
    names = tuple(name for factor in factors for name in factor.names)
    occurring = [combination.levels for combination in combinations(factors, systems)]
    stated = [levels for levels in occurring if all(levels)]
    return Factor(names, tuple(map(LEVEL_SEPARATOR.join, stated)))


def log_m2(m2: float, mean: float) -> float:
    # The square of a mean may overflow, or underflow to 0.
    ratio = min(math.sqrt(m2) / mean, MAX_SCATTER)
    return ratio * ratio


def log_responses(observations: Sequence[Observation]) -> Floats:
    return np.array([observation.log_response for observation in observations])


def pool_scatter(observations: Sequence[Observation]) -> PooledScatter | None:
    """Pool the scatter of repeated runs over all cells and their baselines.

    Return None below `MIN_ERROR_DF` degrees of freedom, or if the scatter is only
    rounding.
    """
    sides = [observation.scatter for observation in observations]
    sides += _baselines(observations).values()
    df = sum(side.n - 1 for side in sides)
    m2 = sum(side.log_m2 for side in sides)
    if df < MIN_ERROR_DF or m2 / df < ROUNDING**2:
        return None
    return PooledScatter(m2 / df, df)


def response_covariance(observations: Sequence[Observation]) -> Floats:
    own = np.diag([1 / observation.scatter.n for observation in observations])
    baselines = _baselines(observations)
    if not baselines:
        return own
    uses_baseline = np.array(
        [
            [observation.baseline_id == key for key in baselines]
            for observation in observations
        ],
        dtype=np.float64,
    )
    native = np.diag([1 / side.n for side in baselines.values()])
    shared: Floats = own + uses_baseline @ native @ uses_baseline.T
    return shared


def relative_variances(weights: Floats, observations: Sequence[Observation]) -> Floats:
    """Return the variances of ``weights @ responses``, relative to that of one run."""
    return _quadratic(weights, response_covariance(observations))


def baseline_variance_shares(
    weights: Floats, observations: Sequence[Observation]
) -> Floats:
    """Return the share of the variance of ``weights @ responses`` (0 to 1) that comes
    from the native cells.
    """
    own = np.diag([1 / observation.scatter.n for observation in observations])
    total = relative_variances(weights, observations)
    return np.maximum(0.0, 1 - _quadratic(weights, own) / total)


def _quadratic(weights: Floats, shape: Floats) -> Floats:
    variances: Floats = np.einsum("ij,jk,ik->i", weights, shape, weights)
    return variances


def _baselines(observations: Sequence[Observation]) -> dict[Hashable, RunScatter]:
    return {
        observation.baseline_id: observation.baseline_scatter
        for observation in observations
        if observation.baseline_id is not None
    }
