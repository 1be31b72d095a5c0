"""Energy per unit of work (``docs/method.md``, "Energy").

The gain error of a meter cancels in a ratio. The errors of two meters add up.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, Literal

from benchmarks.sentences import Sentence, template
from benchmarks.units import convert, find_unit

MIN_COVERAGE: Final = 0.9
# The product of two such numbers is still finite.
MAX_ENERGY_RATIO: Final = 1e75
# Watts up? Pro: +-1.5 %, uniformly distributed.
GAIN_ERROR: Final = 0.015
EXTERNAL_METER_TOOLS: Final = frozenset({"watts-up", "power-csv", "ipmi-dcmi"})
"""Meters that may measure longer than the work."""
RUN_TIME_METRICS: Final = frozenset({"total time", "test duration"})

NoIntervalReason = Literal[
    "", "single_run", "unknown_accuracy", "within_meters", "no_spread"
]
NO_INTERVAL_SENTENCES: Final = {
    "single_run": template("A single run has no confidence interval."),
    "unknown_accuracy": template("The accuracy of the two power meters is unknown."),
    "within_meters": template(
        "The difference is small enough to be explained by the inaccuracy of the two "
        "power meters."
    ),
    "no_spread": template(
        "The confidence interval cannot be calculated: either the runs of one system "
        "are all equal, or they vary too much."
    ),
}
RATE_DIMENSIONS: Final = frozenset({"data rate", "floating-point rate", "rate"})
PER_SECOND: Final = "/s"


@dataclass(frozen=True, slots=True)
class EnergyPerWork:
    joules_per_operation: float | None
    operations_per_joule: float | None
    energy_delay_js: float


@dataclass(frozen=True, slots=True)
class MeterFacts:
    """A power meter; ``gain_error`` is relative, None if unknown."""

    name: str
    gain_error: float | None
    is_cpu_only: bool = False


@dataclass(frozen=True, slots=True)
class EnergyRatio:
    """A ratio of energies per unit of work: 1.2 means 20 % more than the reference."""

    ratio: float
    low: float | None = None
    high: float | None = None
    reason: NoIntervalReason = ""
    scope: str = ""
    is_across_sessions: bool = False

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
) -> EnergyPerWork:
    """Return J per operation, operations per J, and the energy-delay product (J s).

    Energy x time: R. Gonzalez and M. Horowitz (1996).
    """
    _require_positive(energy=energy_j, duration=duration_s)
    if operations is None:
        return EnergyPerWork(None, None, energy_j * duration_s)
    _require_positive(operations=operations)
    return EnergyPerWork(
        energy_j / operations, operations / energy_j, energy_j * duration_s
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterTotal:
    total_j: float
    metered_s: float
    work_s: float | None = None
    operations: float | None = None

    def __post_init__(self) -> None:
        numbers = (self.total_j, self.metered_s, self.work_s, self.operations)
        if not all(number is None or 0 < number < math.inf for number in numbers):
            raise ValueError("energy and times must be above 0")

    @property
    def mean_w(self) -> float:
        return self.total_j / self.metered_s

    @property
    def energy_j(self) -> float | None:
        """Mean power times the duration of the work; too low if the meter also ran
        while idle.
        """
        return None if self.work_s is None else self.mean_w * self.work_s

    def without_idle_j(self, idle_w: float | None) -> float | None:
        if self.work_s is None or idle_w is None or idle_w > self.mean_w:
            return None
        overrun_s = self.metered_s - self.work_s
        return self.total_j - idle_w * overrun_s if overrun_s >= 0 else None

    @property
    def per_work(self) -> EnergyPerWork | None:
        if self.work_s is None or self.energy_j is None:
            return None
        return per_work(self.energy_j, self.work_s, self.operations)


def gain_log_variance(*gain_errors: float) -> float:
    """Return the variance that the gain errors of meters add to ln(energy ratio).

    This is a^2/3 for each meter, the variance of a uniform error of +-a (GUM, JCGM
    100:2008, 4.3.7).
    """
    return sum(error**2 for error in gain_errors) / 3


def gain_margin(gain_error: float = GAIN_ERROR) -> float:
    """Return the difference that two meters alone cause in at most 5 % of cases.

    The sum of two uniform errors of +-a stays within 2a (1 - sqrt(0.05)).
    """
    return 2 * gain_error * (1 - math.sqrt(0.05))


def _require_positive(**values: float) -> None:
    for name, value in values.items():
        if not 1 / MAX_ENERGY_RATIO < value < MAX_ENERGY_RATIO:
            raise ValueError(
                Sentence(
                    "{name} is {value}: it must be a number above 0",
                    name=name,
                    value=value,
                )
            )


def mean_energy_ratio(
    cell_joules: Sequence[float],
    baseline_joules: Sequence[float],
    meters: tuple[MeterFacts, MeterFacts],
) -> EnergyRatio | None:
    """Return the ratio of two mean energies; None if they cannot be compared.

    The energy from a CPU counter cannot be compared with that of a whole machine.
    """
    if (
        not cell_joules
        or not baseline_joules
        or min(*cell_joules, *baseline_joules) < 1 / MAX_ENERGY_RATIO
    ):
        return None
    if max(*cell_joules, *baseline_joules) > MAX_ENERGY_RATIO:
        return None
    if meters[0].is_cpu_only is not meters[1].is_cpu_only:
        return None
    ratio = fmean(cell_joules) / fmean(baseline_joules)
    errors = tuple(meter.gain_error for meter in meters)
    if meters[0].name != meters[1].name:
        if errors[0] is None or errors[1] is None:
            return EnergyRatio(ratio, reason="unknown_accuracy")
        largest = max(errors[0], errors[1])
        if max(ratio, 1 / ratio) < 1 + gain_margin(largest):
            return EnergyRatio(ratio, reason="within_meters")
    if min(len(cell_joules), len(baseline_joules)) < 2:
        return EnergyRatio(ratio, reason="single_run")
    return EnergyRatio(ratio)


def meters_log_variance(meters: tuple[MeterFacts, MeterFacts]) -> float:
    """Return the variance that two meters add to a log ratio; 0 if they are the same.

    Raise ValueError if an accuracy is unknown.
    """
    first, second = meters
    if first.name == second.name:
        return 0.0
    if first.gain_error is None or second.gain_error is None:
        raise ValueError("two meters of unknown accuracy cannot be judged")
    return gain_log_variance(first.gain_error, second.gain_error)


def cost_unit(metric: str, unit: str, better: str) -> str:
    """Return the unit of the energy cost of a case; empty if it does not count work.

    For a rate in 1/s, the unit of work is the word before "rate" in the metric's name,
    otherwise "operation".
    """
    parsed_unit = find_unit(unit)
    if (
        better == "higher"
        and parsed_unit is not None
        and parsed_unit.dimension in RATE_DIMENSIONS
    ):
        work = unit.removesuffix(PER_SECOND) if unit.endswith(PER_SECOND) else ""
        if work in ("", "1"):
            *words, last_word = metric.split() or [""]
            work = words[-1] if words and last_word == "rate" else "operation"
        return f"J/{work}"
    return "J" if better == "lower" and metric in RUN_TIME_METRICS else ""


def joules_per_unit(
    value: float, unit: str, better: str, mean_w: float
) -> float | None:
    if value <= 0 or mean_w <= 0:
        return None
    if better == "lower":
        return mean_w * convert(value, unit, "s")
    rate = value if unit.endswith(PER_SECOND) else convert(value, unit, "1/s")
    return mean_w / rate
