"""What lies behind an interaction: the geometric mean of each combination."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.analysis.factor_effects.effects import FactorEffects
from benchmarks.analysis.factor_effects.factors import Factor, joint
from benchmarks.analysis.factor_effects.noise import Observation


@dataclass(frozen=True, slots=True)
class Means:
    """Geometric means over the systems of two factors' levels.

    ``rows`` follow the levels of ``one``, each with a mean for every level of ``other``
    (None: no such system).
    """

    one: Factor
    other: Factor
    rows: tuple[tuple[float | None, ...], ...]

    @property
    def factors(self) -> tuple[float | None, ...]:
        """What the last level of ``one`` does to its reference, per level of other."""
        first, last = self.rows[0], self.rows[-1]
        return tuple(
            high / low if low and high else None
            for low, high in zip(first, last, strict=True)
        )


def pictures(
    found: FactorEffects, observations: Sequence[Observation]
) -> tuple[Means, ...]:
    """What each factor does where others are at their levels, for those that interact.

    VMware Tools that speed up one guest and no other have no one effect: their main
    effect is an average that no system shows.
    """
    systems = [each.levels for each in observations]
    return tuple(
        means(factor, joint(others, systems), observations)
        for factor in found.factors
        if (others := found.depends_on(factor))
    )


def means(one: Factor, other: Factor, observations: Sequence[Observation]) -> Means:
    """Average the logarithms of the systems that share both levels."""
    logs: dict[tuple[str, str], list[float]] = {}
    for each in observations:
        place = (one.level_of(each.levels), other.level_of(each.levels))
        logs.setdefault(place, []).append(each.log_response)
    rows = (
        tuple(_mean(logs.get((row, level), [])) for level in other.levels)
        for row in one.levels
    )
    return Means(one, other, tuple(rows))


def _mean(logs: Sequence[float]) -> float | None:
    return math.exp(math.fsum(logs) / len(logs)) if logs else None
