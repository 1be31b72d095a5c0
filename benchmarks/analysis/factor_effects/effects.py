"""Effects, how they were judged, and all that one design tells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.analysis.factor_effects.factors import Combination, Factor, Term
from benchmarks.analysis.factor_effects.lenth import Lenth, ascending
from benchmarks.analysis.factor_effects.model import Alias, LevelPairs
from benchmarks.analysis.factor_effects.noise import Scatter
from benchmarks.analysis.multiplicity import benjamini_hochberg

Strength = Literal["clear", "possible", "none", "unjudged"]
Kind = Literal["replicated", "contrasts", "residual", "unjudged", "constant"]


@dataclass(frozen=True, slots=True)
class Effect:
    """A parameter's effect on the logarithm of the response.

    ``margin`` is the half width of its 95 % interval, or Lenth's ME; ``wide_margin``
    that of an interval for all effects together (Bonferroni), or Lenth's SME;
    ``p_value`` is adjusted for all effects of the design (Benjamini and Hochberg).
    ``baseline_share`` is how much of its variance comes from native runs.
    """

    term: Term
    levels: LevelPairs
    log_effect: float
    margin: float | None = None
    wide_margin: float | None = None
    p_value: float | None = None
    strength: Strength = "unjudged"
    baseline_share: float = 0.0

    @property
    def factor(self) -> float:
        return math.exp(self.log_effect)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The factor's bounds at ``margin``."""
        if self.margin is None:
            return None
        return (
            math.exp(self.log_effect - self.margin),
            math.exp(self.log_effect + self.margin),
        )


@dataclass(frozen=True, slots=True)
class Point:
    """A contrast on the half-normal plot: its size, and where chance would put it."""

    terms: tuple[Term, ...]
    log_effect: float
    size: float
    quantile: float


@dataclass(frozen=True, slots=True)
class FactorEffects:
    """What moves the response over the systems of one design.

    ``kind`` says what measured chance: repeated runs, the other contrasts, what the
    model leaves over, or nothing. ``pooled_interactions`` are those that could be told
    but were needed to measure chance.
    """

    kind: Kind
    factors: tuple[Factor, ...]
    combinations: tuple[Combination, ...]
    cells: int
    effects: tuple[Effect, ...] = ()
    aliases: tuple[Alias, ...] = ()
    pooled_interactions: tuple[Term, ...] = ()
    points: tuple[Point, ...] = ()
    lenth: Lenth | None = None
    scatter: Scatter | None = None

    @property
    def clear_terms(self) -> tuple[Term, ...]:
        """What is beyond chance, interactions of three and more factors as well."""
        shown = [each.term for each in self.effects if each.strength == "clear"]
        return (*shown, *self.higher_terms)

    @property
    def higher_terms(self) -> tuple[Term, ...]:
        """The interactions of three and more factors that are beyond chance."""
        if self.lenth is None:
            return ()
        sme = self.lenth.sme
        terms = [each.terms for each in self.points if each.size > sme]
        return tuple(one for one, *others in terms if len(one) > 2 and not others)

    def depends_on(self, factor: Factor) -> tuple[Factor, ...]:
        """The factors that change what a factor does, in the order of the factors."""
        terms = [term for term in self.clear_terms if factor in term]
        return tuple(
            other
            for other in self.factors
            if other != factor and any(other in term for term in terms)
        )


def ranked(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    """What is clear first, then what is possible, the largest first among equals.

    Effects of one size stay in the order of their factors and levels.
    """
    strengths = ("clear", "possible", "unjudged", "none")
    sizes = np.abs([each.log_effect for each in effects])
    by_size = [effects[place] for place in ascending(-sizes)]
    return tuple(sorted(by_size, key=lambda each: strengths.index(each.strength)))


def adjusted(p_values: Sequence[float]) -> tuple[float, ...]:
    """Benjamini and Hochberg's adjusted p values (J. R. Stat. Soc. B 57, 1995, 289)."""
    return tuple(benjamini_hochberg(p_values).adjusted.tolist())
