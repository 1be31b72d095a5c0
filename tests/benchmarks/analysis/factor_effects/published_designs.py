"""Test designs: published ones with their results, and constructed ones."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.analysis.factor_effects.effects import FactorAnalysis, FactorEffect
from benchmarks.analysis.factor_effects.factors_and_responses import (
    Observation,
    RunScatter,
)

LOW_HIGH = ("off", "on")

# D. C. Montgomery, Design and Analysis of Experiments: filtration rate of a plant, 2^4
# in standard order (A changes fastest).
FILTRATION = (45, 71, 48, 65, 68, 60, 80, 65, 43, 100, 45, 104, 75, 86, 70, 96)
# Box, Hunter and Hunter, Statistics for Experimenters: yield of a reactor, 2^5.
REACTOR = (
    *(61, 53, 63, 61, 53, 56, 54, 61, 69, 61, 94, 93, 66, 60, 95, 98),
    *(56, 63, 70, 65, 59, 55, 67, 65, 44, 45, 78, 77, 49, 42, 81, 82),
)
# Box, Hunter and Hunter: pilot plant, 2^3 in duplicate (temperature, concentration,
# catalyst).
PILOT_PLANT = (
    *((59, 61), (74, 70), (50, 58), (69, 67)),
    *((50, 54), (81, 85), (46, 44), (79, 81)),
)


def standard_order(names: str) -> list[dict[str, str]]:
    """Return all combinations of two levels, the first factor changing fastest."""
    levels = itertools.product(LOW_HIGH, repeat=len(names))
    return [dict(zip(names, reversed(each), strict=True)) for each in levels]


def unreplicated(names: str, responses: Sequence[float]) -> list[Observation]:
    """Return one value per cell as the response."""
    return [
        Observation(levels, float(response))
        for levels, response in zip(standard_order(names), responses, strict=True)
    ]


def replicated(
    systems: Iterable[Mapping[str, str]], runs: Iterable[Sequence[float]]
) -> list[Observation]:
    """Return the mean of each cell's runs with their scatter."""
    return [
        Observation(
            levels,
            float(np.mean(each)),
            RunScatter(len(each), float(np.var(each) * len(each))),
        )
        for levels, each in zip(systems, runs, strict=True)
    ]


def simulated(
    systems: Sequence[Mapping[str, str]],
    effects: Mapping[str, float],
    rng: np.random.Generator,
    sd: float = 0.05,
) -> list[Observation]:
    """Return responses with known effects (``"A"``, ``"AB"``) and normal errors."""
    return [
        Observation(
            levels, 4 + truth(levels, effects) / 2 + float(rng.normal(scale=sd))
        )
        for levels in systems
    ]


def truth(levels: Mapping[str, str], effects: Mapping[str, float]) -> float:
    return sum(
        effect * math.prod(1 if levels[name] == "on" else -1 for name in term)
        for term, effect in effects.items()
    )


def name(effect: FactorEffect) -> str:
    """Return ``A`` for a main effect, ``A x B`` for an interaction."""
    return " x ".join(" & ".join(factor.names) for factor in effect.term)


def label(effect: FactorEffect) -> str:
    """Return the name, with the compared levels if a factor has more than two."""
    if all(len(factor.levels) == 2 for factor in effect.term):
        return name(effect)
    levels = " x ".join(f"{level}:{reference}" for level, reference in effect.levels)
    return f"{name(effect)} {levels}"


def logs(effects: FactorAnalysis) -> dict[str, float]:
    """Return the log effects by label in order of rank; labels must be unique."""
    return {label(effect): effect.log_effect for effect in effects.effects}


def standing_out(effects: FactorAnalysis, *strengths: str) -> set[str]:
    wanted = strengths or ("clear",)
    return {name(effect) for effect in effects.effects if effect.strength in wanted}


def shifted(observations: Iterable[Observation], by: float) -> list[Observation]:
    return [replace(each, log_response=each.log_response + by) for each in observations]
