import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Summary:
    """Statistics of a cell's run means; ``m2`` is the sum of squared deviations.

    The quartiles are of type 7 of Hyndman and Fan.
    """

    n: int
    mean: float
    m2: float
    minimum: float
    maximum: float
    median: float
    q1: float
    q3: float


def summarize(run_means: Sequence[float]) -> Summary:
    """Return the statistics of a cell's run means.

    The mean and ``m2`` are computed exactly and rounded once. Raise ValueError without
    values, or if one is not finite.
    """
    if not run_means:
        raise ValueError("a cell without runs has no statistics")
    if not all(map(math.isfinite, run_means)):
        raise ValueError("a run mean is not a finite number")
    values = sorted(run_means)
    n = len(values)
    # Sums of floats would lose a spread that is small relative to the mean. Python
    # rounds the quotient of two integers once.
    ratios = [float(value).as_integer_ratio() for value in values]
    step = max(denominator for _, denominator in ratios)
    integers = [above * (step // below) for above, below in ratios]
    total = sum(integers)
    try:
        mean = total / (n * step)
        m2 = (n * sum(x * x for x in integers) - total * total) / (n * step * step)
    except OverflowError:
        raise ValueError("the run means are too large to be summarized") from None
    quartiles = []
    for quarter in (1, 2, 3):
        below, rest = divmod(quarter * (n - 1), 4)
        above = integers[below + 1] if rest else 0
        quartiles.append((integers[below] * (4 - rest) + above * rest) / (4 * step))
    q1, median, q3 = quartiles
    return Summary(n, mean, m2, values[0], values[-1], median, q1, q3)


def last_digit_step(value: float) -> float:
    """Return the value of a number's last decimal place: 0.01 for 12.34, at most 1."""
    exponent = Decimal(repr(float(value))).normalize().as_tuple().exponent
    return 10.0 ** min(0, int(exponent))
