"""Reasons why a result has no ratio to its baseline. PURE."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from benchmarks.parsing.tool import (
    COMMAND_LINE_PARAMETERS,
    UNKNOWN_RATE,
    Metric,
    MetricKind,
    RateOption,
)
from benchmarks.sentences import Sentence, template
from benchmarks.units import convert, find_unit

# Tests may exceed a set duration by the larger of these, to finish pending work.
MAX_OVERSHOOT: Final = 0.01
MAX_OVERSHOOT_S: Final = 0.05
# Tests may end early by this fraction, if another clock reports their duration.
MAX_UNDERSHOOT: Final = 0.001
MIN_RATE_REACHED: Final = 0.98

_RATE: Final = re.compile(r"(\d+(?:\.\d+)?) ?([kKmMgGtT])?([^,]*)", re.ASCII)
_NUMBER: Final = re.compile(r"[a-z]*(\d+(?:\.\d+)?)[^,]*", re.ASCII | re.IGNORECASE)

NO_RATIO_REASONS: Final[Mapping[MetricKind | None, str]] = {
    "count": template("A count does not measure speed."),
    "amount": template(
        "An amount does not measure speed, because the work for it is not known."
    ),
    "setting": template("This is set before the test, so it does not measure speed."),
    "share": template(
        "A share does not measure speed, so it has no relative performance."
    ),
}
GUEST_CPU_SHARE: Final = template(
    "A share of CPU time inside a guest covers only the guest's own time. The "
    "hypervisor's part is not included."
)
CPU_SHARE: Final = template(
    "A share of CPU time does not measure speed. The relevant measure is CPU time "
    "per unit of work."
)
GUEST_CPU_COST: Final = template(
    "CPU time counted by a guest covers only the guest's own time. The "
    "hypervisor's part is not included, so it is not compared with native."
)
FIXED_DURATION: Final = template(
    "The duration of this test is set by its option {option}, so it does not "
    "measure speed."
)
CLOCK_LIMITED_DURATION: Final = template(
    "The runs ended after {seconds:g} s by their own clock. The duration of this "
    "test was set, so it does not measure speed."
)
FIXED_RATE: Final = template(
    "The rate is the one requested by its option {option}, so it does not measure "
    "speed."
)

UNSTATED_RATE: Final = template(
    "The output does not state which rate was requested, so this may be a setting. "
    "Upload the results with the parameter {option}."
)


@dataclass(frozen=True, slots=True)
class RunRange:
    minimum: float
    maximum: float


def no_ratio_reason(
    metric: Metric,
    parameters: Mapping[str, str],
    *ranges: RunRange,
    is_guest: bool = False,
) -> Sentence | None:
    """Return why a case has no relative performance, or None if it has one.

    ``ranges`` are the runs of the cell and of its baseline. They show whether a
    duration was set without a parameter, and whether a requested rate was reached.
    """
    if metric.kind == "cost" and is_guest:
        return Sentence(GUEST_CPU_COST)
    if metric.kind == "share" and metric.is_cpu_metric:
        return Sentence(GUEST_CPU_SHARE if is_guest else CPU_SHARE)
    if metric.kind in NO_RATIO_REASONS:
        return Sentence(NO_RATIO_REASONS[metric.kind])
    if metric.fixed_by_parameters:
        return _fixed_duration_reason(metric, parameters, ranges)
    for rate_option in metric.rate_options:
        if parameters.get(rate_option.option) == UNKNOWN_RATE:
            return Sentence(UNSTATED_RATE, option=rate_option.option)
        requested = _requested_rate(rate_option, metric.unit, parameters)
        if not rate_option.unit:
            is_set = requested > 0
        else:
            is_set = requested > 0 and bool(ranges)
            is_set &= all(
                run_range.minimum >= MIN_RATE_REACHED * requested
                for run_range in ranges
            )
        if is_set:
            return Sentence(FIXED_RATE, option=rate_option.option)
    return None


def _fixed_duration_reason(
    metric: Metric, parameters: Mapping[str, str], ranges: tuple[RunRange, ...]
) -> Sentence | None:
    # With a set amount of work, the time is a speed.
    if any(_option_number(parameters, option) for option in metric.amount_options):
        return None
    for option in metric.fixed_by_parameters:
        if _option_number(parameters, option):
            return Sentence(FIXED_DURATION, option=option)
    lengths = {_whole_seconds(run_range) for run_range in ranges}
    seconds = lengths.pop() if len(lengths) == 1 else 0.0
    return Sentence(CLOCK_LIMITED_DURATION, seconds=seconds) if seconds else None


def _option_number(parameters: Mapping[str, str], option: str) -> float:
    """Return the last number of an option, or 0; "wsess.1" is the second number."""
    # Examples: "10", "60 s", "e0.02", "4,15,10".
    name, _, position = option.partition(".")
    numbers = _option_value(parameters, name).split(",")
    index = min(int(position), len(numbers) - 1) if position else -1
    number = _NUMBER.fullmatch(numbers[index].strip())
    return float(number[1]) if number else 0.0


def _requested_rate(
    rate_option: RateOption, unit: str, parameters: Mapping[str, str]
) -> float:
    parts = _option_value(parameters, rate_option.option).split(",")
    operation = parameters.get("operation", "")
    index = (
        rate_option.directions.index(operation)
        if operation in rate_option.directions
        else 0
    )
    # The last value of a list applies to all further operations.
    rate = _RATE.fullmatch(parts[min(index, len(parts) - 1)].strip())
    if rate is None:
        return 0.0
    number, prefix, rest = float(rate[1]), rate[2] or "", rate[3]
    for name in rate_option.multipliers:
        number *= _option_number(parameters, name) or 1.0
    if "/" in rest:
        symbol = prefix + rest
    elif prefix and rate_option.unit == "B/s":
        symbol = f"{prefix.upper()}iB/s"
    else:
        symbol = prefix.upper().replace("K", "k") + rate_option.unit
    requested_unit, metric_unit = find_unit(symbol), find_unit(unit)
    if (
        requested_unit
        and metric_unit
        and requested_unit.dimension == metric_unit.dimension
    ):
        return convert(number, requested_unit.symbol, metric_unit.symbol)
    return number


def _option_value(parameters: Mapping[str, str], option: str) -> str:
    if option in parameters:
        return parameters[option]
    for name, text in parameters.items():
        is_line = name.replace("_", " ") in COMMAND_LINE_PARAMETERS
        if is_line and (match := _option_pattern(option).search(text)):
            return match[1]
    return ""


@cache
def _option_pattern(option: str) -> re.Pattern[str]:
    """Match ``--max-time=60`` and ``-t60``, for example."""
    if len(option) == 1:
        return re.compile(rf"(?<!\S)-{option}[= ]?([^\s=-]\S*)")
    words = re.escape(option).replace("_", "[-_]")
    return re.compile(rf"(?<!\S)--?{words}[= ]([^\s-]\S*)")


def _whole_seconds(run_range: RunRange) -> float:
    """Return the whole number of seconds that all runs took (about), or 0."""
    seconds = math.floor(run_range.minimum * (1 + MAX_UNDERSHOOT))
    latest = seconds + max(MAX_OVERSHOOT_S, MAX_OVERSHOOT * seconds)
    return float(seconds) if seconds and run_range.maximum <= latest else 0.0
