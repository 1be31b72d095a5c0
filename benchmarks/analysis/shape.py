"""Shape before mean: whether one figure may stand for a cell's runs.

A machine that alternates between two speeds has no mean worth printing. The tests here
look for two speeds, for an order in the runs and for a first run that differs, and
label outliers; nothing is ever deleted (``docs/method.md``, shape before mean).

Whether runs in the order of their doing are more alike than chance allows is looked at
nine times at once: the share of variance that the position modulo k explains for the
periods k = 2..5, and the autocorrelation at the lags 1..5. Each look is turned into an
approximately normal score (E. B. Wilson and M. M. Hilferty, 1931) and the largest of
the nine is set against its own distribution over permutations of the same values, so
that the whole test, not each look, has 1 % false alarms (the maxT step of P. H.
Westfall and S. S. Young, Resampling-Based Multiple Testing, 1993).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr

from benchmarks.analysis.intervals import Floats
from benchmarks.analysis.summary import last_place
from benchmarks.sentences import Sentence, counted, joined

Places = NDArray[np.intp]

MIN_RUNS: Final = 5
# The 99 % quantiles of eta squared in runs from a uniform distribution: of all
# distributions with one hump it is the hardest to tell from two speeds.
CUTOFFS: Final = {
    **{5: 0.990, 6: 0.981, 7: 0.972, 8: 0.961, 9: 0.952, 10: 0.943},
    **{11: 0.935, 12: 0.928, 15: 0.911, 20: 0.890, 30: 0.866, 50: 0.840},
}
# Cut in two halves, a uniform distribution has 3/4 of its variance between them.
CUTOFF_LIMIT: Final = 0.75
OUTLIER_Z: Final = 3.5
# No reading is larger in any unit; twice such a number is still a number.
LARGEST: Final = 1e300

PERIODS: Final = (2, 3, 4, 5)
LAGS: Final = (1, 2, 3, 4, 5)
ORDER_RUNS: Final = 8
FALSE_ALARM: Final = 0.01
PERMUTATIONS: Final = 999
# A first glance settles most cells: ten of 99 permutations as extreme is no finding.
GLANCE, ENOUGH = 99, 10
# From here on the scores are normal enough to do without permutations.
NORMAL_RUNS: Final = 500
DEGREES: Final = np.array([*(k - 1.0 for k in PERIODS), *(1.0 for _ in LAGS)])
# What a look leaves unexplained counts as at least this: rounding leaves no less.
CLEAR: Final = 1e-12
SPREAD: Final = 2 / (9 * DEGREES)


@dataclass(frozen=True, slots=True)
class Mode:
    """One speed: its median, its share of the runs (0 to 1) and their number."""

    centre: float
    share: float
    count: int


@dataclass(frozen=True, slots=True)
class Shape:
    """What a cell's runs look like in the order of their doing.

    Two speeds are two ``modes``, the lower number first. ``first_run_p`` is the chance
    of a first run so far from the others; None if it was not tested (too few runs, or
    two speeds). ``outliers`` are places in the sequence, from 0.
    """

    n: int
    modes: tuple[Mode, ...]
    eta_squared: float | None
    cutoff: float | None
    order: RunOrder | None
    first_run_p: float | None
    outliers: tuple[int, ...]

    @property
    def is_tested(self) -> bool:
        """Whether there were enough runs (5) to look for two speeds."""
        return self.cutoff is not None

    @property
    def is_unimodal(self) -> bool:
        """No two speeds were found; says little while ``is_tested`` is false."""
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
    def is_ordered(self) -> bool:
        """The sequence has a period or an autocorrelation beyond chance."""
        return self.period is not None or self.lag is not None

    @property
    def has_single_figure(self) -> bool:
        """Whether one figure and a verdict may be given: every test was passed."""
        return not self.doubts

    @property
    def doubts(self) -> tuple[str, ...]:
        """The codes of why no single figure may be given; none if one may."""
        is_doubted = {
            "bimodal": not self.is_unimodal,
            "periodic": self.period is not None,
            # What repeats is autocorrelated, too: then it is called periodic alone.
            "drift": self.period is None and self.lag is not None,
            "first_run": self.is_first_apart,
        }
        return tuple(code for code, is_so in is_doubted.items() if is_so)

    @property
    def sentence(self) -> Sentence:
        """Two speeds, 59 (64 %) and 109 (36 %), alternating with period 3."""
        parts = [_speeds(self), *_order_words(self)]
        if self.is_first_apart:
            parts.append(Sentence("the first run differs from the others"))
        runs = ", ".join(str(place + 1) for place in self.outliers[:5])
        n = len(self.outliers)
        if n > 5:
            parts.append(
                Sentence("outliers: runs {runs} and {more} more", runs=runs, more=n - 5)
            )
        elif n:
            parts.append(
                counted("outlier: run {runs}", "outliers: runs {runs}", n=n, runs=runs)
            )
        return joined(parts, ", ")


@dataclass(frozen=True, slots=True)
class RunOrder:
    """What the order of the runs shows.

    ``p`` is the chance of so strong a pattern, of any of the nine kinds, in values
    without order. ``period`` and ``lag`` are the strongest that are beyond chance.
    """

    p: float
    period: int | None = None
    lag: int | None = None
    autocorrelation: float | None = None


def shape_of(run_means: Sequence[float], *, resolution: float | None = None) -> Shape:
    """Look at one value per run, in the order of their doing.

    ``resolution`` is the step of the readings; without one it is the last decimal place
    that the values use, at most 1. Its rounding counts as spread within a speed
    (resolution^2 / 12), so that 10.1 and 10.2 on a coarse display are not two speeds.
    ValueError without runs, or with one that is no number or too large.
    """
    values = np.asarray(run_means, dtype=float)
    if not values.size or not (np.abs(values) < LARGEST).all():
        raise ValueError("a shape needs at least one run, and finite numbers only")
    # In parts of the largest value nothing can overflow.
    unit = float(np.abs(values).max()) or 1.0
    if resolution is None:
        resolution = min(last_place(float(value)) for value in values)
    # Readings are no finer than a few steps of a float of their size.
    step = max(resolution, 8 * float(np.spacing(np.abs(values).max()))) / unit
    parts = values / unit

    eta_squared, threshold = _best_split(parts, step)
    cutoff = bimodal_cutoff(values.size)
    is_split = cutoff is not None and eta_squared > cutoff
    groups = [np.arange(values.size)]
    if is_split:
        is_upper = parts >= threshold
        groups = [np.flatnonzero(~is_upper), np.flatnonzero(is_upper)]
    return Shape(
        n=values.size,
        modes=tuple(
            Mode(
                centre=float(np.median(values[group])),
                share=group.size / values.size,
                count=group.size,
            )
            for group in groups
        ),
        eta_squared=None if cutoff is None else eta_squared,
        cutoff=cutoff,
        order=order_of(parts),
        first_run_p=None if is_split else _p_of_first_run(parts, step),
        outliers=_outliers_in(parts, groups, step),
    )


def bimodal_cutoff(n: int) -> float | None:
    """The share of variance that two speeds must explain; None below 5 runs.

    Between the listed n it is interpolated linearly in 1/sqrt(n); beyond 50 it runs in
    the same way towards 3/4, its limit for infinitely many runs.
    """
    if n < MIN_RUNS:
        return None
    sizes = sorted(CUTOFFS, reverse=True)
    places = [0.0, *(1 / math.sqrt(size) for size in sizes)]
    cutoffs = [CUTOFF_LIMIT, *(CUTOFFS[size] for size in sizes)]
    return float(np.interp(1 / math.sqrt(n), places, cutoffs))


def _best_split(values: Floats, step: float) -> tuple[float, float]:
    """eta^2 of the best two groups of two or more, and the value between them."""
    n = values.size
    if n < 4:
        return 0.0, math.inf
    ordered = np.sort(values)
    centred = ordered - ordered.mean()
    lower = np.arange(2, n - 1)
    # Sums of the lower groups alone: centred, the upper one's is its negative.
    between = np.cumsum(centred)[1 : n - 2] ** 2 * n / (lower * (n - lower))
    best = int(between.argmax())
    total = float(centred @ centred) + n * step**2 / 12
    return float(between[best]) / total, float(ordered[best + 2])


def _p_of_first_run(values: Floats, step: float) -> float | None:
    """Two-sided p of the first run against the t prediction interval of the others."""
    if values.size < MIN_RUNS:
        return None
    first, rest = values[0], values[1:]
    variance = float(rest.var(ddof=1)) + step**2 / 12
    t = (first - rest.mean()) / math.sqrt(variance * (1 + 1 / rest.size))
    return float(2 * stdtr(rest.size - 1, -abs(t)))


def _outliers_in(values: Floats, groups: list[Places], step: float) -> tuple[int, ...]:
    """Modified z above 3.5 within its mode (B. Iglewicz and D. Hoaglin, 1993).

    z = 0.6745 (x - median) / MAD, where the MAD counts as at least half the resolution:
    more than half of the readings may be equal.
    """
    places: list[int] = []
    for group in groups:
        distances = np.abs(values[group] - np.median(values[group]))
        mad = max(float(np.median(distances)), step / 2)
        places += group[0.6745 * distances / mad > OUTLIER_Z].tolist()
    return tuple(sorted(places))


def _speeds(shape: Shape) -> Sentence:
    if not shape.is_tested:
        return Sentence(
            "{n} of the {least} runs that a look at the shape needs",
            n=shape.n,
            least=MIN_RUNS,
        )
    if shape.is_unimodal:
        return Sentence("one speed")
    low, high = (mode.centre for mode in shape.modes)
    # Two digits of what lies between them tell them apart.
    digits = 1 - math.floor(math.log10(high - low))
    lower, upper = (
        Sentence(
            f"{{centre:.{max(digits, 0)}f}} ({{percent:.0f}} %)",
            centre=round(mode.centre, digits),
            percent=100 * mode.share,
        )
        for mode in shape.modes
    )
    return Sentence("two speeds, {lower} and {upper}", lower=lower, upper=upper)


def _order_words(shape: Shape) -> list[Sentence]:
    if shape.order is None or not shape.is_ordered:
        return []
    if shape.period is not None:
        period = shape.period
        if shape.is_unimodal:
            return [Sentence("repeating with period {period}", period=period)]
        return [Sentence("alternating with period {period}", period=period)]
    r = shape.order.autocorrelation or 0.0
    if shape.lag == 1:
        return [
            Sentence(
                "each run depends on the one before (autocorrelation {r:.2f})", r=r
            )
        ]
    return [
        Sentence(
            "each run depends on the one {lag} before (autocorrelation {r:.2f})",
            lag=shape.lag or 0,
            r=r,
        )
    ]


def order_of(values: Floats) -> RunOrder | None:
    """Test for periods and autocorrelation; None below 8 runs or if all are equal.

    The permutations depend on the number of runs alone: the same values in the same
    order always get the same answer.
    """
    if values.size < ORDER_RUNS or not np.ptp(values):
        return None
    # Mean 0 and sum of squares 1, without overflow on the way.
    standard = values / np.abs(values).max()
    standard = standard - standard.mean()
    standard /= np.abs(standard).max()
    standard /= np.sqrt(standard @ standard)

    looks = _looks(standard[:, None])[:, 0]
    scores = _scores(looks, values.size)
    period = int(scores[: len(PERIODS)].argmax())
    two, four = PERIODS.index(2), PERIODS.index(4)
    left = np.maximum(1 - looks, CLEAR)
    # What repeats with 2 repeats with 4 as well: 4 is the period only if it explains
    # half of what 2 leaves over.
    if period == four and left[four] > 0.5 * left[two]:
        period = two
    lag = len(PERIODS) + int(scores[len(PERIODS) :].argmax())
    p_period, p_lag = _chances(standard, scores[[period, lag]])
    clear_lag = LAGS[lag - len(PERIODS)] if p_lag <= FALSE_ALARM else None
    return RunOrder(
        p=min(p_period, p_lag),
        period=PERIODS[period] if p_period <= FALSE_ALARM else None,
        lag=clear_lag,
        autocorrelation=float(standard[:-clear_lag] @ standard[clear_lag:])
        if clear_lag
        else None,
    )


def _looks(columns: Floats) -> Floats:
    """Nine rows: the variance that each period and each lag explains.

    Each column is one order of the standardised values; this way round numpy adds
    whole rows, several times faster than a product of matrices.
    """
    n = columns.shape[0]
    looks = np.empty((DEGREES.size, columns.shape[1]))
    for row, k in enumerate(PERIODS):
        places = [columns[place::k] for place in range(k)]
        shares = [rows.sum(axis=0) ** 2 / len(rows) for rows in places]
        looks[row] = np.sum(shares, axis=0)
    for row, lag in enumerate(LAGS, start=len(PERIODS)):
        products = np.einsum("ij,ij->j", columns[:-lag], columns[lag:])
        expected = -(n - lag) / (n * (n - 1))
        looks[row] = (products - expected) ** 2 * n / (n - lag)
    return looks


def _factors(n: int) -> Floats:
    """Bartlett's factors: with them, -ln(1 - R^2) is nearly chi squared."""
    return n - 1 - np.array([*(k / 2 for k in PERIODS), *(1.0 for _ in LAGS)])


def _scores(looks: Floats, n: int) -> Floats:
    """Approximately normal scores that make the nine looks comparable."""
    squares = -_factors(n) * np.log(np.maximum(1 - looks, CLEAR))
    scores: Floats = (np.cbrt(squares / DEGREES) - (1 - SPREAD)) / np.sqrt(SPREAD)
    return scores


def _chances(standard: Floats, scores: Floats) -> tuple[float, float]:
    """For each of two scores, the chance that the best of nine looks reaches it."""
    n = standard.size
    if n > NORMAL_RUNS:
        p_values = -np.expm1(DEGREES.size * np.log(ndtr(scores)))
        return float(p_values[0]), float(p_values[1])
    # What each look must reach to get a score, the inverse of ``_scores``: comparing
    # with it spares a cube root for every look of every permutation.
    roots = np.maximum(1 - SPREAD + scores[:, None] * np.sqrt(SPREAD), 0)
    # A hair lower: another order of the same values has other last digits.
    levels = -np.expm1(-DEGREES * roots**3 / _factors(n)) * (1 - 1e-9)
    orders = _permutations_of(n)
    count, exceeding = GLANCE, _exceeding(standard[orders[:, :GLANCE]], levels)
    if exceeding.min() < ENOUGH:
        count = PERMUTATIONS
        exceeding = exceeding + _exceeding(standard[orders[:, GLANCE:]], levels)
    # The order that was measured is one of all: no p is 0.
    p_values = (1 + exceeding) / (1 + count)
    return float(p_values[0]), float(p_values[1])


def _exceeding(columns: Floats, levels: Floats) -> NDArray[np.intp]:
    """How many of the orders reach each row of levels in at least one look."""
    looks = _looks(columns)
    reached = [(looks >= row[:, None]).any(axis=0).sum() for row in levels]
    return np.array(reached)


@lru_cache(maxsize=64)
def _permutations_of(n: int) -> NDArray[np.intp]:
    """One permutation in each column, the same ones whenever n is the same."""
    identity = np.tile(np.arange(n)[:, None], (1, PERMUTATIONS))
    # The seed is n: no global state, the same answer in every process.
    return np.random.default_rng(n).permuted(identity, axis=0)
