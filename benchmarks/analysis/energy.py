"""Energy of the work: power over the work's own window, whatever the meter saw besides.

The formulas are those of ``docs/method.md``, energy. Compute per run, then compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from benchmarks.analysis.power_trace import Trace, trace_of_power
from benchmarks.sentences import Sentence

MIN_COVERAGE: Final = 0.9
# Watts up? Pro: +-1.5 %, anywhere inside with the same chance.
GAIN_ERROR: Final = 0.015


@dataclass(frozen=True, slots=True)
class WorkEnergy:
    """What a meter's samples say about one window of work.

    ``covered_s`` of the window were measured; the rest lies in ``gaps_s`` or outside
    the meter's time and counts with the mean power. ``edge_error_j`` bounds what is
    unknown because the window begins and ends between two samples, ``rounding_j`` what
    the last digit of the readings hides.
    """

    duration_s: float
    covered_s: float
    mean_w: float
    samples: int
    interval_s: float
    gaps_s: tuple[tuple[float, float], ...]
    edge_error_j: float
    rounding_j: float

    @property
    def energy_j(self) -> float:
        return self.mean_w * self.duration_s

    @property
    def coverage(self) -> float:
        return self.covered_s / self.duration_s

    @property
    def is_covered(self) -> bool:
        """At least 90 % of the window were measured."""
        return self.coverage >= MIN_COVERAGE

    def above_idle_j(self, idle_w: float) -> float:
        """What the work took on top of the machine's idle power."""
        return (self.mean_w - idle_w) * self.duration_s

    @property
    def sentence(self) -> Sentence:
        known = {
            "energy": self.energy_j,
            "power": self.mean_w,
            "took": self.duration_s,
            "samples": self.samples,
            "every": self.interval_s,
        }
        missing_s = self.duration_s - self.covered_s
        if missing_s <= 1e-9 * self.duration_s:
            return Sentence(
                "{energy:.6g} J: {power:.4g} W over {took:.6g} s, from {samples} "
                "samples every {every:.3g} s.",
                **known,
            )
        return Sentence(
            "{energy:.6g} J: {power:.4g} W over {took:.6g} s, from {samples} samples "
            "every {every:.3g} s; {missing:.3g} s ({share:.2g} %) were not measured.",
            missing=missing_s,
            share=100 * missing_s / self.duration_s,
            **known,
        )


@dataclass(frozen=True, slots=True)
class PerWork:
    """Energy set against what was done with it; None where nothing can be counted."""

    joules_per_operation: float | None
    operations_per_joule: float | None
    energy_delay_js: float


def work_energy(
    times_s: Sequence[float], watts: Sequence[float], window_s: tuple[float, float]
) -> WorkEnergy:
    """Integrate power samples over a window by the trapezoid rule.

    Power is taken as linear between neighbouring samples, at the window's ends too.
    Times and window are on one clock. Raises ValueError if the meter saw nothing of the
    window.
    """
    return energy_within(trace_of_power(times_s, watts), window_s)


def energy_within(trace: Trace, window_s: tuple[float, float]) -> WorkEnergy:
    """Integrate a trace over a window; ValueError if nothing of it was measured."""
    start, end = window_s
    if not -math.inf < start < end < math.inf:
        raise ValueError(
            Sentence("the window of the work needs a start and a later end")
        )
    low, high = (np.clip(each, start, end) for each in (trace.starts_s, trace.ends_s))
    kept = (high > low) & ~trace.is_gap
    covered = float((high - low)[kept].sum())
    if not covered:
        raise ValueError(
            Sentence("the meter measured nothing within the window of the work")
        )
    means = (trace.at(low) + trace.at(high)) / 2
    moments = trace.moments_s
    holes = ((max(a, start), min(b, end)) for a, b in trace.holes_s)
    return WorkEnergy(
        duration_s=end - start,
        covered_s=covered,
        mean_w=float((means * (high - low))[kept].sum()) / covered,
        samples=int(((moments >= start) & (moments <= end)).sum()),
        interval_s=trace.usual_s,
        gaps_s=tuple((a, b) for a, b in holes if a < b),
        edge_error_j=sum(_edge_error_j(trace, edge) for edge in window_s),
        rounding_j=trace.resolution_w / 2 * (end - start),
    )


def per_work(
    energy_j: float, duration_s: float, operations: float | None = None
) -> PerWork:
    """J per operation, operations per J, and the energy-delay product.

    The energy-delay product (R. Gonzalez and M. Horowitz, 1996) is energy x time: it
    does not reward saving energy by being slow.
    """
    _demand_positive(energy=energy_j, duration=duration_s)
    if operations is None:
        return PerWork(None, None, energy_j * duration_s)
    _demand_positive(operations=operations)
    return PerWork(energy_j / operations, operations / energy_j, energy_j * duration_s)


def gain_log_variance(
    *, is_same_meter: bool, gain_errors: tuple[float, float] = (GAIN_ERROR, GAIN_ERROR)
) -> float:
    """What the meters' gain errors add to the variance of ln(energy ratio).

    0 with one meter for both sides; else a^2/3 for each (a uniform error of +-a: GUM,
    JCGM 100:2008, 4.3.7).
    """
    if is_same_meter:
        return 0.0
    return sum(each**2 for each in gain_errors) / 3


def gain_margin(gain_error: float = GAIN_ERROR) -> float:
    """The largest difference that two meters show by themselves in 95 % of cases.

    The sum of two uniform errors of +-a stays within 2a (1 - sqrt(0.05)): 2.33 % for
    +-1.5 %.
    """
    return 2 * gain_error * (1 - math.sqrt(0.05))


def is_lost_in_gain(
    ratio: float, *, is_same_meter: bool, gain_error: float = GAIN_ERROR
) -> bool:
    """Whether two meters' gain errors alone could make this difference."""
    _demand_positive(ratio=ratio)
    return not is_same_meter and max(ratio, 1 / ratio) < 1 + gain_margin(gain_error)


def _edge_error_j(trace: Trace, edge: float) -> float:
    """Bound what is not known of the step in which the window begins or ends.

    Between two samples the power is one of the two at the worst; in a step of a counter
    it is taken to be that of the step before or after it at the worst.
    """
    cut = np.flatnonzero((trace.starts_s < edge) & (trace.ends_s > edge))
    if not cut.size:
        return 0.0
    at = int(cut[0])
    near = slice(max(at - 1, 0), at + 2)
    known = trace.first_w[near] if trace.is_counted else trace.last_w[at]
    step_w = float(np.abs(known - trace.first_w[at]).max())
    return step_w * float(trace.ends_s[at] - trace.starts_s[at]) / 2


def _demand_positive(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise ValueError(
                Sentence(
                    "{name} is {value}: it must be a number above 0",
                    name=name,
                    value=value,
                )
            )
