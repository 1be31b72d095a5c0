"""Relative performance of a system over several cases."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.analysis.intervals import MAX_LOG, Floats, t_quantiles


@dataclass(frozen=True, slots=True)
class OverallPerformance:
    """The geometric mean and standard deviation (``spread``) of a system over several
    cases.
    """

    mean: float
    low: float | None
    high: float | None
    spread: float | None
    minimum: float
    maximum: float
    slowest_case: str
    case_count: int
    excluded_cases: tuple[str, ...]


def overall_performance(
    ratios: ArrayLike,
    log_variances: ArrayLike,
    cases: Sequence[str],
) -> tuple[OverallPerformance, ...]:
    """Return each system's geometric mean over the cases that all systems have.

    ``ratios`` and ``log_variances`` are (system x case). See docs/method.md, Across
    benchmarks, for the 95 % interval.
    """
    table = np.atleast_2d(np.asarray(ratios, dtype=float))
    noise = np.atleast_2d(np.asarray(log_variances, dtype=float))
    shared = np.all(np.isfinite(table) & (table > 0), axis=0)
    if not shared.any():
        return ()
    shared_cases = [
        case for case, is_shared in zip(cases, shared, strict=True) if is_shared
    ]
    excluded = tuple(case for case in cases if case not in shared_cases)
    return tuple(
        _overall(row, variances, shared_cases, excluded)
        for row, variances in zip(table[:, shared], noise[:, shared], strict=True)
    )


def _overall(
    ratios: Floats,
    log_variances: Floats,
    cases: Sequence[str],
    excluded: tuple[str, ...],
) -> OverallPerformance:
    logs = np.log(ratios)
    count, mean = len(logs), float(np.exp(np.mean(logs)))
    low = high = spread = None
    if count > 1:
        between = float(np.var(logs, ddof=1))
        known_variances = log_variances[np.isfinite(log_variances)]
        # A few cases may differ by chance less than their runs vary.
        variance = max(
            between, float(known_variances.mean()) if known_variances.size else 0.0
        )
        quantile = float(t_quantiles(np.array([count - 1.0]), 0.975)[0])
        factor = float(np.exp(min(quantile * np.sqrt(variance / count), MAX_LOG)))
        low, high = mean / factor, min(mean * factor, float(np.finfo(float).max))
        spread = float(np.exp(min(between**0.5, MAX_LOG)))
    return OverallPerformance(
        mean=mean,
        low=low,
        high=high,
        spread=spread,
        minimum=float(ratios.min()),
        maximum=float(ratios.max()),
        slowest_case=cases[int(ratios.argmin())],
        case_count=count,
        excluded_cases=excluded,
    )
