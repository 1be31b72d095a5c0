"""Energy for work (``docs/method.md``, energy).

One meter's gain error cancels in a ratio; those of two meters add.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, Literal

from benchmarks.sentences import Sentence, template
from benchmarks.units import convert, find

MIN_COVERAGE: Final = 0.9
# Beyond any power, energy or time; products of such numbers are still numbers.
MOST: Final = 1e75
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


@dataclass(frozen=True, slots=True)
class PerWork:
    """Energy compared with what was done with it; None where nothing can be counted."""

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
    """A ratio of energies per work: 1.2 is a fifth more than the reference.

    ``reason`` says why there is no interval, ``scope`` what it covers ("in one
    session"); ``is_across_days``: the sides share no session.
    """

    ratio: float
    low: float | None = None
    high: float | None = None
    reason: NoInterval = ""
    scope: str = ""
    is_across_days: bool = False

    @property
    def has_interval(self) -> bool:
        return self.interval is not None

    @property
    def interval(self) -> tuple[float, float] | None:
        if self.low is None or self.high is None:
            return None
        return self.low, self.high


def per_work(
    energy_j: float, duration_s: float, operations: float | None = None
) -> PerWork:
    """Return J per operation, operations per J, and the energy-delay product.

    Energy x time: R. Gonzalez and M. Horowitz (1996).
    """
    _demand_positive(energy=energy_j, duration=duration_s)
    if operations is None:
        return PerWork(None, None, energy_j * duration_s)
    _demand_positive(operations=operations)
    return PerWork(energy_j / operations, operations / energy_j, energy_j * duration_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterTotal:
    """A meter's energy and time, and the time of the work, if stated.

    A meter stopped by hand runs longer than the work, so totals cannot be compared.
    """

    meter_j: float
    meter_s: float
    work_s: float | None = None
    operations: float | None = None

    def __post_init__(self) -> None:
        known = (self.meter_j, self.meter_s, self.work_s, self.operations)
        if not all(number is None or 0 < number < math.inf for number in known):
            raise ValueError("energy and times must be above 0")

    @property
    def mean_w(self) -> float:
        return self.meter_j / self.meter_s

    @property
    def energy_j(self) -> float | None:
        """Mean power x the work's time; too little if the machine idled meanwhile."""
        return None if self.work_s is None else self.mean_w * self.work_s

    def less_wait_j(self, waiting_w: float | None) -> float | None:
        """Return the total without idle power: the best figure, if it can be known."""
        # A machine that waits does not take more than its mean over work and wait.
        if self.work_s is None or waiting_w is None or waiting_w > self.mean_w:
            return None
        overrun_s = self.meter_s - self.work_s
        return self.meter_j - waiting_w * overrun_s if overrun_s >= 0 else None

    @property
    def per_work(self) -> PerWork | None:
        if self.work_s is None or self.energy_j is None:
            return None
        return per_work(self.energy_j, self.work_s, self.operations)


def gain_log_variance(*gain_errors: float) -> float:
    """Return what meters' gain errors add to the variance of ln(energy ratio).

    a^2/3 for each (a uniform error of +-a: GUM, JCGM 100:2008, 4.3.7).
    """
    return sum(error**2 for error in gain_errors) / 3


def gain_margin(gain_error: float = GAIN_ERROR) -> float:
    """Return the 95 % bound of a difference between two meters alone.

    The sum of two uniform errors of +-a stays within 2a (1 - sqrt(0.05)): 2.33 % for
    +-1.5 %.
    """
    return 2 * gain_error * (1 - math.sqrt(0.05))


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


def bare_ratio(
    own: Sequence[float],
    base: Sequence[float],
    meters: tuple[MeterFacts, MeterFacts],
) -> EnergyRatio | None:
    """Return the ratio of two means, with the reason if it has no interval.

    None for an energy of 0 or out of bounds, and for a CPU counter against the wall.
    """
    if not own or not base or min(*own, *base) < 1 / MOST:
        return None
    if max(*own, *base) > MOST:
        return None
    if meters[0].is_cpu_only is not meters[1].is_cpu_only:
        return None
    ratio = fmean(own) / fmean(base)
    errors = tuple(meter.gain_error for meter in meters)
    if meters[0].name != meters[1].name:
        if errors[0] is None or errors[1] is None:
            return EnergyRatio(ratio, reason="unknown_accuracy")
        # The margin is that of two equal errors: the larger one is on the safe side.
        largest = max(errors[0], errors[1])
        if max(ratio, 1 / ratio) < 1 + gain_margin(largest):
            return EnergyRatio(ratio, reason="within_meters")
    if min(len(own), len(base)) < 2:
        return EnergyRatio(ratio, reason="single_run")
    return EnergyRatio(ratio)


def meters_log_variance(meters: tuple[MeterFacts, MeterFacts]) -> float:
    """Return two meters' log variance; ValueError if an accuracy is unknown."""
    one, other = meters
    if one.name == other.name:
        return 0.0
    if one.gain_error is None or other.gain_error is None:
        raise ValueError("two meters of unknown accuracy cannot be judged")
    return gain_log_variance(one.gain_error, other.gain_error)


def cost_unit(metric: str, unit: str, better: str) -> str:
    """Return the unit of the cost of a case; empty if it counts no work.

    A plain count (1/s) is one of what its rate is called after, else of operations.

    >>> cost_unit("throughput", "MB/s", "higher"), cost_unit("total time", "s", "lower")
    ('J/MB', 'J')
    >>> cost_unit("request rate", "1/s", "higher"), cost_unit("IOPS", "1/s", "higher")
    ('J/request', 'J/operation')
    """
    known = find(unit)
    if better == "higher" and known is not None and known.dimension in RATES:
        work = unit.removesuffix(PER_SECOND) if unit.endswith(PER_SECOND) else ""
        if work in ("", "1"):
            *what, rate = metric.split() or [""]
            work = what[-1] if what and rate == "rate" else "operation"
        return f"J/{work}"
    return "J" if better == "lower" and metric in WORK_TIMES else ""


def work_cost(value: float, unit: str, better: str, mean_w: float) -> float | None:
    """Return the joules of a unit of work; None where nothing was done."""
    if value <= 0 or mean_w <= 0:
        return None
    if better == "lower":
        return mean_w * convert(value, unit, "s")
    rate = value if unit.endswith(PER_SECOND) else convert(value, unit, "1/s")
    return mean_w / rate
