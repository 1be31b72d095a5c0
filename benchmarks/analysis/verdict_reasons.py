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
    ON_OTHER_MACHINES,
    SHAPE_GATES,
    SOLVED_BY_RUNS,
    Gate,
    gate_sentence,
)
from benchmarks.sentences import (
    Parameter,
    Sentence,
    join_sentences,
    template,
    to_sentence,
)

FEW: Final = Gate.SINGLE_RUN | Gate.TWO_RUNS | Gate.FEW_RUNS
NEVER_ASSESSED: Final = (
    Gate.NATIVE | Gate.UNDIRECTED | Gate.NO_SPEED | Gate.SCALING | Gate.SLOWDOWN
)
PAIRING_SENTENCES: Final = frozenset(
    GATE_SENTENCES[gate]
    for gate in (
        *(Gate.NO_BASELINE, Gate.AMBIGUOUS_BASELINE, Gate.OTHER_PARAMETERS),
        *(Gate.UNIT_MISMATCH, Gate.STALE_BASELINE, Gate.NO_SPEED),
    )
)
OF_ONE_READING: Final = (
    Gate.NO_RUNS | Gate.ZERO | Gate.FLAGGED | Gate.CLOCK_SUSPECT | Gate.BEING_CHECKED
)
"""Reasons that also matter if each machine is one reading."""
# Reasons that block a verdict come first.
GATE_ORDER: Final = (
    *(Gate.BEING_CHECKED, Gate.NATIVE, Gate.NO_SPEED, Gate.UNDIRECTED),
    *(Gate.SCALING, Gate.SLOWDOWN, Gate.OTHER_HOST, Gate.SAME_MODEL),
    *(Gate.SAME_CPU, Gate.UNIT_MISMATCH),
    *(Gate.OTHER_PARAMETERS, Gate.AMBIGUOUS_BASELINE, Gate.NO_BASELINE),
    *(Gate.NO_RUNS, Gate.ZERO, Gate.FLAGGED, Gate.CLOCK_SUSPECT),
    *(Gate.STALE_BASELINE, Gate.UNREPEATED, Gate.ORDER_CONFOUNDED),
    *(Gate.SUMMARIZED, Gate.NO_DEVIATION, Gate.UNTIMED),
    *(Gate.SINGLE_RUN, Gate.TWO_RUNS, Gate.FEW_RUNS),
    *(Gate.BIMODAL, Gate.FIRST_RUN, Gate.DRIFT, Gate.PERIODIC),
    *(Gate.NO_SPREAD, Gate.FEW_INDEPENDENT, Gate.NO_INTERVAL),
    *(Gate.NOISY_BASELINE, Gate.WITHIN_METER_ERROR),
)

NO_RUN_ALONE: Final = template(
    "One of several VMs is compared with the same system with one VM alone, but no "
    "such run of this benchmark exists."
)
RUN_ALONE: Final = template("Run this benchmark on this system with one VM alone.")
STATE_SETTINGS: Final = template(
    "If this system has the settings of one that ran alone, state them. Otherwise, run "
    "this benchmark on this system with one VM alone."
)
COUNTS: Final = template(
    "Runs: this system {own_n}, the baseline {baseline_n}. A verdict needs at least "
    "{least} each."
)
COUNTS_AND_WIDTH: Final = template(
    "Runs: this system {own_n}, the baseline {baseline_n}. A verdict needs at least "
    "{least} each, and a narrower confidence interval."
)
NOISY: Final = template(
    "The baseline is too noisy: its 95% confidence interval is "
    "±{baseline_percent:.0f}%, and a verdict needs less than ±{limit_percent:.0f}%."
)
SYSTEM_LATER: Final = template(
    "All or nearly all runs of this system came after those of the baseline, so a "
    "change of the machine over time may cause the difference."
)
SYSTEM_EARLIER: Final = template(
    "All or nearly all runs of this system came before those of the baseline, so a "
    "change of the machine over time may cause the difference."
)
DEPENDENT: Final = (
    template(
        "Each run of this system depends on the previous one: {own_n} runs count as "
        "{own_worth:.1f} independent runs."
    ),
    template(
        "Each run of the baseline depends on the previous one: {baseline_n} runs "
        "count as {baseline_worth:.1f} independent runs."
    ),
    template(
        "On both systems, each run depends on the previous one: {own_n} runs of this "
        "system count as {own_worth:.1f} independent runs, {baseline_n} of the "
        "baseline as {baseline_worth:.1f}."
    ),
)
DIFFERENCE_SENTENCES: Final[Mapping[Gate, str]] = {
    Gate.BIMODAL: template(
        "The difference between the alternating runs of both systems has two levels."
    ),
    Gate.FIRST_RUN: template(
        "The difference between the first runs of both systems is an outlier."
    ),
    Gate.DRIFT: template(
        "The difference between the alternating runs of both systems drifts over the "
        "session."
    ),
    Gate.PERIODIC: template(
        "The difference between the alternating runs of both systems follows a pattern "
        "over time."
    ),
    Gate.FEW_INDEPENDENT: template(
        "Successive differences between the alternating runs of both systems depend on "
        "each other."
    ),
}

# A second session of the same study does not replace the first one (docs/method.md,
# "Repeating a measurement").
RUN: Final = template(
    "Run both systems in one session, alternating between them, at least {least} runs "
    "each, as a new study: earlier runs do not count."
)
THEN_RUN: Final = template(
    "Then run both systems in one session, alternating between them, at least {least} "
    "runs each, as a new study: earlier runs do not count."
)
OTHERWISE_RUN: Final = template(
    "Otherwise, run both systems in one session, alternating between them, at least "
    "{least} runs each, as a new study: earlier runs do not count."
)
RUN_LONGER: Final = template(
    "Run both systems in one session, alternating between them, as a new study: "
    "earlier runs do not count. Plan {high} runs each ({low} may be enough)."
)
RUN_LONG: Final = template(
    "Run both systems in one session, alternating between them, as a new study: "
    "earlier runs do not count. Plan at least {low} runs each ({high} may not be "
    "enough)."
)
RUN_TOGETHER: Final = template(
    "Run both systems together in one session, or better in {n} on different days, "
    "alternating between them, at least {least} runs each per session."
)
TOO_NOISY: Final = template(
    "Not even {n} runs each would give a verdict at this ratio and variation. Report "
    "the interval without a verdict. For a verdict, first reduce the variation (fix "
    "the CPU frequency, pin CPUs, stop other work on the host)."
)
FIND_VARIATION: Final = template(
    "Find the cause of the variation first (for example CPU frequency, placement, or "
    "other work on the host)."
)
ON_MORE_MACHINES: Final = template(
    "Measure at least five machines of this model natively and five with the "
    "hypervisor, or both systems on one machine."
)
GATE_ADVICE: Final[Mapping[Gate, str]] = {
    Gate.OTHER_HOST: template(
        "Compare each system with the native runs of its own host."
    ),
    Gate.SAME_MODEL: ON_MORE_MACHINES,
    Gate.SAME_CPU: ON_MORE_MACHINES,
    Gate.AMBIGUOUS_BASELINE: template(
        "Find out why they differ. Then choose the right one as the baseline (on the "
        "Compare page, or baseline= in the API)."
    ),
    Gate.NO_RUNS: template("Upload runs of {side}."),
}
ADVICE_BEFORE_RUNS: Final[Mapping[Gate, str]] = {
    Gate.UNIT_MISMATCH: template(
        "Use one unit on both systems. If a unit was only reported wrongly, upload "
        "the same runs with the right one: no new runs are needed."
    ),
    Gate.OTHER_PARAMETERS: template("Use the same parameters on both systems."),
    Gate.NO_BASELINE: template(
        "The baseline is the host without a hypervisor, unless you choose another."
    ),
    Gate.ZERO: template(
        "Check the output of {side}: a value of 0 usually means that the work failed."
    ),
    Gate.FLAGGED: template(
        "Check the values of {side}. No new runs are needed if the flag is wrong "
        "(dismiss it with a note) or values were reported wrongly (correct them). "
        "Otherwise, remove the cause."
    ),
    Gate.CLOCK_SUSPECT: template(
        "Correct the clock of {side} (synchronize it, or use another clock source), "
        "and check it with a time server on another machine (enroll --time-server)."
    ),
    Gate.UNTIMED: template(
        "If all runs were made in one session, name it on the Sessions page of the "
        "study. If start times are known, upload the runs with them (started_at; "
        "agents do) as a new study."
    ),
    Gate.SUMMARIZED: template(
        "If the single runs of {side} are known, upload them with their start times "
        "(started_at) as a new study."
    ),
    Gate.NO_DEVIATION: template(
        "If the standard deviation of {side} is known, upload it with the number of "
        "runs as a new study."
    ),
    Gate.BIMODAL: template(
        "Find what causes the two speeds of {side} (for example CPU frequency, NUMA "
        "node, or other work on the host), and keep it in one state."
    ),
    Gate.FIRST_RUN: template(
        "Make a warm-up run on {side}, and do not upload it (agents do so by default)."
    ),
    Gate.DRIFT: template(
        "Find what changes on {side} over the session (for example temperature, "
        "caches, or a disk that fills), and let it settle."
    ),
    Gate.PERIODIC: template(
        "Find what repeats on {side} (for example scheduled jobs or alternating NUMA "
        "nodes), and stop it."
    ),
    Gate.NO_SPREAD: template(
        "Report the values of {side} with more digits, or make the runs longer."
    ),
    Gate.FEW_INDEPENDENT: template(
        "Make the runs of {side} independent (restart the program, drop caches, or "
        "pause between runs)."
    ),
    Gate.WITHIN_METER_ERROR: template("Use one power meter for both systems."),
}
CORRECTABLE: Final = (
    Gate.UNIT_MISMATCH | Gate.UNTIMED | Gate.SUMMARIZED | Gate.NO_DEVIATION
)
CAUSE_FIRST: Final = (
    Gate.ZERO
    | Gate.FLAGGED
    | Gate.CLOCK_SUSPECT
    | Gate.BIMODAL
    | Gate.DRIFT
    | Gate.PERIODIC
)
SIDES: Final = (
    Sentence("this system"),
    Sentence("the baseline"),
    Sentence("both systems"),
)

FLAG_SENTENCES: Final = (
    template("A flag on this system withholds the verdict: “{title}” ({severity})."),
    template("A flag on the baseline withholds the verdict: “{title}” ({severity})."),
)
SHAPE_SENTENCES: Final = (
    template("The runs of this system have no single value: {shape}."),
    template("The runs of the baseline have no single value: {shape}."),
)
CLOCK_SENTENCES: Final = (
    template("The clock that timed this system cannot be trusted. {clock}"),
    template("The clock that timed the baseline cannot be trusted. {clock}"),
)


class FlagFacts(NamedTuple):
    """A flag; ``message`` is empty if the reader might not be allowed to see it."""

    title: str
    severity: str
    message: str = ""


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

    ``runs_needed`` is per side; 0 means that `MAX_RUNS` are not enough, or without
    ``is_estimated`` that the number is unknown. ``order`` is positive if the result ran
    after its baseline, negative if before.
    """

    own_n: int
    baseline_n: int
    own_worth: float
    baseline_worth: float
    baseline_percent: float
    order: int
    runs_needed: int
    is_estimated: bool
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
    if gates & ON_OTHER_MACHINES:
        return gates & (ON_OTHER_MACHINES | OF_ONE_READING)
    if gates & FEW:
        gates &= ~(Gate.NO_INTERVAL | Gate.NOISY_BASELINE)
    if gates & Gate.STALE_BASELINE:
        gates &= ~Gate.UNREPEATED
    if gates & (Gate.DRIFT | Gate.PERIODIC):
        gates &= ~Gate.FEW_INDEPENDENT
    if gates & Gate.SUMMARIZED:
        gates &= ~Gate.UNTIMED
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
        needs_more = numbers.is_estimated and numbers.runs_needed != WELCH_RUNS
        counts = COUNTS_AND_WIDTH if needs_more else COUNTS
        yield to_sentence(counts, {**values, "least": WELCH_RUNS})
    elif gate == Gate.ORDER_CONFOUNDED and numbers.order:
        yield Sentence(SYSTEM_LATER if numbers.order > 0 else SYSTEM_EARLIER)
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
                named = {"title": flag.title, "severity": flag.severity}
                parts = [to_sentence(FLAG_SENTENCES[side], named), flag.message]
                yield join_sentences(parts)
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
        return Sentence(RUN_TOGETHER, n=numbers.sessions_needed, least=_least(numbers))
    gate = next((gate for gate in GATE_ORDER if gate & shown), Gate(0))
    is_of_difference = gate in DIFFERENCE_SENTENCES and numbers.is_alternating
    is_of_difference &= not gate & (side_gates[0] | side_gates[1])
    side = SIDES[2 if is_of_difference else _side(gate, side_gates)]
    if gate in GATE_ADVICE:
        return to_sentence(GATE_ADVICE[gate], {"side": side})
    if gate in ADVICE_BEFORE_RUNS:
        before = to_sentence(ADVICE_BEFORE_RUNS[gate], {"side": side})
        run = THEN_RUN if gate & CAUSE_FIRST else RUN
        run = OTHERWISE_RUN if gate & CORRECTABLE else run
        then = to_sentence(run, {"least": _least(numbers)})
        return join_sentences([before, then])
    is_hopeless = numbers.is_estimated and not numbers.runs_needed
    # Without an interval, there is none to report.
    if gate == Gate.NO_INTERVAL or (is_hopeless and gates & Gate.NO_INTERVAL):
        before = Sentence(FIND_VARIATION)
    elif is_hopeless:
        before = Sentence(TOO_NOISY, n=MAX_RUNS)
    else:
        return run_advice(numbers)
    return join_sentences([before, Sentence(THEN_RUN, least=_least(numbers))])


def run_advice(numbers: ReasonNumbers, *, is_longer: bool = False) -> str:
    """Return how to measure both systems again, with the number of runs."""
    if numbers.runs_needed <= WELCH_RUNS:
        least = 2 * _least(numbers) if is_longer else _least(numbers)
        return Sentence(RUN, least=least)
    low, high = runs_range(numbers)
    if low >= MAX_RUNS:
        return Sentence(RUN, least=low)
    return Sentence(RUN_LONGER if high < MAX_RUNS else RUN_LONG, low=low, high=high)


def _least(numbers: ReasonNumbers) -> int:
    return max(WELCH_RUNS, min(numbers.own_n, numbers.baseline_n))


def runs_range(numbers: ReasonNumbers) -> tuple[int, int]:
    """Return the lowest and highest likely number of runs needed per side.

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
