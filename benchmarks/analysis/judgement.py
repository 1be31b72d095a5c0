"""One cell's judgement in words, for a page: of its speed, or of the energy it took.

Energies for the same work are judged by the same rules (``verdicts``, ``gates``). Their
ratio is one of joules, own / baseline, as it is shown: above the margin is more energy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum
from statistics import fmean
from typing import Final

import numpy as np

from benchmarks.analysis.energy import MeterFacts, gain_log_variance
from benchmarks.analysis.gates import CURABLE, SENTENCES, Gate, codes_of, reasons_of
from benchmarks.analysis.intervals import NO_WARNINGS, Rollups
from benchmarks.analysis.verdicts import (
    MOST_RUNS,
    EvidenceLevel,
    Judgements,
    Verdict,
    correct,
    judge,
)
from benchmarks.sentences import Sentence, template

# No single figure describes the runs: neither does a ratio of such figures.
SHAPELESS: Final = int(Gate.BIMODAL | Gate.PERIODIC | Gate.DRIFT | Gate.FIRST_RUN)
INCURABLE: Final = ~int(CURABLE)
SINGLE_RUN: Final = int(Gate.SINGLE_RUN)
FEW_RUNS: Final = int(Gate.FEW_RUNS)

NO_VERDICT: Final = tuple(
    verdict.name.lower() for verdict in (Verdict.NOT_ASSESSED, Verdict.BASELINE)
)

WORDS: Final = {
    Verdict.SLOWER: template("The interval lies wholly below {below:g}."),
    Verdict.FASTER: template("The interval lies wholly above {above:g}."),
    Verdict.EQUIVALENT: template(
        "The interval lies wholly between {below:g} and {above:g}."
    ),
    Verdict.UNDETERMINED: template("The interval reaches over {below:g} or {above:g}."),
}

ALLOWS: Final = template(
    "{n} runs a side allow a verdict; there are {own} and {other}."
)
DECIDES: Final = template(
    "About {n} runs a side would decide it; there are {own} and {other}."
)

OF_ENERGY: Final = {"slower": "less", "faster": "more"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a page says of one cell. None: the number does not exist.

    ``label`` is the words beside the number ("single run", "indicative: slower",
    "equivalent", "not_assessed"), ``codes`` what stands against a verdict for
    programs and ``sentences`` the same, or what decided, for people. ``advice`` may be
    empty.
    """

    ratio: float | None
    low: float | None
    high: float | None
    half_width: float | None
    verdict: str
    direction: str
    evidence_level: str
    label: str
    codes: tuple[str, ...]
    sentences: tuple[str, ...]
    advice: str

    @property
    def is_assessed(self) -> bool:
        """Whether there is a verdict: neither reasons against one nor a baseline."""
        return self.verdict not in NO_VERDICT


@dataclass(frozen=True, slots=True)
class EnergyPair:
    """The energies of a cell's runs and of its baseline's, J for the same work.

    ``gates`` are what stands against the cells themselves (``gates.Gate``).
    """

    own: Sequence[float]
    base: Sequence[float]
    meters: tuple[MeterFacts, MeterFacts]
    gates: int = 0


@NO_WARNINGS
def judgement_of(judgements: Judgements, row: int) -> Judgement:
    """Return one row of the judgements in words."""
    ratio = judgements.intervals.ratio[row]
    log_half_width = judgements.intervals.log_half_width[row]
    gates = int(judgements.gates[row])
    if gates & SHAPELESS:
        ratio = log_half_width = np.float64(np.nan)
    verdict = label = Verdict(judgements.verdict[row]).name.lower()
    direction = Verdict(judgements.direction[row]).name.lower()
    if gates & SINGLE_RUN:
        label = "single run"
    # Equal, not &: indicative only where nothing else stands against it.
    elif gates == FEW_RUNS:
        label = f"indicative: {direction}"
    return Judgement(
        ratio=_number(ratio),
        low=_number(ratio * np.exp(-log_half_width)),
        high=_number(ratio * np.exp(log_half_width)),
        half_width=_number(np.sinh(log_half_width)),
        verdict=verdict,
        direction=direction,
        evidence_level=EvidenceLevel(judgements.evidence_level[row]).name.lower(),
        label=label,
        codes=codes_of(gates),
        sentences=_what_decided(judgements, row),
        advice=_advice(judgements, row),
    )


def _number(value: np.float64) -> float | None:
    return float(value) if np.isfinite(value) else None


def _what_decided(judgements: Judgements, row: int) -> tuple[str, ...]:
    """Return every reason against a verdict, or the one for it."""
    gates, verdict = int(judgements.gates[row]), Verdict(judgements.verdict[row])
    if gates:
        facts = {
            "n": int(min(judgements.n[row], judgements.baseline_n[row])),
            "baseline_percent": 100 * float(np.sqrt(judgements.intervals.g[row])),
        }
        return tuple(Sentence(SENTENCES[gate], **facts) for gate in reasons_of(gates))
    if verdict != judgements.direction[row]:
        return (
            Sentence(
                "Decided by itself, but not as one of {n} cells that were tested "
                "together.",
                n=judgements.tested,
            ),
        )
    edges = {"below": 1 - judgements.margin, "above": 1 + judgements.margin}
    return (Sentence(WORDS[verdict], **edges),)


def _advice(judgements: Judgements, row: int) -> str:
    """Say how many runs would decide, where runs are all that is missing."""
    gates, wanted = int(judgements.gates[row]), int(judgements.wanted_runs[row])
    is_decided = not gates and judgements.direction[row] != Verdict.UNDETERMINED
    if gates & INCURABLE or is_decided:
        return ""
    if not wanted:
        return Sentence(
            "Not even {n} runs a side would decide it as things stand.", n=MOST_RUNS
        )
    facts = {
        "n": wanted,
        "own": int(judgements.n[row]),
        "other": int(judgements.baseline_n[row]),
    }
    return Sentence(ALLOWS if gates & SINGLE_RUN else DECIDES, **facts)


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
    judgements = []
    for row in range(len(pairs)):
        judgement = judgement_of(corrected, row)
        # The label may end in a direction: "indicative: slower".
        begin, colon, direction = judgement.label.rpartition(": ")
        judgements.append(
            replace(
                judgement,
                verdict=OF_ENERGY.get(judgement.verdict, judgement.verdict),
                direction=OF_ENERGY.get(judgement.direction, judgement.direction),
                label=f"{begin}{colon}{OF_ENERGY.get(direction, direction)}",
            )
        )
    return judgements


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
