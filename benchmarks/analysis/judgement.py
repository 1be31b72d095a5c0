"""One cell's assessment in words: of its speed, or of the energy for its work.

Ratios of energies are joules, own / baseline: above the margin is more energy.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.analysis.designs import BY_SESSION, Design, designed_intervals
from benchmarks.analysis.energy import (
    EnergyRatio,
    MeterFacts,
    bare_ratio,
    meters_log_variance,
)
from benchmarks.analysis.gates import (
    CURABLE,
    MOST_RUNS,
    MOST_SESSIONS,
    SENTENCES,
    Gate,
    codes_of,
    reasons_of,
)
from benchmarks.analysis.intervals import NO_WARNINGS
from benchmarks.analysis.sessions import SessionRollups, rollups_of_runs
from benchmarks.analysis.verdicts import (
    RULE_SET,
    EvidenceLevel,
    Judgements,
    Strength,
    Verdict,
    correct,
    judge,
)
from benchmarks.sentences import Sentence, joined, template

INCURABLE: Final = ~int(CURABLE)
SINGLE_RUN: Final = int(Gate.SINGLE_RUN)
UNREPEATED: Final = int(Gate.UNREPEATED)
FEW_RUNS: Final = int(Gate.FEW_RUNS)

NO_VERDICT: Final = tuple(
    verdict.slug for verdict in (Verdict.NOT_ASSESSED, Verdict.BASELINE)
)

WORDS: Final = {
    Verdict.SLOWER: template("The interval lies wholly below {below:g}."),
    Verdict.FASTER: template("The interval lies wholly above {above:g}."),
    Verdict.EQUIVALENT: template(
        "The interval lies wholly between {below:g} and {above:g}."
    ),
    Verdict.UNDETERMINED: template("The interval reaches over {below:g} or {above:g}."),
}

TWICE: Final = {
    Verdict.SLOWER: template("Each session's interval lies wholly below {below:g}."),
    Verdict.FASTER: template("Each session's interval lies wholly above {above:g}."),
    Verdict.EQUIVALENT: template(
        "Each session's interval lies wholly between {below:g} and {above:g}."
    ),
    Verdict.UNDETERMINED: template(
        "The two sessions do not both give the same verdict."
    ),
}
EVERY_RUN: Final = {
    Verdict.SLOWER: template("Every run is slower: {low:.3g} to {high:.3g}."),
    Verdict.FASTER: template("Every run is faster: {low:.3g} to {high:.3g}."),
}
EVERY_ENERGY: Final = {
    Verdict.SLOWER: template("Every run takes less energy: {low:.3g} to {high:.3g}."),
    Verdict.FASTER: template("Every run takes more energy: {low:.3g} to {high:.3g}."),
}
# By how much a first run, a drift or a dependence moves a mean is counted against it.
STRETCHED: Final = {
    Verdict.SLOWER: template(
        "The order of the runs moves the ratio by {percent:.2g} % at most; slower even "
        "if that is counted against it."
    ),
    Verdict.FASTER: template(
        "The order of the runs moves the ratio by {percent:.2g} % at most; faster even "
        "if that is counted against it."
    ),
    Verdict.EQUIVALENT: template(
        "The order of the runs moves the ratio by {percent:.2g} % at most; equivalent "
        "even if that is counted against it."
    ),
}

ALLOWS: Final = template(
    "{n} runs a side allow a verdict; there are {own} and {other}."
)
DECIDES: Final = template(
    "About {n} runs a side would decide it; there are {own} and {other}."
)

SESSIONS_DECIDE: Final = template(
    "About {n} sessions with both sides would decide it; there are {there}."
)
SESSIONS_APART_DECIDE: Final = template(
    "About {n} sessions a side would decide it, fewer if both sides run in each; there "
    "are {own} and {other}."
)
DAYS_DIFFER: Final = template(
    "More runs in each would not: sessions differ by ±{sd:.2g} %."
)
SESSIONS_ALLOW: Final = template(
    "Run both sides in the same session, best in {n} of them: more runs in sessions "
    "of their own would not help."
)

OF_ENERGY: Final = {"slower": "less", "faster": "more"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a page states of one cell. None: the number does not exist.

    ``ratio`` is None where no single figure describes the runs; ``range`` then has the
    ratios of the extremes. ``label`` is written beside the number, ``codes`` and
    ``sentences`` are the reasons. ``design`` is what was repeated (`designs.Design`),
    ``scope`` what the statement covers ("across 5 sessions"); both are empty
    without runs. ``sessions`` are of the cell, its baseline, and shared;
    ``between_sd`` is relative. ``is_weak`` rests on assumed start times.
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
    design: str = ""
    scope: str = ""
    sessions: tuple[int, int, int] | None = None
    between_sd: float | None = None
    range: tuple[float, float] | None = None
    is_weak: bool = False
    strength: str = ""
    wanted_sessions: int | None = None
    rule_set: int = RULE_SET

    @property
    def interval(self) -> tuple[float, float] | None:
        if self.low is None or self.high is None:
            return None
        return self.low, self.high

    @property
    def is_assessed(self) -> bool:
        return self.verdict not in NO_VERDICT


@dataclass(frozen=True, slots=True)
class EnergyPair:
    """The joules of a cell's runs and of its baseline's for the same work.

    ``gates`` are of the cells (``gates.Gate``); ``sessions`` are empty if unknown.
    """

    own: Sequence[float]
    base: Sequence[float]
    meters: tuple[MeterFacts, MeterFacts]
    gates: int = 0
    sessions: tuple[Sequence[int], Sequence[int]] = ((), ())


class TableRatio(NamedTuple):
    """A ratio that is not of two means, or the ratios of the extremes."""

    ratio: float | None
    range: tuple[float, float] | None
    interval: tuple[float, float] | None = None


@NO_WARNINGS
def table_ratios(judgements: Judgements) -> dict[int, TableRatio]:
    """Return, by row, intervals and ratios that are not of two means."""
    designed, ends = judgements.designed, judgements.ends
    has_range = np.isfinite(ends.low) & np.isfinite(ends.high)
    is_range = (judgements.shapeless != 0) & has_range
    ratio, reach = judgements.intervals.ratio, judgements.intervals.log_half_width
    is_design = designed.is_of(*BY_SESSION, Design.ONE_SHARED) & np.isfinite(ratio)
    has_interval = np.isfinite(ratio) & np.isfinite(reach)
    has_interval &= judgements.shapeless == 0
    rows = np.flatnonzero(is_range | is_design | has_interval)
    columns = (
        *(is_range, is_design, has_interval, ratio),
        *(np.exp(ends.low), np.exp(ends.high)),
        *(ratio * np.exp(-reach), ratio * np.exp(reach)),
    )
    found = zip(*(column[rows].tolist() for column in columns), strict=True)
    return {
        row: TableRatio(None, (least, greatest))
        if shapeless
        else TableRatio(own if by_design else None, None, (low, high) if has else None)
        for row, (shapeless, by_design, has, own, least, greatest, low, high) in zip(
            rows.tolist(), found, strict=True
        )
    }


@NO_WARNINGS
def judgement_of(
    judgements: Judgements, row: int, days: Mapping[int, str] | None = None
) -> Judgement:
    """Return one row of the judgements in words; ``days`` says when sessions were."""
    ratio = judgements.intervals.ratio[row]
    log_half_width = judgements.intervals.log_half_width[row]
    gates = int(judgements.gates[row])
    level = EvidenceLevel(judgements.evidence_level[row])
    if judgements.shapeless[row]:
        ratio = log_half_width = np.float64(np.nan)
    verdict = label = Verdict(judgements.verdict[row]).slug
    direction = Verdict(judgements.direction[row]).slug
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
        evidence_level=level.name.lower(),
        label=label,
        codes=codes_of(gates),
        sentences=_what_decided(judgements, row),
        advice=_advice(judgements, row),
        strength=Strength.of(_design(judgements, row), level).slug,
        **_of_sessions(judgements, row, days or {}),
    )


def _of_sessions(
    judgements: Judgements, row: int, days: Mapping[int, str]
) -> dict[str, Any]:
    designed, ends = judgements.designed, judgements.ends
    design = Design(designed.design[row])
    if design == Design.NONE:
        return {}
    low, high = (_number(np.exp(each[row])) for each in (ends.low, ends.high))
    own, other, shared = (
        int(each[row])
        for each in (designed.own_sessions, designed.other_sessions, designed.shared)
    )
    return {
        "design": design.slug,
        "scope": designed.scope(row, days),
        "sessions": (own, other, shared),
        "between_sd": _number(designed.between_sd[row]),
        "range": None if low is None or high is None else (low, high),
        "is_weak": bool(designed.is_weak[row]),
        "wanted_sessions": int(judgements.wanted_sessions[row]) or None,
    }


def _number(value: np.float64) -> float | None:
    return float(value) if np.isfinite(value) else None


def _what_decided(judgements: Judgements, row: int) -> tuple[str, ...]:
    gates, verdict = int(judgements.gates[row]), Verdict(judgements.verdict[row])
    if gates:
        sides = judgements.designed.cell, judgements.designed.baseline
        facts = {
            "n": int(min(judgements.n[row], judgements.baseline_n[row])),
            "baseline_percent": 100 * float(np.sqrt(judgements.intervals.g[row])),
            "worth": float(min(side.worth[row] for side in sides)),
        }
        return tuple(Sentence(SENTENCES[gate], **facts) for gate in reasons_of(gates))
    if verdict != judgements.direction[row]:
        return (
            Sentence(
                "Decided by itself, but not as one of {n} results that were "
                "tested together.",
                n=judgements.tested,
            ),
        )
    if judgements.is_separated[row]:
        low, high = judgements.ends.low[row], judgements.ends.high[row]
        ends = {"low": float(np.exp(low)), "high": float(np.exp(high))}
        return (Sentence(EVERY_RUN[verdict], **ends),)
    if stretch := judgements.stretch[row]:
        percent = 100 * float(np.expm1(stretch))
        return (Sentence(STRETCHED[verdict], percent=percent),)
    edges = {"below": 1 - judgements.margin, "above": 1 + judgements.margin}
    if _design(judgements, row) == Design.TWO_SHARED:
        return (Sentence(TWICE[verdict], **edges),)
    return (Sentence(WORDS[verdict], **edges),)


def _design(judgements: Judgements, row: int) -> Design:
    return Design(judgements.designed.design[row])


def _advice(judgements: Judgements, row: int) -> str:
    """Say how many runs would decide, where runs are all that is missing."""
    gates, wanted = int(judgements.gates[row]), int(judgements.wanted_runs[row])
    is_decided = not gates and judgements.direction[row] != Verdict.UNDETERMINED
    if is_decided:
        return ""
    if gates & UNREPEATED and judgements.wanted_sessions[row]:
        return Sentence(SESSIONS_ALLOW, n=int(judgements.wanted_sessions[row]))
    if gates & INCURABLE:
        return ""
    if not gates and _design(judgements, row) in BY_SESSION:
        return _advice_of_sessions(judgements, row)
    if not wanted:
        return Sentence(
            "At this scatter, not even {n} runs a side would decide it.", n=MOST_RUNS
        )
    facts = {
        "n": wanted,
        "own": int(judgements.n[row]),
        "other": int(judgements.baseline_n[row]),
    }
    return Sentence(ALLOWS if gates & SINGLE_RUN else DECIDES, **facts)


def _advice_of_sessions(judgements: Judgements, row: int) -> str:
    """Say how many sessions would decide, and whether runs would."""
    designed, wanted = judgements.designed, int(judgements.wanted_sessions[row])
    if not wanted:
        return Sentence(
            "At this scatter, not even {n} sessions would decide it.", n=MOST_SESSIONS
        )
    own, other, shared = (
        int(each[row])
        for each in (designed.own_sessions, designed.other_sessions, designed.shared)
    )
    if _design(judgements, row) in (Design.SHARED, Design.TWO_SHARED):
        advice = Sentence(SESSIONS_DECIDE, n=wanted, there=shared)
    else:
        advice = Sentence(SESSIONS_APART_DECIDE, n=wanted, own=own, other=other)
    between, within = designed.between_sd[row], designed.within_sd[row]
    # Of the variance between sessions runs explain less than half.
    if not 2 * within**2 < between**2:
        return advice
    differ = Sentence(DAYS_DIFFER, sd=100 * float(between))
    return joined((advice, differ))


def energy_ratio(
    own: Sequence[float],
    base: Sequence[float],
    meters: tuple[MeterFacts, MeterFacts],
    sessions: tuple[Sequence[int], Sequence[int]] = ((), ()),
    days: Mapping[int, str] | None = None,
) -> EnergyRatio | None:
    """Compare the energies of two systems' runs by what was repeated (``designs``).

    None where they cannot be compared at all (`bare_ratio`).
    """
    bare = bare_ratio(own, base, meters)
    if bare is None or bare.reason:
        return bare
    designed = designed_intervals(
        rollups_of_runs([own]),
        rollups_of_runs([base]),
        (
            SessionRollups.of_runs([own], [sessions[0]]),
            SessionRollups.of_runs([base], [sessions[1]]),
        ),
        True,
        extra_log_variance=meters_log_variance(meters),
    )
    ratio, low, high = (
        float(each[0])
        for each in (
            designed.intervals.ratio,
            designed.intervals.low,
            designed.intervals.high,
        )
    )
    scope = designed.scope(0, days or {})
    if math.isnan(low) or math.isnan(high):
        return replace(bare, reason="no_spread", scope=scope)
    is_across = bool(designed.is_of(Design.UNREPEATED)[0])
    return EnergyRatio(ratio, low, high, scope=scope, is_across_days=is_across)


def energy_judgements(
    pairs: Sequence[EnergyPair],
    margin: float,
    days: Mapping[int, str] | None = None,
) -> list[Judgement]:
    """Judge energies tested together; two meters need known accuracies."""
    if not pairs:
        return []
    own, base = [pair.own for pair in pairs], [pair.base for pair in pairs]
    judged = judge(
        rollups_of_runs(own),
        rollups_of_runs(base),
        True,
        gates=np.array([pair.gates for pair in pairs], dtype=np.int64),
        extra_log_variance=np.array([meters_log_variance(it.meters) for it in pairs]),
        margin=margin,
        sessions=(
            SessionRollups.of_runs(own, [pair.sessions[0] for pair in pairs]),
            SessionRollups.of_runs(base, [pair.sessions[1] for pair in pairs]),
        ),
    )
    corrected = correct(judged)
    return [_of_energy(corrected, row, days or {}) for row in range(len(pairs))]


def _of_energy(judgements: Judgements, row: int, days: Mapping[int, str]) -> Judgement:
    """Return a judgement whose words are of joules: more is no faster."""
    judgement = judgement_of(judgements, row, days)
    # The label may end in a direction: "indicative: slower".
    begin, colon, direction = judgement.label.rpartition(": ")
    sentences = judgement.sentences
    if judgements.is_separated[row] and judgement.is_assessed and judgement.range:
        low, high = judgement.range
        led = Verdict(judgements.direction[row])
        sentences = (Sentence(EVERY_ENERGY[led], low=low, high=high),)
    return replace(
        judgement,
        verdict=OF_ENERGY.get(judgement.verdict, judgement.verdict),
        direction=OF_ENERGY.get(judgement.direction, judgement.direction),
        label=f"{begin}{colon}{OF_ENERGY.get(direction, direction)}",
        sentences=sentences,
    )
