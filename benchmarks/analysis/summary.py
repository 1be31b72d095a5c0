"""The statistics of one cell, over the means of its runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.analysis.intervals import MOST_LOG, Floats, t_quantiles


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
    """Summarise one value per run; ValueError without values or for one that is not
    finite.

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


@dataclass(frozen=True, slots=True)
class Overall:
    """A system across benchmarks; ``spread`` is the geometric standard deviation.

    ``low`` and ``high`` are None for a single case. ``left_out`` are cases not all
    systems have.
    """

    mean: float
    low: float | None
    high: float | None
    spread: float | None
    minimum: float
    maximum: float
    worst: str
    cases: int
    left_out: tuple[str, ...]


def overall(
    ratios: ArrayLike,
    log_variances: ArrayLike,
    cases: Sequence[str],
) -> tuple[Overall, ...]:
    """Return each system's geometric mean over the cases that all systems have.

    ``ratios`` (system x case) are efficiencies, ``log_variances`` squared standard
    errors of their logs; NaN: not known. The 95 % interval covers the mean over all
    cases of this kind (Mashey, Computer Architecture News 32 (2004)): ln(mean) +- t
    sqrt(v / k), k - 1 degrees, v the variance between cases but at least the mean
    variance of the runs.
    """
    table = np.atleast_2d(np.asarray(ratios, dtype=float))
    noise = np.atleast_2d(np.asarray(log_variances, dtype=float))
    shared = np.all(np.isfinite(table) & (table > 0), axis=0)
    if not shared.any():
        return ()
    kept = [case for case, is_shared in zip(cases, shared, strict=True) if is_shared]
    # By label: each case needs one of its own.
    left_out = tuple(case for case in cases if case not in kept)
    return tuple(
        _overall(row, variances, kept, left_out)
        for row, variances in zip(table[:, shared], noise[:, shared], strict=True)
    )


def _overall(
    ratios: Floats,
    log_variances: Floats,
    cases: Sequence[str],
    left_out: tuple[str, ...],
) -> Overall:
    logs = np.log(ratios)
    count, mean = len(logs), float(np.exp(np.mean(logs)))
    low = high = spread = None
    if count > 1:
        between = float(np.var(logs, ddof=1))
        known = log_variances[np.isfinite(log_variances)]
        # Few cases that happen to agree would promise more than their runs hold.
        variance = max(between, float(known.mean()) if known.size else 0.0)
        quantile = float(t_quantiles(np.array([count - 1.0]), 0.975)[0])
        # Cases may lie further apart than the largest number says.
        factor = float(np.exp(min(quantile * np.sqrt(variance / count), MOST_LOG)))
        low, high = mean / factor, min(mean * factor, float(np.finfo(float).max))
        spread = float(np.exp(min(between**0.5, MOST_LOG)))
    return Overall(
        mean=mean,
        low=low,
        high=high,
        spread=spread,
        minimum=float(ratios.min()),
        maximum=float(ratios.max()),
        worst=cases[int(ratios.argmin())],
        cases=count,
        left_out=left_out,
    )
