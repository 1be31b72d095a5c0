import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from statistics import median
from typing import Final


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


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The mean of ``n`` runs; ``deviation`` is None if it is unknown."""

    mean: float
    n: int = 1
    deviation: float | None = None


@dataclass(frozen=True, slots=True)
class PooledRuns:
    n: int
    mean: float
    m2: float | None


def pool_summaries(summaries: Sequence[RunSummary]) -> PooledRuns:
    """Return the statistics of all runs behind the summaries.

    ``m2`` has the deviations within and between the summaries; it is None if the
    deviation of several runs is unknown.
    """
    n = sum(summary.n for summary in summaries)
    means = [Fraction(summary.mean) for summary in summaries]
    mean = sum(
        (s.n * part for s, part in zip(summaries, means, strict=True)), Fraction()
    )
    mean /= n
    m2 = Fraction()
    for summary, part in zip(summaries, means, strict=True):
        m2 += summary.n * (part - mean) ** 2
        if summary.n > 1:
            if summary.deviation is None:
                return PooledRuns(n, float(mean), None)
            m2 += (summary.n - 1) * Fraction(summary.deviation) ** 2
    return PooledRuns(n, float(mean), float(m2))


# Finer steps than six digits never matter.
FINEST_STEP: Final = 1e-6
COARSEST_STEP: Final = 1 / 3
MAX_OUTLIER_SHARE: Final = 0.1
MIN_OUTLIER_Z: Final = 5.0
MIN_ROBUST_RUNS: Final = 7


def display_step(values: Sequence[float], decimals: int | None = 0) -> float | None:
    """Return the largest step of which all values are multiples; None if there is none.

    Rounding is visible in it even after a conversion to another unit: 3400, 3366 and
    3434 are multiples of 34. The step must be at most a third of the largest value.
    Two distinct values must be neighboring steps. Trailing zeros of whole numbers
    without printed ``decimals`` (3000) were not measured either.
    """
    steps = (_common_divisor(values), None if decimals else _trailing_zeros(values))
    return max((step for step in steps if step), default=None)


def _trailing_zeros(values: Sequence[float]) -> float | None:
    """Return the place of the last digit of whole numbers that is not 0 in all."""
    exponents = [
        int(Decimal(repr(float(value))).normalize().as_tuple().exponent)
        for value in set(values)
        if value and math.isfinite(value)
    ]
    smallest = min(exponents, default=0)
    return 10.0**smallest if smallest > 0 else None


def _common_divisor(values: Sequence[float]) -> float | None:
    distinct = sorted({abs(value) for value in values})
    largest = distinct[-1] if distinct else 0.0
    if len(distinct) < 2 or not math.isfinite(largest):
        return None
    step = 0.0
    for value in distinct:
        dividend, step = value / largest, step
        while step > FINEST_STEP / 1000:
            rest = abs(dividend - step * round(dividend / step))
            dividend, step = step, rest
        step = dividend
        if step < FINEST_STEP:
            return None
    is_near = distinct[-1] - distinct[0] < 1.5 * step * largest
    if step > COARSEST_STEP or (len(distinct) == 2 and not is_near):
        return None
    return step * largest


def resolution(decimals: int | None, step: float | None = None) -> float | None:
    """Return the step of a display from the decimals and the `display_step`."""
    last_digit = 0.0 if decimals is None else 10.0**-decimals
    return max(last_digit, step or 0.0) or None


def dominating_outliers(
    values: Sequence[float], sessions: Sequence[Hashable], step: float | None = None
) -> int:
    """Return how many outliers carry more than half of the variance within sessions.

    A run is an outlier if its modified z is above 5, which is rarer than the outliers
    that shapes label. ``step`` is that of the display. The result is 0 if more than a
    tenth of the runs are outliers (of up to 19 runs: more than one), or for fewer than
    seven runs.
    """
    unit = max(map(abs, values), default=0.0)
    if len(values) < MIN_ROBUST_RUNS or not unit:
        return 0
    groups: dict[Hashable, list[float]] = {}
    for value, session in zip(values, sessions, strict=True):
        groups.setdefault(session, []).append(value / unit)
    medians = {session: median(group) for session, group in groups.items()}
    deviation = median(
        abs(value - medians[session])
        for session, group in groups.items()
        for value in group
    )
    limit = MIN_OUTLIER_Z / 0.6745 * max(deviation, (step or 0.0) / unit / 2)
    others = [
        [value for value in group if abs(value - medians[session]) <= limit]
        for session, group in groups.items()
    ]
    count = len(values) - sum(map(len, others))
    if not 0 < count <= max(int(MAX_OUTLIER_SHARE * len(values)), 1):
        return 0
    total = sum(map(_squares, groups.values()))
    return count if sum(map(_squares, others)) < total / 2 else 0


def _squares(group: Sequence[float]) -> float:
    mean = sum(group) / max(len(group), 1)
    return sum((value - mean) ** 2 for value in group)


def last_digit_step(value: float) -> float:
    """Return the value of a number's last decimal place: 0.01 for 12.34, at most 1."""
    exponent = Decimal(repr(float(value))).normalize().as_tuple().exponent
    return 10.0 ** min(0, int(exponent))
