"""Assessments of single results as sentences, by speed or by energy."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.analysis.energy_ratio import (
    EnergyRatio,
    MeterFacts,
    mean_energy_ratio,
    meters_log_variance,
)
from benchmarks.analysis.intervals import NO_WARNINGS, t_quantiles
from benchmarks.analysis.required_runs import MAX_SESSIONS
from benchmarks.analysis.session_intervals import (
    SESSION_INTERVAL_DESIGNS,
    DesignIntervals,
    SessionDesign,
    design_intervals,
)
from benchmarks.analysis.sessions import (
    REPEATED_SESSIONS,
    SessionStatistics,
    statistics_of_runs,
)
from benchmarks.analysis.verdict_gates import (
    GATE_SENTENCES,
    ON_OTHER_MACHINES,
    SOLVED_BY_RUNS,
    Gate,
    gate_codes,
    gate_sentence,
    split_gates,
)
from benchmarks.analysis.verdict_reasons import (
    NO_FACTS,
    NO_RUN_ALONE,
    PAIRING_SENTENCES,
    RUN_ALONE,
    STATE_SETTINGS,
    ReasonNumbers,
    SideFacts,
    reason_advice,
    reason_sentences,
    run_advice,
)
from benchmarks.analysis.verdicts import (
    RULE_SET,
    AssessmentArrays,
    EvidenceLevel,
    IntervalStyle,
    Verdict,
    assess_cells,
    correct_for_multiple_tests,
    interval_directions,
)
from benchmarks.sentences import (
    Sentence,
    Template,
    join_sentences,
    pluralized,
    template,
    to_sentence,
)

SINGLE_RUN: Final = int(Gate.SINGLE_RUN)
BEING_CHECKED: Final = int(Gate.BEING_CHECKED)
FEW_RUNS: Final = int(Gate.FEW_RUNS)

VERDICTS_WITHOUT_CLAIM: Final = tuple(
    verdict.slug for verdict in (Verdict.NOT_ASSESSED, Verdict.BASELINE)
)

VERDICT_SENTENCES: Final = {
    Verdict.SLOWER: template("The confidence interval is entirely below {below:g}."),
    Verdict.FASTER: template("The confidence interval is entirely above {above:g}."),
    Verdict.EQUIVALENT: template(
        "The confidence interval is entirely between {below:g} and {above:g}."
    ),
}
CROSSES_LOWER: Final = template(
    "The confidence interval, {low:.4g} to {high:.4g}, crosses the lower equivalence "
    "margin, {below:g}."
)
CROSSES_UPPER: Final = template(
    "The confidence interval, {low:.4g} to {high:.4g}, crosses the upper equivalence "
    "margin, {above:g}."
)
CROSSES_BOTH: Final = template(
    "The confidence interval, {low:.4g} to {high:.4g}, crosses both equivalence "
    "margins, {below:g} and {above:g}."
)

TWO_SESSION_SENTENCES: Final = {
    Verdict.SLOWER: template(
        "The confidence interval of each session is entirely below {below:g}."
    ),
    Verdict.FASTER: template(
        "The confidence interval of each session is entirely above {above:g}."
    ),
    Verdict.EQUIVALENT: template(
        "The confidence interval of each session is entirely between {below:g} and "
        "{above:g}."
    ),
}
SESSIONS_DISAGREE: Final = template(
    "The two sessions disagree: {first_verdict} (ratio {first:.4f}) in one, "
    "{second_verdict} ({second:.4f}) in the other."
)
SESSIONS_UNDETERMINED: Final = template(
    "Neither session alone gives a verdict: the ratio is {first:.4f} in one and "
    "{second:.4f} in the other."
)
VERDICT_WORDS: Final = {
    Verdict.SLOWER: Sentence("slower"),
    Verdict.FASTER: Sentence("faster"),
    Verdict.EQUIVALENT: Sentence("equivalent"),
    Verdict.UNDETERMINED: Sentence("no verdict"),
}
SEPARATION_SENTENCES: Final = {
    Verdict.SLOWER: template(
        "Every run is slower than every run of the baseline (ratio {low:.3g} to "
        "{high:.3g})."
    ),
    Verdict.FASTER: template(
        "Every run is faster than every run of the baseline (ratio {low:.3g} to "
        "{high:.3g})."
    ),
}
ENERGY_SEPARATION_SENTENCES: Final = {
    Verdict.SLOWER: template(
        "Every run takes less energy than every run of the baseline (ratio {low:.3g} "
        "to {high:.3g})."
    ),
    Verdict.FASTER: template(
        "Every run takes more energy than every run of the baseline (ratio {low:.3g} "
        "to {high:.3g})."
    ),
}
# For verdicts that hold for the largest shift of the mean by the order of the runs.
ORDER_SENTENCES: Final = {
    Verdict.SLOWER: template(
        "The order of the runs changes the ratio by at most {percent:.2g}%. The "
        "result is slower even in the worst case."
    ),
    Verdict.FASTER: template(
        "The order of the runs changes the ratio by at most {percent:.2g}%. The "
        "result is faster even in the worst case."
    ),
    Verdict.EQUIVALENT: template(
        "The order of the runs changes the ratio by at most {percent:.2g}%. The "
        "result is equivalent even in the worst case."
    ),
}

SESSIONS_TO_DECIDE: Final = template(
    "Find what differs between the sessions (for example temperature, placement, "
    "updates), keep it the same, and run both systems in at least {least} sessions of "
    "a new study. Otherwise, a verdict needs about {n} sessions in which both systems "
    "run, including the {there} existing ones."
)
TOGETHER_INSTEAD: Final = template(
    "Run both systems, alternating between them, in each of at least {least} new "
    "sessions: differences between sessions then cancel out."
)
SEPARATE_SESSIONS_TO_DECIDE: Final = template(
    "In separate sessions, a verdict needs about {n} for each system, including the "
    "existing ones (this system {own}, the baseline {other})."
)
SESSIONS_DIFFER: Final = template(
    "More runs per session would not help: sessions differ by {sd:.2g}% (standard "
    "deviation)."
)
SESSIONS_TOO_NOISY: Final = template(
    "Not even {n} sessions would give a verdict at this ratio and variation. Report "
    "the interval without a verdict. For a verdict, find what differs between the "
    "sessions (for example temperature, placement, updates), keep it the same, and run "
    "both systems in at least {least} sessions of a new study."
)
SEPARATE_SESSIONS_TOO_NOISY: Final = template(
    "Not even {n} separate sessions of each system would give a verdict at this ratio "
    "and variation."
)
LOST_BY_CORRECTION: Final = template(
    "This result alone would have a verdict, but not after correction for the {n} "
    "results that were tested together."
)
NEVER_A_VERDICT: Final = template("Such a metric never has a verdict.")
WIDENED_BY_CORRECTION: Final = template(
    "This result alone would have a verdict, but correction for the {n} results that "
    "were tested together widens its interval."
)
MORE_RUNS: Final = template("With more runs, the verdict can pass the correction.")

ENERGY_WORDS: Final = {"slower": "less", "faster": "more"}
ENERGY_PHRASES: Final = {
    "slower": Sentence("less energy"),
    "faster": Sentence("more energy"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CellAssessment:
    """The assessment of one cell for display, with None for unknown numbers.

    ``range`` has the lowest and highest ratio between runs of the cell and its
    baseline. ``scope`` is what the assessment covers ("across 5 sessions").
    ``sessions`` are the numbers of sessions of the cell, of the baseline, and shared by
    both. ``is_weak`` means that start times are missing. If a robust interval decides,
    ``outliers`` is their number on both sides, and ``mean_ratio`` the ratio of the
    means of all runs. ``general_reasons`` are reasons without numbers, for counting.
    """

    ratio: float | None
    low: float | None
    high: float | None
    half_width: float | None
    verdict: str
    direction: str
    evidence_level: str
    label: str
    reason_codes: tuple[str, ...]
    sentences: tuple[str, ...]
    advice: str
    design: str = ""
    scope: str = ""
    sessions: tuple[int, int, int] | None = None
    between_sd: float | None = None
    range: tuple[float, float] | None = None
    is_weak: bool = False
    interval_style: str = ""
    sessions_needed: int | None = None
    outliers: int = 0
    mean_ratio: float | None = None
    general_reasons: tuple[str, ...] = ()
    rule_set: int = RULE_SET

    @property
    def interval(self) -> tuple[float, float] | None:
        if self.low is None or self.high is None:
            return None
        return self.low, self.high

    @property
    def is_assessed(self) -> bool:
        return self.verdict not in VERDICTS_WITHOUT_CLAIM

    def with_pairing_reason(self, reason: str) -> "CellAssessment":
        """Return the assessment with the reason why the cell has no such baseline."""
        if not reason:
            return self
        if GATE_SENTENCES[Gate.NO_SPEED] in self.sentences:
            reason = join_sentences([reason, Sentence(NEVER_A_VERDICT)])
        sentences = (
            reason if sentence in PAIRING_SENTENCES else sentence
            for sentence in self.sentences
        )
        advice = self.advice
        # The baseline of one of several VMs is not native.
        if advice and reason.startswith(NO_RUN_ALONE):
            has_others = "ran it alone" in reason
            advice = Sentence(STATE_SETTINGS if has_others else RUN_ALONE)
        return replace(self, sentences=tuple(sentences), advice=advice)


@dataclass(frozen=True, slots=True)
class MeteredPair:
    cell_joules: Sequence[float]
    baseline_joules: Sequence[float]
    meters: tuple[MeterFacts, MeterFacts]
    gates: int = 0
    sessions: tuple[Sequence[int], Sequence[int]] = ((), ())
    side_gates: tuple[int, int] = (0, 0)


class TableRatio(NamedTuple):
    """A ratio as tables show it.

    A ``ratio`` of None means the ratio of the two means. ``range`` replaces both if no
    single figure describes the runs.
    """

    ratio: float | None
    range: tuple[float, float] | None
    interval: tuple[float, float] | None = None


@NO_WARNINGS
def table_ratios(assessments: AssessmentArrays) -> dict[int, TableRatio]:
    designed, ends = assessments.design_intervals, assessments.separation
    has_range = np.isfinite(ends.low) & np.isfinite(ends.high)
    is_range = (assessments.shape_gates != 0) & has_range
    ratio = assessments.intervals.ratio
    log_half_width = assessments.intervals.log_half_width
    is_design = designed.has_design(
        *SESSION_INTERVAL_DESIGNS, SessionDesign.ONE_SHARED, SessionDesign.INTERLEAVED
    )
    is_design = (is_design | (assessments.outliers > 0)) & np.isfinite(ratio)
    has_interval = np.isfinite(ratio) & np.isfinite(log_half_width)
    has_interval &= assessments.shape_gates == 0
    is_checked = (assessments.gates & BEING_CHECKED) == 0
    rows = np.flatnonzero((is_range | is_design | has_interval) & is_checked)
    columns = (
        *(is_range, is_design, has_interval, ratio),
        *(np.exp(ends.low), np.exp(ends.high)),
        *(ratio * np.exp(-log_half_width), ratio * np.exp(log_half_width)),
    )
    values = zip(*(column[rows].tolist() for column in columns), strict=True)
    return {
        row: TableRatio(None, (least, greatest))
        if is_shapeless
        else TableRatio(
            row_ratio if by_design else None,
            None,
            (low, high) if with_interval else None,
        )
        for row, (
            is_shapeless,
            by_design,
            with_interval,
            row_ratio,
            least,
            greatest,
            low,
            high,
        ) in zip(rows.tolist(), values, strict=True)
    }


@NO_WARNINGS
def cell_assessment(
    assessments: AssessmentArrays,
    row: int,
    session_days: Mapping[int, str] | None = None,
    facts: tuple[SideFacts, SideFacts] = (NO_FACTS, NO_FACTS),
) -> CellAssessment:
    ratio = assessments.intervals.ratio[row]
    log_half_width = assessments.intervals.log_half_width[row]
    gates = int(assessments.gates[row])
    level = EvidenceLevel(assessments.evidence_level[row])
    is_checked = not gates & BEING_CHECKED
    if assessments.shape_gates[row] or not is_checked:
        ratio = log_half_width = np.float64(np.nan)
    verdict = label = Verdict(assessments.verdict[row]).slug
    direction = Verdict(assessments.direction[row]).slug
    if gates & SINGLE_RUN and not gates & int(ON_OTHER_MACHINES):
        label = "single run"
    elif gates == FEW_RUNS:
        label = f"indicative: {direction}"
    return CellAssessment(
        ratio=_number(ratio),
        low=_number(ratio * np.exp(-log_half_width)),
        high=_number(ratio * np.exp(log_half_width)),
        half_width=_number(np.sinh(log_half_width)),
        verdict=verdict,
        direction=direction,
        evidence_level=level.name.lower(),
        label=label,
        reason_codes=gate_codes(gates),
        sentences=_reason_sentences(assessments, row, facts),
        general_reasons=tuple(
            to_sentence(gate_sentence(gate, *_side_gates(assessments, row)), {})
            for gate in split_gates(gates)
        ),
        advice=_advice(assessments, row),
        interval_style=IntervalStyle.for_design(_design(assessments, row), level).slug
        if is_checked
        else "",
        **(_session_fields(assessments, row, session_days or {}) if is_checked else {}),
    )


def _session_fields(
    assessments: AssessmentArrays, row: int, days: Mapping[int, str]
) -> dict[str, Any]:
    designed, ends = assessments.design_intervals, assessments.separation
    design = SessionDesign(designed.design[row])
    if design == SessionDesign.NONE:
        return {}
    low, high = (_number(np.exp(values[row])) for values in (ends.low, ends.high))
    return {
        "design": design.slug,
        "scope": designed.scope(row, days),
        "sessions": _session_counts(designed, row),
        "between_sd": _number(designed.between_sd[row]),
        "range": None if low is None or high is None else (low, high),
        "is_weak": bool(designed.is_weak[row]),
        "sessions_needed": int(assessments.sessions_needed[row]) or None,
        "outliers": int(assessments.outliers[row]),
        "mean_ratio": _number(assessments.mean_ratio[row])
        if assessments.outliers[row]
        else None,
    }


def _session_counts(designed: DesignIntervals, row: int) -> tuple[int, int, int]:
    return (
        int(designed.own_sessions[row]),
        int(designed.baseline_sessions[row]),
        int(designed.shared_count[row]),
    )


def _number(value: np.float64) -> float | None:
    return float(value) if np.isfinite(value) else None


def _numbers(assessments: AssessmentArrays, row: int) -> ReasonNumbers:
    designed = assessments.design_intervals
    return ReasonNumbers(
        own_n=int(assessments.n[row]),
        baseline_n=int(assessments.baseline_n[row]),
        own_worth=float(designed.cell.effective_n[row]),
        baseline_worth=float(designed.baseline.effective_n[row]),
        baseline_percent=100 * float(np.sqrt(designed.independent.baseline_g[row])),
        order=int(designed.order[row]),
        runs_needed=int(assessments.runs_needed[row]),
        is_estimated=not Gate(int(assessments.gates[row])) & ~SOLVED_BY_RUNS
        and _design(assessments, row) not in SESSION_INTERVAL_DESIGNS,
        sessions_needed=int(assessments.sessions_needed[row]),
        is_alternating=bool(designed.is_alternating[row]),
    )


def _side_gates(assessments: AssessmentArrays, row: int) -> tuple[int, int]:
    own, baseline = assessments.side_gates
    return int(own[row]), int(baseline[row])


def _reason_sentences(
    assessments: AssessmentArrays, row: int, facts: tuple[SideFacts, SideFacts]
) -> tuple[str, ...]:
    gates = Gate(int(assessments.gates[row]))
    verdict = Verdict(assessments.verdict[row])
    if gates:
        sides = _side_gates(assessments, row)
        return reason_sentences(gates, sides, _numbers(assessments, row), facts)
    if verdict != assessments.direction[row]:
        return (_correction_sentence(assessments, row),)
    if assessments.is_separated[row]:
        low, high = assessments.separation.low[row], assessments.separation.high[row]
        ends = {"low": float(np.exp(low)), "high": float(np.exp(high))}
        return (Sentence(SEPARATION_SENTENCES[verdict], **ends),)
    if stretch := assessments.log_stretch[row]:
        percent = 100 * float(np.expm1(stretch))
        return (Sentence(ORDER_SENTENCES[verdict], percent=percent),)
    return _interval_sentences(assessments, row, verdict)


def _interval_sentences(
    assessments: AssessmentArrays, row: int, verdict: Verdict
) -> tuple[str, ...]:
    edges = {"below": 1 - assessments.margin, "above": 1 + assessments.margin}
    sentence = (
        _crossing_sentence(assessments, row)
        if verdict == Verdict.UNDETERMINED
        else to_sentence(_verdict_sentences(assessments, row)[verdict], edges)
    )
    if n := int(assessments.outliers[row]):
        robust = pluralized(
            "{n} outlier shifts the ratio of the means to {mean_ratio:.4g}; the "
            "interval is robust against it, so it needs no action.",
            "{n} outliers shift the ratio of the means to {mean_ratio:.4g}; the "
            "interval is robust against them, so they need no action.",
            n=n,
            mean_ratio=float(assessments.mean_ratio[row]),
        )
        return sentence, robust
    return (sentence,)


def _correction_sentence(assessments: AssessmentArrays, row: int) -> Sentence:
    """Return why correction removed a verdict, with the wider interval if known."""
    n, widened = assessments.tested_count, assessments.corrected_interval(row)
    if widened is None:
        return Sentence(LOST_BY_CORRECTION, n=n)
    crossing = _crosses(assessments.margin, *widened)
    return join_sentences([Sentence(WIDENED_BY_CORRECTION, n=n), crossing])


def _verdict_sentences(
    assessments: AssessmentArrays, row: int
) -> Mapping[Verdict, Template]:
    is_of_two = _design(assessments, row) == SessionDesign.TWO_SHARED
    is_of_two &= not assessments.outliers[row]
    return TWO_SESSION_SENTENCES if is_of_two else VERDICT_SENTENCES


def _crossing_sentence(assessments: AssessmentArrays, row: int) -> Sentence:
    if _design(assessments, row) == SessionDesign.TWO_SHARED:
        return _two_sessions_sentence(assessments, row)
    designed = assessments.design_intervals
    low, high = designed.deciding_low[row], designed.deciding_high[row]
    return _crosses(assessments.margin, float(np.exp(low)), float(np.exp(high)))


def _crosses(margin: float, low: float, high: float) -> Sentence:
    edges = {"below": 1 - margin, "above": 1 + margin}
    crosses = [low <= edges[name] <= high for name in ("below", "above")]
    text = CROSSES_LOWER if crosses[0] else CROSSES_UPPER
    text = CROSSES_BOTH if all(crosses) else text
    return to_sentence(text, {"low": low, "high": high, **edges})


def _two_sessions_sentence(assessments: AssessmentArrays, row: int) -> Sentence:
    sessions = assessments.design_intervals.two_sessions
    is_row = sessions.row == row
    centers, errors = sessions.log_ratio[is_row][0], sessions.error[is_row][0]
    quantiles = t_quantiles(sessions.df[is_row][0], (1 + assessments.confidence) / 2)
    directions = interval_directions(
        centers - quantiles * errors, centers + quantiles * errors, assessments.margin
    )
    first, second = np.exp(centers).tolist()
    one, other = (Verdict(direction) for direction in directions)
    if one == other == Verdict.UNDETERMINED:
        return Sentence(SESSIONS_UNDETERMINED, first=first, second=second)
    return Sentence(
        SESSIONS_DISAGREE,
        first=first,
        second=second,
        first_verdict=VERDICT_WORDS[one],
        second_verdict=VERDICT_WORDS[other],
    )


def _design(assessments: AssessmentArrays, row: int) -> SessionDesign:
    return SessionDesign(assessments.design_intervals.design[row])


def _advice(assessments: AssessmentArrays, row: int) -> str:
    gates, direction = Gate(int(assessments.gates[row])), assessments.direction[row]
    if not gates and direction != Verdict.UNDETERMINED:
        if assessments.verdict[row] == direction:
            return ""
        numbers = _numbers(assessments, row)
        return join_sentences(
            [Sentence(MORE_RUNS), run_advice(numbers, is_longer=True)]
        )
    if not gates and _design(assessments, row) in SESSION_INTERVAL_DESIGNS:
        return _session_advice(assessments, row)
    sides = _side_gates(assessments, row)
    return reason_advice(gates, sides, _numbers(assessments, row))


def _session_advice(assessments: AssessmentArrays, row: int) -> str:
    designed = assessments.design_intervals
    needed = int(assessments.sessions_needed[row])
    own, other, shared = _session_counts(designed, row)
    least = REPEATED_SESSIONS
    if _design(assessments, row) in (SessionDesign.SHARED, SessionDesign.TWO_SHARED):
        parts = [
            Sentence(SESSIONS_TO_DECIDE, n=needed, there=shared, least=least)
            if needed
            else Sentence(SESSIONS_TOO_NOISY, n=MAX_SESSIONS, least=least)
        ]
    else:
        parts = [
            Sentence(TOGETHER_INSTEAD, least=least),
            Sentence(SEPARATE_SESSIONS_TO_DECIDE, n=needed, own=own, other=other)
            if needed
            else Sentence(SEPARATE_SESSIONS_TOO_NOISY, n=MAX_SESSIONS),
        ]
    between, within = designed.between_sd[row], designed.within_sd[row]
    # More runs per session would not help if the scatter of runs explains less than
    # half of the variance between sessions.
    if needed and 2 * within**2 < between**2:
        parts.append(Sentence(SESSIONS_DIFFER, sd=100 * float(between)))
    return join_sentences(parts)


def energy_ratio(
    cell_joules: Sequence[float],
    baseline_joules: Sequence[float],
    meters: tuple[MeterFacts, MeterFacts],
    sessions: tuple[Sequence[int], Sequence[int]] = ((), ()),
    session_days: Mapping[int, str] | None = None,
) -> EnergyRatio | None:
    """Return the ratio of two energies (J per run) with its interval; None if they
    cannot be compared.
    """
    mean_ratio = mean_energy_ratio(cell_joules, baseline_joules, meters)
    if mean_ratio is None or mean_ratio.reason:
        return mean_ratio
    designed = design_intervals(
        statistics_of_runs([cell_joules]),
        statistics_of_runs([baseline_joules]),
        (
            SessionStatistics.from_runs([cell_joules], [sessions[0]]),
            SessionStatistics.from_runs([baseline_joules], [sessions[1]]),
        ),
        True,
        extra_log_variance=meters_log_variance(meters),
    )
    ratio, low, high = (
        float(values[0])
        for values in (
            designed.intervals.ratio,
            designed.intervals.low,
            designed.intervals.high,
        )
    )
    scope = designed.scope(0, session_days or {})
    if math.isnan(low) or math.isnan(high):
        return replace(mean_ratio, reason="no_spread", scope=scope)
    is_across = bool(designed.has_design(SessionDesign.UNREPEATED)[0])
    return EnergyRatio(ratio, low, high, scope=scope, is_across_sessions=is_across)


def assess_energies(
    pairs: Sequence[MeteredPair],
    margin: float,
    session_days: Mapping[int, str] | None = None,
) -> list[CellAssessment]:
    """Return the assessment of each pair, corrected for testing all pairs together."""
    if not pairs:
        return []
    cells = [pair.cell_joules for pair in pairs]
    baselines = [pair.baseline_joules for pair in pairs]
    assessed = assess_cells(
        statistics_of_runs(cells),
        statistics_of_runs(baselines),
        True,
        gates=np.array([pair.gates for pair in pairs], dtype=np.int64),
        side_gates=(
            np.array([pair.side_gates[0] for pair in pairs], dtype=np.int64),
            np.array([pair.side_gates[1] for pair in pairs], dtype=np.int64),
        ),
        extra_log_variance=np.array(
            [meters_log_variance(pair.meters) for pair in pairs]
        ),
        margin=margin,
        sessions=(
            SessionStatistics.from_runs(cells, [pair.sessions[0] for pair in pairs]),
            SessionStatistics.from_runs(
                baselines, [pair.sessions[1] for pair in pairs]
            ),
        ),
    )
    corrected = correct_for_multiple_tests(assessed)
    return [
        _energy_assessment(corrected, row, session_days or {})
        for row in range(len(pairs))
    ]


def _energy_assessment(
    assessments: AssessmentArrays, row: int, days: Mapping[int, str]
) -> CellAssessment:
    assessment = cell_assessment(assessments, row, days)
    begin, colon, direction = assessment.label.rpartition(": ")
    sentences = tuple(map(_in_energy_words, assessment.sentences))
    if assessments.is_separated[row] and assessment.is_assessed and assessment.range:
        low, high = assessment.range
        verdict = Verdict(assessments.direction[row])
        sentences = (
            Sentence(ENERGY_SEPARATION_SENTENCES[verdict], low=low, high=high),
        )
    return replace(
        assessment,
        verdict=ENERGY_WORDS.get(assessment.verdict, assessment.verdict),
        direction=ENERGY_WORDS.get(assessment.direction, assessment.direction),
        label=f"{begin}{colon}{ENERGY_WORDS.get(direction, direction)}",
        sentences=sentences,
    )


def _in_energy_words(text: str) -> str:
    if not isinstance(text, Sentence) or text.template != SESSIONS_DISAGREE:
        return text
    values = {
        name: ENERGY_PHRASES.get(str(value), value)
        for name, value in text.parameters.items()
    }
    return to_sentence(SESSIONS_DISAGREE, values)
