"""The statistics of one cell, over the means of its runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Summary:
    """What is kept of a cell's run means.

    ``m2`` is the sum of squared distances from the mean: the sample variance is
    ``m2 / (n - 1)``. Quartiles interpolate between neighbours (Hyndman and Fan's
    type 7, the default of R and numpy).
    """

    n: int
    mean: float
    m2: float
    minimum: float
    maximum: float
    median: float
    q1: float
    q3: float


def summarise(run_means: Sequence[float]) -> Summary:
    """Summarise one value per run; their order does not matter.

    Mean and m2 are computed exactly and rounded once. No run at all, or a value that is
    not finite, is a ValueError.
    """
    if not run_means:
        raise ValueError("a cell without runs has no statistics")
    if not all(map(math.isfinite, run_means)):
        raise ValueError("a run mean is not a finite number")
    values = sorted(run_means)
    mean, m2 = _mean_and_m2(values)
    return Summary(
        n=len(values),
        mean=mean,
        m2=m2,
        minimum=values[0],
        maximum=values[-1],
        median=_quantile(values, Fraction(1, 2)),
        q1=_quantile(values, Fraction(1, 4)),
        q3=_quantile(values, Fraction(3, 4)),
    )


def _mean_and_m2(values: Sequence[float]) -> tuple[float, float]:
    # Floats would lose the spread of readings that lie far from 0.
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction()) / len(exact)
    m2 = sum(((value - mean) ** 2 for value in exact), Fraction())
    try:
        return float(mean), float(m2)
    except OverflowError:
        raise ValueError("the run means are too large to be summarised") from None


def _quantile(ordered: Sequence[float], share: Fraction) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    if place == below:
        return ordered[below]
    low, high = Fraction(ordered[below]), Fraction(ordered[below + 1])
    return float(low + (high - low) * (place - below))


def last_place(value: float) -> float:
    """The step of the last decimal place: 0.01 for 12.34, at most 1 (for 1200).

    A number cannot say how many zeros were printed behind it: 12.50 counts as 12.5.
    """
    # `repr` is the shortest text of a float: 12.34, not 12.339999.
    exponent = Decimal(repr(float(value))).normalize().as_tuple().exponent
    return 10.0 ** min(0, int(exponent))
