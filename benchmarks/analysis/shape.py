"""Shape before mean: whether one figure can describe a cell's runs.

Tests within sessions for two speeds, patterns in order (``order``), an outlying first
run and outliers; nothing is deleted (``docs/method.md``, shape before mean).

A finding forbids a single figure only if it matters: a second speed needs a share of
the runs and lies beyond the band; a drift, period or first run moves the mean by more
than a quarter of the band. Lag-1 dependence is counted by the interval instead.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import stdtr

from benchmarks.analysis.intervals import Floats
from benchmarks.analysis.order import (
    FALSE_ALARM,
    Places,
    RunOrder,
    is_repeated,
    order_of,
    session_means,
    unbiased,
    without_line,
)
from benchmarks.analysis.sessions import REPEATED_SESSIONS, lag_one
from benchmarks.analysis.speeds import (
    MIN_RUNS,
    Mode,
    Speeds,
    outliers_in,
    two_speeds,
)
from benchmarks.analysis.summary import last_place
from benchmarks.sentences import Sentence, counted, joined

BAND: Final = 0.02
# What moves the mean by less than this part of the band changes no verdict.
PART: Final = 0.25
# No cell is moved by more than this: an infinite number cannot be stored.
MOST_MOVED: Final = 1e6
# Readings coarser than this many times the largest of them tell nothing at all.
COARSEST: Final = 1e3


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a cell's runs.

    Two speeds are two ``modes``, lower first; ``close_modes`` are two within the band.
    ``first_run_p`` is None if not tested. ``moves``: by which part of the mean each
    finding moves it. ``drift`` is the relative change over a session; ``outliers`` are
    indices.
    """

    n: int
    modes: tuple[Mode, ...]
    eta_squared: float | None
    cutoff: float | None
    order: RunOrder | None
    first_run_p: float | None
    outliers: tuple[int, ...]
    moves: Mapping[str, float]
    drift: float = 0.0
    close_modes: tuple[Mode, ...] = ()
    sessions: int = 1
    band: float = BAND
    is_ordered: bool = True

    @property
    def is_tested(self) -> bool:
        return self.cutoff is not None

    @property
    def is_unimodal(self) -> bool:
        """No two speeds count; says little while ``is_tested`` is false."""
        return len(self.modes) == 1

    @property
    def period(self) -> int | None:
        return self.order.period if self.order else None

    @property
    def lag(self) -> int | None:
        return self.order.lag if self.order else None

    @property
    def is_first_apart(self) -> bool:
        """The first run differs from the others: a warm-up, or its absence."""
        return self.first_run_p is not None and self.first_run_p <= FALSE_ALARM

    @property
    def has_single_figure(self) -> bool:
        """Whether one figure and a verdict may be given: nothing counts against it."""
        return not self.doubts

    @property
    def doubts(self) -> tuple[str, ...]:
        """The codes of why no single figure may be given; none if one may."""
        counting = [code for code in self.moves if self.counts(code)]
        return (*(() if self.is_unimodal else ("bimodal",)), *counting)

    def counts(self, code: str) -> bool:
        """Whether what was found moves the mean by more than a quarter of the band."""
        return self.moves.get(code, 0.0) > PART * self.band

    @property
    def order_moves(self) -> float:
        """Return by which part of the mean a drift or dependence moves it."""
        return self.moves["drift"] if self.counts("drift") else 0.0

    def apart(self, run_means: Sequence[float]) -> tuple[float | None, float | None]:
        """Return a session's outlying first run and the others' autocorrelation."""
        first = run_means[0] if self.counts("first_run") else None
        slope = self.order.slope if self.order and self.counts("drift") else None
        later = run_means if first is None else run_means[1:]
        return first, lag_one(later, slope or 0.0)

    @property
    def sentence(self) -> Sentence:
        """Describe what counts: 59 (64 %) and 109 (36 %), alternating with period 3."""
        found = [_speeds(self)]
        found += [
            _words(self, code)
            for code in self.moves
            # Two speeds alternate, however little that moves their mean.
            if self.counts(code) or (code == "periodic" and not self.is_unimodal)
        ]
        runs = ", ".join(str(place + 1) for place in self.outliers[:5])
        n = len(self.outliers)
        if n > 5:
            found.append(
                Sentence("outliers: runs {runs} and {more} more", runs=runs, more=n - 5)
            )
        elif n:
            found.append(
                counted("outlier: run {runs}", "outliers: runs {runs}", n=n, runs=runs)
            )
        whole = joined(found, ", ")
        harmless = [] if self.doubts else _harmless(self)
        if not harmless and (self.doubts or not self.close_modes):
            return whole
        return joined([whole, *harmless, Sentence("the figure holds")], "; ")


def shape_of(
    run_means: Sequence[float] | Floats,
    *,
    sessions: Sequence[Hashable] | None = None,
    band: float = BAND,
    resolution: float | None = None,
    is_ordered: bool = True,
) -> Shape:
    """Return the shape of one value per run, in order.

    ``sessions`` are of each run (None: time unknown; default: one session). ``band`` is
    the study's relative margin. ``resolution`` is the step of the readings (default:
    the last decimal place used, at most 1); its rounding, resolution^2 / 12, counts as
    spread within a speed. Without ``is_ordered`` only two speeds and outliers are
    tested. ValueError without runs, for values that are not finite, and for other
    numbers of sessions.
    """
    values = np.asarray(run_means, dtype=float)
    if not values.size or not np.isfinite(values).all():
        raise ValueError("a shape needs at least one run, and finite numbers only")
    turns, sizes = _by_session(values.size, sessions)
    # In parts of the largest value nothing can overflow.
    unit = float(np.abs(values).max()) or 1.0
    if resolution is None:
        resolution = min(last_place(float(value)) for value in values)
    # Readings are no finer than a few steps of a float of their size.
    finest = 8 * math.ulp(unit) / unit
    step = min(max(resolution / unit, finest), COARSEST)
    parts = values[turns] / unit

    speeds = two_speeds(parts, sizes, step)
    modes, close = _modes(speeds, unit, band)
    is_split = len(modes) > 1
    first_p, first_shift = None, 0.0
    if is_ordered and not is_split:
        first_p, first_shift = _first_run(parts, sizes, step)
    is_apart = first_p is not None and first_p <= FALSE_ALARM
    # A first run far off looks like a drift of all: the order is that of the others.
    later, lengths = _without_first(parts, sizes) if is_apart else (parts, sizes)
    order = order_of(later, lengths) if is_ordered and lengths else None
    moves, drift = _moves(later, lengths, order)
    if is_apart:
        moves["first_run"] = _share(first_shift, parts)
    groups = speeds.groups if is_split else (np.arange(values.size),)
    return Shape(
        n=values.size,
        modes=modes,
        eta_squared=speeds.eta_squared,
        cutoff=speeds.cutoff,
        order=order,
        first_run_p=first_p,
        outliers=tuple(
            sorted(int(turns[place]) for place in outliers_in(speeds, groups, step))
        ),
        moves=moves,
        drift=drift,
        close_modes=close,
        sessions=len(sizes),
        band=band,
        is_ordered=is_ordered,
    )


def _by_session(
    n: int, sessions: Sequence[Hashable] | None
) -> tuple[Places, tuple[int, ...]]:
    """The places session by session, each in its order, and how many are in each."""
    if sessions is None:
        return np.arange(n), (n,)
    if len(sessions) != n:
        raise ValueError(f"{n} runs, but sessions of {len(sessions)} are named")
    places: dict[Hashable, list[int]] = {}
    for place, session in enumerate(sessions):
        places.setdefault(session, []).append(place)
    turns = np.concatenate([np.array(own) for own in places.values()])
    return turns, tuple(len(own) for own in places.values())


def _modes(
    speeds: Speeds, unit: float, band: float
) -> tuple[tuple[Mode, ...], tuple[Mode, ...]]:
    whole = tuple(mode.times(unit) for mode in speeds.modes)
    if len(whole) == 1:
        return whole, ()
    first, second = sorted(speeds.modes, key=lambda mode: -mode.count)
    if abs(second.centre - first.centre) > band * abs(first.centre):
        return whole, ()
    count = sum(mode.count for mode in whole)
    return (Mode(speeds.centre, 1.0, count).times(unit),), whole


def _share(shift: float, parts: Floats) -> float:
    mean = abs(float(parts.mean()))
    # Divided only where the result is no larger than what may be stored.
    return shift / mean if shift < MOST_MOVED * mean else MOST_MOVED


def _moves(
    parts: Floats, sizes: tuple[int, ...], order: RunOrder | None
) -> tuple[dict[str, float], float]:
    """Return how much each pattern moves the mean, and the drift's change."""
    moves: dict[str, float] = {}
    n, drift = parts.size, 0.0
    if order is None:
        return moves, drift
    if order.period is not None:
        moves["periodic"] = _share(order.partial * len(sizes) / n, parts)
    shifts = []
    if order.slope is not None:
        # A session of one run has no change; long ones weigh as the mean weighs them.
        change = math.fsum(size * (size - 1) for size in sizes) / n
        shift = abs(order.slope) * change
        drift = math.copysign(_share(shift, parts), order.slope)
        shifts.append(shift / 2)
    # What repeats is autocorrelated, too: then it is called periodic alone.
    is_periodic = order.lag and order.period and order.lag % order.period == 0
    # The interval already counts what dependent runs and sessions leave open.
    is_counted = order.lag == 1 or len(sizes) >= REPEATED_SESSIONS
    if order.lag is not None and not is_periodic and not is_counted:
        freedom = n - len(sizes) + 1
        rho = unbiased(order.autocorrelation or 0.0, freedom)
        level = without_line(parts, sizes, order.slope or 0.0)
        centred = level - session_means(parts, sizes)
        error = math.sqrt(float(centred @ centred) / max(freedom - 1, 1) / n)
        shifts.append(error * (math.sqrt((1 + rho) / (1 - rho)) - 1))
    if shifts:
        moves["drift"] = _share(max(shifts), parts)
    return moves, drift


def _without_first(
    parts: Floats, sizes: tuple[int, ...]
) -> tuple[Floats, tuple[int, ...]]:
    """The runs after the first of each session; one of which is left has no order."""
    lengths = tuple(size - 1 for size in sizes if size > 1)
    begins = np.cumsum((0, *sizes[:-1]))
    return np.delete(parts, begins), lengths


def _first_run(
    parts: Floats, sizes: tuple[int, ...], step: float
) -> tuple[float | None, float]:
    """Return the p of the sessions' first runs, and how far they move the mean."""
    begins = np.cumsum((0, *sizes[:-1]))
    sessions = [
        (parts[begin], parts[begin + 1 : begin + size])
        for begin, size in zip(begins, sizes, strict=True)
        if size > 1
    ]
    freedom = sum(rest.size - 1 for _, rest in sessions)
    if freedom < MIN_RUNS - 2:
        return None, 0.0
    distances = [float(first - rest.mean()) for first, rest in sessions]
    within = math.fsum(float(((rest - rest.mean()) ** 2).sum()) for _, rest in sessions)
    variance = within / freedom + step * step / 12
    scale = math.fsum(1 + 1 / rest.size for _, rest in sessions)
    t = math.fsum(distances) / math.sqrt(variance * scale)
    p = float(2 * stdtr(freedom, -abs(t)))
    if not is_repeated(np.array(distances), np.ones(len(distances))):
        p = 1.0
    return p, abs(math.fsum(distances)) / parts.size


def _speeds(shape: Shape) -> Sentence:
    if not shape.is_tested and shape.n >= MIN_RUNS:
        return Sentence(
            "{n} runs in {sessions} sessions: too few in each to look at their shape",
            n=shape.n,
            sessions=shape.sessions,
        )
    if not shape.is_tested:
        return Sentence(
            "{n} of the {least} runs that a look at the shape needs",
            n=shape.n,
            least=MIN_RUNS,
        )
    if shape.close_modes and not shape.doubts:
        lower, upper = _told_apart(shape.close_modes)
        return Sentence(
            "two speeds within the band of {percent:g} %, {lower} and {upper}",
            percent=100 * shape.band,
            lower=lower,
            upper=upper,
        )
    if shape.is_unimodal:
        return Sentence("one speed")
    lower, upper = _told_apart(shape.modes)
    return Sentence("two speeds, {lower} and {upper}", lower=lower, upper=upper)


def _told_apart(modes: Sequence[Mode]) -> list[Sentence]:
    """Two speeds, with two digits of what lies between them."""
    low, high = (mode.centre for mode in modes)
    # Halves: twice the largest number is none.
    between = (high / 2 - low / 2) or math.ulp(0.0)
    digits = 1 - math.floor(math.log10(between) + math.log10(2))
    largest = math.floor(math.log10(max(abs(low), abs(high))))
    if -6 < largest < 15:
        form = f".{max(digits, 0)}f"
    else:
        form, digits = f".{min(max(largest + digits + 1, 1), 17)}g", 400
    return [
        Sentence(
            f"{{centre:{form}}} ({{percent:.0f}} %)",
            centre=round(mode.centre, digits),
            percent=100 * mode.share,
        )
        for mode in modes
    ]


def _words(shape: Shape, code: str) -> Sentence:
    """What was found, as it stands behind the speeds."""
    order = shape.order
    if code == "first_run" or order is None:
        if shape.sessions > 1:
            return Sentence("the first runs of sessions differ from the others")
        return Sentence("the first run differs from the others")
    if code == "periodic" and not shape.is_unimodal:
        return Sentence("alternating with period {period}", period=order.period or 0)
    if code == "periodic":
        return Sentence("repeating with period {period}", period=order.period or 0)
    if shape.drift:
        amount = _percent(abs(shape.drift))
        if shape.sessions > 1 and shape.drift > 0:
            return Sentence("rising by {percent} over each session", percent=amount)
        if shape.sessions > 1:
            return Sentence("falling by {percent} over each session", percent=amount)
        if shape.drift > 0:
            return Sentence("rising by {percent} over the session", percent=amount)
        return Sentence("falling by {percent} over the session", percent=amount)
    return _dependence(order)


def _dependence(order: RunOrder) -> Sentence:
    """Each run depends on the one before (autocorrelation 0.45)."""
    r = order.autocorrelation or 0.0
    if order.lag == 1:
        return Sentence(
            "each run depends on the one before (autocorrelation {r:.2f})", r=r
        )
    return Sentence(
        "each run depends on the one {lag} before (autocorrelation {r:.2f})",
        lag=order.lag or 0,
        r=r,
    )


def _harmless(shape: Shape) -> list[Sentence]:
    """What was found and does not count, each with the reason why."""
    found = [
        Sentence(
            "{found}, which moves the mean by {percent}, below a quarter of the "
            "equivalence margin",
            found=_words(shape, code),
            percent=_percent(moved),
        )
        for code, moved in shape.moves.items()
    ]
    order = shape.order
    if order is not None and order.lag == 1 and "drift" not in shape.moves:
        found.append(
            Sentence(
                "{found}, for which the interval counts fewer runs",
                found=_dependence(order),
            )
        )
    return found


def _percent(share: float) -> Sentence:
    """A part of the mean in percent, to two digits or so."""
    percent = 100 * share
    if percent < 0.01:
        return Sentence("less than {percent:g} %", percent=0.01)
    digits = max(0, 1 - math.floor(math.log10(percent)))
    return Sentence(f"{{percent:.{digits}f}} %", percent=percent)
