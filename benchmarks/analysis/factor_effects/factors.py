"""The factors of a study's systems, and the picture of its design."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Levels = Mapping[str, str]

# A level that means "without" is what the other level is compared with.
RESTING: Final = frozenset({"absent", "no", "none", "off"})
JOINT: Final = " · "


@dataclass(frozen=True, slots=True)
class Factor:
    """A parameter with the levels that occur, the level of reference first.

    Parameters that never changed apart are one factor with several ``names``. Systems
    that do not state the parameter (PV drivers on Linux) tell nothing about it.
    """

    names: tuple[str, ...]
    levels: tuple[str, ...]

    def level_of(self, system: Levels) -> str:
        """The system's level; empty where one of the names is not stated."""
        if len(self.names) == 1:
            return system.get(self.names[0], "")
        stated = [system.get(name, "") for name in self.names]
        return JOINT.join(stated) if all(stated) else ""

    def coding(self) -> Array:
        """Effect coding, one row a level: the levels of a column sum to zero."""
        others = np.eye(len(self.levels) - 1)
        return np.vstack([-np.ones(len(others)), others])

    def columns(self, systems: Sequence[Levels]) -> Array:
        """The factor's columns of the model matrix, one row a system."""
        codes = dict(zip(self.levels, self.coding(), strict=True))
        nothing = np.zeros(len(self.levels) - 1)
        return np.array([codes.get(self.level_of(each), nothing) for each in systems])


Term = tuple[Factor, ...]
"""One factor: its main effect. Two: their interaction."""


@dataclass(frozen=True, slots=True)
class Combination:
    """A combination of levels that exists (one a factor, in order) and how often."""

    levels: tuple[str, ...]
    count: int


def factors_of(systems: Sequence[Levels]) -> tuple[Factor, ...]:
    """Find the parameters in which the systems differ, in the order they are stated.

    A parameter that follows from another one (the hypervisor from its version, the
    memory from the vCPUs it grew with) cannot be told from it and becomes one factor
    with it.
    """
    names = list(dict.fromkeys(name for system in systems for name in system))
    factors: list[Factor] = []
    for name in names:
        factor = _factor((name,), systems)
        if len(factor.levels) > 1:
            factors = _joined(factors, factor, systems)
    return tuple(factors)


def combinations(
    factors: Sequence[Factor], systems: Sequence[Levels]
) -> tuple[Combination, ...]:
    """Count the systems of each combination of levels that exists."""
    found = Counter(
        tuple(factor.level_of(system) for factor in factors) for system in systems
    )
    return tuple(
        Combination(levels, found[levels])
        for levels in sorted(found, key=lambda levels: _places(factors, levels))
    )


def joint(factors: Sequence[Factor], systems: Sequence[Levels]) -> Factor:
    """Take several factors for one, its levels the combinations that exist."""
    names = tuple(name for factor in factors for name in factor.names)
    exist = [each.levels for each in combinations(factors, systems) if all(each.levels)]
    return Factor(names, tuple(map(JOINT.join, exist)))


def _factor(names: tuple[str, ...], systems: Sequence[Levels]) -> Factor:
    factor = Factor(names, ())
    levels = {factor.level_of(system) for system in systems} - {""}
    return Factor(names, tuple(sorted(levels, key=_level_order)))


def _joined(
    factors: list[Factor], new: Factor, systems: Sequence[Levels]
) -> list[Factor]:
    for at, old in enumerate(factors):
        if _follows(old, new, systems) or _follows(new, old, systems):
            joint = _factor(old.names + new.names, systems)
            return _joined([*factors[:at], *factors[at + 1 :]], joint, systems)
    return [*factors, new]


def _follows(this: Factor, other: Factor, systems: Sequence[Levels]) -> bool:
    """Whether every level of the other factor settles the level of this one."""
    pairs = {(other.level_of(each), this.level_of(each)) for each in systems}
    is_stated = all(all(pair) for pair in pairs)
    return is_stated and len(pairs) == len(other.levels)


def _level_order(level: str) -> tuple[bool, list[tuple[bool, int, str]], str]:
    # The text itself comes last: "On" and "on" must not take turns as the reference.
    return (level.casefold() not in RESTING, _natural(level), level)


def _natural(text: str) -> list[tuple[bool, int, str]]:
    """Sort key of a text in which 10 comes after 9."""
    return [
        (False, int(part), "") if part.isdecimal() else (True, 0, part.casefold())
        for part in re.findall(r"\d+|\D+", text)
    ]


def _places(factors: Sequence[Factor], levels: tuple[str, ...]) -> list[int]:
    # The empty level has no place: it comes last.
    return [
        (*factor.levels, "").index(level)
        for factor, level in zip(factors, levels, strict=True)
    ]
