"""Sentences on why a result has no verdict, and on what to do about it."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from scipy.special import chdtri

from benchmarks.analysis.intervals import NOISY_G, WELCH_RUNS
from benchmarks.analysis.required_runs import MAX_RUNS
from benchmarks.analysis.verdict_gates import (
    GATE_SENTENCES,
    SHAPE_GATES,
    SOLVED_BY_RUNS,
    Gate,
    gate_sentence,
)
from benchmarks.sentences import (
    Parameter,
    Sentence,
    join_sentences,
    pluralized,
    template,
    to_sentence,
)

FEW: Final = Gate.SINGLE_RUN | Gate.TWO_RUNS | Gate.FEW_RUNS
NEVER_ASSESSED: Final = (
    Gate.NATIVE | Gate.UNDIRECTED | Gate.NO_SPEED | Gate.SCALING | Gate.SLOWDOWN
)
UNPAIRED: Final = (
    Gate.NO_BASELINE
    | Gate.AMBIGUOUS_BASELINE
    | Gate.OTHER_PARAMETERS
    | Gate.UNIT_MISMATCH
)
PAIRING_GATES: Final = UNPAIRED | Gate.STALE_BASELINE | Gate.NO_SPEED
PAIRING_SENTENCES: Final = {
    GATE_SENTENCES[gate]: gate for gate in Gate if gate & PAIRING_GATES
}
NOT_TOGETHER: Final = Gate.UNREPEATED | Gate.ORDER_CONFOUNDED | Gate.STALE_BASELINE
# Reasons that block a verdict come first.
GATE_ORDER: Final = (
    *(Gate.BEING_CHECKED, Gate.NATIVE, Gate.NO_SPEED, Gate.UNDIRECTED),
    *(Gate.SCALING, Gate.SLOWDOWN, Gate.OTHER_HOST, Gate.SAME_MODEL),
    *(Gate.SAME_CPU, Gate.UNIT_MISMATCH),
    *(Gate.OTHER_PARAMETERS, Gate.AMBIGUOUS_BASELINE, Gate.NO_BASELINE),
    *(Gate.NO_RUNS, Gate.ZERO, Gate.FLAGGED, Gate.CLOCK_SUSPECT),
    *(Gate.STALE_BASELINE, Gate.UNREPEATED, Gate.ORDER_CONFOUNDED, Gate.UNTIMED),
    *(Gate.SINGLE_RUN, Gate.TWO_RUNS, Gate.FEW_RUNS),
    *(Gate.BIMODAL, Gate.FIRST_RUN, Gate.DRIFT, Gate.PERIODIC),
    *(Gate.NO_SPREAD, Gate.FEW_INDEPENDENT, Gate.NO_INTERVAL),
    *(Gate.NOISY_BASELINE, Gate.WITHIN_METER_ERROR),
)

COUNTS: Final = template(
    "Runs: result {own_n}, baseline {baseline_n}. A verdict needs {least} per side."
)
NOISY: Final = template(
    "The baseline is too noisy: its 95% confidence interval is "
    "±{baseline_percent:.0f}%, and a verdict needs less than ±{limit_percent:.0f}%."
)
RESULT_LATER: Final = template(
    "All or nearly all runs of the result came after those of the baseline, so a "
    "change of the machine over time may cause the difference."
)
RESULT_EARLIER: Final = template(
    "All or nearly all runs of the result came before those of the baseline, so a "
    "change of the machine over time may cause the difference."
)
DEPENDENT: Final = (
    template(
        "Each run of the result depends on the previous one: {own_n} runs count as "
        "{own_worth:.1f} independent runs."
    ),
    template(
        "Each run of the baseline depends on the previous one: {baseline_n} runs "
        "count as {baseline_worth:.1f} independent runs."
    ),
    template(
        "On both sides, each run depends on the previous one: {own_n} runs of the "
        "result count as {own_worth:.1f} independent runs, {baseline_n} of the "
        "baseline as {baseline_worth:.1f}."
    ),
)
DIFFERENCE_SENTENCES: Final[Mapping[Gate, str]] = {
    Gate.BIMODAL: template(
        "The difference between the alternating runs of result and baseline has two "
        "levels."
    ),
    Gate.FIRST_RUN: template(
        "The difference between the first runs of result and baseline is an outlier."
    ),
    Gate.DRIFT: template(
        "The difference between the alternating runs of result and baseline drifts "
        "over the session."
    ),
    Gate.PERIODIC: template(
        "The difference between the alternating runs of result and baseline follows "
        "a pattern over time."
    ),
    Gate.FEW_INDEPENDENT: template(
        "Successive differences between the alternating runs of result and baseline "
        "depend on each other."
    ),
}

RERUN_TOGETHER: Final = template(
    "Rerun the result and the baseline in one session, at least {least} runs per "
    "side, in alternating or random order (in a plan: order random or abba)."
)
SHARED_SESSIONS: Final = template(
    "Rerun the result and the baseline in the same session, ideally in {n} such "
    "sessions. More runs in separate sessions would not help."
)
SEND_STARTS: Final = template(
    "Rerun both sides, and send the start time of each run (started_at; agents do)."
)
ADD_TO_BOTH: Final = template(
    "Runs to add in the same session: at least {own} to the result and {other} to the "
    "baseline. On another day, rerun both sides."
)
ADD_RUNS: Final = template(
    "Rerun both sides in one session, about {low} to {high} runs per side (now: result "
    "{own_n}, baseline {baseline_n}). The estimate assumes that the ratio and the "
    "spread stay the same."
)
TOO_NOISY: Final = template(
    "Not even {n} runs per side would give a verdict: the ratio is too close to an "
    "equivalence margin for runs that vary so much. Reduce the variation (fix the CPU "
    "frequency, pin CPUs, stop other work on the host) and rerun both sides, or report "
    "the interval without a verdict."
)
ON_ONE_MACHINE: Final = template(
    "Run the benchmark on the machine of the result without a hypervisor, too."
)
GATE_ADVICE: Final[Mapping[Gate, str]] = {
    Gate.OTHER_HOST: template(
        "Compare each system with the native runs of its own host."
    ),
    Gate.SAME_MODEL: ON_ONE_MACHINE,
    Gate.SAME_CPU: ON_ONE_MACHINE,
    Gate.UNIT_MISMATCH: template(
        "Rerun one side so that both report the metric in the same unit."
    ),
    Gate.OTHER_PARAMETERS: template("Rerun one side with the parameters of the other."),
    Gate.AMBIGUOUS_BASELINE: template(
        "Choose one of the native systems as the baseline (on the Compare page, or "
        "baseline= in the API), or correct the wrong one."
    ),
    Gate.NO_BASELINE: template(
        "Run this benchmark on the baseline, too (by default the host without a "
        "hypervisor), in the same session as the result."
    ),
    Gate.NO_RUNS: template("Upload runs of {side}."),
    Gate.ZERO: template(
        "Check the output of {side}: a value of 0 usually means that the work failed. "
        "Correct or rerun it."
    ),
    Gate.FLAGGED: template(
        "Check the values of {side}. Correct or rerun them if the flag is right; "
        "dismiss the flag with a note if it is wrong."
    ),
    Gate.CLOCK_SUSPECT: template(
        "Rerun {side} with a time server on another machine (agents: enroll "
        "--time-server)."
    ),
    Gate.STALE_BASELINE: RERUN_TOGETHER,
    Gate.UNREPEATED: RERUN_TOGETHER,
    Gate.ORDER_CONFOUNDED: RERUN_TOGETHER,
    Gate.UNTIMED: SEND_STARTS,
    Gate.BIMODAL: template(
        "Find what causes the two speeds of {side} (for example CPU frequency, NUMA "
        "node, or other work on the host), keep it in one state, and rerun."
    ),
    Gate.FIRST_RUN: template(
        "Rerun {side} with a warm-up run that is not uploaded (agents have one by "
        "default)."
    ),
    Gate.DRIFT: template(
        "Find what changes on {side} over the session (for example temperature, "
        "caches, or a disk that fills), let it settle, and rerun."
    ),
    Gate.PERIODIC: template(
        "Find what repeats on {side} (for example scheduled jobs or alternating NUMA "
        "nodes), stop it, and rerun."
    ),
    Gate.NO_SPREAD: template(
        "Upload the values of {side} with more digits, or make the runs longer."
    ),
    Gate.FEW_INDEPENDENT: template(
        "Make the runs of {side} independent (restart the program, drop caches, or "
        "pause between runs), or add runs."
    ),
    Gate.WITHIN_METER_ERROR: template("Measure both sides with the same power meter."),
}
SIDES: Final = (
    Sentence("the result"),
    Sentence("the baseline"),
    Sentence("both sides"),
)

FLAG_SENTENCES: Final = (
    template(
        "A flag on the result withholds the verdict: “{title}” ({severity}). {meaning}"
    ),
    template(
        "A flag on the baseline withholds the verdict: “{title}” ({severity}). "
        "{meaning}"
    ),
)
SHAPE_SENTENCES: Final = (
    template("The runs of the result have no single value: {shape}."),
    template("The runs of the baseline have no single value: {shape}."),
)
CLOCK_SENTENCES: Final = (
    template("The clock that timed the result cannot be trusted. {clock}"),
    template("The clock that timed the baseline cannot be trusted. {clock}"),
)


class FlagFacts(NamedTuple):
    title: str
    severity: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class SideFacts:
    """Flags, shape and clock of the runs of one side, as text."""

    flags: tuple[FlagFacts, ...] = ()
    shape: str = ""
    clock: str = ""


NO_FACTS: Final = SideFacts()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonNumbers:
    """Numbers of a result for its reasons.

    ``runs_needed`` is per side, 0 if unknown. ``order`` is positive if the result ran
    after its baseline, negative if before.
    """

    own_n: int
    baseline_n: int
    own_worth: float
    baseline_worth: float
    baseline_percent: float
    order: int
    runs_needed: int
    sessions_needed: int
    is_alternating: bool


def reason_sentences(
    gates: Gate,
    side_gates: tuple[int, int],
    numbers: ReasonNumbers,
    facts: tuple[SideFacts, SideFacts] = (NO_FACTS, NO_FACTS),
) -> tuple[str, ...]:
    """Return one sentence per reason, the reason that blocks a verdict first."""
    shown = _shown_gates(gates)
    sentences: list[str] = []
    for gate in GATE_ORDER:
        if gate & shown:
            sentences += _gate_sentences(gate, side_gates, numbers, facts)
    return tuple(dict.fromkeys(sentences))


def _shown_gates(gates: Gate) -> Gate:
    """Return the gates without those whose reason another gate states."""
    if never := gates & NEVER_ASSESSED:
        return never
    if gates & FEW:
        gates &= ~(Gate.NO_INTERVAL | Gate.NOISY_BASELINE)
    if gates & Gate.STALE_BASELINE:
        gates &= ~Gate.UNREPEATED
    if gates & (Gate.DRIFT | Gate.PERIODIC):
        gates &= ~Gate.FEW_INDEPENDENT
    return gates


def _gate_sentences(
    gate: Gate,
    side_gates: tuple[int, int],
    numbers: ReasonNumbers,
    facts: tuple[SideFacts, SideFacts],
) -> Iterator[str]:
    values: dict[str, Parameter] = {
        "own_n": numbers.own_n,
        "baseline_n": numbers.baseline_n,
        "own_worth": numbers.own_worth,
        "baseline_worth": numbers.baseline_worth,
    }
    if gate & FEW:
        yield to_sentence(COUNTS, {**values, "least": WELCH_RUNS})
    elif gate == Gate.ORDER_CONFOUNDED and numbers.order:
        yield Sentence(RESULT_LATER if numbers.order > 0 else RESULT_EARLIER)
    elif gate == Gate.NOISY_BASELINE:
        percents = {
            "baseline_percent": numbers.baseline_percent,
            "limit_percent": 100 * math.sqrt(NOISY_G),
        }
        yield to_sentence(NOISY, percents)
    elif gate == Gate.FEW_INDEPENDENT and not numbers.is_alternating:
        yield to_sentence(DEPENDENT[_side(gate, side_gates)], values)
    elif found := [*_fact_sentences(gate, side_gates, facts)]:
        yield from found
    elif gate in DIFFERENCE_SENTENCES and numbers.is_alternating:
        yield Sentence(DIFFERENCE_SENTENCES[gate])
    else:
        yield to_sentence(gate_sentence(gate, *side_gates), {})


def _side(gate: Gate, side_gates: tuple[int, int]) -> int:
    own, baseline = side_gates
    if not gate & baseline:
        return 0
    return 2 if gate & own else 1


def _fact_sentences(
    gate: Gate, side_gates: tuple[int, int], facts: tuple[SideFacts, SideFacts]
) -> Iterator[str]:
    if not gate & (SHAPE_GATES | Gate.FLAGGED | Gate.CLOCK_SUSPECT):
        return
    sides = [side for side in (0, 1) if gate & side_gates[side]]
    texts = [
        facts[side].shape if gate & SHAPE_GATES else facts[side].clock for side in sides
    ]
    if gate == Gate.FLAGGED:
        for side in sides:
            for flag in facts[side].flags:
                yield to_sentence(FLAG_SENTENCES[side], flag._asdict())
    elif all(texts):
        templates = SHAPE_SENTENCES if gate & SHAPE_GATES else CLOCK_SENTENCES
        name = "shape" if gate & SHAPE_GATES else "clock"
        for side, text in zip(sides, texts, strict=True):
            yield to_sentence(templates[side], {name: text})


def reason_advice(
    gates: Gate, side_gates: tuple[int, int], numbers: ReasonNumbers
) -> str:
    """Return what to do about the first reason; empty if nothing gives a verdict."""
    shown = _shown_gates(gates)
    if shown & (NEVER_ASSESSED | Gate.BEING_CHECKED):
        return ""
    is_alone = not shown & ~(Gate.UNREPEATED | SOLVED_BY_RUNS)
    if shown & Gate.UNREPEATED and numbers.sessions_needed and is_alone:
        return Sentence(SHARED_SESSIONS, n=numbers.sessions_needed)
    for gate in GATE_ORDER:
        if not gate & shown:
            continue
        if gate & SOLVED_BY_RUNS:
            return _run_advice(shown, numbers)
        if gate == Gate.UNTIMED and shown & FEW:
            return join_sentences(
                [Sentence(SEND_STARTS), _missing_runs_advice(numbers)]
            )
        is_of_difference = gate in DIFFERENCE_SENTENCES and numbers.is_alternating
        is_of_difference &= not gate & (side_gates[0] | side_gates[1])
        side = 2 if is_of_difference else _side(gate, side_gates)
        values: dict[str, Parameter] = {"side": SIDES[side], "least": WELCH_RUNS}
        return to_sentence(GATE_ADVICE[gate], values)
    return _run_advice(shown, numbers)


def _run_advice(gates: Gate, numbers: ReasonNumbers) -> str:
    if gates & FEW and numbers.runs_needed <= WELCH_RUNS:
        return _missing_runs_advice(numbers)
    if not numbers.runs_needed:
        return Sentence(TOO_NOISY, n=MAX_RUNS)
    low, high = runs_range(numbers)
    return Sentence(
        ADD_RUNS,
        low=low,
        high=high,
        own_n=numbers.own_n,
        baseline_n=numbers.baseline_n,
    )


def runs_range(numbers: ReasonNumbers) -> tuple[int, int]:
    """Return between which numbers of runs per side the need lies.

    The number of runs is proportional to the variance, whose 80 % interval follows from
    its degrees of freedom.
    """
    freedom = max(numbers.own_n + numbers.baseline_n - 2, 1)
    least = max(min(numbers.own_n, numbers.baseline_n) + 1, WELCH_RUNS)
    low, high = (
        math.ceil(numbers.runs_needed * freedom / float(chdtri(freedom, share)))
        for share in (0.1, 0.9)
    )
    low = max(low, least)
    return low, max(min(high, MAX_RUNS), low + 1)


def _missing_runs_advice(numbers: ReasonNumbers) -> str:
    own, other = (max(WELCH_RUNS - n, 0) for n in (numbers.own_n, numbers.baseline_n))
    if own and other:
        return Sentence(ADD_TO_BOTH, own=own, other=other)
    if other:
        return pluralized(
            "Add at least {n} run to the baseline in the same session. On another day, "
            "rerun both sides.",
            "Add at least {n} runs to the baseline in the same session. On another "
            "day, rerun both sides.",
            n=other,
        )
    return pluralized(
        "Add at least {n} run to the result in the same session. On another day, rerun "
        "both sides.",
        "Add at least {n} runs to the result in the same session. On another day, "
        "rerun both sides.",
        n=own,
    )
