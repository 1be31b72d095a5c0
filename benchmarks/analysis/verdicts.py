"""Verdicts on ratios: slower, faster, equivalent, undetermined, or not assessed.

See docs/method.md, Verdicts. The sources are in docs/figures/method.md.

Verdicts are corrected together with the method of Benjamini and Hochberg. Because
verdicts are directions, the rate bounds the share of wrong ones (Benjamini and
Yekutieli).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from benchmarks.analysis.complete_separation import SeparationRange, separation_ranges
from benchmarks.analysis.interleaved_runs import (
    MIN_BLOCKS,
    InterleavedSessions,
    difference_shapes,
    find_interleaved,
)
from benchmarks.analysis.intervals import (
    NO_WARNINGS,
    WELCH_RUNS,
    Floats,
    Intervals,
    RunStatistics,
    normal_quantile,
    t_tail,
)
from benchmarks.analysis.required_runs import (
    runs_for_width,
    sessions_for_width,
    with_blocks_as_runs,
)
from benchmarks.analysis.robust_intervals import (
    robust_rows,
    with_robust_intervals,
    without_outliers,
)
from benchmarks.analysis.run_order import MIN_ORDER_RUNS
from benchmarks.analysis.run_vectors import RunVectors
from benchmarks.analysis.session_intervals import (
    SESSION_INTERVAL_DESIGNS,
    SESSION_UNIT_DESIGNS,
    WITHIN_SESSION_DESIGNS,
    DesignIntervals,
    SessionDesign,
    TwoSessionRatios,
    design_intervals,
    exclude_first_runs,
)
from benchmarks.analysis.sessions import (
    REPEATED_SESSIONS,
    SessionStatistics,
    with_pooled_rho,
)
from benchmarks.analysis.verdict_gates import (
    LIFTED_BY_LARGE_SEPARATION,
    LIFTED_BY_SEPARATION,
    NO_COUNTERPART,
    SHAPE_GATES,
    SOLVED_BY_RUNS,
    WITHOUT_CHECK,
    Gate,
    gates_from_issues,
    gates_of_side,
    statistical_gates,
)

RULE_SET: Final = 3
"""The version of the rules; docs/method.md lists the changes."""

DEFAULT_MARGIN: Final = 0.02
CONFIDENCE: Final = 0.95
NORMAL_QUANTILE: Final = normal_quantile((1 + CONFIDENCE) / 2)

EVIDENCE_LEVEL_RUNS: Final = (2, 3, 5, 10)
NOT_SOLVED_BY_SESSIONS: Final = ~int(SOLVED_BY_RUNS | Gate.UNREPEATED)

FALSE_DISCOVERY_RATE: Final = 0.05
PRECAUTION_RUNS: Final = 30


class Verdict(IntEnum):
    """The verdict on a cell.

    Values below `NOT_ASSESSED` are also directions of intervals, with or without a
    verdict.
    """

    UNDETERMINED = 0
    SLOWER = 1
    FASTER = 2
    EQUIVALENT = 3
    NOT_ASSESSED = 4
    BASELINE = 5

    @property
    def slug(self) -> str:
        return self.name.lower()


class EvidenceLevel(IntEnum):
    NONE = 0  # no interval
    FAINT = 1  # 2 runs
    INDICATIVE = 2  # 3-4 runs, not ranked
    VERDICT = 3  # 5-9 runs
    RANKING = 4  # 10 runs


class IntervalStyle(IntEnum):
    FIRM = 0
    FAINT = 1  # two runs, or two sessions
    HOLLOW = 2  # the variation between days is unknown

    @classmethod
    def for_design(cls, design: SessionDesign, level: EvidenceLevel) -> IntervalStyle:
        if design in (SessionDesign.UNREPEATED, SessionDesign.ASSUMED_ONE_SESSION):
            return cls.HOLLOW
        is_faint = design == SessionDesign.TWO_SHARED or level == EvidenceLevel.FAINT
        return cls.FAINT if is_faint else cls.FIRM

    @property
    def slug(self) -> str:
        return "" if self == IntervalStyle.FIRM else self.name.lower()


INTERVAL_STYLES: Final = np.array(
    [
        [IntervalStyle.for_design(design, level) for level in EvidenceLevel]
        for design in SessionDesign
    ],
    dtype=np.int8,
)


@dataclass(frozen=True, slots=True)
class AssessmentArrays:
    """Assessments of many cells, one entry per cell.

    ``direction`` is that of the interval, even without a verdict. ``gates`` are bits of
    `Gate`; ``side_gates`` are those known to be caused by the cells and by the
    baselines. ``runs_needed`` (per side) and ``sessions_needed`` include the existing
    ones, 0 if unknown. ``outliers`` is the number of outliers of both sides if a robust
    interval decides, otherwise 0; ``mean_ratio`` has the ratios of the means of all
    runs. ``log_stretch`` is how far an interval was stretched because the order of runs
    may have shifted a mean.
    """

    intervals: Intervals
    verdict: NDArray[np.int8]
    direction: NDArray[np.int8]
    evidence_level: NDArray[np.int8]
    gates: NDArray[np.int64]
    side_gates: tuple[NDArray[np.int64], NDArray[np.int64]]
    runs_needed: NDArray[np.int64]
    sessions_needed: NDArray[np.int64]
    n: NDArray[np.int64]
    baseline_n: NDArray[np.int64]
    margin: float
    confidence: float
    is_separated: NDArray[np.bool_]
    log_stretch: Floats
    shape_gates: NDArray[np.int64]
    design_intervals: DesignIntervals
    separation: SeparationRange
    outliers: NDArray[np.int64]
    mean_ratio: Floats
    tested_count: int = 0
    corrected_p: Floats | None = None
    """The p that each verdict had to reach by its rank."""

    def __len__(self) -> int:
        return len(self.verdict)

    @property
    def interval_style(self) -> NDArray[np.int8]:
        styles = INTERVAL_STYLES[self.design_intervals.design, self.evidence_level]
        return np.asarray(styles, dtype=np.int8)

    @property
    def pooling_variance(self) -> Floats:
        """The variances of the log ratios without the precaution for dependent runs.

        Pools weight by them, because a precaution must not shrink the weight of a
        study. NaN without an interval.
        """
        return np.asarray(self.design_intervals.independent.standard_error**2)

    @NO_WARNINGS
    def p_values(self) -> Floats:
        """NaN without a verdict."""
        allowed = self.verdict < Verdict.NOT_ASSESSED
        log_ratio = np.log(self.intervals.ratio)
        distance = _distance(log_ratio, self.margin) - self.log_stretch
        statistic = distance / self.intervals.standard_error
        p = np.full(self.verdict.shape, np.nan)
        # If a verdict is allowed, the interval is not MOVER's.
        p[allowed] = 2 * t_tail(statistic[allowed], self.intervals.df[allowed])
        two_sessions = self.design_intervals.two_sessions
        p[two_sessions.row] = np.where(
            allowed[two_sessions.row], self._two_session_p_values(two_sessions), np.nan
        )
        # A separation that is not significant decided only because the interval over
        # sessions agrees, so the p value is that of the interval.
        by_separation = allowed & self.is_separated & self.separation.is_significant
        return np.where(by_separation, self.separation.p_values, p)

    def corrected_interval(self, row: int) -> tuple[float, float] | None:
        """Return the interval after correction; None if another rule decided."""
        if self.corrected_p is None or self.is_separated[row]:
            return None
        if self.log_stretch[row] or row in self.design_intervals.two_sessions.row:
            return None
        intervals = self.intervals
        quantile = stdtrit(intervals.df[row], 1 - self.corrected_p[row] / 2)
        width = quantile * intervals.standard_error[row]
        low, high = intervals.ratio[row] * np.exp([-width, width])
        edges = 1 - self.margin, 1 + self.margin
        is_crossing = any(low <= edge <= high for edge in edges)
        return (float(low), float(high)) if is_crossing else None

    def _two_session_p_values(self, two_sessions: TwoSessionRatios) -> Floats:
        """Return the larger p value of two sessions; 1 if their directions differ."""
        nearest = _distance(two_sessions.log_ratio, self.margin)
        nearest = nearest - self.log_stretch[two_sessions.row][:, None]
        p = 2 * t_tail(nearest / two_sessions.error, two_sessions.df)
        edges = [np.log1p(-self.margin), np.log1p(self.margin)]
        claims = np.digitize(two_sessions.log_ratio, edges)
        agree = claims[:, 0] == claims[:, 1]
        return np.where(agree, p.max(axis=1), 1.0)


@dataclass(frozen=True, slots=True)
class Correction:
    adjusted: Floats
    is_significant: NDArray[np.bool_]
    tested_count: int


@NO_WARNINGS
def assess_cells(
    cell: RunStatistics,
    baseline: RunStatistics,
    higher_is_better: ArrayLike,
    *,
    gates: ArrayLike = 0,
    side_gates: tuple[ArrayLike, ArrayLike] = (0, 0),
    extra_log_variance: ArrayLike = 0.0,
    margin: float = DEFAULT_MARGIN,
    confidence: float = CONFIDENCE,
    sessions: tuple[SessionStatistics, SessionStatistics] | None = None,
    order_shifts: tuple[ArrayLike, ArrayLike] | None = None,
    runs: tuple[RunVectors, RunVectors] | None = None,
) -> AssessmentArrays:
    """Assess many cells against their baselines.

    ``gates`` are bits of `Gate` that do not follow from the statistics; ``side_gates``
    are further ones, caused by the cells or by the baselines. There,
    `Gate.FEW_INDEPENDENT` means that a test has shown the runs to be dependent.
    ``order_shifts`` are relative shifts of the means of both sides by the order of
    runs, NaN if unknown. Without ``sessions``, all runs are of one shared session.
    ``runs`` are needed for cells with outliers, which a robust interval decides, and
    for cells whose sides may alternate in a session.
    """
    options: dict[str, Any] = {
        "extra_log_variance": extra_log_variance,
        "confidence": confidence,
    }
    if sessions is None:
        one_session = SessionStatistics.one_session
        sessions = one_session(cell, session=0), one_session(baseline, session=0)
    sides = cell, baseline
    runs = runs or (RunVectors.empty(cell.n.size), RunVectors.empty(cell.n.size))
    is_robust = robust_rows(runs)
    cell, own = without_outliers(cell, sessions[0], runs[0], is_robust)
    baseline, other = without_outliers(baseline, sessions[1], runs[1], is_robust)
    of_sides = _gates_without_outliers(side_gates, (own, other), is_robust)
    sessions = with_pooled_rho(own, other, cell.n.size)
    passed = np.asarray(gates, dtype=np.int64) | of_sides[0] | of_sides[1]
    interleaved = find_interleaved(*(side.without_outliers(is_robust) for side in runs))
    designed, shift = _designs_without_first_runs(
        cell,
        baseline,
        sessions,
        higher_is_better,
        {**options, "interleaved": interleaved},
    )
    if designed.is_alternating.any():
        designed, shift, passed, order_shifts = _judge_differences(
            interleaved,
            designed,
            shift,
            passed,
            (of_sides[0] & of_sides[1] & int(Gate.BIMODAL)) != 0,
            order_shifts,
            margin,
            lambda rest: _designs_without_first_runs(
                cell,
                baseline,
                sessions,
                higher_is_better,
                {**options, "interleaved": rest},
            )[0],
        )
    designed = with_robust_intervals(
        designed, runs, is_robust, higher_is_better, **options
    )
    # Use all runs: an outlying first run can contradict a separation.
    separation = separation_ranges(designed, sessions, higher_is_better)
    intervals, cell, baseline = designed.intervals, designed.cell, designed.baseline
    low, high = designed.deciding_low, designed.deciding_high
    direction = interval_directions(low, high, margin)

    statistical = statistical_gates(cell, baseline, designed.independent)
    bits = _combine_gates(passed, statistical, designed, direction)
    shapeless = bits & int(SHAPE_GATES)
    bits, direction, is_separated = _apply_separation(
        bits, direction, separation, margin, designed.has_design(*SESSION_UNIT_DESIGNS)
    )
    order_shift = (
        np.zeros(bits.shape)
        if order_shifts is None
        else _log_order_shifts(*order_shifts, bits)
    )
    lifted = np.where(order_shift > 0, int(Gate.DRIFT), 0)
    lifted |= np.isfinite(shift) * int(Gate.FIRST_RUN)
    first_run_shift = np.nan_to_num(shift)
    shifts = (
        order_shift + np.maximum(-first_run_shift, 0),
        order_shift + np.maximum(first_run_shift, 0),
    )
    bits, direction, stretch = _apply_stretching(
        bits, direction, (low, high), shifts, lifted, margin
    )
    bits, direction = _hide_before_check(passed, bits, direction)
    is_baseline = (bits & int(Gate.NATIVE)) != 0
    verdict = np.select(
        [is_baseline, bits != 0], [Verdict.BASELINE, Verdict.NOT_ASSESSED], direction
    ).astype(np.int8)

    # Outliers count as runs.
    n, baseline_n = (
        np.where(is_robust, whole.n, used.n)
        for whole, used in zip(sides, (cell, baseline), strict=True)
    )
    none_needed = np.zeros(bits.shape, dtype=np.int64)
    assessed = AssessmentArrays(
        intervals=intervals,
        verdict=verdict,
        direction=direction,
        evidence_level=_evidence_levels(
            np.where(
                designed.blocks.n > 0, designed.blocks.n, np.minimum(n, baseline_n)
            )
            * ((bits & int(Gate.NO_DEVIATION)) == 0),
            designed,
        ),
        gates=bits,
        side_gates=_side_gates(of_sides, cell, baseline, designed.independent, bits),
        runs_needed=none_needed,
        sessions_needed=none_needed,
        n=n,
        baseline_n=baseline_n,
        margin=margin,
        confidence=confidence,
        is_separated=is_separated,
        log_stretch=stretch,
        shape_gates=shapeless,
        design_intervals=designed,
        separation=separation,
        outliers=np.where(is_robust, runs[0].outliers + runs[1].outliers, 0),
        mean_ratio=np.where(
            higher_is_better,
            sides[0].mean / sides[1].mean,
            sides[1].mean / sides[0].mean,
        ),
    )
    runs_needed = _runs_needed(assessed, cell, baseline, extra_log_variance)
    by_session = designed.has_design(
        *SESSION_INTERVAL_DESIGNS, SessionDesign.UNREPEATED
    )
    return replace(
        assessed,
        runs_needed=np.where(by_session, 0, runs_needed),
        sessions_needed=_sessions_needed(assessed, designed),
    )


def _combine_gates(
    passed: NDArray[np.int64],
    statistical: NDArray[np.int64],
    designed: DesignIntervals,
    direction: NDArray[np.int8],
) -> NDArray[np.int64]:
    of_sessions = designed.has_design(
        SessionDesign.SHARED, SessionDesign.SEPARATE_SESSIONS
    )
    few = int(Gate.TWO_RUNS | Gate.FEW_RUNS)
    statistical = np.where(of_sessions, statistical & ~few, statistical)
    statistical |= designed.has_design(SessionDesign.UNREPEATED) * int(Gate.UNREPEATED)
    is_untimed = designed.has_design(SessionDesign.ASSUMED_ONE_SESSION)
    statistical |= is_untimed * int(Gate.UNTIMED)
    is_confounded = designed.has_design(*WITHIN_SESSION_DESIGNS) & (designed.order != 0)
    statistical |= is_confounded * int(Gate.ORDER_CONFOUNDED)
    # Dependent runs count as fewer, unless their interval decides nevertheless. Without
    # proof of dependence, the interval is only wider.
    n = np.minimum(designed.cell.n, designed.baseline.n)
    effective = np.where(
        designed.blocks.n > 0,
        designed.blocks.effective_n,
        np.minimum(designed.cell.effective_n, designed.baseline.effective_n),
    )
    is_few = (
        (n >= WELCH_RUNS)
        & (effective < WELCH_RUNS)
        & ~designed.has_design(*SESSION_INTERVAL_DESIGNS)
    )
    is_few &= direction == Verdict.UNDETERMINED
    is_few &= (passed & int(Gate.FEW_INDEPENDENT)) != 0
    passed = passed & ~int(Gate.FEW_INDEPENDENT)
    statistical = statistical | is_few * int(Gate.FEW_INDEPENDENT)
    # A gate that explains the missing baseline replaces NO_RUNS.
    explained = np.where(passed & int(NO_COUNTERPART), int(Gate.NO_RUNS), 0)
    return np.asarray(statistical & ~explained | passed, dtype=np.int64)


def _hide_before_check(
    passed: NDArray[np.int64], bits: NDArray[np.int64], direction: NDArray[np.int8]
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    known = passed & int(WITHOUT_CHECK)
    before_check = np.where(known, known, int(Gate.BEING_CHECKED))
    is_hidden = (passed & int(Gate.BEING_CHECKED)) != 0
    return (
        np.where(is_hidden, before_check, bits),
        np.where(is_hidden, Verdict.UNDETERMINED, direction).astype(np.int8),
    )


def _gates_without_outliers(
    side_gates: tuple[ArrayLike, ArrayLike],
    sessions: tuple[SessionStatistics, SessionStatistics],
    is_robust: NDArray[np.bool_],
) -> list[NDArray[np.int64]]:
    """Return the gates of both sides without those of outlying first runs that are
    among the outliers of a robust interval.
    """
    gates = []
    for passed, side in zip(side_gates, sessions, strict=True):
        keeps_first = np.zeros(is_robust.shape, dtype=np.bool_)
        keeps_first[side.row[np.isfinite(side.first_mean)]] = True
        lifted = (is_robust & ~keeps_first) * int(Gate.FIRST_RUN)
        gates.append(np.asarray(passed, dtype=np.int64) & ~lifted)
    return gates


def _side_gates(
    of_sides: list[NDArray[np.int64]],
    cell: RunStatistics,
    baseline: RunStatistics,
    intervals: Intervals,
    bits: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    own, other = (
        (passed | gates_of_side(runs, g)) & bits
        for passed, runs, g in zip(
            of_sides,
            (cell, baseline),
            (intervals.cell_g, intervals.baseline_g),
            strict=True,
        )
    )
    return own, other


def _evidence_levels(
    n: NDArray[np.int64], designed: DesignIntervals
) -> NDArray[np.int8]:
    level = np.searchsorted(EVIDENCE_LEVEL_RUNS, n, side="right").astype(np.int8)
    of_sessions = designed.has_design(
        SessionDesign.SHARED, SessionDesign.SEPARATE_SESSIONS
    )
    return np.maximum(level, of_sessions * np.int8(EvidenceLevel.VERDICT))


def interval_directions(low: Floats, high: Floats, margin: float) -> NDArray[np.int8]:
    """Return the directions (`Verdict`) of intervals of log ratios."""
    below, above = np.log1p(-margin), np.log1p(margin)
    return np.select(
        [high < below, low > above, (low > below) & (high < above)],
        [Verdict.SLOWER, Verdict.FASTER, Verdict.EQUIVALENT],
        Verdict.UNDETERMINED,
    ).astype(np.int8)


def _apply_separation(
    bits: NDArray[np.int64],
    direction: NDArray[np.int8],
    separation: SeparationRange,
    margin: float,
    is_of_sessions: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.bool_]]:
    """Return gates and directions after complete separation, and where it decided.

    It decides only if it removes all gates except those of few runs, which stay.
    """
    sign = separation.direction(margin)
    lifted = np.where(
        separation.exceeds_day_effects,
        int(LIFTED_BY_LARGE_SEPARATION),
        int(LIFTED_BY_SEPARATION),
    )
    few = int(Gate.TWO_RUNS | Gate.FEW_RUNS)
    is_free = (bits & ~lifted & ~few) == 0
    is_needed = ((bits & lifted) != 0) | (direction == Verdict.UNDETERMINED)
    is_few = (bits & few) != 0
    separated = np.where(sign < 0, Verdict.SLOWER, Verdict.FASTER)
    # The interval over sessions rules out effects of days, the separation effects of
    # the shape.
    agrees = is_of_sessions & (direction == separated)
    decides = (
        (sign != 0)
        & is_free
        & is_needed
        & (separation.is_significant | is_few | agrees)
    )
    bits = np.where(decides, bits & ~lifted, bits)
    direction = np.where(decides, separated, direction).astype(np.int8)
    return bits, direction, decides


def _apply_stretching(
    bits: NDArray[np.int64],
    direction: NDArray[np.int8],
    ends: tuple[Floats, Floats],
    shifts: tuple[Floats, Floats],
    lifted: NDArray[np.int64],
    margin: float,
) -> tuple[NDArray[np.int64], NDArray[np.int8], Floats]:
    """Return gates and directions after the intervals are stretched, and by how much.

    ``shifts`` are the distances by which ``ends`` move down and up.
    """
    below, above = shifts
    stretched = interval_directions(ends[0] - below, ends[1] + above, margin)
    few = int(Gate.TWO_RUNS | Gate.FEW_RUNS)
    removed = lifted | int(Gate.FEW_INDEPENDENT)
    decides = ((bits & lifted) != 0) & ((bits & ~removed & ~few) == 0)
    decides &= stretched != Verdict.UNDETERMINED
    stretch = np.select(
        [stretched == Verdict.SLOWER, stretched == Verdict.FASTER],
        [above, below],
        np.maximum(above, below),
    )
    return (
        np.where(decides, bits & ~removed, bits),
        np.where(decides, stretched, direction).astype(np.int8),
        np.where(decides, stretch, 0.0),
    )


def _designs_without_first_runs(
    cell: RunStatistics,
    baseline: RunStatistics,
    sessions: tuple[SessionStatistics, SessionStatistics],
    higher_is_better: ArrayLike,
    options: dict[str, Any],
) -> tuple[DesignIntervals, Floats]:
    cell_sessions, baseline_sessions = sessions
    designed = design_intervals(
        exclude_first_runs(cell, cell_sessions),
        exclude_first_runs(baseline, baseline_sessions),
        (cell_sessions.exclude_first_runs(), baseline_sessions.exclude_first_runs()),
        higher_is_better,
        **options,
    )
    is_outlying, keeps_first_run = np.zeros((2, cell.n.size), dtype=np.bool_)
    for side in sessions:
        is_first_outlying = np.isfinite(side.first_mean)
        is_outlying[side.row[is_first_outlying]] = True
        keeps_first_run[
            side.row[is_first_outlying & (side.exclude_first_runs().n == side.n)]
        ] = True
    if not is_outlying.any():
        return designed, np.full(is_outlying.shape, np.nan)
    with_first_runs = design_intervals(
        cell, baseline, sessions, higher_is_better, **options
    )
    shift = np.log(with_first_runs.intervals.ratio) - np.log(designed.intervals.ratio)
    return designed, np.where(is_outlying & ~keeps_first_run, shift, np.nan)


def _judge_differences(
    interleaved: InterleavedSessions,
    designed: DesignIntervals,
    shift: Floats,
    gates: NDArray[np.int64],
    is_bimodal: NDArray[np.bool_],
    order_shifts: tuple[ArrayLike, ArrayLike] | None,
    margin: float,
    redesign: Callable[[InterleavedSessions], DesignIntervals],
) -> tuple[DesignIntervals, Floats, NDArray[np.int64], tuple[Floats, Floats]]:
    """Judge the shape of alternating sides by the differences of their blocks.

    ``is_bimodal`` means that both sides are bimodal. Return designs, shifts by first
    blocks, gates and order shifts. Only cells with a finding on a side are tested,
    because the tests are slow.
    """
    size = designed.design.size
    gates = np.array(np.broadcast_to(gates, (size,)))
    is_alternating = designed.is_alternating
    later_sessions = np.maximum(np.bincount(interleaved.row, minlength=size) - 1, 0)
    blocks = np.bincount(interleaved.row, interleaved.n, size)
    is_ordered = is_alternating & (blocks - later_sessions >= MIN_ORDER_RUNS)
    # Without blocks as units, the interval leaves out first runs of a side.
    has_all_runs = is_alternating & ~designed.has_design(SessionDesign.ONE_SHARED)
    judged = (
        has_all_runs * int(Gate.FIRST_RUN)
        | is_ordered * int(Gate.DRIFT | Gate.PERIODIC | Gate.FEW_INDEPENDENT)
        | (is_alternating & is_bimodal) * int(Gate.BIMODAL)
    )
    shapes = difference_shapes(interleaved, (gates & judged) != 0, band=margin)
    own_shift, other_shift = (
        np.array(np.broadcast_to(np.asarray(side, dtype=float), (size,)))
        for side in order_shifts or (np.nan, np.nan)
    )
    gates &= ~judged
    shift = np.where(has_all_runs, np.nan, shift)
    own_shift[is_ordered] = other_shift[is_ordered] = 0.0
    rows = list(shapes)
    gates[rows] |= gates_from_issues(
        [
            ",".join((*shape.shape_codes, *["dependent"] * shape.is_dependent))
            for shape in shapes.values()
        ]
    )
    own_shift[rows] = np.where(
        is_ordered[rows],
        [shape.order_shift for shape in shapes.values()],
        own_shift[rows],
    )
    has_first = np.zeros(size, dtype=bool)
    has_first[rows] = [shape.is_relevant("first_run") for shape in shapes.values()]
    is_short = np.zeros(size, dtype=bool)
    is_short[interleaved.row[interleaved.n <= MIN_BLOCKS]] = True
    has_first &= ~is_short & has_all_runs
    if has_first.any():
        rest = redesign(interleaved.without_first_blocks(has_first[interleaved.row]))
        of_first = np.log(designed.intervals.ratio) - np.log(rest.intervals.ratio)
        designed, shift = rest, np.where(has_first, of_first, shift)
    return designed, shift, gates, (own_shift, other_shift)


def _log_order_shifts(
    cell: ArrayLike, baseline: ArrayLike, bits: NDArray[np.int64]
) -> Floats:
    shifts = (
        np.minimum(np.asarray(shift, dtype=float), 1.0) for shift in (cell, baseline)
    )
    # A mean may be shifted in both directions. Downwards changes its logarithm more.
    log_shift = sum(-np.log1p(-shift) for shift in shifts)
    return np.where((bits & int(Gate.DRIFT)) != 0, np.nan_to_num(log_shift), 0.0)


def _distance(log_ratio: Floats, margin: float) -> Floats:
    below, above = np.log1p(-margin), np.log1p(margin)
    nearest = np.minimum(np.abs(log_ratio - below), np.abs(log_ratio - above))
    return np.asarray(nearest, dtype=float)


def _runs_needed(
    assessed: AssessmentArrays,
    cell: RunStatistics,
    baseline: RunStatistics,
    extra: ArrayLike,
) -> NDArray[np.int64]:
    is_solvable = (assessed.gates & ~int(SOLVED_BY_RUNS)) == 0
    is_undecided = is_solvable & (
        (assessed.direction == Verdict.UNDETERMINED) | (assessed.gates != 0)
    )
    is_single = is_undecided & (assessed.evidence_level == EvidenceLevel.NONE)
    rows = np.flatnonzero(is_undecided & ~is_single)
    needed = np.where(is_single, EVIDENCE_LEVEL_RUNS[2], 0)
    distance = _distance(np.log(assessed.intervals.ratio), assessed.margin)[rows]
    blocks = assessed.design_intervals.blocks
    n = np.minimum(assessed.n, assessed.baseline_n)
    cautious, independent = (
        runs_for_width(
            side.take(rows),
            other.take(rows),
            np.sinh(distance),
            extra_log_variance=np.broadcast_to(extra, cell.n.shape)[rows],
            confidence=assessed.confidence,
        )
        for side, other in (
            with_blocks_as_runs(cell, baseline, blocks),
            with_blocks_as_runs(
                *assessed.design_intervals.independent_runs,
                replace(blocks, effective_runs=None),
            ),
        )
    )
    # With more runs, the precaution for dependent runs no longer matters.
    without_precaution = np.maximum(independent, PRECAUTION_RUNS)
    needed[rows] = np.select(
        [independent == 0, cautious == 0],
        [0, without_precaution],
        np.minimum(cautious, without_precaution),
    )
    runs_per_block = np.where(blocks.n > 0, n / np.maximum(blocks.n, 1), 1.0)
    return _more_than(np.ceil(needed * runs_per_block).astype(np.int64), n)


def _more_than(
    needed: NDArray[np.int64], available: NDArray[np.int64]
) -> NDArray[np.int64]:
    return np.where(needed > 0, np.maximum(needed, available + 1), 0)


def _sessions_needed(
    assessed: AssessmentArrays, designed: DesignIntervals
) -> NDArray[np.int64]:
    undecided = assessed.direction == Verdict.UNDETERMINED
    by_session = (
        designed.has_design(*SESSION_INTERVAL_DESIGNS)
        & (assessed.gates == 0)
        & undecided
    )
    needed = sessions_for_width(
        designed.between_sd,
        designed.has_design(SessionDesign.SHARED, SessionDesign.TWO_SHARED),
        _distance(np.log(assessed.intervals.ratio), assessed.margin),
    )
    available = np.where(
        designed.has_design(SessionDesign.SHARED, SessionDesign.TWO_SHARED),
        designed.shared_count,
        np.minimum(designed.own_sessions, designed.baseline_sessions),
    )
    needed = _more_than(needed, available)
    unrepeated = (assessed.gates & int(Gate.UNREPEATED)) != 0
    unrepeated &= (assessed.gates & NOT_SOLVED_BY_SESSIONS) == 0
    return np.select([by_session, unrepeated], [needed, REPEATED_SESSIONS], 0)


def benjamini_hochberg(p_values: ArrayLike) -> Correction:
    """Correct p values of any shape; NaN is not counted as a test."""
    p = np.asarray(p_values, dtype=float)
    is_test = ~np.isnan(p)
    tested = p[is_test]
    order = np.argsort(tested)
    steps = tested[order] * tested.size / np.arange(1, tested.size + 1)
    adjusted = np.full(p.shape, np.nan)
    corrected = np.empty_like(tested)
    corrected[order] = np.minimum.accumulate(steps[::-1])[::-1]
    adjusted[is_test] = corrected
    return Correction(adjusted, adjusted <= FALSE_DISCOVERY_RATE, tested.size)


def correct_for_multiple_tests(
    assessments: AssessmentArrays,
    is_primary: ArrayLike | None = None,
    family: NDArray[np.bool_] | None = None,
) -> AssessmentArrays:
    """Return the assessments after correction for testing all cells together.

    With ``family``, only its cells are tested, and only their results are valid.

    A verdict that does not remain significant becomes undetermined. Only ``is_primary``
    cells with a verdict count as tests (without such cells, all with a verdict). The p
    values of other cells must not exceed the largest significant one.
    """
    p = assessments.p_values()
    if family is not None:
        p = np.where(family, p, np.nan)
    primary = np.full(p.shape, True) if is_primary is None else np.asarray(is_primary)
    if not np.any(primary & ~np.isnan(p)):
        primary = np.full(p.shape, True)
    correction = benjamini_hochberg(np.where(primary, p, np.nan))
    limit = np.max(p, where=correction.is_significant, initial=0.0)
    is_lost = ~(p <= limit) & (assessments.verdict < Verdict.NOT_ASSESSED)
    verdict = np.where(is_lost, Verdict.UNDETERMINED, assessments.verdict)
    tested = np.sort(p[primary & ~np.isnan(p)])
    rank = np.maximum(np.searchsorted(tested, p, "right"), 1)
    return replace(
        assessments,
        verdict=verdict.astype(np.int8),
        tested_count=correction.tested_count,
        corrected_p=FALSE_DISCOVERY_RATE * rank / max(tested.size, 1),
    )
