"""Verdicts on ratios: slower, faster, equivalent, undetermined, or not assessed.

An interval wholly below the margin is slower, above it faster, inside it equivalent:
two one-sided tests (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15,
1987), each at half the level. Gates withhold the verdict.

With sessions the interval follows what was repeated (``designs``). **Complete
separation**, every run of one side beyond every run of the other by more than the
margin, decides too if chance does it in at most one of a hundred cases, if it is more
than a quarter, or if sessions agree. If the order of the runs moves a mean, the
interval is **stretched** by as much, and decides if it still can.

Many cells are corrected by Benjamini and Hochberg, Journal of the Royal Statistical
Society B 57 (1995). A cell makes one claim of three, so the rate bounds the share of
wrong verdicts, as with directions in Benjamini and Yekutieli, JASA 100 (2005).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.analysis.designs import (
    BY_SESSION,
    OF_SESSIONS,
    Design,
    Designed,
    Twice,
    designed_intervals,
    without_firsts,
)
from benchmarks.analysis.gates import (
    CURABLE,
    LIFTED,
    LIFTED_BEYOND_DAYS,
    NO_PARTNER,
    SHAPELESS,
    Gate,
    found_gates,
    runs_for_width,
    sessions_for_width,
)
from benchmarks.analysis.intervals import (
    NO_WARNINGS,
    WELCH_RUNS,
    Floats,
    Intervals,
    Rollups,
    normal_quantile,
    tail,
)
from benchmarks.analysis.separation import Ends, ends_of
from benchmarks.analysis.sessions import REPEATED_SESSIONS, SessionRollups, dependent

RULE_SET: Final = 2
"""Which rules say what a ratio is called: docs/method.md tells how they changed."""

MARGIN: Final = 0.02
CONFIDENCE: Final = 0.95
SURE: Final = normal_quantile((1 + CONFIDENCE) / 2)

EVIDENCE_LEVEL_RUNS: Final = (2, 3, 5, 10)
INCURABLE_BY_SESSIONS: Final = ~int(CURABLE | Gate.UNREPEATED)

RATE: Final = 0.05


class Verdict(IntEnum):
    """The verdict on a cell; also where its interval lies without a verdict."""

    # An order: what is below NOT_ASSESSED was tested, and is a direction.
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
    """What the number of independent runs per side permits."""

    NONE = 0  # "single run": no interval
    FAINT = 1  # 2 runs: an interval, drawn faint
    INDICATIVE = 2  # 3-4 runs: "indicative", not ranked
    VERDICT = 3  # 5-9 runs
    RANKING = 4  # 10 runs: ranked, followed over time


class Strength(IntEnum):
    """How an interval is drawn, by its design."""

    FIRM = 0
    FAINT = 1  # two runs, or two sessions: hardly an interval
    HOLLOW = 2  # days differ, and nobody knows by how much: no verdict

    @classmethod
    def of(cls, design: Design, level: EvidenceLevel) -> Strength:
        if design == Design.UNREPEATED:
            return cls.HOLLOW
        is_faint = design == Design.TWO_SHARED or level == EvidenceLevel.FAINT
        return cls.FAINT if is_faint else cls.FIRM

    @property
    def slug(self) -> str:
        return "" if self == Strength.FIRM else self.name.lower()


STRENGTHS: Final = np.array(
    [[Strength.of(design, level) for level in EvidenceLevel] for design in Design],
    dtype=np.int8,
)


@dataclass(frozen=True, slots=True)
class Judgements:
    """Verdicts on many cells: one array each, one entry per cell.

    ``direction`` is where the interval lies, with or without a verdict. ``gates`` are
    bits of Gate. ``wanted_runs`` per side, or ``wanted_sessions``, would decide in all
    (0: unknown). ``tested`` cells were corrected together (0: not corrected).
    ``stretch`` (ln) is how far a deciding interval was stretched. ``shapeless`` are the
    gates of runs without a single figure.
    """

    intervals: Intervals
    verdict: NDArray[np.int8]
    direction: NDArray[np.int8]
    evidence_level: NDArray[np.int8]
    gates: NDArray[np.int64]
    wanted_runs: NDArray[np.int64]
    wanted_sessions: NDArray[np.int64]
    n: NDArray[np.int64]
    baseline_n: NDArray[np.int64]
    margin: float
    confidence: float
    is_separated: NDArray[np.bool_]
    stretch: Floats
    shapeless: NDArray[np.int64]
    designed: Designed
    ends: Ends
    tested: int = 0

    def __len__(self) -> int:
        return len(self.verdict)

    @property
    def strength(self) -> NDArray[np.int8]:
        found = STRENGTHS[self.designed.design, self.evidence_level]
        return np.asarray(found, dtype=np.int8)

    @NO_WARNINGS
    def p_values(self) -> Floats:
        """Return each cell's p, consistent with its interval; NaN without a verdict."""
        allowed = self.verdict < Verdict.NOT_ASSESSED
        log_ratio = np.log(self.intervals.ratio)
        distance = _distance(log_ratio, self.margin) - self.stretch
        statistic = distance / self.intervals.standard_error
        p = np.full(self.verdict.shape, np.nan)
        # Where a verdict is allowed the interval has degrees of freedom: not MOVER's.
        p[allowed] = 2 * tail(statistic[allowed], self.intervals.df[allowed])
        twice = self.designed.twice
        p[twice.row] = np.where(allowed[twice.row], self._p_of_both(twice), np.nan)
        # Where chance may separate them, the interval of their sessions decided.
        by_ends = allowed & self.is_separated & self.ends.decides
        return np.where(by_ends, self.ends.p_values, p)

    def _p_of_both(self, twice: Twice) -> Floats:
        """Return the larger p of two sessions; 1 where their claims differ."""
        nearest = _distance(twice.log_ratio, self.margin)
        nearest = nearest - self.stretch[twice.row][:, None]
        p = 2 * tail(nearest / twice.error, twice.df)
        edges = [np.log1p(-self.margin), np.log1p(self.margin)]
        claims = np.digitize(twice.log_ratio, edges)
        agree = claims[:, 0] == claims[:, 1]
        return np.where(agree, p.max(axis=1), 1.0)


@dataclass(frozen=True, slots=True)
class Correction:
    """Which of many p values count; ``adjusted`` is the least rate, NaN if untested."""

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
    sessions: tuple[SessionRollups, SessionRollups] | None = None,
    moves: tuple[ArrayLike, ArrayLike] | None = None,
) -> Judgements:
    """Judge cells against their baselines, all at once.

    ``gates`` are bits that the statistics cannot show: states, shapes, flags, units.
    ``sessions`` are of cells and baselines (None: not known). ``moves`` are the parts
    by which the order of the runs moves each side's means (``shape``), NaN if unknown.
    """
    options: dict[str, Any] = {
        "extra_log_variance": extra_log_variance,
        "confidence": confidence,
    }
    if sessions is None:
        of_one = SessionRollups.of_one_sitting
        sessions = of_one(cell), of_one(baseline)
    sessions = dependent(*sessions, cell.n.size)
    designed, shift = _without_firsts(
        cell, baseline, sessions, higher_is_better, options
    )
    # Every run there is: one that lies apart is not beyond the other side.
    ends = ends_of(designed, sessions, higher_is_better)
    intervals, cell, baseline = designed.intervals, designed.cell, designed.baseline
    low, high = designed.deciding_low, designed.deciding_high
    direction = _direction(low, high, margin)

    found = found_gates(cell, baseline, intervals)
    given = np.asarray(gates, dtype=np.int64)
    bits = _all_gates(given, found, designed, direction)
    shapeless = bits & int(SHAPELESS)
    bits, direction, is_separated = _by_separation(
        bits, direction, ends, margin, designed.is_of(*OF_SESSIONS)
    )
    moved = np.zeros(bits.shape) if moves is None else _moved(*moves, bits)
    lifted = np.where(moved > 0, int(Gate.DRIFT), 0)
    lifted |= np.isfinite(shift) * int(Gate.FIRST_RUN)
    # How far the order of the runs may move log ratios down, and up.
    off = np.nan_to_num(shift)
    further = moved + np.maximum(-off, 0), moved + np.maximum(off, 0)
    bits, direction, stretch = _by_stretching(
        bits, direction, (low, high), further, lifted, margin
    )
    is_baseline = (bits & int(Gate.NATIVE)) != 0
    verdict = np.select(
        [is_baseline, bits != 0], [Verdict.BASELINE, Verdict.NOT_ASSESSED], direction
    ).astype(np.int8)

    none_wanted = np.zeros(bits.shape, dtype=np.int64)
    judged = Judgements(
        intervals=intervals,
        verdict=verdict,
        direction=direction,
        evidence_level=_levels(np.minimum(cell.n, baseline.n), designed),
        gates=bits,
        wanted_runs=none_wanted,
        wanted_sessions=none_wanted,
        n=cell.n,
        baseline_n=baseline.n,
        margin=margin,
        confidence=confidence,
        is_separated=is_separated,
        stretch=stretch,
        shapeless=shapeless,
        designed=designed,
        ends=ends,
    )
    wanted_runs = _wanted_runs(judged, cell, baseline, extra_log_variance)
    by_session = designed.is_of(*BY_SESSION, Design.UNREPEATED)
    return replace(
        judged,
        wanted_runs=np.where(by_session, 0, wanted_runs),
        wanted_sessions=_wanted_sessions(judged, designed),
    )


def _all_gates(
    given: NDArray[np.int64],
    found: NDArray[np.int64],
    designed: Designed,
    direction: NDArray[np.int8],
) -> NDArray[np.int64]:
    # Sessions are the units: it takes three of them, and not many runs in each.
    of_sessions = designed.is_of(Design.SHARED, Design.REPEATED)
    few = int(Gate.TWO_RUNS | Gate.FEW_RUNS)
    found = np.where(of_sessions, found & ~few, found)
    found |= designed.is_of(Design.UNREPEATED) * int(Gate.UNREPEATED)
    # Five runs that depend on each other are fewer. Where the interval of what they
    # are worth decides all the same, it may.
    n = np.minimum(designed.cell.n, designed.baseline.n)
    worth = np.minimum(designed.cell.worth, designed.baseline.worth)
    is_few = (n >= WELCH_RUNS) & (worth < WELCH_RUNS) & ~designed.is_of(*BY_SESSION)
    is_few &= direction == Verdict.UNDETERMINED
    found = found | is_few * int(Gate.FEW_INDEPENDENT)
    # Where the sessions of both are known they say it better.
    is_known = ~designed.is_of(Design.ASSUMED_ONE)
    given = given & ~(is_known * int(Gate.OTHER_SESSION))
    # What explains why there is no baseline stands for its lack of runs.
    lacks = np.where(given & int(NO_PARTNER), int(Gate.NO_RUNS), 0)
    return np.asarray(found & ~lacks | given, dtype=np.int64)


def _levels(n: NDArray[np.int64], designed: Designed) -> NDArray[np.int8]:
    level = np.searchsorted(EVIDENCE_LEVEL_RUNS, n, side="right").astype(np.int8)
    of_sessions = designed.is_of(Design.SHARED, Design.REPEATED)
    return np.maximum(level, of_sessions * np.int8(EvidenceLevel.VERDICT))


def _direction(low: Floats, high: Floats, margin: float) -> NDArray[np.int8]:
    below, above = np.log1p(-margin), np.log1p(margin)
    return np.select(
        [high < below, low > above, (low > below) & (high < above)],
        [Verdict.SLOWER, Verdict.FASTER, Verdict.EQUIVALENT],
        Verdict.UNDETERMINED,
    ).astype(np.int8)


def _by_separation(
    bits: NDArray[np.int64],
    direction: NDArray[np.int8],
    ends: Ends,
    margin: float,
    is_of_sessions: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.bool_]]:
    """Return gates and directions where complete separation decides, and where.

    It lifts every gate or none; few runs stay a gate and leave it indicative.
    """
    side = ends.side(margin)
    lifted = np.where(ends.is_beyond_days, int(LIFTED_BEYOND_DAYS), int(LIFTED))
    few = int(Gate.TWO_RUNS | Gate.FEW_RUNS)
    is_free = (bits & ~lifted & ~few) == 0
    is_needed = ((bits & lifted) != 0) | (direction == Verdict.UNDETERMINED)
    is_few = (bits & few) != 0
    said = np.where(side < 0, Verdict.SLOWER, Verdict.FASTER)
    # Sessions say that no day makes it so, and every run that no shape does.
    agrees = is_of_sessions & (direction == said)
    decides = (side != 0) & is_free & is_needed & (ends.decides | is_few | agrees)
    bits = np.where(decides, bits & ~lifted, bits)
    direction = np.where(decides, said, direction).astype(np.int8)
    return bits, direction, decides


def _by_stretching(
    bits: NDArray[np.int64],
    direction: NDArray[np.int8],
    ends: tuple[Floats, Floats],
    further: tuple[Floats, Floats],
    lifted: NDArray[np.int64],
    margin: float,
) -> tuple[NDArray[np.int64], NDArray[np.int8], Floats]:
    """Return gates, directions and stretches where stretched intervals decide.

    ``further`` is how far an order may move log ratios down and up, ``lifted`` are its
    gates.
    """
    below, above = further
    stretched = _direction(ends[0] - below, ends[1] + above, margin)
    few = int(Gate.TWO_RUNS | Gate.FEW_RUNS)
    # That dependent runs are few stands only against what decides nothing.
    freed = lifted | int(Gate.FEW_INDEPENDENT)
    decides = ((bits & lifted) != 0) & ((bits & ~freed & ~few) == 0)
    decides &= stretched != Verdict.UNDETERMINED
    against = np.select(
        [stretched == Verdict.SLOWER, stretched == Verdict.FASTER],
        [above, below],
        np.maximum(above, below),
    )
    return (
        np.where(decides, bits & ~freed, bits),
        np.where(decides, stretched, direction).astype(np.int8),
        np.where(decides, against, 0.0),
    )


def _without_firsts(
    cell: Rollups,
    baseline: Rollups,
    sessions: tuple[SessionRollups, SessionRollups],
    higher_is_better: ArrayLike,
    options: dict[str, Any],
) -> tuple[Designed, Floats]:
    """Return designs without odd first runs, and how far these move log ratios."""
    own, other = sessions
    designed = designed_intervals(
        without_firsts(cell, own),
        without_firsts(baseline, other),
        (own.without_firsts(), other.without_firsts()),
        higher_is_better,
        **options,
    )
    is_cold, is_left = np.zeros((2, cell.n.size), dtype=np.bool_)
    for side in sessions:
        is_apart = np.isfinite(side.first)
        is_cold[side.row[is_apart]] = True
        is_left[side.row[is_apart & (side.without_firsts().n == side.n)]] = True
    if not is_cold.any():
        return designed, np.full(is_cold.shape, np.nan)
    whole = designed_intervals(cell, baseline, sessions, higher_is_better, **options)
    shift = np.log(whole.intervals.ratio) - np.log(designed.intervals.ratio)
    return designed, np.where(is_cold & ~is_left, shift, np.nan)


def _moved(own: ArrayLike, other: ArrayLike, bits: NDArray[np.int64]) -> Floats:
    """Return by how much an order moves log ratios; 0 where none stands against one."""
    parts = (np.minimum(np.asarray(each, dtype=float), 1.0) for each in (own, other))
    # The mean may be off to either side; downwards is more of a logarithm.
    moved = sum(-np.log1p(-each) for each in parts)
    return np.where((bits & int(Gate.DRIFT)) != 0, np.nan_to_num(moved), 0.0)


def _distance(log_ratio: Floats, margin: float) -> Floats:
    """Return the distance of log ratios from the nearest edge of the margin."""
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
    distance = _distance(np.log(judged.intervals.ratio), judged.margin)[rows]
    wanted[rows] = runs_for_width(
        cell.take(rows),
        baseline.take(rows),
        # Log scale to half width; `runs_for_width` turns it back.
        np.sinh(distance),
        extra_log_variance=np.broadcast_to(extra, cell.n.shape)[rows],
        confidence=judged.confidence,
    )
    return _beyond(wanted, np.minimum(judged.n, judged.baseline_n))


def _beyond(wanted: NDArray[np.int64], there: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(wanted > 0, np.maximum(wanted, there + 1), 0)


def _wanted_sessions(judged: Judgements, designed: Designed) -> NDArray[np.int64]:
    """Return how many sessions would decide where they are what is missing."""
    undecided = judged.direction == Verdict.UNDETERMINED
    by_session = designed.is_of(*BY_SESSION) & (judged.gates == 0) & undecided
    wanted = sessions_for_width(
        designed.between_sd,
        designed.is_of(Design.SHARED, Design.TWO_SHARED),
        _distance(np.log(judged.intervals.ratio), judged.margin),
    )
    there = np.where(
        designed.is_of(Design.SHARED, Design.TWO_SHARED),
        designed.shared,
        np.minimum(designed.own_sessions, designed.other_sessions),
    )
    wanted = _beyond(wanted, there)
    # Different days that were never repeated: the least that allows a verdict.
    unrepeated = (judged.gates & int(Gate.UNREPEATED)) != 0
    unrepeated &= (judged.gates & INCURABLE_BY_SESSIONS) == 0
    return np.select([by_session, unrepeated], [wanted, REPEATED_SESSIONS], 0)


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


def correct(judgements: Judgements, is_primary: ArrayLike | None = None) -> Judgements:
    """Return the judgements of cells that are tested together.

    A verdict that does not survive becomes undetermined. Only assessed ``is_primary``
    cells count as tests; others are held to the same p, or are tests themselves if
    there is no primary one.
    """
    p = judgements.p_values()
    primary = np.full(p.shape, True) if is_primary is None else np.asarray(is_primary)
    if not np.any(primary & ~np.isnan(p)):
        primary = np.full(p.shape, True)
    correction = benjamini_hochberg(np.where(primary, p, np.nan))
    limit = np.max(p, where=correction.counts, initial=0.0)
    is_lost = ~(p <= limit) & (judgements.verdict < Verdict.NOT_ASSESSED)
    verdict = np.where(is_lost, Verdict.UNDETERMINED, judgements.verdict)
    return replace(
        judgements, verdict=verdict.astype(np.int8), tested=correction.tested
    )
