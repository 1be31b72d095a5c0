"""The statistics of one cell, over the means of its runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Summary:
    """Statistics of a cell's run means; ``m2`` is the sum of squared deviations.

    Quartiles are Hyndman and Fan's type 7.
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
    """Summarise one value per run; ValueError for none, or one that is not finite.

    Mean and m2 are computed exactly and rounded once.
    """
    if not run_means:
        raise ValueError("a cell without runs has no statistics")
    if not all(map(math.isfinite, run_means)):
        raise ValueError("a run mean is not a finite number")
    values = sorted(run_means)
    n = len(values)
    # As whole numbers of the smallest step: floats would lose the spread of readings
    # that lie far from 0. Dividing two whole numbers rounds once.
    ratios = [float(value).as_integer_ratio() for value in values]
    step = max(denominator for _, denominator in ratios)
    whole = [above * (step // below) for above, below in ratios]
    total = sum(whole)
    try:
        mean = total / (n * step)
        m2 = (n * sum(x * x for x in whole) - total * total) / (n * step * step)
    except OverflowError:
        raise ValueError("the run means are too large to be summarised") from None
    quartiles = []
    for quarter in (1, 2, 3):
        below, rest = divmod(quarter * (n - 1), 4)
        above = whole[below + 1] if rest else 0
        quartiles.append((whole[below] * (4 - rest) + above * rest) / (4 * step))
    q1, median, q3 = quartiles
    return Summary(n, mean, m2, values[0], values[-1], median, q1, q3)


def last_place(value: float) -> float:
    """Return the step of the last decimal place: 0.01 for 12.34, at most 1."""
    # `repr` is the shortest text of a float: 12.34, not 12.339999.
    exponent = Decimal(repr(float(value))).normalize().as_tuple().exponent
    return 10.0 ** min(0, int(exponent))
