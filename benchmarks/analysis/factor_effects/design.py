"""What is analysed: the factors of a set of systems, their responses, their scatter.

The logarithm of an efficiency is ln(VM) - ln(native). Cells that were compared with one
native cell share its error: it does not average out over them. With the variance of
one run's logarithm as the unit, the covariance of the responses is::

    V = diag(1 / n) + Z diag(1 / n_native) Z'

where Z says which native cell each observation leans on.
"""

import math
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from benchmarks.analysis.intervals import Floats

Levels = Mapping[str, str]

FEWEST_ERROR_DF: Final = 3
ROUNDING: Final = 1e-9
"""Differences of logarithms below this are not measured: equal values were printed."""

# A level that means "without" is what the other level is compared with.
RESTING: Final = frozenset({"absent", "no", "none", "off"})
JOINT: Final = " · "


MOST_SCATTER: Final = 1e75


@dataclass(frozen=True, slots=True)
class Factor:
    """A parameter with its levels, reference first.

    Parameters that never changed apart are one factor with several ``names``.
    """

    names: tuple[str, ...]
    levels: tuple[str, ...]

    def level_of(self, system: Levels) -> str:
        """The system's level; empty where one of the names is not stated."""
        if len(self.names) == 1:
            return system.get(self.names[0], "")
        stated = [system.get(name, "") for name in self.names]
        return JOINT.join(stated) if all(stated) else ""

    def coding(self) -> Floats:
        """Effect coding, one row a level: the levels of a column sum to zero."""
        others = np.eye(len(self.levels) - 1)
        return np.vstack([-np.ones(len(others)), others])

    def columns(self, systems: Sequence[Levels]) -> Floats:
        """The factor's columns of the model matrix, one row a system."""
        codes = dict(zip(self.levels, self.coding(), strict=True))
        unstated = np.zeros(len(self.levels) - 1)
        levels = [self.level_of(system) for system in systems]
        return np.array([codes.get(level, unstated) for level in levels])


Term = tuple[Factor, ...]
"""One factor: its main effect. Two: their interaction."""


@dataclass(frozen=True, slots=True)
class Combination:
    """A combination of levels that exists (one a factor, in order) and how often."""

    levels: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Side:
    """One cell: its runs, and the squared deviations of their logarithms."""

    n: int = 1
    log_m2: float = 0.0


@dataclass(frozen=True, slots=True)
class Observation:
    """The logarithm of one system's efficiency or value.

    ``levels`` are its parameters (empty: not stated); ``baseline`` names the native
    cell of an efficiency, None for a plain value.
    """

    levels: Levels
    log_response: float
    runs: Side = Side()
    baseline: Hashable = None
    baseline_runs: Side = Side()


@dataclass(frozen=True, slots=True)
class Scatter:
    """The variance of one run's logarithm, and the degrees of freedom behind it."""

    variance: float
    df: float


def factors_of(systems: Sequence[Levels]) -> tuple[Factor, ...]:
    """Return the parameters in which systems differ, in the order they are stated.

    A parameter that follows from another one becomes one factor with it.
    """
    factors: list[Factor] = []
    for name in dict.fromkeys(name for system in systems for name in system):
        factor = _factor((name,), systems)
        if len(factor.levels) < 2:
            continue
        # A joined factor may follow from yet another one: until none is left.
        while joined := [
            other
            for other in factors
            if _follows(other, factor, systems) or _follows(factor, other, systems)
        ]:
            factors.remove(joined[0])
            factor = _factor(joined[0].names + factor.names, systems)
        factors.append(factor)
    return tuple(factors)


def _factor(names: tuple[str, ...], systems: Sequence[Levels]) -> Factor:
    factor = Factor(names, ())
    levels = {factor.level_of(system) for system in systems} - {""}
    return Factor(names, tuple(sorted(levels, key=_level_order)))


def _follows(factor: Factor, other: Factor, systems: Sequence[Levels]) -> bool:
    """Whether every level of the other factor settles the level of this one."""
    pairs = {(other.level_of(system), factor.level_of(system)) for system in systems}
    is_stated = all(all(pair) for pair in pairs)
    return is_stated and len(pairs) == len(other.levels)


def _level_order(level: str) -> tuple[bool, list[tuple[bool, int, str]], str]:
    """Sort key of a level: without before with, and 10 after 9."""
    natural = [
        (False, int(part), "") if part.isdecimal() else (True, 0, part.casefold())
        for part in re.findall(r"\d+|\D+", level)
    ]
    # The text itself comes last: "On" and "on" must not take turns as the reference.
    return (level.casefold() not in RESTING, natural, level)


def combinations(
    factors: Sequence[Factor], systems: Sequence[Levels]
) -> tuple[Combination, ...]:
    """Count the systems of each combination of levels that exists."""
    counts = Counter(
        tuple(factor.level_of(system) for factor in factors) for system in systems
    )
    # What is not stated has no place among the levels: it comes last.
    places = [(*factor.levels, "") for factor in factors]
    return tuple(
        Combination(levels, counts[levels])
        for levels in sorted(
            counts,
            key=lambda levels: [
                place.index(level) for place, level in zip(places, levels, strict=True)
            ],
        )
    )


def joint(factors: Sequence[Factor], systems: Sequence[Levels]) -> Factor:
    """Take several factors for one, its levels the combinations that exist."""
    names = tuple(name for factor in factors for name in factor.names)
    exist = [combination.levels for combination in combinations(factors, systems)]
    stated = [levels for levels in exist if all(levels)]
    return Factor(names, tuple(map(JOINT.join, stated)))


def log_m2(m2: float, mean: float) -> float:
    # Divided first: the square of a mean may be larger than any number, or 0.
    ratio = min(math.sqrt(m2) / mean, MOST_SCATTER)
    return ratio * ratio


def responses(observations: Sequence[Observation]) -> Floats:
    return np.array([observation.log_response for observation in observations])


def pooled(observations: Sequence[Observation]) -> Scatter | None:
    """Pool the scatter of repeated runs over cells; None if too few were repeated.

    Cells without scatter, or only that of rounding, are left out.
    """
    sides = [observation.runs for observation in observations]
    sides += _baselines(observations).values()
    df = sum(side.n - 1 for side in sides)
    m2 = sum(side.log_m2 for side in sides)
    if df < FEWEST_ERROR_DF or m2 / df < ROUNDING**2:
        return None
    return Scatter(m2 / df, df)


def covariance(observations: Sequence[Observation]) -> Floats:
    """Return V of n responses (n x n), in units of the variance of one run."""
    own = np.diag([1 / observation.runs.n for observation in observations])
    baselines = _baselines(observations)
    if not baselines:
        return own
    leans = np.array(
        [
            [observation.baseline == key for key in baselines]
            for observation in observations
        ],
        dtype=np.float64,
    )
    native = np.diag([1 / side.n for side in baselines.values()])
    shared: Floats = own + leans @ native @ leans.T
    return shared


def relative_variances(weights: Floats, observations: Sequence[Observation]) -> Floats:
    """Return the variances of k weighted sums, in variances of one run.

    ``weights`` is k x n.
    """
    return _quadratic(weights, covariance(observations))


def baseline_shares(weights: Floats, observations: Sequence[Observation]) -> Floats:
    """Return the part (0 to 1) of each sum's variance that native runs cause.

    ``weights`` is k x n.
    """
    own = np.diag([1 / observation.runs.n for observation in observations])
    total = relative_variances(weights, observations)
    return np.maximum(0.0, 1 - _quadratic(weights, own) / total)


def _quadratic(weights: Floats, shape: Floats) -> Floats:
    variances: Floats = np.einsum("ij,jk,ik->i", weights, shape, weights)
    return variances


def _baselines(observations: Sequence[Observation]) -> dict[Hashable, Side]:
    # By its key: a native cell counts once, however many lean on it.
    return {
        observation.baseline: observation.baseline_runs
        for observation in observations
        if observation.baseline is not None
    }
