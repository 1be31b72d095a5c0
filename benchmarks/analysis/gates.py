"""The reasons for which a cell is not assessed, and how many more runs would do.

Each reason has a bit, a code and a sentence. The interval's formula is solved for the
number of runs or sessions, for the same mean and spread. Stop by width, never by
significance: stopping at the first difference finds one in 19 % of equal systems.
"""

from collections.abc import Mapping, Sequence
from enum import IntFlag, auto
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.analysis.intervals import (
    LEAST_G,
    NOISY_G,
    WELCH_RUNS,
    Floats,
    Intervals,
    Method,
    Rollups,
    t_of_runs,
    t_quantiles,
    welch_df,
)
from benchmarks.analysis.sessions import REPEATED_SESSIONS
from benchmarks.sentences import Sentence, counted, template


class Gate(IntFlag):
    """One reason each. The first eight are found here, the others are handed in."""

    # In the order of their sentences; a new gate goes to the end (`test_gates`).
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
    OTHER_SESSION = auto()
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

    @property
    def code(self) -> str:
        return (self.name or "").lower()


# More runs cure these.
CURABLE: Final = (
    Gate.SINGLE_RUN
    | Gate.TWO_RUNS
    | Gate.FEW_RUNS
    | Gate.NOISY_BASELINE
    | Gate.NO_INTERVAL
)

# These say that no single figure describes the runs: neither does a ratio of such.
SHAPELESS: Final = Gate.BIMODAL | Gate.PERIODIC | Gate.DRIFT | Gate.FIRST_RUN

# What forbids a figure does not forbid to say that every run is slower.
LIFTED: Final = (
    SHAPELESS
    | Gate.NOISY_BASELINE
    | Gate.NO_INTERVAL
    | Gate.NO_SPREAD
    | Gate.FEW_INDEPENDENT
)
# Nor does what another day may have done, where no day does as much.
LIFTED_BEYOND_DAYS: Final = (
    LIFTED | Gate.UNREPEATED | Gate.OTHER_SESSION | Gate.STALE_BASELINE
)

# These say why there is no other side.
NO_PARTNER: Final = (
    Gate.NATIVE
    | Gate.NO_BASELINE
    | Gate.AMBIGUOUS_BASELINE
    | Gate.UNDIRECTED
    | Gate.OTHER_PARAMETERS
    | Gate.UNIT_MISMATCH
    | Gate.NO_SPEED
)

# The state of a baseline (see baselines.py and the model Efficiency) -> its gate.
GATES_OF_STATES: Final[Mapping[str, Gate]] = {
    "native": Gate.NATIVE,
    "reference": Gate.NATIVE,
    "paired": Gate(0),
    "relative": Gate(0),
    "other_session": Gate.OTHER_SESSION,
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
GATES_OF_DOUBTS: Final[Mapping[str, Gate]] = {
    "bimodal": Gate.BIMODAL,
    "periodic": Gate.PERIODIC,
    "drift": Gate.DRIFT,
    "first_run": Gate.FIRST_RUN,
    "clock_suspect": Gate.CLOCK_SUSPECT,
}

SENTENCES: Final[Mapping[Gate, str]] = {
    Gate.NO_RUNS: template("One side has no runs."),
    Gate.SINGLE_RUN: template(
        "A single run: no uncertainty estimate. A verdict needs 5 runs a side."
    ),
    Gate.TWO_RUNS: template("Two runs give a rough interval and no verdict."),
    Gate.FEW_RUNS: template(
        "With {n} runs it is only indicative: a verdict needs 5 a side."
    ),
    Gate.ZERO: template("One side reads 0 or less: no ratio can be formed."),
    Gate.NO_SPREAD: template(
        "All readings of one side are the same and their resolution is not known: "
        "how sure they are cannot be said."
    ),
    Gate.NOISY_BASELINE: template(
        "The baseline is too noisy: its own interval is ±{baseline_percent:.0f} %."
    ),
    Gate.NO_INTERVAL: template(
        "The runs vary so much, or were read so coarsely, that no interval of the "
        "ratio exists."
    ),
    Gate.NATIVE: template("This is the side that others are compared with."),
    Gate.NO_BASELINE: template("There is no native run to compare with."),
    Gate.AMBIGUOUS_BASELINE: template("Several native results fit and disagree."),
    Gate.STALE_BASELINE: template(
        "The baseline was measured too long before or after."
    ),
    Gate.OTHER_SESSION: template(
        "The baseline is from another session: what changed in between would count "
        "as a difference."
    ),
    Gate.UNDIRECTED: template("More of this metric is neither better nor worse."),
    Gate.UNIT_MISMATCH: template("The two sides are measured in different units."),
    Gate.OTHER_PARAMETERS: template(
        "The two sides ran the benchmark with different parameters."
    ),
    Gate.BIMODAL: template(
        "The runs are bimodal (two speeds): one mean does not describe them."
    ),
    Gate.PERIODIC: template(
        "The runs follow a pattern in time: they are not independent."
    ),
    Gate.DRIFT: template(
        "The runs drift in time: their mean depends on when they stopped."
    ),
    Gate.FLAGGED: template(
        "An open flag doubts a number; confirm or dismiss it first."
    ),
    Gate.CLOCK_SUSPECT: template("The clock that timed the runs cannot be trusted."),
    Gate.FIRST_RUN: template(
        "The first run differs from the others: warm up, or leave it out."
    ),
    Gate.SCALING: template(
        "A sum over several virtual machines beside one machine alone is scaling, not "
        "relative performance."
    ),
    Gate.OTHER_HOST: template(
        "The two sides ran on different hosts: only ratios to each host's own native "
        "runs can be compared."
    ),
    Gate.UNREPEATED: template(
        "Each side ran in sessions of its own; how much these differ is not known."
    ),
    Gate.FEW_INDEPENDENT: template(
        "Each run depends on the one before: {n} runs are worth {worth:.1f}, and a "
        "verdict needs 5."
    ),
    Gate.SLOWDOWN: template(
        "One virtual machine of several beside the same system with one alone is "
        "slowdown, not relative performance."
    ),
    Gate.NO_SPEED: template("This is not a speed: it has no relative performance."),
    Gate.WITHIN_METER_ERROR: template(
        "The difference is within what two power meters may disagree by."
    ),
}


def found_gates(
    cell: Rollups, baseline: Rollups, intervals: Intervals
) -> NDArray[np.int64]:
    """Return the reasons that runs give."""
    n = np.minimum(cell.n, baseline.n)
    too_few = (Gate.NO_RUNS, Gate.SINGLE_RUN, Gate.TWO_RUNS, Gate.FEW_RUNS)
    # `select` takes the first that holds: the narrowest limit comes first.
    limits = [n < 1, n < 2, n < 3, n < WELCH_RUNS]
    gates = np.select(limits, [int(gate) for gate in too_few], 0)
    is_zero = (n > 0) & np.isnan(intervals.ratio)
    several = (n > 1) & ~is_zero
    # Negated, so that NaN has no spread either. Each gate stands only where none before
    # it says why.
    no_spread = several & ~(np.minimum(intervals.g, intervals.own_g) > LEAST_G)
    no_interval = several & ~no_spread & (intervals.method == Method.NONE)
    noisy = several & ~no_interval & (intervals.g >= NOISY_G)
    gates = gates | is_zero * int(Gate.ZERO) | no_spread * int(Gate.NO_SPREAD)
    gates |= no_interval * int(Gate.NO_INTERVAL) | noisy * int(Gate.NOISY_BASELINE)
    return np.asarray(gates, dtype=np.int64)


def gates_of_states(states: Sequence[str]) -> NDArray[np.int64]:
    # A state that nobody knows is a KeyError: no gate would be a verdict.
    bits = {state: int(gate) for state, gate in GATES_OF_STATES.items()}
    return np.array([bits[state] for state in states], dtype=np.int64)


def gates_of_doubts(doubts: Sequence[str | None]) -> NDArray[np.int64]:
    """Return the reasons in a comma-separated text of codes."""
    gates = np.zeros(len(doubts), dtype=np.int64)
    for row, codes in enumerate(doubts):
        for code in codes.split(",") if codes else ():
            gates[row] |= int(GATES_OF_DOUBTS[code])
    return gates


@cache
def reasons_of(gates: int) -> tuple[Gate, ...]:
    """Return one cell's reasons, weightiest group first; few combinations occur."""
    return tuple(gate for gate in Gate if int(gate) & gates)


@cache
def codes_of(gates: int) -> tuple[str, ...]:
    return tuple(gate.code for gate in reasons_of(gates))


MOST_RUNS: Final = 200  # more than this nobody runs: say so instead
MOST_SESSIONS: Final = 60


def runs_for_width(
    cell: Rollups,
    baseline: Rollups,
    half_width: ArrayLike,
    *,
    extra_log_variance: ArrayLike = 0.0,
    confidence: float = 0.95,
) -> NDArray[np.int64]:
    """Return how many runs a side narrow the interval to a relative ``half_width``.

    At least 5; 0 if MOST_RUNS are not enough or a side's spread is unknown.
    """
    wanted = np.broadcast_to(np.arcsinh(half_width), cell.n.shape)
    extra = np.broadcast_to(np.asarray(extra_log_variance, dtype=float), cell.n.shape)
    probability = (1 + confidence) / 2
    too_few = np.full(cell.n.shape, WELCH_RUNS - 1)
    enough = np.full(cell.n.shape, MOST_RUNS + 1)
    # Halving finds the least: a run more never widens the interval.
    while np.any(enough - too_few > 1):
        middle = (too_few + enough + 1) // 2
        is_enough = _is_enough(cell, baseline, middle, wanted, extra, probability)
        enough = np.where(is_enough, middle, enough)
        too_few = np.where(is_enough, too_few, middle)
    return np.where(enough > MOST_RUNS, 0, enough)


def _is_enough(
    cell: Rollups,
    baseline: Rollups,
    runs: NDArray[np.int64],
    wanted: Floats,
    extra: Floats,
    probability: float,
) -> NDArray[np.bool_]:
    """Whether so many runs a side make the interval narrow and both sides calm."""
    own_n, other_n = np.maximum(cell.n, runs), np.maximum(baseline.n, runs)
    own, other = cell.log_variance(own_n), baseline.log_variance(other_n)
    own_g = t_of_runs(own_n, probability) ** 2 * own
    other_g = t_of_runs(other_n, probability) ** 2 * other
    df = welch_df(own, own_n, other, other_n, extra)
    half_width = t_quantiles(df, probability) * np.sqrt(own + other + extra)
    is_calm = np.maximum(own_g, other_g) < NOISY_G
    return np.asarray((half_width < wanted) & is_calm, dtype=bool)


def runs_for_mean(cell: Rollups, half_width: ArrayLike) -> NDArray[np.int64]:
    """Return how many runs narrow the interval of a mean, as `runs_for_width`."""
    certain = Rollups.of(np.full(cell.n.shape, MOST_RUNS + 1), 1.0, 0.0, 0.0)
    return runs_for_width(cell, certain, half_width)


def sessions_for_width(
    between_sd: Floats, is_shared: NDArray[np.bool_], log_half_width: Floats
) -> NDArray[np.int64]:
    """Return how many sessions narrow the interval; ``between_sd`` is of logs.

    At least 3; 0 if `MOST_SESSIONS` are not enough or the spread is unknown.
    """
    counts = np.arange(REPEATED_SESSIONS, MOST_SESSIONS + 1)
    shared = t_of_runs(counts, 0.975) / np.sqrt(counts)
    apart = t_quantiles(np.asarray(2.0 * counts - 2), 0.975) * np.sqrt(2 / counts)
    # Falling with the count: how many are too few is the place to insert.
    needed = log_half_width / between_sd
    too_few = [np.searchsorted(-each, -needed, "right") for each in (shared, apart)]
    place = np.where(is_shared, *too_few)
    is_enough = (place < counts.size) & np.isfinite(needed)
    return np.where(is_enough, counts[np.minimum(place, counts.size - 1)], 0)


def width_sentence(
    runs: int, wanted: int, half_width: float, *, sides: int = 2
) -> Sentence:
    """Say how many more runs of one or both sides narrow an interval to a width."""
    percent = half_width * 100
    if wanted and wanted <= runs:
        return Sentence("The interval is below {percent:g} %.", percent=percent)
    if not wanted and sides == 2:
        return Sentence(
            "{n} runs a side do not bring the interval below {percent:g} %.",
            n=MOST_RUNS,
            percent=percent,
        )
    if not wanted:
        return Sentence(
            "{n} runs do not bring the interval below {percent:g} %.",
            n=MOST_RUNS,
            percent=percent,
        )
    if sides == 2:
        return counted(
            "{n} more run a side brings the interval below {percent:g} %.",
            "{n} more runs a side bring the interval below {percent:g} %.",
            n=wanted - runs,
            percent=percent,
        )
    return counted(
        "{n} more run brings the interval below {percent:g} %.",
        "{n} more runs bring the interval below {percent:g} %.",
        n=wanted - runs,
        percent=percent,
    )
