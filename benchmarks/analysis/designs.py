"""Intervals that follow what was repeated: runs of one session, or whole sessions.

An interval speaks only of the levels that were repeated. The sessions that the two
sides of a cell share, and how many each has, choose it:

- shared sessions: one ln ratio per session, and Student's t over these, since a day's
  effect cancels in its ratio;
- three or more sessions on each side, not shared: Welch's interval of the sessions' ln
  means;
- three or more on one side only: their variance is used for the other side too, s^2 (1
  / S + 1 / S'), with S - 1 degrees of freedom;
- otherwise runs alone (``intervals``): enough within one shared session, too little for
  a verdict on different days.

Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.analysis.intervals import (
    LEAST_G,
    NO_WARNINGS,
    WELCH_RUNS,
    Floats,
    Intervals,
    Method,
    Rollups,
    log_ratio_intervals,
    t_quantiles,
    welch_df,
)
from benchmarks.analysis.sessions import (
    REPEATED_SESSIONS,
    UNKNOWN_TIME,
    Places,
    SessionRollups,
    dependent,
)
from benchmarks.sentences import Sentence


class Design(IntEnum):
    """What was repeated, and so what an interval may speak of."""

    NONE = 0  # a side has no runs
    SINGLE_RUN = 1
    ONE_SHARED = 2
    TWO_SHARED = 3
    SHARED = 4  # three sessions and more
    REPEATED = 5  # three and more on each side, not the same ones
    BORROWED = 6  # one side repeated, the other not
    UNREPEATED = 7  # different days, never repeated
    ASSUMED_ONE = 8  # times are unknown: taken for one sitting

    @property
    def slug(self) -> str:
        return self.name.lower()


# Sessions are the units of these: runs within them need not be many.
OF_SESSIONS: Final = (Design.SHARED, Design.REPEATED, Design.BORROWED)
# What two days do to two sides is part of these ratios.
ACROSS_DAYS: Final = (Design.REPEATED, Design.BORROWED, Design.UNREPEATED)
# Only runs of the same session are compared with each other.
PAIRED: Final = (Design.SHARED, Design.TWO_SHARED, Design.ONE_SHARED)
BY_SESSION: Final = (*OF_SESSIONS, Design.TWO_SHARED)


SCOPES: Final[Mapping[Design, Sentence]] = {
    Design.ONE_SHARED: Sentence("in one session"),
    Design.TWO_SHARED: Sentence("in both sessions"),
    Design.BORROWED: Sentence(
        "assuming that one side's sessions vary as the other's do"
    ),
    Design.UNREPEATED: Sentence("in different sessions"),
    Design.ASSUMED_ONE: Sentence("assuming one sitting: start times are not stated"),
}


@dataclass(frozen=True, slots=True)
class Pairs:
    """Sessions that both sides share: entry k is places ``own[k]`` and ``other[k]``."""

    row: Places
    own: Places
    other: Places


@dataclass(frozen=True, slots=True)
class Twice:
    """Cells of two shared sessions, with a column for each session."""

    row: Places
    log_ratio: Floats
    error: Floats
    df: Floats


@dataclass(frozen=True, slots=True)
class Designed:
    """Intervals of many cells by their designs: one entry per cell.

    ``deciding_low`` to ``deciding_high`` (log scale) decide; of two shared sessions
    they cover both intervals (``twice``), else they are ``intervals``. ``cell`` and
    ``baseline`` are the runs used, ``session`` the one shared session, else -1.
    ``between_sd`` is the standard deviation of ln between sessions (NaN if not
    repeated), ``within_sd`` the part explained by runs. ``is_weak``: start times are
    assumed.
    """

    design: NDArray[np.int8]
    intervals: Intervals
    deciding_low: Floats
    deciding_high: Floats
    twice: Twice
    cell: Rollups
    baseline: Rollups
    session: Places
    own_sessions: Places
    other_sessions: Places
    shared: Places
    between_sd: Floats
    within_sd: Floats
    pairs: Pairs
    is_weak: NDArray[np.bool_]

    def is_of(self, *designs: Design) -> NDArray[np.bool_]:
        return np.isin(self.design, designs)

    def scope(self, row: int, days: Mapping[int, str]) -> str:
        """Return a statement's subject; ``days`` says when sessions were."""
        design = Design(self.design[row])
        day = days.get(int(self.session[row]), "")
        if design == Design.ONE_SHARED and day:
            return Sentence("in this session of {day}", day=day)
        if design == Design.SHARED:
            return Sentence("across {n} sessions", n=int(self.shared[row]))
        if design == Design.REPEATED:
            return Sentence(
                "across {own} sessions and {other} of the baseline",
                own=int(self.own_sessions[row]),
                other=int(self.other_sessions[row]),
            )
        return SCOPES.get(design, "")


@dataclass(frozen=True, slots=True)
class SessionRatio:
    """One session's own ratio; NaN ends: it has no interval (`session` may be -1)."""

    session: int
    ratio: float
    low: float
    high: float
    n: int
    baseline_n: int


@NO_WARNINGS
def designed_intervals(
    cell: Rollups,
    baseline: Rollups,
    sessions: tuple[SessionRollups, SessionRollups],
    higher_is_better: ArrayLike,
    *,
    extra_log_variance: ArrayLike = 0.0,
    confidence: float = 0.95,
) -> Designed:
    """Return the interval that each cell's design allows.

    ``sessions`` are of both sides with their ``rho`` (`sessions.dependent`); ``cell``
    and ``baseline`` are the same runs without sessions.
    """
    own, other = sessions
    size = cell.n.size
    extra = np.broadcast_to(np.asarray(extra_log_variance, dtype=float), (size,))
    sign = np.where(np.broadcast_to(higher_is_better, (size,)), 1.0, -1.0)
    pairs = _pairs(own, other)
    counted = [
        _count(side.row[side.session != UNKNOWN_TIME], size) for side in sessions
    ]
    shared = _count(pairs.row, size)
    unknown = [
        _count(side.row[side.session == UNKNOWN_TIME], size) > 0 for side in sessions
    ]
    design = _designs(cell, baseline, counted, shared, unknown[0] | unknown[1])

    used, used_baseline = _independent(cell, own), _independent(baseline, other)
    session = np.full(size, UNKNOWN_TIME)
    lone = np.flatnonzero(design[pairs.row] == Design.ONE_SHARED)
    used = _replaced(used, pairs.row[lone], own.rollups.take(pairs.own[lone]))
    used_baseline = _replaced(
        used_baseline, pairs.row[lone], other.rollups.take(pairs.other[lone])
    )
    session[pairs.row[lone]] = own.session[pairs.own[lone]]
    intervals = log_ratio_intervals(
        used,
        used_baseline,
        sign > 0,
        extra_log_variance=extra,
        confidence=confidence,
    )

    # Each shared session's own ratio.
    ours, theirs = own.rollups.take(pairs.own), other.rollups.take(pairs.other)
    log_ratio = sign[pairs.row] * (np.log(ours.mean) - np.log(theirs.mean))
    noise = ours.log_variance() + theirs.log_variance() + extra[pairs.row]
    rounding = _rounding(own)[pairs.own] + _rounding(other)[pairs.other]
    by_session = _by_session(
        design,
        _spread(pairs.row, log_ratio, rounding, size),
        [_units(*side, size) for side in zip(sessions, counted, strict=True)],
        sign,
        extra,
        counted[0] >= REPEATED_SESSIONS,
    )
    within = _count(pairs.row, size, noise) / shared
    within = np.where(by_session.is_paired, within, by_session.within)
    probability = (1 + confidence) / 2
    rows = np.flatnonzero(np.isin(design, BY_SESSION))
    intervals = _with_sessions(intervals, by_session, rows, probability)

    low = np.log(intervals.ratio) - intervals.log_half_width
    high = np.log(intervals.ratio) + intervals.log_half_width
    places = np.flatnonzero(design[pairs.row] == Design.TWO_SHARED).reshape(-1, 2)
    twice = _both(
        pairs.row[places][:, 0],
        log_ratio[places],
        (ours.take(places), theirs.take(places)),
        extra[pairs.row][places],
    )
    half = t_quantiles(twice.df, probability) * twice.error
    low[twice.row] = (twice.log_ratio - half).min(axis=1)
    high[twice.row] = (twice.log_ratio + half).max(axis=1)
    return Designed(
        design=design,
        intervals=intervals,
        deciding_low=low,
        deciding_high=high,
        twice=twice,
        cell=used,
        baseline=used_baseline,
        session=session,
        own_sessions=counted[0],
        other_sessions=counted[1],
        shared=shared,
        between_sd=by_session.between_sd,
        within_sd=np.sqrt(within),
        pairs=pairs,
        is_weak=(design == Design.ASSUMED_ONE)
        | (design == Design.BORROWED) & (unknown[0] | unknown[1]),
    )


@NO_WARNINGS
def without_firsts(cells: Rollups, side: SessionRollups) -> Rollups:
    """Return whole cells without the first runs that `SessionRollups` leaves out."""
    left, size = side.without_firsts(), cells.n.size
    gone = _count(side.row, size, (side.n - left.n).astype(float))
    is_cold = side.n > left.n
    off = np.where(is_cold, side.first - cells.mean[side.row], 0.0)
    n = cells.n - gone
    shift = _count(side.row, size, off) / n
    squares = cells.variance * (cells.n - 1) - _count(side.row, size, off**2)
    variance = np.maximum(squares - n * shift**2, 0) / (n - 1)
    return replace(
        cells,
        n=n.astype(np.int64),
        mean=cells.mean - shift,
        variance=np.where(gone > 0, variance, cells.variance),
    )


def session_ratios(
    own: SessionRollups,
    other: SessionRollups,
    *,
    higher_is_better: bool,
    extra_log_variance: float = 0.0,
    confidence: float = 0.95,
) -> tuple[SessionRatio, ...]:
    """Return one cell's ratio in each session that both its sides share."""
    own, other = dependent(own, other, 1)
    pairs = _pairs(own, other)
    intervals = log_ratio_intervals(
        own.rollups.take(pairs.own),
        other.rollups.take(pairs.other),
        higher_is_better,
        extra_log_variance=extra_log_variance,
        confidence=confidence,
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


def _both(
    row: Places, log_ratio: Floats, sides: tuple[Rollups, Rollups], extra: Floats
) -> Twice:
    """Return what each of two shared sessions says by itself."""
    ours, theirs = sides
    own, other = ours.log_variance(), theirs.log_variance()
    df = welch_df(own, ours.worth, other, theirs.worth, extra)
    # Few runs in a session have MOVER's interval; the least degrees of both are no less
    # wide and have a p value.
    least = np.minimum(ours.n, theirs.n)
    df = np.where(least < WELCH_RUNS, np.maximum(least - 1.0, 1.0), df)
    # A session of single runs, or of none that differ, says nothing by itself.
    says = (least > 1) & (np.minimum(own, other) > LEAST_G)
    return Twice(
        row, log_ratio, np.where(says, np.sqrt(own + other + extra), np.inf), df
    )


def _count(row: Places, size: int, weights: Floats | None = None) -> NDArray[np.int64]:
    """Return how many entries each cell has, or the sum of their weights."""
    return np.bincount(row, weights=weights, minlength=size)


def _pairs(own: SessionRollups, other: SessionRollups) -> Pairs:
    """Return the sessions that both sides of a cell have, in the order of cells."""
    if not (own.row.size and other.row.size):
        none = np.array([], dtype=np.int64)
        return Pairs(none, none, none)
    # One number a session of a cell: both sides are in the order of these.
    sessions = int(max(own.session.max(), other.session.max())) + 2
    mine, theirs = (side.row * sessions + side.session + 1 for side in (own, other))
    place = np.minimum(np.searchsorted(theirs, mine), theirs.size - 1)
    is_shared = (theirs[place] == mine) & (own.session != UNKNOWN_TIME)
    at = np.flatnonzero(is_shared)
    return Pairs(own.row[at], at, place[at])


def _designs(
    cell: Rollups,
    baseline: Rollups,
    counted: list[Places],
    shared: Places,
    is_unknown: NDArray[np.bool_],
) -> NDArray[np.int8]:
    """Return what was repeated; the strongest design that the runs allow."""
    n = np.minimum(cell.n, baseline.n)
    fewer, more = np.minimum(*counted), np.maximum(*counted)
    # Without any session known on a side its runs may have been one.
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
            Design.NONE,
            Design.SINGLE_RUN,
            Design.SHARED,
            Design.REPEATED,
            Design.TWO_SHARED,
            Design.ONE_SHARED,
            Design.BORROWED,
            Design.ASSUMED_ONE,
        ],
        Design.UNREPEATED,
    ).astype(np.int8)


def _independent(cells: Rollups, side: SessionRollups) -> Rollups:
    """Return whole cells with what the order of their runs leaves of their number."""
    size = cells.n.size
    runs, worth = (
        _count(side.row, size, np.asarray(each, dtype=float))
        for each in (side.n, side.independent)
    )
    share = np.where(runs > 0, worth / np.maximum(runs, 1), 1.0)
    more = np.where(side.rho > 0, side.scatter / side.variance, 1.0)
    widened = _count(side.row, size, side.n * np.nan_to_num(more, nan=1.0))
    widened = np.where(runs > 0, widened / np.maximum(runs, 1), 1.0)
    return replace(
        cells,
        variance=cells.variance * widened,
        independent=np.asarray(cells.n * share, dtype=float),
    )


def _replaced(cells: Rollups, rows: Places, by: Rollups) -> Rollups:
    names = ("n", "mean", "variance", "resolution", "independent")
    return Rollups(**_changed(cells, rows, {name: getattr(by, name) for name in names}))


def _changed(
    columns: object, rows: Places, made: Mapping[str, Any]
) -> dict[str, NDArray[Any]]:
    """Return copies of these columns with other values in some rows."""
    changed = {}
    for name, values in made.items():
        changed[name] = np.array(getattr(columns, name))
        changed[name][rows] = values
    return changed


def _rounding(side: SessionRollups) -> Floats:
    """Return the log variance of what rounding hides: see `Rollups.log_variance`."""
    step = side.resolution / side.mean
    return np.nan_to_num(step**2 / 12, nan=0.0, posinf=0.0)


@dataclass(frozen=True, slots=True)
class Spread:
    """Count, mean, variance and variance of the mean of each cell's numbers."""

    count: Floats
    mean: Floats
    variance: Floats
    of_mean: Floats


def _spread(row: Places, values: Floats, rounding: Floats, size: int) -> Spread:
    """Return each cell's mean and its variance, at least that of rounding."""
    count = _count(row, size).astype(float)
    mean = _count(row, size, values) / count
    squares = _count(row, size, (values - mean[row]) ** 2)
    variance = squares / np.where(count > 1, count - 1, np.nan)
    least = _count(row, size, rounding) / count
    of_mean = np.where(variance < least, least, variance / count)
    return Spread(count, mean, variance, of_mean)


@dataclass(frozen=True, slots=True)
class Side:
    """One side's sessions as units; ``within`` is the variance from runs."""

    spread: Spread
    within: Floats


def _units(side: SessionRollups, known: Places, size: int) -> Side:
    """Take sessions as units: the known ones where they are three, else whatever."""
    is_unit = (side.session != UNKNOWN_TIME) | (known[side.row] < REPEATED_SESSIONS)
    row, means = side.row[is_unit], side.mean[is_unit]
    spread = _spread(row, np.log(means), _rounding(side)[is_unit], size)
    variance = np.nan_to_num(side.rollups.log_variance()[is_unit])
    return Side(spread, _count(row, size, variance) / spread.count)


@dataclass(frozen=True, slots=True)
class BySession:
    """Log ratios over sessions, with error and degrees, and the spread between them."""

    log_ratio: Floats
    variance: Floats
    df: Floats
    between_sd: Floats
    is_paired: NDArray[np.bool_]
    within: Floats


def _by_session(
    design: NDArray[np.int8],
    over: Spread,
    sides: list[Side],
    sign: Floats,
    extra: Floats,
    is_own: NDArray[np.bool_],
) -> BySession:
    """Return what sessions as units say of each cell, else NaN."""
    own, other = sides
    is_paired = np.isin(design, (Design.SHARED, Design.TWO_SHARED))
    is_borrowed = design == Design.BORROWED
    # Over shared sessions.
    paired_df = (over.of_mean + extra) ** 2 / (over.of_mean**2 / (over.count - 1))
    # Each side's sessions, Welch.
    parts = own.spread.of_mean, other.spread.of_mean
    counts = own.spread.count, other.spread.count
    welch = welch_df(parts[0], counts[0], parts[1], counts[1], extra)
    # One side's spread between sessions for both, and where runs of the other are
    # wilder than its own, what that adds.
    many, few = np.where(is_own, *counts), np.where(is_own, *counts[::-1])
    calm = np.where(is_own, own.within, other.within)
    wild = np.where(is_own, other.within, own.within)
    wilder = np.maximum(wild - calm, 0) / few
    of_many = np.where(is_own, *parts)
    borrowed = of_many * (1 + many / few) + wilder
    borrowed_df = (borrowed + extra) ** 2 / ((borrowed - wilder) ** 2 / (many - 1))

    # Of sides that were not shared: both sides' sessions together.
    freedom = [np.maximum(count - 1, 0) for count in counts]
    squares = [
        np.nan_to_num(side.spread.variance) * degrees
        for side, degrees in zip(sides, freedom, strict=True)
    ]
    pooled = sum(squares) / np.where(sum(freedom) > 0, sum(freedom), np.nan)
    return BySession(
        log_ratio=np.where(
            is_paired, over.mean, sign * (own.spread.mean - other.spread.mean)
        ),
        variance=extra
        + np.select([is_paired, is_borrowed], [over.of_mean, borrowed], sum(parts)),
        df=np.select([is_paired, is_borrowed], [paired_df, borrowed_df], welch),
        between_sd=np.sqrt(np.where(is_paired, over.variance, pooled)),
        is_paired=is_paired,
        within=(own.within + other.within) / 2,
    )


def _with_sessions(
    intervals: Intervals, over: BySession, rows: Places, probability: float
) -> Intervals:
    """Replace some rows' intervals by those over sessions, which have no g."""
    error = np.sqrt(over.variance[rows])
    half = t_quantiles(np.maximum(over.df[rows], 1), probability) * error
    exists = np.isfinite(half) & (half**2 > LEAST_G)
    ratio = np.exp(over.log_ratio[rows])
    exists &= np.isfinite(ratio) & (ratio > 0)
    made = {
        "ratio": ratio,
        "log_half_width": np.where(exists, half, np.nan),
        "standard_error": np.where(exists, error, np.nan),
        "df": np.where(exists, over.df[rows], np.nan),
        "method": np.where(exists, Method.SESSIONS, Method.NONE),
        # Of no spread g is 0, as it is of runs without any.
        "g": np.where(half**2 > LEAST_G, LEAST_G * 2, 0.0),
        "own_g": np.where(half**2 > LEAST_G, LEAST_G * 2, 0.0),
    }
    return Intervals(**_changed(intervals, rows, made))
