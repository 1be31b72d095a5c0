"""Which parameters move the response of a set of systems, and how sure that is.

Three ways to measure chance, the first that the design allows:

- runs were repeated: their pooled scatter, t intervals, Benjamini-Hochberg;
- one value a system in a regular two-level design: Lenth's margins;
- one value a system otherwise: what main effects and two-factor interactions leave
  over (without the interactions if too little is left), t intervals.

Where none is possible effects are shown without margins, and none is called real.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.analysis.factor_effects.by_contrasts import by_contrasts
from benchmarks.analysis.factor_effects.by_least_squares import by_least_squares
from benchmarks.analysis.factor_effects.contrasts import regular_contrasts
from benchmarks.analysis.factor_effects.effects import FactorEffects
from benchmarks.analysis.factor_effects.factors import combinations, factors_of
from benchmarks.analysis.factor_effects.noise import Observation, pooled


def factor_effects(observations: Sequence[Observation]) -> FactorEffects:
    """Analyse one response of a set of systems; the order of systems does not matter.

    Natural logarithms throughout: an effect of ln 2 is a factor of 2.
    """
    systems = [each.levels for each in observations]
    factors = factors_of(systems)
    nothing = FactorEffects(
        kind="constant",
        factors=factors,
        combinations=combinations(factors, systems),
        cells=len(observations),
    )
    if not factors:
        return nothing
    if pooled(observations) is None:
        contrasts = regular_contrasts(factors, systems)
        if found := by_contrasts(contrasts, observations, nothing):
            return found
    return by_least_squares(observations, nothing)
