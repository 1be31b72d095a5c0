"""What may be said of a ratio: slower, faster, equivalent, undetermined, or nothing.

A verdict comes from the interval alone: wholly below the margin slower, wholly above it
faster, wholly inside it equivalent, else undetermined. To be inside is the claim of two
one-sided tests (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987),
each at half the level. Where gates stand against a verdict the cell is not assessed,
with all of them as reasons; a cell that others are compared with is a baseline.

How many runs would help: the formula of the interval is solved for the number of runs,
as if mean and spread stayed what they are, an expectation and no promise. Runs stop
when the interval is narrow enough, never when a difference becomes significant: looking
after every run and stopping at the first difference finds one in 19 % of equal systems.

Many cells at once: some of many true nulls look decided by chance. Benjamini and
Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical
Society B 57 (1995). A cell makes one claim of three (slower, faster, equivalent) and
its p bounds the chance that this claim is wrong, whichever of the others is true. So
the rate bounds the expected share of wrong verdicts among all that are given, as with
directions in Benjamini and Yekutieli, JASA 100 (2005).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.analysis.gates import CURABLE, NO_PARTNER, Gate, found_gates
from benchmarks.analysis.intervals import (
    NO_WARNINGS,
    NOISY_G,
    WELCH_RUNS,
    Floats,
    Intervals,
    Rollups,
    log_ratio_intervals,
    t_of_runs,
    t_quantiles,
    tail,
    welch_df,
)
from benchmarks.sentences import Sentence, counted

MARGIN: Final = 0.02
CONFIDENCE: Final = 0.95

EVIDENCE_LEVEL_RUNS: Final = (2, 3, 5, 10)

MOST_RUNS: Final = 200  # more than this nobody runs: say so instead

RATE: Final = 0.05


class Verdict(IntEnum):
    """What is said of a cell; also where its interval lies, whatever is said."""

    # An order: what is below NOT_ASSESSED was tested, and is a direction.
    UNDETERMINED = 0
    SLOWER = 1
    FASTER = 2
    EQUIVALENT = 3
    NOT_ASSESSED = 4
    BASELINE = 5


class EvidenceLevel(IntEnum):
    """What the number of independent runs a side allows to be said."""

    NONE = 0  # "single run": no interval
    FAINT = 1  # 2 runs: an interval, drawn faint
    INDICATIVE = 2  # 3-4 runs: "indicative", not ranked
    VERDICT = 3  # 5-9 runs
    RANKING = 4  # 10 runs: ranked, followed over time


@dataclass(frozen=True, slots=True)
class Judgements:
    """Everything that may be said of many cells: one array each, one entry a cell.

    ``direction`` is where the interval lies, also where there is no verdict; a page
    may call it indicative where ``evidence_level`` says so. ``gates`` are bits of Gate.
    ``wanted_runs`` is how many runs a side, in all, would decide (0: no number is
    known that would). ``n`` and ``baseline_n`` are the runs there are. ``tested`` is of
    how many cells this is a part if the verdicts were corrected for that, else 0.
    """

    intervals: Intervals
    verdict: NDArray[np.int8]
    direction: NDArray[np.int8]
    evidence_level: NDArray[np.int8]
    gates: NDArray[np.int64]
    wanted_runs: NDArray[np.int64]
    n: NDArray[np.int64]
    baseline_n: NDArray[np.int64]
    margin: float
    confidence: float
    tested: int = 0

    def __len__(self) -> int:
        return len(self.verdict)

    @NO_WARNINGS
    def p_values(self) -> Floats:
        """Return each cell's p: at most 1 - confidence where the verdict is decided.

        Twice the tail beyond the nearest edge of the margin, so that p and interval say
        the same. NaN where no verdict may be given.
        """
        allowed = self.verdict < Verdict.NOT_ASSESSED
        statistic = (
            _distance(self.intervals, self.margin) / self.intervals.standard_error
        )
        p = np.full(self.verdict.shape, np.nan)
        # Where a verdict is allowed the interval is Welch's: only that has a df.
        p[allowed] = 2 * tail(statistic[allowed], self.intervals.df[allowed])
        return p


@dataclass(frozen=True, slots=True)
class Correction:
    """Which of many p values count, in the shape they came in.

    ``adjusted`` is the smallest rate at which each would; NaN where nothing was tested.
    """

    adjusted: Floats
    counts: NDArray[np.bool_]
    tested: int


@NO_WARNINGS
def judge(
    cell: Rollups,
    baseline: Rollups,
    higher_is_better: ArrayLike,
    *,
    gates: ArrayLike = 0,
    extra_log_variance: ArrayLike = 0.0,
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
) -> Judgements:
    """Judge cells against their baselines, all at once.

    ``gates`` are the bits of Gate that the runs' statistics cannot show: the state of
    the baseline (``gates_of_states``), shape, open flags, units. Those that they can
    show are added here.
    """
    intervals = log_ratio_intervals(
        cell,
        baseline,
        higher_is_better,
        extra_log_variance=extra_log_variance,
        confidence=confidence,
    )
    given = np.asarray(gates, dtype=np.int64)
    # What explains why there is no baseline stands for its lack of runs.
    lacks = np.where(given & int(NO_PARTNER), int(Gate.NO_RUNS), 0)
    bits = found_gates(cell, baseline, intervals) & ~lacks | given

    low, high = intervals.low, intervals.high
    is_within = (low > 1 - margin) & (high < 1 + margin)
    direction = np.select(
        [high < 1 - margin, low > 1 + margin, is_within],
        [Verdict.SLOWER, Verdict.FASTER, Verdict.EQUIVALENT],
        Verdict.UNDETERMINED,
    ).astype(np.int8)
    is_baseline = (bits & int(Gate.NATIVE)) != 0
    verdict = np.select(
        [is_baseline, bits != 0], [Verdict.BASELINE, Verdict.NOT_ASSESSED], direction
    ).astype(np.int8)

    n = np.minimum(cell.n, baseline.n)
    level = np.searchsorted(EVIDENCE_LEVEL_RUNS, n, side="right").astype(np.int8)
    judged = Judgements(
        intervals=intervals,
        verdict=verdict,
        direction=direction,
        evidence_level=level,
        gates=bits,
        wanted_runs=np.zeros(n.shape, dtype=np.int64),
        n=cell.n,
        baseline_n=baseline.n,
        margin=margin,
        confidence=confidence,
    )
    return replace(
        judged, wanted_runs=_wanted_runs(judged, cell, baseline, extra_log_variance)
    )


def compare_directly(
    one: Rollups,
    other: Rollups,
    higher_is_better: ArrayLike,
    *,
    gates: ArrayLike = 0,
    extra_log_variance: ArrayLike = 0.0,
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
) -> Judgements:
    """Judge virtual machines against each other: ``one`` / ``other``, from their runs.

    There is no native baseline in it: what two efficiencies share cancels in their
    ratio, and going through both would count its noise twice. Gates of the baseline's
    state do not apply; either side may be the noisy one.
    """
    swapped = log_ratio_intervals(other, one, higher_is_better, confidence=confidence)
    # `judge` looks at the noise of its baseline only: here the sides change places.
    noisy = found_gates(other, one, swapped) & int(Gate.NOISY_BASELINE)
    return judge(
        one,
        other,
        higher_is_better,
        gates=np.asarray(gates, dtype=np.int64) | noisy,
        extra_log_variance=extra_log_variance,
        margin=margin,
        confidence=confidence,
    )


def _distance(intervals: Intervals, margin: float) -> Floats:
    """Return the distance of the log ratio from the nearest edge of the margin."""
    log_ratio = np.log(intervals.ratio)
    below, above = np.log1p(-margin), np.log1p(margin)
    nearest = np.minimum(np.abs(log_ratio - below), np.abs(log_ratio - above))
    return np.asarray(nearest, dtype=float)


def _wanted_runs(
    judged: Judgements, cell: Rollups, baseline: Rollups, extra: ArrayLike
) -> NDArray[np.int64]:
    """Return how many runs a side would decide where runs are all that is missing."""
    curable = (judged.gates & ~int(CURABLE)) == 0
    undecided = curable & (
        (judged.direction == Verdict.UNDETERMINED) | (judged.gates != 0)
    )
    single = undecided & (judged.evidence_level == EvidenceLevel.NONE)
    rows = np.flatnonzero(undecided & ~single)
    # A single run has no spread to reckon with: the least that allows a verdict.
    wanted = np.where(single, EVIDENCE_LEVEL_RUNS[2], 0)
    distance = _distance(judged.intervals, judged.margin)[rows]
    wanted[rows] = runs_for_width(
        cell.take(rows),
        baseline.take(rows),
        # Log scale to half width; `runs_for_width` turns it back.
        np.sinh(distance),
        extra_log_variance=np.broadcast_to(extra, cell.n.shape)[rows],
        confidence=judged.confidence,
    )
    return wanted


def runs_for_width(
    cell: Rollups,
    baseline: Rollups,
    half_width: ArrayLike,
    *,
    extra_log_variance: ArrayLike = 0.0,
    confidence: float = 0.95,
) -> NDArray[np.int64]:
    """Return how many runs a side make the interval this narrow, counted in all.

    ``half_width`` is a part of the ratio: 0.01 for 1 %. A side that has more runs keeps
    them. At least 5, which a verdict needs; 0 where MOST_RUNS are not enough or where
    the spread of a side is not known.
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
    """Return how many runs make the interval of a mean itself this narrow.

    As `runs_for_width` against a side that is known without error.
    """
    certain = Rollups.of(np.full(cell.n.shape, MOST_RUNS + 1), 1.0, 0.0, 0.0)
    return runs_for_width(cell, certain, half_width)


def width_sentence(
    runs: int, wanted: int, half_width: float, *, sides: int = 2
) -> Sentence:
    """Say how many more runs (of both sides, or of one) narrow an interval to a width.

    A mean's own interval has one side, that of a ratio two.
    """
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


def benjamini_hochberg(p_values: ArrayLike) -> Correction:
    """Correct p values of any shape; NaN are not tests and do not count as such."""
    p = np.asarray(p_values, dtype=float)
    is_test = ~np.isnan(p)
    tested = p[is_test]
    order = np.argsort(tested)
    steps = tested[order] * tested.size / np.arange(1, tested.size + 1)
    adjusted = np.full(p.shape, np.nan)
    corrected = np.empty_like(tested)
    # From the largest down: no p may end up above that of a larger one.
    corrected[order] = np.minimum.accumulate(steps[::-1])[::-1]
    adjusted[is_test] = corrected
    return Correction(adjusted, adjusted <= RATE, tested.size)


def correct(judgements: Judgements) -> Judgements:
    """Return the judgements of cells that are looked at together.

    A verdict that does not survive becomes undetermined; ``direction`` still says where
    its interval lies and ``tested`` among how many it was lost. Cells that are not
    assessed are not tested.
    """
    correction = benjamini_hochberg(judgements.p_values())
    is_lost = ~correction.counts & (judgements.verdict < Verdict.NOT_ASSESSED)
    verdict = np.where(is_lost, Verdict.UNDETERMINED, judgements.verdict)
    return replace(
        judgements, verdict=verdict.astype(np.int8), tested=correction.tested
    )
