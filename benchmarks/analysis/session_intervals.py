"""Confidence intervals chosen by what was repeated: runs, or whole sessions.

See docs/method.md, What was repeated.

Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.analysis.interleaved_runs import MIN_BLOCKS, InterleavedSessions
from benchmarks.analysis.intervals import (
    MIN_G,
    NO_WARNINGS,
    WELCH_RUNS,
    Floats,
    Intervals,
    Method,
    RunStatistics,
    log_ratio_intervals,
    t_quantiles,
    welch_df,
)
from benchmarks.analysis.sessions import (
    MIN_BIAS_DIVISOR,
    REPEATED_SESSIONS,
    UNKNOWN_TIME,
    Indices,
    SessionStatistics,
    with_pooled_rho,
)
from benchmarks.sentences import Sentence


class SessionDesign(IntEnum):
    """The sessions in which a cell and its baseline ran.

    They determine the interval (``docs/method.md``, "What was repeated").
    """

    NONE = 0
    SINGLE_RUN = 1
    ONE_SHARED = 2
    TWO_SHARED = 3
    SHARED = 4
    SEPARATE_SESSIONS = 5
    ASSUMED_SPREAD = 6
    UNREPEATED = 7  # different sessions, too few
    ASSUMED_ONE_SESSION = 8  # start times are not reported
    INTERLEAVED = 9  # one shared session in which the sides alternate

    @property
    def slug(self) -> str:
        return self.name.lower()


SESSION_UNIT_DESIGNS: Final = (
    SessionDesign.SHARED,
    SessionDesign.SEPARATE_SESSIONS,
    SessionDesign.ASSUMED_SPREAD,
)
ACROSS_SESSION_DESIGNS: Final = (
    SessionDesign.SEPARATE_SESSIONS,
    SessionDesign.ASSUMED_SPREAD,
    SessionDesign.UNREPEATED,
)
WITHIN_SESSION_DESIGNS: Final = (
    SessionDesign.SHARED,
    SessionDesign.TWO_SHARED,
    SessionDesign.ONE_SHARED,
    SessionDesign.INTERLEAVED,
)
SESSION_INTERVAL_DESIGNS: Final = (*SESSION_UNIT_DESIGNS, SessionDesign.TWO_SHARED)


SCOPE_SENTENCES: Final[Mapping[SessionDesign, Sentence]] = {
    SessionDesign.ONE_SHARED: Sentence("in one session"),
    SessionDesign.TWO_SHARED: Sentence("in both sessions"),
    SessionDesign.ASSUMED_SPREAD: Sentence(
        "assuming that sessions vary equally on both sides"
    ),
    SessionDesign.UNREPEATED: Sentence("in different sessions"),
    SessionDesign.ASSUMED_ONE_SESSION: Sentence(
        "assuming one session because start times are not reported"
    ),
}


def _interleaved_scope(n: int, day: str, *, is_paired: bool) -> Sentence:
    if is_paired and day:
        return Sentence(
            "in {n} interleaved pairs in the session of {day}", n=n, day=day
        )
    if day:
        return Sentence(
            "in {n} interleaved blocks in the session of {day}", n=n, day=day
        )
    if is_paired:
        return Sentence("in {n} interleaved pairs", n=n)
    return Sentence("in {n} interleaved blocks", n=n)


# Both sides share a disturbance if the differences of blocks have at most this share of
# the variance of independent sides.
MAX_OWN_SHARE: Final = 0.6


@dataclass(frozen=True, slots=True)
class SharedSessions:
    """Sessions that a cell (``row``) and its baseline share.

    ``own`` and ``other`` are indices in the statistics of the sessions of both.
    """

    row: Indices
    own: Indices
    other: Indices


@dataclass(frozen=True, slots=True)
class SharedBlocks:
    """Interleaved blocks of shared sessions, one entry per entry of `SharedSessions`.

    ``runs`` are statistics of blocks relative to the ratio (n is 0 without blocks).
    """

    runs: RunStatistics
    log_ratio: Floats
    later_share: Floats
    is_alternating: NDArray[np.bool_]
    is_paired: NDArray[np.bool_]
    is_disturbance_shared: NDArray[np.bool_]

    @staticmethod
    def variance_and_df(
        runs: RunStatistics, extra: Floats, entries: Indices
    ) -> tuple[Floats, Floats]:
        """Return variance and degrees of freedom of the log ratios of ``entries``.

        ``runs`` are statistics of blocks, ``extra`` variances that are known exactly.
        """
        variance = runs.log_variance()
        df = welch_df(variance, runs.effective_n, np.zeros(1), np.inf, extra)
        return (variance + extra)[entries], df[entries]

    @property
    def has_blocks(self) -> NDArray[np.bool_]:
        return np.asarray(self.runs.n >= MIN_BLOCKS, dtype=bool)

    @property
    def has_verdict(self) -> NDArray[np.bool_]:
        return self.has_blocks & self.is_disturbance_shared


@dataclass(frozen=True, slots=True)
class TwoSessionRatios:
    row: Indices
    log_ratio: Floats
    error: Floats
    df: Floats


@dataclass(frozen=True, slots=True)
class DesignIntervals:
    """Intervals of many cells by their designs, one entry per cell.

    ``deciding_low`` to ``deciding_high`` (log scale) decides the verdict: with two
    shared sessions it covers the intervals of both. ``independent`` are the intervals
    without the precaution for dependent runs, of ``independent_runs``. ``session`` is
    the only shared session, else -1. ``between_sd`` is the log standard deviation
    between sessions, ``within_sd`` the part of it that the scatter of runs explains.
    ``order`` is 1 if (nearly) all runs of the cell followed those of the baseline in
    each shared session, -1 if they preceded them, else 0. ``is_alternating`` means that
    the sides alternate in all shared sessions, so that shared drifts cancel. ``blocks``
    are the statistics of interleaved blocks, relative to the ratio; n is 0 for other
    designs.
    """

    design: NDArray[np.int8]
    intervals: Intervals
    deciding_low: Floats
    deciding_high: Floats
    independent: Intervals
    independent_runs: tuple[RunStatistics, RunStatistics]
    two_sessions: TwoSessionRatios
    cell: RunStatistics
    baseline: RunStatistics
    session: Indices
    own_sessions: Indices
    baseline_sessions: Indices
    shared_count: Indices
    between_sd: Floats
    within_sd: Floats
    shared_sessions: SharedSessions
    order: NDArray[np.int8]
    is_alternating: NDArray[np.bool_]
    blocks: RunStatistics
    is_paired: NDArray[np.bool_]
    is_weak: NDArray[np.bool_]

    def has_design(self, *designs: SessionDesign) -> NDArray[np.bool_]:
        return np.isin(self.design, designs)

    def scope(self, row: int, session_days: Mapping[int, str]) -> str:
        design = SessionDesign(self.design[row])
        day = session_days.get(int(self.session[row]), "")
        if design == SessionDesign.ONE_SHARED and day:
            return Sentence("in the session of {day}", day=day)
        if design == SessionDesign.INTERLEAVED:
            return _interleaved_scope(
                int(self.blocks.n[row]), day, is_paired=bool(self.is_paired[row])
            )
        if design == SessionDesign.SHARED:
            return Sentence("across {n} sessions", n=int(self.shared_count[row]))
        if design == SessionDesign.SEPARATE_SESSIONS:
            return Sentence(
                "across {own} sessions and {other} sessions of the baseline",
                own=int(self.own_sessions[row]),
                other=int(self.baseline_sessions[row]),
            )
        return SCOPE_SENTENCES.get(design, "")


@dataclass(frozen=True, slots=True)
class SessionRatio:
    session: int
    ratio: float
    low: float
    high: float
    n: int
    baseline_n: int


@NO_WARNINGS
def design_intervals(
    cell: RunStatistics,
    baseline: RunStatistics,
    sessions: tuple[SessionStatistics, SessionStatistics],
    higher_is_better: ArrayLike,
    *,
    extra_log_variance: ArrayLike = 0.0,
    confidence: float = 0.95,
    interleaved: InterleavedSessions | None = None,
) -> DesignIntervals:
    """Return the interval that the design of each cell allows.

    ``sessions`` are the session statistics of the cells and of the baselines, with a
    pooled ``rho`` (`sessions.with_pooled_rho`). ``interleaved`` has sessions in which
    the sides alternate, with blocks that replace the runs.
    """
    cell_sessions, baseline_sessions = sessions
    size = cell.n.size
    extra = np.broadcast_to(np.asarray(extra_log_variance, dtype=float), (size,))
    sign = np.where(np.broadcast_to(higher_is_better, (size,)), 1.0, -1.0)
    pairs = _find_shared_sessions(cell_sessions, baseline_sessions)
    session_counts = [
        _sum_by_row(side.row[side.session != UNKNOWN_TIME], size) for side in sessions
    ]
    shared_counts = _sum_by_row(pairs.row, size)
    has_unknown = [
        _sum_by_row(side.row[side.session == UNKNOWN_TIME], size) > 0
        for side in sessions
    ]
    design = _designs(
        cell, baseline, session_counts, shared_counts, has_unknown[0] | has_unknown[1]
    )

    cell_runs = _with_effective_runs(cell, cell_sessions)
    baseline_runs = _with_effective_runs(baseline, baseline_sessions)
    session = np.full(size, UNKNOWN_TIME)
    single = np.flatnonzero(design[pairs.row] == SessionDesign.ONE_SHARED)
    independent_runs = [
        _replace_rows(
            side, pairs.row[single], of_sessions.independent_runs.take(indices[single])
        )
        for side, of_sessions, indices in (
            (cell, cell_sessions, pairs.own),
            (baseline, baseline_sessions, pairs.other),
        )
    ]
    cell_runs = _replace_rows(
        cell_runs,
        pairs.row[single],
        cell_sessions.run_statistics.take(pairs.own[single]),
    )
    baseline_runs = _replace_rows(
        baseline_runs,
        pairs.row[single],
        baseline_sessions.run_statistics.take(pairs.other[single]),
    )
    session[pairs.row[single]] = cell_sessions.session[pairs.own[single]]
    blocks = _shared_blocks(pairs, sessions, interleaved)
    by_blocks = single[blocks.has_verdict[single]]
    design[pairs.row[by_blocks]] = SessionDesign.INTERLEAVED
    intervals, independent = (
        log_ratio_intervals(
            own, other, sign > 0, extra_log_variance=extra, confidence=confidence
        )
        for own, other in ((cell_runs, baseline_runs), independent_runs)
    )

    own_runs = cell_sessions.run_statistics.take(pairs.own)
    other_runs = baseline_sessions.run_statistics.take(pairs.other)
    log_ratio = sign[pairs.row] * np.where(
        blocks.is_alternating,
        blocks.log_ratio,
        np.log(own_runs.mean) - np.log(other_runs.mean),
    )
    noise = own_runs.log_variance() + other_runs.log_variance() + extra[pairs.row]
    rounding = (
        _rounding(cell_sessions)[pairs.own] + _rounding(baseline_sessions)[pairs.other]
    )
    over_sessions = _session_log_ratios(
        design,
        _spread(pairs.row, log_ratio, rounding, size),
        [_units(*side, size) for side in zip(sessions, session_counts, strict=True)],
        sign,
        extra,
        session_counts[0] >= REPEATED_SESSIONS,
    )
    within = _sum_by_row(pairs.row, size, noise) / shared_counts
    within = np.where(over_sessions.is_paired, within, over_sessions.within_variance)
    probability = (1 + confidence) / 2
    rows = np.flatnonzero(np.isin(design, SESSION_INTERVAL_DESIGNS))
    intervals, independent = (
        _with_sessions(each, over_sessions, rows, probability)
        for each in (intervals, independent)
    )
    intervals, independent = (
        _replace_intervals(
            each,
            pairs.row[by_blocks],
            log_ratio[by_blocks],
            *blocks.variance_and_df(runs, extra[pairs.row], by_blocks),
            probability,
        )
        for each, runs in (
            (intervals, blocks.runs),
            (independent, replace(blocks.runs, effective_runs=None)),
        )
    )

    low = np.log(intervals.ratio) - intervals.log_half_width
    high = np.log(intervals.ratio) + intervals.log_half_width
    two_sessions = _two_session_ratios(
        pairs.row,
        np.flatnonzero(design[pairs.row] == SessionDesign.TWO_SHARED).reshape(-1, 2),
        log_ratio,
        (own_runs, other_runs),
        extra[pairs.row],
        blocks,
    )
    half_width = t_quantiles(two_sessions.df, probability) * two_sessions.error
    low[two_sessions.row] = (two_sessions.log_ratio - half_width).min(axis=1)
    high[two_sessions.row] = (two_sessions.log_ratio + half_width).max(axis=1)
    return DesignIntervals(
        design=design,
        intervals=intervals,
        deciding_low=low,
        deciding_high=high,
        independent=independent,
        independent_runs=(independent_runs[0], independent_runs[1]),
        two_sessions=two_sessions,
        cell=cell_runs,
        baseline=baseline_runs,
        session=session,
        own_sessions=session_counts[0],
        baseline_sessions=session_counts[1],
        shared_count=shared_counts,
        between_sd=over_sessions.between_sd,
        within_sd=np.sqrt(within),
        shared_sessions=pairs,
        order=_side_orders(*sessions, pairs, blocks.later_share, size),
        is_alternating=_alternating_rows(design, pairs.row, blocks, size),
        blocks=_replace_rows(
            replace(
                RunStatistics.from_sums(np.zeros(size), np.nan, np.nan, np.nan),
                effective_runs=np.zeros(size),
            ),
            pairs.row[by_blocks],
            blocks.runs.take(by_blocks),
        ),
        is_paired=_sum_by_row(pairs.row[~blocks.is_paired], size) == 0,
        is_weak=(design == SessionDesign.ASSUMED_ONE_SESSION)
        | (design == SessionDesign.ASSUMED_SPREAD) & (has_unknown[0] | has_unknown[1]),
    )


@NO_WARNINGS
def exclude_first_runs(
    cells: RunStatistics, sessions: SessionStatistics
) -> RunStatistics:
    remaining, size = sessions.exclude_first_runs(), cells.n.size
    excluded = _sum_by_row(sessions.row, size, (sessions.n - remaining.n).astype(float))
    is_excluded = sessions.n > remaining.n
    distance = np.where(
        is_excluded, sessions.first_mean - cells.mean[sessions.row], 0.0
    )
    n = cells.n - excluded
    shift = _sum_by_row(sessions.row, size, distance) / n
    squares = cells.variance * (cells.n - 1) - _sum_by_row(
        sessions.row, size, distance**2
    )
    variance = np.maximum(squares - n * shift**2, 0) / (n - 1)
    return replace(
        cells,
        n=n.astype(np.int64),
        mean=cells.mean - shift,
        variance=np.where(excluded > 0, variance, cells.variance),
    )


def session_ratios(
    own: SessionStatistics,
    other: SessionStatistics,
    *,
    higher_is_better: bool,
    extra_log_variance: float = 0.0,
    confidence: float = 0.95,
    interleaved: InterleavedSessions | None = None,
) -> tuple[SessionRatio, ...]:
    own, other = with_pooled_rho(own, other, 1)
    pairs = _find_shared_sessions(own, other)
    blocks = _shared_blocks(pairs, (own, other), interleaved)
    intervals = log_ratio_intervals(
        own.run_statistics.take(pairs.own),
        other.run_statistics.take(pairs.other),
        higher_is_better,
        extra_log_variance=extra_log_variance,
        confidence=confidence,
    )
    by_blocks = np.flatnonzero(blocks.has_verdict)
    extra = np.full(pairs.row.shape, extra_log_variance)
    intervals = _replace_intervals(
        intervals,
        by_blocks,
        (1.0 if higher_is_better else -1.0) * blocks.log_ratio[by_blocks],
        *blocks.variance_and_df(blocks.runs, extra, by_blocks),
        (1 + confidence) / 2,
    )
    return tuple(
        SessionRatio(*values)
        for values in zip(
            own.session[pairs.own].tolist(),
            intervals.ratio.tolist(),
            intervals.low.tolist(),
            intervals.high.tolist(),
            own.n[pairs.own].tolist(),
            other.n[pairs.other].tolist(),
            strict=True,
        )
    )


def _two_session_ratios(
    row: Indices,
    entries: Indices,
    log_ratio: Floats,
    sides: tuple[RunStatistics, RunStatistics],
    extra: Floats,
    blocks: SharedBlocks,
) -> TwoSessionRatios:
    own_runs, other_runs = (side.take(entries) for side in sides)
    block_variance, block_df = blocks.variance_and_df(blocks.runs, extra, entries)
    is_interleaved, extra = blocks.has_verdict[entries], extra[entries]
    own_variance, other_variance = own_runs.log_variance(), other_runs.log_variance()
    df = welch_df(
        own_variance,
        own_runs.effective_n,
        other_variance,
        other_runs.effective_n,
        extra,
    )
    # Few runs have MOVER's interval, which has no p value. Student's interval with the
    # degrees of freedom of the side with fewer runs is at least as wide and has one.
    n = np.minimum(own_runs.n, other_runs.n)
    df = np.where(n < WELCH_RUNS, np.maximum(n - 1.0, 1.0), df)
    # The error of a session is unknown if runs are single or identical.
    has_spread = (n > 1) & (np.minimum(own_variance, other_variance) > MIN_G)
    variance = np.where(has_spread, own_variance + other_variance + extra, np.inf)
    return TwoSessionRatios(
        row[entries][:, 0],
        log_ratio[entries],
        np.sqrt(np.where(is_interleaved, block_variance, variance)),
        np.where(is_interleaved, block_df, df),
    )


def _sum_by_row(
    row: Indices, size: int, weights: Floats | None = None
) -> NDArray[np.int64]:
    return np.bincount(row, weights=weights, minlength=size)


def _find_shared_sessions(
    own: SessionStatistics, other: SessionStatistics
) -> SharedSessions:
    if not (own.row.size and other.row.size):
        empty = np.array([], dtype=np.int64)
        return SharedSessions(empty, empty, empty)
    session_count = int(max(own.session.max(), other.session.max())) + 2
    own_codes, other_codes = (
        side.row * session_count + side.session + 1 for side in (own, other)
    )
    index = np.minimum(np.searchsorted(other_codes, own_codes), other_codes.size - 1)
    is_shared = (other_codes[index] == own_codes) & (own.session != UNKNOWN_TIME)
    indices = np.flatnonzero(is_shared)
    return SharedSessions(own.row[indices], indices, index[indices])


@NO_WARNINGS
def _shared_blocks(
    pairs: SharedSessions,
    sessions: tuple[SessionStatistics, SessionStatistics],
    interleaved: InterleavedSessions | None,
) -> SharedBlocks:
    size = pairs.row.size
    n, later_share = np.zeros(size, dtype=np.int64), np.full(size, np.nan)
    log_ratio, variance, rho = np.full((3, size), np.nan)
    is_alternating, is_paired = np.zeros((2, size), dtype=bool)
    if interleaved is not None and interleaved.row.size and size:
        own_session = sessions[0].session[pairs.own]
        count = int(max(own_session.max(), interleaved.session.max())) + 1
        codes = pairs.row * count + own_session
        wanted = interleaved.row * count + interleaved.session
        places = np.minimum(np.searchsorted(codes, wanted), size - 1)
        found = codes[places] == wanted
        for column, values in (
            (n, interleaved.n),
            (later_share, interleaved.later_share),
            (log_ratio, interleaved.log_ratio),
            (variance, interleaved.variance),
            (rho, interleaved.rho),
            (is_alternating, interleaved.is_alternating),
            (is_paired, interleaved.is_paired),
        ):
            column[places[found]] = values[found]
    rounding = _rounding(sessions[0])[pairs.own] + _rounding(sessions[1])[pairs.other]
    # A shared disturbance does not make differences dependent, so a smaller precaution
    # than that of `with_pooled_rho` is enough.
    excess = rho * np.maximum(n - 4, MIN_BIAS_DIVISOR) / n
    differences = SessionStatistics.from_sums(
        np.arange(size),
        np.zeros(size),
        n,
        1.0,
        variance * (n - 1),
        1.0,
        1.0,
        np.where(excess > (n - 2) / (n * np.sqrt(n - 1.0)), rho, 0.0),
        np.sqrt(12 * rounding),
    )
    of_sides = sum(
        side.variance[index] / (side.n[index] * side.mean[index] ** 2)
        for side, index in zip(sessions, (pairs.own, pairs.other), strict=True)
    )
    return SharedBlocks(
        differences.run_statistics,
        log_ratio,
        later_share,
        is_alternating,
        is_paired,
        variance / n <= MAX_OWN_SHARE * of_sides,
    )


def _alternating_rows(
    design: NDArray[np.int8], row: Indices, blocks: SharedBlocks, size: int
) -> NDArray[np.bool_]:
    is_two_shared = design[row] == SessionDesign.TWO_SHARED
    is_counted = np.where(is_two_shared, blocks.has_verdict, blocks.is_alternating)
    is_counted |= (design[row] == SessionDesign.ONE_SHARED) & blocks.has_blocks
    designs = (
        SessionDesign.INTERLEAVED,
        SessionDesign.ONE_SHARED,
        SessionDesign.TWO_SHARED,
        SessionDesign.SHARED,
    )
    is_blocked = _sum_by_row(row[~is_counted], size) == 0
    return np.asarray(np.isin(design, designs) & is_blocked, dtype=bool)


# An order is confounded if this share of all pairs of runs has it: single runs out of
# place do not separate effects of the order from those of the system.
CONFOUNDED_SHARE: Final = 0.9


def may_alternate(
    own: SessionStatistics, other: SessionStatistics, size: int
) -> NDArray[np.bool_]:
    """Return the cells with a shared session in which the sides do not follow one
    another.
    """
    pairs = _find_shared_sessions(own, other)
    is_mixed = (own.first_start[pairs.own] < other.last_start[pairs.other]) & (
        own.last_start[pairs.own] > other.first_start[pairs.other]
    )
    return _sum_by_row(pairs.row[is_mixed], size) > 0


def _side_orders(
    own: SessionStatistics,
    other: SessionStatistics,
    pairs: SharedSessions,
    later_share: Floats,
    size: int,
) -> NDArray[np.int8]:
    own_first, own_last = own.first_start[pairs.own], own.last_start[pairs.own]
    first, last = other.first_start[pairs.other], other.last_start[pairs.other]
    # A start at the same second counts as following, but not if all starts are equal.
    follows = (own_first >= last) & (own_last > first)
    precedes = (own_last <= first) & (own_first < last)
    follows |= later_share >= CONFOUNDED_SHARE
    precedes |= later_share <= 1 - CONFOUNDED_SHARE
    timed = _sum_by_row(pairs.row[~np.isnan(own_first + first)], size)
    every_follows, every_precedes = (
        (timed > 0) & (_sum_by_row(pairs.row[is_so], size) == timed)
        for is_so in (follows, precedes)
    )
    return np.asarray(every_follows * 1 - every_precedes * 1, dtype=np.int8)


def _designs(
    cell: RunStatistics,
    baseline: RunStatistics,
    session_counts: list[Indices],
    shared: Indices,
    is_unknown: NDArray[np.bool_],
) -> NDArray[np.int8]:
    n = np.minimum(cell.n, baseline.n)
    fewer, more = np.minimum(*session_counts), np.maximum(*session_counts)
    has_one = (fewer > 0) | is_unknown
    return np.select(
        [
            n < 1,
            n < 2,
            shared >= REPEATED_SESSIONS,
            fewer >= REPEATED_SESSIONS,
            shared == 2,
            shared == 1,
            (more >= REPEATED_SESSIONS) & has_one,
            is_unknown,
        ],
        [
            SessionDesign.NONE,
            SessionDesign.SINGLE_RUN,
            SessionDesign.SHARED,
            SessionDesign.SEPARATE_SESSIONS,
            SessionDesign.TWO_SHARED,
            SessionDesign.ONE_SHARED,
            SessionDesign.ASSUMED_SPREAD,
            SessionDesign.ASSUMED_ONE_SESSION,
        ],
        SessionDesign.UNREPEATED,
    ).astype(np.int8)


def _with_effective_runs(
    cells: RunStatistics, side: SessionStatistics
) -> RunStatistics:
    size = cells.n.size
    runs, effective = (
        _sum_by_row(side.row, size, np.asarray(values, dtype=float))
        for values in (side.n, side.effective_runs)
    )
    effective_share = np.where(runs > 0, effective / np.maximum(runs, 1), 1.0)
    inflation = np.where(side.rho > 0, side.effective_variance / side.variance, 1.0)
    widened = _sum_by_row(side.row, size, side.n * np.nan_to_num(inflation, nan=1.0))
    widened = np.where(runs > 0, widened / np.maximum(runs, 1), 1.0)
    return replace(
        cells,
        variance=cells.variance * widened,
        effective_runs=np.asarray(cells.n * effective_share, dtype=float),
    )


def _replace_rows(
    cells: RunStatistics, rows: Indices, by: RunStatistics
) -> RunStatistics:
    names = ["n", "mean", "variance", "resolution"]
    if by.effective_runs is not None:
        names.append("effective_runs")
    return RunStatistics(
        **_changed_columns(cells, rows, {name: getattr(by, name) for name in names})
    )


def _changed_columns(
    columns: object, rows: Indices, new_columns: Mapping[str, Any]
) -> dict[str, NDArray[Any]]:
    changed = {}
    for name, values in new_columns.items():
        changed[name] = np.array(getattr(columns, name))
        changed[name][rows] = values
    return changed


def _rounding(side: SessionStatistics) -> Floats:
    step = side.resolution / side.mean
    return np.nan_to_num(step**2 / 12, nan=0.0, posinf=0.0)


@dataclass(frozen=True, slots=True)
class SessionSpread:
    count: Floats
    mean: Floats
    variance: Floats
    mean_variance: Floats


def _spread(row: Indices, values: Floats, rounding: Floats, size: int) -> SessionSpread:
    count = _sum_by_row(row, size).astype(float)
    mean = _sum_by_row(row, size, values) / count
    squares = _sum_by_row(row, size, (values - mean[row]) ** 2)
    variance = squares / np.where(count > 1, count - 1, np.nan)
    rounding_variance = _sum_by_row(row, size, rounding) / count
    mean_variance = np.where(
        variance < rounding_variance, rounding_variance, variance / count
    )
    return SessionSpread(count, mean, variance, mean_variance)


@dataclass(frozen=True, slots=True)
class SessionUnits:
    spread: SessionSpread
    within_variance: Floats


def _units(side: SessionStatistics, session_counts: Indices, size: int) -> SessionUnits:
    """Return the spread of one side's sessions.

    Sessions of unknown time count only if there are fewer than three known ones.
    """
    is_unit = (side.session != UNKNOWN_TIME) | (
        session_counts[side.row] < REPEATED_SESSIONS
    )
    row, means = side.row[is_unit], side.mean[is_unit]
    spread = _spread(row, np.log(means), _rounding(side)[is_unit], size)
    variance = np.nan_to_num(side.run_statistics.log_variance()[is_unit])
    return SessionUnits(spread, _sum_by_row(row, size, variance) / spread.count)


@dataclass(frozen=True, slots=True)
class SessionLogRatios:
    log_ratio: Floats
    variance: Floats
    df: Floats
    between_sd: Floats
    is_paired: NDArray[np.bool_]
    within_variance: Floats


def _session_log_ratios(
    design: NDArray[np.int8],
    paired: SessionSpread,
    sides: list[SessionUnits],
    sign: Floats,
    extra: Floats,
    is_cell_repeated: NDArray[np.bool_],
) -> SessionLogRatios:
    cell, baseline = sides
    is_paired = np.isin(design, (SessionDesign.SHARED, SessionDesign.TWO_SHARED))
    is_borrowed = design == SessionDesign.ASSUMED_SPREAD
    paired_df = (paired.mean_variance + extra) ** 2 / (
        paired.mean_variance**2 / (paired.count - 1)
    )
    parts = cell.spread.mean_variance, baseline.spread.mean_variance
    counts = cell.spread.count, baseline.spread.count
    welch = welch_df(parts[0], counts[0], parts[1], counts[1], extra)
    repeated_count = np.where(is_cell_repeated, *counts)
    other_count = np.where(is_cell_repeated, *counts[::-1])
    within = np.where(is_cell_repeated, cell.within_variance, baseline.within_variance)
    other_within = np.where(
        is_cell_repeated, baseline.within_variance, cell.within_variance
    )
    excess = np.maximum(other_within - within, 0) / other_count
    repeated_variance = np.where(is_cell_repeated, *parts)
    borrowed = repeated_variance * (1 + repeated_count / other_count) + excess
    borrowed_df = (borrowed + extra) ** 2 / (
        (borrowed - excess) ** 2 / (repeated_count - 1)
    )

    freedom = [np.maximum(count - 1, 0) for count in counts]
    squares = [
        np.nan_to_num(side.spread.variance) * degrees
        for side, degrees in zip(sides, freedom, strict=True)
    ]
    pooled = sum(squares) / np.where(sum(freedom) > 0, sum(freedom), np.nan)
    return SessionLogRatios(
        log_ratio=np.where(
            is_paired, paired.mean, sign * (cell.spread.mean - baseline.spread.mean)
        ),
        variance=extra
        + np.select(
            [is_paired, is_borrowed], [paired.mean_variance, borrowed], sum(parts)
        ),
        df=np.select([is_paired, is_borrowed], [paired_df, borrowed_df], welch),
        between_sd=np.sqrt(np.where(is_paired, paired.variance, pooled)),
        is_paired=is_paired,
        within_variance=(cell.within_variance + baseline.within_variance) / 2,
    )


def _with_sessions(
    intervals: Intervals,
    log_ratios: SessionLogRatios,
    rows: Indices,
    probability: float,
) -> Intervals:
    return _replace_intervals(
        intervals,
        rows,
        log_ratios.log_ratio[rows],
        log_ratios.variance[rows],
        log_ratios.df[rows],
        probability,
    )


def _replace_intervals(
    intervals: Intervals,
    rows: Indices,
    log_ratio: Floats,
    variance: Floats,
    df: Floats,
    probability: float,
) -> Intervals:
    error = np.sqrt(variance)
    half_width = t_quantiles(np.maximum(df, 1), probability) * error
    exists = np.isfinite(half_width) & (half_width**2 > MIN_G)
    ratio = np.exp(log_ratio)
    exists &= np.isfinite(ratio) & (ratio > 0)
    new_columns = {
        "ratio": ratio,
        "log_half_width": np.where(exists, half_width, np.nan),
        "standard_error": np.where(exists, error, np.nan),
        "df": np.where(exists, df, np.nan),
        "method": np.where(exists, Method.SESSIONS, Method.NONE),
        "baseline_g": np.where(half_width**2 > MIN_G, MIN_G * 2, 0.0),
        "cell_g": np.where(half_width**2 > MIN_G, MIN_G * 2, 0.0),
    }
    return Intervals(**_changed_columns(intervals, rows, new_columns))
