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
    "slowdown": Gate.SLOWDOWN,
    "no_speed": Gate.NO_SPEED,
}
GATES_BY_ISSUE: Final[Mapping[str, Gate]] = {
    "bimodal": Gate.BIMODAL,
    "periodic": Gate.PERIODIC,
    "drift": Gate.DRIFT,
    "first_run": Gate.FIRST_RUN,
    "clock_suspect": Gate.CLOCK_SUSPECT,
}

GATE_SENTENCES: Final[Mapping[Gate, str]] = {
    Gate.NO_RUNS: template("One side has no runs."),
    Gate.SINGLE_RUN: template(
        "Single run: no uncertainty estimate. A verdict needs at least 5 runs per side."
    ),
    Gate.TWO_RUNS: template("Two runs give a rough interval but no verdict."),
    Gate.FEW_RUNS: template(
        "A result from {n} runs is only indicative. A verdict needs at least 5 runs "
        "per side."
    ),
    Gate.ZERO: template(
        "One side has a value of 0 or less, so no ratio can be calculated."
    ),
    Gate.NO_SPREAD: template(
        "All values on one side are identical and their resolution is unknown, so "
        "the uncertainty cannot be estimated."
    ),
    Gate.NOISY_BASELINE: template(
        "The baseline is too noisy: its confidence interval is "
        "±{baseline_percent:.0f}%."
    ),
    Gate.NO_INTERVAL: template(
        "The runs vary too much, or were measured too coarsely, to calculate a "
        "confidence interval of the ratio."
    ),
    Gate.NATIVE: template("This is the baseline that other results are compared with."),
    Gate.NO_BASELINE: template("No native run to compare with."),
    Gate.AMBIGUOUS_BASELINE: template("Several native results match but disagree."),
    Gate.STALE_BASELINE: template(
        "The baseline is outdated: it was measured too long before or after the "
        "result, or the machine has changed."
    ),
    Gate.UNDIRECTED: template("For this metric, neither higher nor lower is better."),
    Gate.UNIT_MISMATCH: template(
        "The result and its baseline are measured in different units."
    ),
    Gate.OTHER_PARAMETERS: template(
        "The result and its baseline ran with different parameters."
    ),
    Gate.BIMODAL: template(
        "The runs are bimodal (two speeds), so one mean does not describe them."
    ),
    Gate.PERIODIC: template(
        "The runs follow a pattern over time, so they are not independent."
    ),
    Gate.DRIFT: template(
        "The runs drift over time, so their mean depends on when the measurement ended."
    ),
    Gate.FLAGGED: template(
        "A flag questions the result or its baseline. If the numbers are correct, "
        "dismiss the flag to get a verdict."
    ),
    Gate.CLOCK_SUSPECT: template("The clock that timed the runs cannot be trusted."),
    Gate.FIRST_RUN: template(
        "The first run differs from the others. Add a warm-up run or exclude the "
        "first run."
    ),
    Gate.SCALING: template(
        "This compares the sum of several VMs with one machine. That is scaling, so "
        "there is no verdict."
    ),
    Gate.OTHER_HOST: template(
        "The two systems ran on different hosts. Only ratios to each host's own "
        "native runs can be compared."
    ),
    Gate.UNREPEATED: template(
        "The result and its baseline ran in different sessions, and the variation "
        "between sessions is unknown."
    ),
    Gate.FEW_INDEPENDENT: template(
        "Each run depends on the previous one: {n} runs count as {worth:.1f} "
        "independent runs, and a verdict needs 5."
    ),
    Gate.SLOWDOWN: template(
        "This compares one of several VMs with a single VM on the same system. That "
        "is a slowdown, so there is no verdict."
    ),
    Gate.NO_SPEED: template(
        "This metric is not a speed, so it has no relative performance."
    ),
    Gate.WITHIN_METER_ERROR: template(
        "The difference is small enough to be explained by the inaccuracy of two "
        "power meters."
    ),
    Gate.UNTIMED: template(
        "Start times are not stated, so effects of different days cannot be excluded. "
        "Send started_at."
    ),
    Gate.ORDER_CONFOUNDED: template(
        "All runs of the result followed all runs of the baseline. Interleave or "
        "randomize the order."
    ),
}
ALL_PRECEDED: Final = template(
    "All runs of the result preceded all runs of the baseline. Interleave or randomize "
    "the order."
)


def statistical_gates(
    cell: RunStatistics, baseline: RunStatistics, intervals: Intervals
) -> NDArray[np.int64]:
    n = np.minimum(cell.n, baseline.n)
    too_few = (Gate.NO_RUNS, Gate.SINGLE_RUN, Gate.TWO_RUNS, Gate.FEW_RUNS)
    limits = [n < 1, n < 2, n < 3, n < WELCH_RUNS]
    gates = np.select(limits, [int(gate) for gate in too_few], 0)
    is_zero = (n > 0) & np.isnan(intervals.ratio)
    several = (n > 1) & ~is_zero
    # Negated so that NaN counts as no spread.
    no_spread = several & ~(np.minimum(intervals.baseline_g, intervals.cell_g) > MIN_G)
    no_interval = several & ~no_spread & (intervals.method == Method.NONE)
    noisy = several & ~no_interval & (intervals.baseline_g >= NOISY_G)
    gates = gates | is_zero * int(Gate.ZERO) | no_spread * int(Gate.NO_SPREAD)
    gates |= no_interval * int(Gate.NO_INTERVAL) | noisy * int(Gate.NOISY_BASELINE)
    return np.asarray(gates, dtype=np.int64)


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
