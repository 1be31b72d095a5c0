"""Means that mean something: across runs, and across benchmarks.

Ratios are averaged geometrically, or the ranking of two systems would depend on which
of them is the reference (Fleming and Wallace, "How not to lie with statistics", CACM 29
(1986)). Rates of a fixed amount of work are averaged harmonically and times
arithmetically: both then follow the total time (Smith, "Characterizing computer
performance with a single number", CACM 31 (1988)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.analysis.intervals import MOST_LOG, Floats, t_quantiles

MeanKind = Literal["ratio", "rate", "time"]
NAMES_OF_MEANS: Final[dict[MeanKind, str]] = {
    "ratio": "geometric mean",
    "rate": "harmonic mean",
    "time": "arithmetic mean",
}


@dataclass(frozen=True, slots=True)
class NamedMean:
    """A mean and which one it is; a page shows both."""

    value: float
    name: str


@dataclass(frozen=True, slots=True)
class Overall:
    """A system across benchmarks: never the mean alone.

    ``low`` and ``high`` are None for a single case. ``spread`` is the geometric
    standard deviation: two thirds of the cases are expected within mean / spread to
    mean x spread. ``left_out`` are the cases that not all systems have.
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


def named_mean(values: ArrayLike, kind: MeanKind) -> NamedMean:
    """Return the mean that fits ratios, rates of fixed work, or times, with its name.

    ValueError without values; ratios and rates must be above 0.
    """
    numbers = np.asarray(values, dtype=float)
    if not numbers.size or not np.all(np.isfinite(numbers)):
        raise ValueError("a mean needs values, all of them finite")
    name = NAMES_OF_MEANS[kind]
    if kind == "time":
        # In parts of the largest the sum is a number, too.
        largest = float(np.abs(numbers).max()) or 1.0
        return NamedMean(float(np.mean(numbers / largest)) * largest, name)
    if np.any(numbers <= 0):
        raise ValueError(f"the {name} needs values above 0")
    if kind == "rate":
        least = float(numbers.min())
        return NamedMean(float(least / np.mean(least / numbers)), name)
    return NamedMean(float(np.exp(np.mean(np.log(numbers)))), name)


def overall(
    ratios: ArrayLike,
    log_variances: ArrayLike,
    cases: Sequence[str],
) -> tuple[Overall, ...]:
    """Return each system's geometric mean over the cases that all systems have.

    ``ratios`` are efficiencies, a row a system and a column a case, NaN where there is
    none; ``log_variances`` the squared standard errors of their logs, NaN where not
    known (single runs). Empty if the systems share no case.

    The 95 % interval covers the mean over *all cases of this kind*, of which those
    measured are taken for a sample (Mashey, "War of the benchmark means", Computer
    Architecture News 32 (2004)): ln(mean) +- t sqrt(v / k) with k - 1 degrees of
    freedom. v is the variance of the logs between cases, in which the noise of the runs
    is contained, and never less than the mean variance of the runs. It is not the
    (narrower) interval of a repetition with just these cases.
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
