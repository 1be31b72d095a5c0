"""Gates: reasons to withhold a verdict."""

from collections.abc import Mapping, Sequence
from enum import IntFlag, auto
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.analysis.intervals import (
    MIN_G,
    NOISY_G,
    WELCH_RUNS,
    Floats,
    Intervals,
    Method,
    RunStatistics,
)
from benchmarks.sentences import template


class Gate(IntFlag):
    # Add new gates at the end, because a gate's bit depends on its position.
    NO_RUNS = auto()
    SINGLE_RUN = auto()
    TWO_RUNS = auto()
    FEW_RUNS = auto()
    ZERO = auto()
    NO_SPREAD = auto()
    NOISY_BASELINE = auto()
    NO_INTERVAL = auto()

    NATIVE = auto()
    NO_BASELINE = auto()
    AMBIGUOUS_BASELINE = auto()
    STALE_BASELINE = auto()
    UNDIRECTED = auto()
    UNIT_MISMATCH = auto()
    OTHER_PARAMETERS = auto()

    BIMODAL = auto()
    PERIODIC = auto()
    DRIFT = auto()
    FLAGGED = auto()
    CLOCK_SUSPECT = auto()
    WITHIN_METER_ERROR = auto()
    FIRST_RUN = auto()
    SCALING = auto()
    OTHER_HOST = auto()
    UNREPEATED = auto()
    FEW_INDEPENDENT = auto()
    SLOWDOWN = auto()
    NO_SPEED = auto()
    UNTIMED = auto()
    ORDER_CONFOUNDED = auto()
    BEING_CHECKED = auto()
    SAME_MODEL = auto()
    SAME_CPU = auto()
    SUMMARIZED = auto()
    NO_DEVIATION = auto()

    @property
    def code(self) -> str:
        return (self.name or "").lower()


SOLVED_BY_RUNS: Final = (
    Gate.SINGLE_RUN
    | Gate.TWO_RUNS
    | Gate.FEW_RUNS
    | Gate.NOISY_BASELINE
    | Gate.NO_INTERVAL
)

SHAPE_GATES: Final = Gate.BIMODAL | Gate.PERIODIC | Gate.DRIFT | Gate.FIRST_RUN

LIFTED_BY_SEPARATION: Final = (
    SHAPE_GATES
    | Gate.NOISY_BASELINE
    | Gate.NO_INTERVAL
    | Gate.NO_SPREAD
    | Gate.FEW_INDEPENDENT
)
# Complete separation by more than days or an order can cause decides in spite of these
# gates.
LIFTED_BY_LARGE_SEPARATION: Final = (
    LIFTED_BY_SEPARATION
    | Gate.UNREPEATED
    | Gate.STALE_BASELINE
    | Gate.UNTIMED
    | Gate.SUMMARIZED
    | Gate.ORDER_CONFOUNDED
)

NO_COUNTERPART: Final = (
    Gate.NATIVE
    | Gate.NO_BASELINE
    | Gate.AMBIGUOUS_BASELINE
    | Gate.UNDIRECTED
    | Gate.OTHER_PARAMETERS
    | Gate.UNIT_MISMATCH
    | Gate.NO_SPEED
)

ON_OTHER_MACHINES: Final = Gate.SAME_MODEL | Gate.SAME_CPU

WITHOUT_CHECK: Final = (
    NO_COUNTERPART | Gate.SCALING | Gate.SLOWDOWN | Gate.OTHER_HOST | ON_OTHER_MACHINES
)
"""Gates that are known, and rule out a verdict, before a result is checked."""

GATES_BY_STATE: Final[Mapping[str, Gate]] = {
    "native": Gate.NATIVE,
    "reference": Gate.NATIVE,
    "paired": Gate(0),
    "relative": Gate(0),
    "other_session": Gate(0),
    "stale": Gate.STALE_BASELINE,
    "ambiguous": Gate.AMBIGUOUS_BASELINE,
    "missing": Gate.NO_BASELINE,
    "undirected": Gate.UNDIRECTED,
    "scaling": Gate.SCALING,
    "other_parameters": Gate.OTHER_PARAMETERS,
    "unit_mismatch": Gate.UNIT_MISMATCH,
    "other_host": Gate.OTHER_HOST,
    "same_model": Gate.SAME_MODEL,
    "same_cpu": Gate.SAME_CPU,
    "slowdown": Gate.SLOWDOWN,
    "no_speed": Gate.NO_SPEED,
}
GATES_BY_ISSUE: Final[Mapping[str, Gate]] = {
    "bimodal": Gate.BIMODAL,
    "periodic": Gate.PERIODIC,
    "drift": Gate.DRIFT,
    "first_run": Gate.FIRST_RUN,
    "clock_suspect": Gate.CLOCK_SUSPECT,
    "dependent": Gate.FEW_INDEPENDENT,
    "summarized": Gate.SUMMARIZED,
}

GATE_SENTENCES: Final[Mapping[Gate, str]] = {
    Gate.NOISY_BASELINE: template("The baseline is too noisy."),
    Gate.NATIVE: template("This is the baseline that other results are compared with."),
    Gate.NO_BASELINE: template("There is no baseline, so there is no ratio."),
    Gate.AMBIGUOUS_BASELINE: template(
        "Several baselines match but disagree, so there is no ratio."
    ),
    Gate.STALE_BASELINE: template(
        "The baseline is outdated: it was measured too long before or after this "
        "system, or the machine has changed."
    ),
    Gate.UNDIRECTED: template(
        "For this metric, neither higher nor lower is better, so it never has a "
        "verdict."
    ),
    Gate.UNIT_MISMATCH: template(
        "The units of this system and its baseline differ, so there is no ratio."
    ),
    Gate.OTHER_PARAMETERS: template(
        "The parameters of this system and its baseline differ, so there is no ratio."
    ),
    Gate.SCALING: template(
        "This is the sum of several VMs relative to the baseline. Such a scaling is a "
        "description and has no verdict: quote the ratio and its interval."
    ),
    Gate.OTHER_HOST: template(
        "This system and its baseline ran on different hosts, so there is no verdict."
    ),
    Gate.SAME_MODEL: template(
        "No machine ran both systems: the baseline is another machine of the same "
        "model. A verdict is then about the model, and needs at least five machines "
        "on each side."
    ),
    Gate.SAME_CPU: template(
        "The baseline is a machine of another model with the same CPU. The ratio shows "
        "what to expect of one thread; such a ratio has no verdict."
    ),
    Gate.UNREPEATED: template(
        "This system and its baseline ran in different sessions, and the variation "
        "between sessions is unknown."
    ),
    Gate.SLOWDOWN: template(
        "This is one of several VMs relative to one VM alone on this system. Such a "
        "slowdown is a description and has no verdict: quote the ratio and its "
        "interval."
    ),
    Gate.NO_SPEED: template(
        "This metric is not a speed, so it never has a ratio or a verdict."
    ),
    Gate.BEING_CHECKED: template(
        "Virtlab is still checking this result. The verdict follows within minutes."
    ),
    Gate.WITHIN_METER_ERROR: template(
        "The difference is small enough to be explained by the inaccuracy of two "
        "power meters."
    ),
    Gate.UNTIMED: template(
        "Start times are not stated, so effects of different days cannot be excluded."
    ),
    Gate.ORDER_CONFOUNDED: template(
        "The runs of this system and of the baseline followed one another instead of "
        "alternating."
    ),
    Gate.SINGLE_RUN: template("At least one system has only one run."),
    Gate.TWO_RUNS: template("At least one system has only two runs."),
    Gate.FEW_RUNS: template("At least one system has fewer than five runs."),
}
SIDE_SENTENCES: Final[Mapping[Gate, tuple[str, str, str]]] = {
    Gate.NO_RUNS: (
        template("This system has no runs."),
        template("The baseline has no runs."),
        template("Neither system has runs."),
    ),
    Gate.ZERO: (
        template("The value of this system is 0 or less, so there is no ratio."),
        template("The value of the baseline is 0 or less, so there is no ratio."),
        template("Both values are 0 or less, so there is no ratio."),
    ),
    Gate.NO_SPREAD: (
        template("All runs of this system are identical, with unknown resolution."),
        template("All runs of the baseline are identical, with unknown resolution."),
        template("All runs of each system are identical, with unknown resolution."),
    ),
    Gate.SUMMARIZED: (
        template(
            "Only the mean of the runs of this system is known, so effects of their "
            "order or of different days cannot be excluded."
        ),
        template(
            "Only the mean of the runs of the baseline is known, so effects of their "
            "order or of different days cannot be excluded."
        ),
        template(
            "Only the means of the runs are known, so effects of their order or of "
            "different days cannot be excluded."
        ),
    ),
    Gate.NO_DEVIATION: (
        template("The standard deviation of this system is not stated."),
        template("The standard deviation of the baseline is not stated."),
        template("The standard deviations of both systems are not stated."),
    ),
    Gate.NO_INTERVAL: (
        template("The runs of this system vary too much for a confidence interval."),
        template("The runs of the baseline vary too much for a confidence interval."),
        template("The runs of both systems vary too much for a confidence interval."),
    ),
    Gate.BIMODAL: (
        template("This system is bimodal (two speeds), so it has no single value."),
        template("The baseline is bimodal (two speeds), so it has no single value."),
        template(
            "Both systems are bimodal (two speeds), so they have no single value."
        ),
    ),
    Gate.PERIODIC: (
        template("This system follows a pattern over time."),
        template("The baseline follows a pattern over time."),
        template("Both systems follow a pattern over time."),
    ),
    Gate.DRIFT: (
        template("This system drifts over the session."),
        template("The baseline drifts over the session."),
        template("Both systems drift over the session."),
    ),
    Gate.FLAGGED: (
        template("A flag on this system withholds the verdict."),
        template("A flag on the baseline withholds the verdict."),
        template("Flags on both systems withhold the verdict."),
    ),
    Gate.CLOCK_SUSPECT: (
        template("The clock that timed this system cannot be trusted."),
        template("The clock that timed the baseline cannot be trusted."),
        template("The clocks that timed both systems cannot be trusted."),
    ),
    Gate.FIRST_RUN: (
        template("The first run of this system is an outlier."),
        template("The first run of the baseline is an outlier."),
        template("The first runs of both systems are outliers."),
    ),
    Gate.FEW_INDEPENDENT: (
        template("Each run of this system depends on the previous one."),
        template("Each run of the baseline depends on the previous one."),
        template("On both systems, each run depends on the previous one."),
    ),
}
"""Sentences on gates of the result, of the baseline and of both sides.

`verdict_reasons` replaces some of them by sentences with numbers.
"""


def gate_sentence(gate: Gate, own_gates: int, baseline_gates: int) -> str:
    """Return the sentence that names the side that causes a gate.

    ``own_gates`` and ``baseline_gates`` are the gates caused by each side; a gate of
    neither is one of the result.
    """
    if gate not in SIDE_SENTENCES:
        return GATE_SENTENCES[gate]
    own, baseline, both = SIDE_SENTENCES[gate]
    if not gate & baseline_gates:
        return own
    return both if gate & own_gates else baseline


def statistical_gates(
    cell: RunStatistics, baseline: RunStatistics, intervals: Intervals
) -> NDArray[np.int64]:
    n = np.minimum(cell.n, baseline.n)
    too_few = (Gate.NO_RUNS, Gate.SINGLE_RUN, Gate.TWO_RUNS, Gate.FEW_RUNS)
    limits = [n < 1, n < 2, n < 3, n < WELCH_RUNS]
    gates = np.select(limits, [int(gate) for gate in too_few], 0)
    is_zero = (n > 0) & np.isnan(intervals.ratio)
    several = (n > 1) & ~is_zero
    no_deviation = several & (
        _is_deviation_missing(cell) | _is_deviation_missing(baseline)
    )
    several &= ~no_deviation
    # Negated so that NaN counts as no spread.
    no_spread = several & ~(np.minimum(intervals.baseline_g, intervals.cell_g) > MIN_G)
    no_interval = several & ~no_spread & (intervals.method == Method.NONE)
    noisy = several & ~no_interval & (intervals.baseline_g >= NOISY_G)
    gates = gates | is_zero * int(Gate.ZERO) | no_spread * int(Gate.NO_SPREAD)
    gates |= no_interval * int(Gate.NO_INTERVAL) | noisy * int(Gate.NOISY_BASELINE)
    gates |= no_deviation * int(Gate.NO_DEVIATION)
    return np.asarray(gates, dtype=np.int64)


def _is_deviation_missing(runs: RunStatistics) -> NDArray[np.bool_]:
    return np.asarray((runs.n > 1) & np.isnan(runs.variance), dtype=bool)


def gates_of_side(runs: RunStatistics, g: Floats) -> NDArray[np.int64]:
    """Return the gates that the runs of one side would cause; ``g`` is that of their
    mean.
    """
    gates = np.where(runs.n < 1, int(Gate.NO_RUNS), 0)
    gates |= (runs.n == 1) * int(Gate.SINGLE_RUN) | (runs.n == 2) * int(Gate.TWO_RUNS)
    gates |= ((runs.n > 2) & (runs.n < WELCH_RUNS)) * int(Gate.FEW_RUNS)
    gates |= ~(runs.mean > 0) * int(Gate.ZERO) | ~(g > MIN_G) * int(Gate.NO_SPREAD)
    gates |= _is_deviation_missing(runs) * int(Gate.NO_DEVIATION)
    return np.asarray(gates | (g >= 1) * int(Gate.NO_INTERVAL), dtype=np.int64)


def gates_from_states(states: Sequence[str]) -> NDArray[np.int64]:
    bits = {state: int(gate) for state, gate in GATES_BY_STATE.items()}
    return np.array([bits[state] for state in states], dtype=np.int64)


def gates_from_issues(issue_codes: Sequence[str | None]) -> NDArray[np.int64]:
    gates = np.zeros(len(issue_codes), dtype=np.int64)
    for row, codes in enumerate(issue_codes):
        for code in codes.split(",") if codes else ():
            gates[row] |= int(GATES_BY_ISSUE[code])
    return gates


@cache
def split_gates(gates: int) -> tuple[Gate, ...]:
    return tuple(gate for gate in Gate if int(gate) & gates)


@cache
def gate_codes(gates: int) -> tuple[str, ...]:
    return tuple(gate.code for gate in split_gates(gates))
