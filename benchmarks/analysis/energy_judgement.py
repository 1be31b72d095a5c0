"""What may be said of energies for the same work: more, less, equivalent, or nothing.

The rules are those of speeds (``verdicts``, ``gates``, ``multiplicity``). A ratio here
is one of joules, own / baseline, as it is shown: above the margin is more energy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum
from statistics import fmean
from typing import Final

import numpy as np

from benchmarks.analysis.energy import gain_log_variance
from benchmarks.analysis.energy_ratio import MeterFacts
from benchmarks.analysis.intervals import Rollups
from benchmarks.analysis.judgement import Judgement, judgement_of
from benchmarks.analysis.multiplicity import correct
from benchmarks.analysis.verdicts import judge

WORDS: Final = {"slower": "less", "faster": "more"}


@dataclass(frozen=True, slots=True)
class EnergyPair:
    """The energies of a cell's runs and of its baseline's, J for the same work.

    ``gates`` are what stands against the cells themselves (``gates.Gate``).
    """

    own: Sequence[float]
    base: Sequence[float]
    meters: tuple[MeterFacts, MeterFacts]
    gates: int = 0


def energy_judgements(pairs: Sequence[EnergyPair], margin: float) -> list[Judgement]:
    """Judge energies that are looked at together, each against its baseline's.

    Of two meters both accuracies must be known: without them there is no interval.
    """
    if not pairs:
        return []
    judged = judge(
        _rollups([pair.own for pair in pairs]),
        _rollups([pair.base for pair in pairs]),
        True,
        gates=np.array([pair.gates for pair in pairs], dtype=np.int64),
        extra_log_variance=np.array([_extra(pair.meters) for pair in pairs]),
        margin=margin,
    )
    corrected = correct(judged)
    return [_of_energy(judgement_of(corrected, row)) for row in range(len(pairs))]


def _extra(meters: tuple[MeterFacts, MeterFacts]) -> float:
    one, other = meters
    if one.name == other.name:
        return 0.0
    if one.gain_error is None or other.gain_error is None:
        raise ValueError("two meters of unknown accuracy cannot be judged")
    errors = (one.gain_error, other.gain_error)
    return gain_log_variance(is_same_meter=False, gain_errors=errors)


def _rollups(sides: Sequence[Sequence[float]]) -> Rollups:
    means = [fmean(side) for side in sides]
    m2 = [
        fsum((value - mean) ** 2 for value in side)
        for side, mean in zip(sides, means, strict=True)
    ]
    return Rollups.of([len(side) for side in sides], means, m2, np.nan)


def _of_energy(said: Judgement) -> Judgement:
    """Return a judgement of joules in words of energy, not of speed."""
    begin, colon, direction = said.label.rpartition(": ")
    return replace(
        said,
        verdict=WORDS.get(said.verdict, said.verdict),
        direction=WORDS.get(said.direction, said.direction),
        label=f"{begin}{colon}{WORDS.get(direction, direction)}",
    )
