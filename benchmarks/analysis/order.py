"""Whether runs in the order of their doing are more alike than chance allows.

Nine looks at once: the share of variance that the position modulo k explains for the
periods k = 2..5, and the autocorrelation at the lags 1..5. Each look is turned into an
approximately normal score (E. B. Wilson and M. M. Hilferty, 1931) and the largest of
the nine is set against its own distribution over permutations of the same values, so
that the whole test, not each look, has 1 % false alarms (the maxT step of P. H.
Westfall and S. S. Young, Resampling-Based Multiple Testing, 1993).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]

PERIODS: Final = (2, 3, 4, 5)
LAGS: Final = (1, 2, 3, 4, 5)
MIN_RUNS: Final = 8
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
class Order:
    """What the order of the runs shows.

    ``p`` is the chance of so strong a pattern, of any of the nine kinds, in values
    without order. ``period`` and ``lag`` are the strongest that are beyond chance.
    """

    p: float
    period: int | None = None
    lag: int | None = None
    autocorrelation: float | None = None


def order_of(values: Array) -> Order | None:
    """Test for periods and autocorrelation; None below 8 runs or if all are equal.

    The permutations depend on the number of runs alone: the same values in the same
    order always get the same answer.
    """
    if values.size < MIN_RUNS or not np.ptp(values):
        return None
    standard = _standardised(values)
    looks = _looks(standard[:, None])[:, 0]
    scores = _scores(looks, values.size)
    period = _best_period(looks, scores)
    lag = len(PERIODS) + int(scores[len(PERIODS) :].argmax())
    p_period, p_lag = _chances(standard, scores[[period, lag]])
    found = LAGS[lag - len(PERIODS)] if p_lag <= FALSE_ALARM else None
    return Order(
        p=min(p_period, p_lag),
        period=PERIODS[period] if p_period <= FALSE_ALARM else None,
        lag=found,
        autocorrelation=float(standard[:-found] @ standard[found:]) if found else None,
    )


def _best_period(looks: Array, scores: Array) -> int:
    """The place of the best period; 2 if the period 4 is no better than 2 by itself."""
    best = int(scores[: len(PERIODS)].argmax())
    two, four = PERIODS.index(2), PERIODS.index(4)
    left = np.maximum(1 - looks, CLEAR)
    is_doubled = best == four and left[four] > 0.5 * left[two]
    return two if is_doubled else best


def _standardised(values: Array) -> Array:
    """Mean 0 and sum of squares 1, without overflow on the way."""
    centred = values / np.abs(values).max()
    centred = centred - centred.mean()
    centred /= np.abs(centred).max()
    unit: Array = centred / np.sqrt(centred @ centred)
    return unit


def _looks(columns: Array) -> Array:
    """Nine rows: the variance that each period and each lag explains.

    Each column is one order of the standardised values; this way round numpy adds
    whole rows, several times faster than a product of matrices.
    """
    n = columns.shape[0]
    looks = np.empty((DEGREES.size, columns.shape[1]))
    for row, k in enumerate(PERIODS):
        places = [columns[place::k] for place in range(k)]
        shares = [each.sum(axis=0) ** 2 / len(each) for each in places]
        looks[row] = np.sum(shares, axis=0)
    for row, lag in enumerate(LAGS, start=len(PERIODS)):
        products = np.einsum("ij,ij->j", columns[:-lag], columns[lag:])
        expected = -(n - lag) / (n * (n - 1))
        looks[row] = (products - expected) ** 2 * n / (n - lag)
    return looks


def _factors(n: int) -> Array:
    """Bartlett's factors: with them, -ln(1 - R^2) is nearly chi squared."""
    return n - 1 - np.array([*(k / 2 for k in PERIODS), *(1.0 for _ in LAGS)])


def _scores(looks: Array, n: int) -> Array:
    """Approximately normal scores that make the nine looks comparable."""
    squares = -_factors(n) * np.log(np.maximum(1 - looks, CLEAR))
    scores: Array = (np.cbrt(squares / DEGREES) - (1 - SPREAD)) / np.sqrt(SPREAD)
    return scores


def _levels(score: float, n: int) -> Array:
    """What each look must reach to get this score: the inverse of ``_scores``.

    Comparing with it spares a cube root for every look of every permutation.
    """
    squares = DEGREES * np.maximum(1 - SPREAD + score * np.sqrt(SPREAD), 0) ** 3
    levels: Array = -np.expm1(-squares / _factors(n)) * (1 - 1e-9)
    return levels


def _chances(standard: Array, scores: Array) -> tuple[float, float]:
    """For each of two scores, the chance that the best of nine looks reaches it."""
    n = standard.size
    if n > NORMAL_RUNS:
        p_values = -np.expm1(DEGREES.size * np.log(ndtr(scores)))
        return float(p_values[0]), float(p_values[1])
    levels = np.array([_levels(float(score), n) for score in scores])
    orders = _orders(n)
    count, exceeding = GLANCE, _exceeding(standard[orders[:, :GLANCE]], levels)
    if exceeding.min() < ENOUGH:
        count = PERMUTATIONS
        exceeding = exceeding + _exceeding(standard[orders[:, GLANCE:]], levels)
    p_values = (1 + exceeding) / (1 + count)
    return float(p_values[0]), float(p_values[1])


def _exceeding(columns: Array, levels: Array) -> NDArray[np.intp]:
    """How many of the orders reach each row of levels in at least one look."""
    looks = _looks(columns)
    reached = [(looks >= each[:, None]).any(axis=0).sum() for each in levels]
    return np.array(reached)


@lru_cache(maxsize=64)
def _orders(n: int) -> NDArray[np.intp]:
    """One permutation in each column, the same ones whenever n is the same."""
    identity = np.tile(np.arange(n)[:, None], (1, PERMUTATIONS))
    return np.random.default_rng(n).permuted(identity, axis=0)
