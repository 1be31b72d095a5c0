"""A system across benchmarks: the geometric mean of its efficiencies."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.analysis.intervals import MOST_LOG, Floats, t_quantiles


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
