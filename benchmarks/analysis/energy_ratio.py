"""Energies of two systems set against each other, with their meters' errors.

The interval is that of any ratio of run means (``intervals``). One meter on both sides
cancels its own error; two add theirs, and differences that they could make alone are
refused (``docs/method.md``, energy).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from statistics import fmean
from typing import Final, Literal

from benchmarks.analysis.energy import gain_log_variance, is_lost_in_gain
from benchmarks.analysis.intervals import Rollups, log_ratio_intervals
from benchmarks.sentences import template

Reason = Literal["", "single_run", "unknown_accuracy", "within_meters", "no_spread"]
SENTENCES: Final = {
    "single_run": template("A single run has no interval."),
    "unknown_accuracy": template("Two meters of unknown accuracy."),
    "within_meters": template("Two meters alone could differ by so much."),
    "no_spread": template("The runs are all equal, or too far apart."),
}


@dataclass(frozen=True, slots=True)
class MeterFacts:
    """What of a meter matters to a ratio; ``name`` is the same for the same meter."""

    name: str
    gain_error: float | None
    is_cpu_only: bool = False


@dataclass(frozen=True, slots=True)
class EnergyRatio:
    """One energy per work against another: 1.2 takes a fifth more than the reference.

    ``low`` and ``high`` are None where there is no interval; ``reason`` says why:
    a single run, two meters of unknown accuracy or alike within their errors, or runs
    that are all equal or too far apart.
    """

    ratio: float
    low: float | None = None
    high: float | None = None
    reason: Reason = ""

    @property
    def has_interval(self) -> bool:
        return self.low is not None and self.high is not None


def energy_ratio(
    own: Sequence[float],
    base: Sequence[float],
    meters: tuple[MeterFacts, MeterFacts],
) -> EnergyRatio | None:
    """Set the energies of one system's runs against those of another's.

    None where they cannot be compared at all: an energy of 0, or the processor's own
    counter against power from the wall.
    """
    if not own or not base or min(*own, *base) <= 0:
        return None
    if meters[0].is_cpu_only is not meters[1].is_cpu_only:
        return None
    ratio = fmean(own) / fmean(base)
    is_same_meter = meters[0].name == meters[1].name
    errors = tuple(each.gain_error for each in meters)
    if is_same_meter:
        return _with_interval(own, base, ratio, 0.0)
    if errors[0] is None or errors[1] is None:
        return EnergyRatio(ratio, reason="unknown_accuracy")
    known = (errors[0], errors[1])
    if is_lost_in_gain(ratio, is_same_meter=False, gain_error=max(known)):
        return EnergyRatio(ratio, reason="within_meters")
    extra = gain_log_variance(is_same_meter=False, gain_errors=known)
    return _with_interval(own, base, ratio, extra)


def _with_interval(
    own: Sequence[float], base: Sequence[float], ratio: float, extra: float
) -> EnergyRatio:
    if min(len(own), len(base)) < 2:
        return EnergyRatio(ratio, reason="single_run")
    found = log_ratio_intervals(
        _rollups(own), _rollups(base), True, extra_log_variance=extra
    )
    low, high = float(found.low[0]), float(found.high[0])
    if math.isnan(low) or math.isnan(high):
        return EnergyRatio(ratio, reason="no_spread")
    return EnergyRatio(ratio, low, high)


def _rollups(values: Sequence[float]) -> Rollups:
    mean = fmean(values)
    m2 = reduce(lambda total, value: total + (value - mean) ** 2, values, 0.0)
    return Rollups.of([len(values)], [mean], [m2], [math.nan])
