"""Energy of the work: power over the work's own window, whatever the meter saw besides.

The formulas are those of ``docs/method.md``, energy. Compute per run, then compare. One
meter on both sides cancels its own error; two add theirs, and a difference that they
could make alone has no interval. Power is joules a second and a rate is work a second,
so that one by the other is joules for a unit of work.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from statistics import fmean
from typing import Final, Literal

import numpy as np

from benchmarks.analysis.intervals import Rollups, log_ratio_intervals
from benchmarks.analysis.power_trace import MOST, Trace, trace_of_power
from benchmarks.sentences import Sentence, template
from benchmarks.units import convert, find

MIN_COVERAGE: Final = 0.9
# Watts up? Pro: +-1.5 %, anywhere inside with the same chance.
GAIN_ERROR: Final = 0.015
METERS: Final = frozenset({"watts-up", "power-csv", "ipmi-dcmi"})
"""They run around the work, on purpose longer than it."""
WORK_TIMES: Final = frozenset({"total time", "test duration"})
"""Metrics that say how long the whole run took; other times are parts of it."""

NoInterval = Literal["", "single_run", "unknown_accuracy", "within_meters", "no_spread"]
SENTENCES: Final = {
    "single_run": template("A single run has no interval."),
    "unknown_accuracy": template("Two meters of unknown accuracy."),
    "within_meters": template("Two meters alone could differ by so much."),
    "no_spread": template("The runs are all equal, or too far apart."),
}

RATES: Final = frozenset({"data rate", "floating-point rate", "rate"})
PER_SECOND: Final = "/s"

LONGER: Final = template(
    "The meter ran {off:.3g} s ({share:.2g} %) longer than the work: {energy:.5g} J "
    "at its mean power, not {printed:.5g} J."
)
SHORTER: Final = template(
    "The meter ran {off:.3g} s ({share:.2g} %) shorter than the work: {energy:.5g} J "
    "at its mean power, not {printed:.5g} J."
)


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
        # Steps that are added up miss the whole by their last digits.
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
    reason: NoInterval = ""

    @property
    def has_interval(self) -> bool:
        return self.low is not None and self.high is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterTotal:
    """A meter's energy and time, and the time of the work it was to measure.

    A meter that is started and stopped by hand runs longer than the work, and its total
    grows with the wait: two cases whose meters waited differently cannot be compared by
    their totals.

    ``work_s`` is None if nobody wrote it down; ``operations`` too.
    """

    label: str
    meter_j: float
    meter_s: float
    work_s: float | None = None
    operations: float | None = None

    def __post_init__(self) -> None:
        known = (self.meter_j, self.meter_s, self.work_s, self.operations)
        if not all(number is None or 0 < number < math.inf for number in known):
            raise ValueError(f"{self.label}: energy and times must be above 0")

    @property
    def mean_w(self) -> float:
        """Mean power over the meter's time."""
        return self.meter_j / self.meter_s

    @property
    def overrun_s(self) -> float | None:
        """How much longer the meter ran than the work; negative if it ran shorter."""
        return None if self.work_s is None else self.meter_s - self.work_s


@dataclass(frozen=True, slots=True)
class EnergyRow:
    """One case of a table: the printed total and the energy of the work.

    ``energy_j`` is the meter's mean power x the work's time. Where the meter ran on
    while the machine idled, this is too little and the printed total too much: the
    truth lies between the two. ``printed_ratio`` and ``energy_ratio`` are set against
    the table's reference.
    """

    total: MeterTotal
    energy_j: float | None
    less_wait_j: float | None
    per_work: PerWork | None
    printed_ratio: float
    energy_ratio: float | None

    @property
    def is_reversed(self) -> bool:
        """Above the reference by the printed total, below it by the work, or so."""
        if self.energy_ratio is None:
            return False
        return (self.printed_ratio - 1) * (self.energy_ratio - 1) < 0

    @property
    def sentence(self) -> Sentence:
        total = self.total
        if total.work_s is None or self.energy_j is None:
            return Sentence(
                "The meter ran {ran:.6g} s, but how long the work took is not stated: "
                "its energy is not known.",
                ran=total.meter_s,
            )
        overrun_s = total.meter_s - total.work_s
        return Sentence(
            LONGER if overrun_s >= 0 else SHORTER,
            off=abs(overrun_s),
            share=100 * abs(overrun_s) / total.work_s,
            energy=self.energy_j,
            printed=total.meter_j,
        )


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
    if not -MOST < start < end < MOST:
        raise ValueError(
            Sentence("the window of the work needs a start and a later end")
        )
    # Cut to the window: a step that lies outside becomes one without a length.
    low = np.clip(trace.starts_s, start, end)
    high = np.clip(trace.ends_s, start, end)
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
    return sum(error**2 for error in gain_errors) / 3


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
    step = int(cut[0])
    near = slice(max(step - 1, 0), step + 2)
    known = trace.first_w[near] if trace.is_counted else trace.last_w[step]
    step_w = float(np.abs(known - trace.first_w[step]).max())
    return step_w * float(trace.ends_s[step] - trace.starts_s[step]) / 2


def _demand_positive(**values: float) -> None:
    for name, value in values.items():
        if not 1 / MOST < value < MOST:
            raise ValueError(
                Sentence(
                    "{name} is {value}: it must be a number above 0",
                    name=name,
                    value=value,
                )
            )


def energy_ratio(
    own: Sequence[float],
    base: Sequence[float],
    meters: tuple[MeterFacts, MeterFacts],
) -> EnergyRatio | None:
    """Set the energies of one system's runs against those of another's.

    None where they cannot be compared at all: an energy of 0 or beyond all bounds, or
    the processor's own counter against power from the wall.
    """
    if not own or not base or min(*own, *base) < 1 / MOST:
        return None
    if max(*own, *base) > MOST:
        return None
    if meters[0].is_cpu_only is not meters[1].is_cpu_only:
        return None
    ratio = fmean(own) / fmean(base)
    is_same_meter = meters[0].name == meters[1].name
    errors = tuple(meter.gain_error for meter in meters)
    if is_same_meter:
        return _with_interval(own, base, ratio, 0.0)
    if errors[0] is None or errors[1] is None:
        return EnergyRatio(ratio, reason="unknown_accuracy")
    known = (errors[0], errors[1])
    # The margin is that of two equal errors: the larger one is on the safe side.
    if is_lost_in_gain(ratio, is_same_meter=False, gain_error=max(known)):
        return EnergyRatio(ratio, reason="within_meters")
    extra = gain_log_variance(is_same_meter=False, gain_errors=known)
    return _with_interval(own, base, ratio, extra)


def _with_interval(
    own: Sequence[float], base: Sequence[float], ratio: float, extra: float
) -> EnergyRatio:
    if min(len(own), len(base)) < 2:
        return EnergyRatio(ratio, reason="single_run")
    interval = log_ratio_intervals(
        _rollups(own), _rollups(base), True, extra_log_variance=extra
    )
    low, high = float(interval.low[0]), float(interval.high[0])
    if math.isnan(low) or math.isnan(high):
        return EnergyRatio(ratio, reason="no_spread")
    return EnergyRatio(ratio, low, high)


def _rollups(values: Sequence[float]) -> Rollups:
    mean = fmean(values)
    m2 = reduce(lambda total, value: total + (value - mean) ** 2, values, 0.0)
    return Rollups.of([len(values)], [mean], [m2], [math.nan])


def cost_unit(metric: str, unit: str, better: str) -> str:
    """Return the unit of the cost of a case; empty if it counts no work.

    >>> cost_unit("throughput", "MB/s", "higher"), cost_unit("total time", "s", "lower")
    ('J/MB', 'J')
    """
    known = find(unit)
    if better == "higher" and known is not None and known.dimension in RATES:
        # Of plain counts (1/s) one is the unit: joules alone.
        work = unit.removesuffix(PER_SECOND) if unit.endswith(PER_SECOND) else ""
        return f"J/{work}" if work not in ("", "1") else "J"
    return "J" if better == "lower" and metric in WORK_TIMES else ""


def work_cost(value: float, unit: str, better: str, mean_w: float) -> float | None:
    """Return the joules of a unit of work; None where nothing was done."""
    if value <= 0 or mean_w <= 0:
        return None
    if better == "lower":
        return mean_w * convert(value, unit, "s")
    rate = value if unit.endswith(PER_SECOND) else convert(value, unit, "1/s")
    return mean_w / rate


def energy_table(
    totals: Sequence[MeterTotal],
    *,
    reference: str | None = None,
    waiting_w: float | None = None,
) -> tuple[EnergyRow, ...]:
    """Each case's printed total beside the energy of its work.

    ``reference`` is the label of the case that ratios are set against (the first by
    default). With ``waiting_w``, the power of the machine before and after the work,
    ``less_wait_j`` is the total less the wait: the best figure of the three. ValueError
    where no case has the label ``reference``.
    """
    if not totals:
        return ()
    bases = [total for total in totals if reference in (None, total.label)]
    if not bases:
        raise ValueError(f'no case of this table is called "{reference}"')
    return tuple(_row(total, bases[0], waiting_w) for total in totals)


def _row(total: MeterTotal, base: MeterTotal, waiting_w: float | None) -> EnergyRow:
    printed_ratio = total.meter_j / base.meter_j
    if total.work_s is None or total.overrun_s is None:
        return EnergyRow(total, None, None, None, printed_ratio, None)
    energy_j = total.mean_w * total.work_s
    is_waiting_known = waiting_w is not None and total.overrun_s >= 0
    return EnergyRow(
        total=total,
        energy_j=energy_j,
        less_wait_j=(
            total.meter_j - (waiting_w or 0.0) * total.overrun_s
            if is_waiting_known
            else None
        ),
        per_work=per_work(energy_j, total.work_s, total.operations),
        printed_ratio=printed_ratio,
        energy_ratio=energy_j / (base.mean_w * base.work_s) if base.work_s else None,
    )
