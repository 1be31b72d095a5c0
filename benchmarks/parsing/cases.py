"""Labels of cases, cases without an efficiency, and CPU time per unit of data.

Set lengths, counts, shares and amounts have no efficiency. CPU time per unit of data
follows from shares of CPU time and the rate of the same run.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from string import Formatter
from typing import Final

from benchmarks.fingerprints import display_parameters
from benchmarks.parsing.contract import LINES, Cap, Kind, Metric, Tool
from benchmarks.sentences import Sentence, template
from benchmarks.units import convert, find

LONGEST_PART = 40
# Labels speak of several: "1 threads", "1 processes".
ONE_OF_MANY = re.compile(r"^(1 \w+?)(?:(?<=ss)es|s)$")


def case_label(tool: Tool, metric: Metric, parameters: Mapping[str, object]) -> str:
    """Return ``Disk throughput · sequential write``, ``Bandwidth · read · L1``."""
    shown = display_parameters(parameters)
    # "sequential write" reads better than its two parameters apart.
    doing = " ".join(shown[key] for key in ("access", "operation") if key in shown)
    filled = (
        ONE_OF_MANY.sub(r"\1", label.format_map(shown))
        for label in _applicable(tool, shown)
    )
    return " · ".join(
        part if len(part) <= LONGEST_PART else f"{part[: LONGEST_PART - 1]}…"
        for part in (metric.title, doing, *filled)
        if part
    )


def case_details(tool: Tool, parameters: Mapping[str, object]) -> dict[str, str]:
    """Return the parameters that the label leaves out."""
    shown = display_parameters(parameters)
    named = {"access", "operation"}.union(
        *(_fields(label) for label in _applicable(tool, shown))
    )
    return {key: text for key, text in shown.items() if key not in named}


def _applicable(tool: Tool, shown: Mapping[str, str]) -> Iterator[str]:
    return (label for label in tool.labels if _fields(label) <= shown.keys())


def _fields(label: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(label) if name}


# Of a KB that is 1024 bytes, as netperf's service demand has it.
_US_PER_KB: Final = 1e6 * 1024


@dataclass(frozen=True, slots=True)
class MeasuredSample:
    """One sample of a run, in the unit of its metric."""

    metric: str
    parameters: Mapping[str, str]
    repetition: int
    value: float

    @property
    def stated(self) -> frozenset[tuple[str, str]]:
        return frozenset(self.parameters.items())


def costs(tool: Tool, samples: Iterable[MeasuredSample]) -> Iterator[MeasuredSample]:
    """Yield the CPU time per data of each test whose shares and rate a run has.

    A share of the whole test belongs to a rate of one direction if there is only one.
    """
    known = list(samples) if tool.costs else []
    for name, cost in tool.costs.items():
        for first in (sample for sample in known if sample.metric == cost.shares[0]):
            alike = [s for s in known if s.repetition == first.repetition]
            shares = {
                s.metric: s.value
                for s in alike
                if s.metric in cost.shares and s.stated == first.stated
            }
            rates = [
                s for s in alike if s.metric == cost.rate and first.stated <= s.stated
            ]
            own = [rate for rate in rates if rate.stated == first.stated]
            rates = own or rates
            if len(rates) != 1 or len(shares) != len(cost.shares):
                continue
            rate = rates[0]
            if rate.value > 0:
                unit = tool.metric(cost.rate).unit
                bytes_per_s = convert(rate.value, unit, "B/s")
                value = sum(shares.values()) / 100 / bytes_per_s * _US_PER_KB
                yield MeasuredSample(name, rate.parameters, first.repetition, value)


# By how much a test outlasts its set length: what it has begun it ends.
OVERSHOOT: Final = 0.01
OVERSHOOT_S: Final = 0.05
# By how much it may end early, where its clock is not the one that reports.
EARLY: Final = 0.001
# A rate so near to the one that was asked for is the one that was asked for.
REACHED: Final = 0.98

_RATE: Final = re.compile(r"(\d+(?:\.\d+)?) ?([kKmMgGtT])?([^,]*)", re.ASCII)
_NUMBER: Final = re.compile(r"[a-z]*(\d+(?:\.\d+)?)[^,]*", re.ASCII | re.IGNORECASE)

REASONS: Final[Mapping[Kind | None, str]] = {
    "count": template("A count says nothing about speed."),
    "amount": template(
        "An amount says nothing about speed: the work for it is not known."
    ),
    "setting": template("This is set before the test: it says nothing about speed."),
    "share": template(
        "A share says nothing about speed: it has no relative performance."
    ),
}
OWN_SHARE: Final = template(
    "A share of CPU time inside a guest is the guest's own share: the hypervisor's "
    "part is not seen."
)
CPU_SHARE: Final = template(
    "A share of CPU time is not a speed: what matters is the CPU time for a unit of "
    "work."
)
OWN_COST: Final = template(
    "CPU time that a guest counts is the guest's own share: the hypervisor's part is "
    "not seen, so it is not compared with native."
)
SET_LENGTH: Final = template(
    "The length of this test is set by its option {option}: it says nothing about "
    "speed."
)
WHOLE_SECONDS: Final = template(
    "The runs ended after {seconds:g} s as their clock had it: the length of this test "
    "was set, it says nothing about speed."
)
SET_RATE: Final = template(
    "The rate is the one that its option {option} asks for: it says nothing about "
    "speed."
)


@dataclass(frozen=True, slots=True)
class Extremes:
    """The least and greatest run of a cell, in the unit of the metric."""

    least: float
    greatest: float


def no_speed(
    metric: Metric,
    parameters: Mapping[str, str],
    *sides: Extremes,
    is_guest: bool = False,
) -> Sentence | None:
    """Return why a case has no efficiency, or None.

    ``sides`` are the runs of the cell and its baseline, for cases that do not state
    their length.
    """
    if metric.kind == "cost" and is_guest:
        return Sentence(OWN_COST)
    if metric.kind == "share" and metric.is_of_cpu:
        return Sentence(OWN_SHARE if is_guest else CPU_SHARE)
    if metric.kind in REASONS:
        return Sentence(REASONS[metric.kind])
    if metric.fixed_by:
        return _set_length(metric, parameters, sides)
    for cap in metric.capped_by:
        asked = _asked(cap, metric.unit, parameters)
        if not cap.unit:
            is_set = asked > 0
        else:
            is_set = asked > 0 and bool(sides)
            is_set &= all(side.least >= REACHED * asked for side in sides)
        if is_set:
            return Sentence(SET_RATE, option=cap.option)
    return None


def _set_length(
    metric: Metric, parameters: Mapping[str, str], sides: tuple[Extremes, ...]
) -> Sentence | None:
    # An amount of work that is set makes the time a speed, whatever limits it besides.
    if any(_set(parameters, option) for option in metric.unless):
        return None
    for option in metric.fixed_by:
        if _set(parameters, option):
            return Sentence(SET_LENGTH, option=option)
    lengths = {_whole_seconds(side) for side in sides}
    seconds = lengths.pop() if len(lengths) == 1 else 0.0
    return Sentence(WHOLE_SECONDS, seconds=seconds) if seconds else None


def _set(parameters: Mapping[str, str], option: str) -> float:
    """Return an option's number, else 0; ``wsess.1`` is the second of a list."""
    # "10", "60 s", "e0.02", "4,15,10"
    name, _, place = option.partition(".")
    numbers = _stated(parameters, name).split(",")
    at = min(int(place), len(numbers) - 1) if place else -1
    number = _NUMBER.fullmatch(numbers[at].strip())
    return float(number[1]) if number else 0.0


def _asked(cap: Cap, unit: str, parameters: Mapping[str, str]) -> float:
    """Return the rate that an option asks for, in ``unit``; else 0."""
    parts = _stated(parameters, cap.option).split(",")
    operation = parameters.get("operation", "")
    at = cap.ways.index(operation) if operation in cap.ways else 0
    # What a list does not tell is as what it tells last.
    rate = _RATE.fullmatch(parts[min(at, len(parts) - 1)].strip())
    if rate is None:
        return 0.0
    number, prefix, rest = float(rate[1]), rate[2] or "", rate[3]
    for name in cap.times:
        number *= _set(parameters, name) or 1.0
    if "/" in rest:
        symbol = prefix + rest
    elif prefix and cap.unit == "B/s":
        symbol = f"{prefix.upper()}iB/s"
    else:
        symbol = prefix.upper().replace("K", "k") + cap.unit
    asked, told = find(symbol), find(unit)
    if asked and told and asked.dimension == told.dimension:
        return convert(number, asked.symbol, told.symbol)
    return number


def _stated(parameters: Mapping[str, str], option: str) -> str:
    """Return an option's value: a parameter of its own, or in a command line."""
    if option in parameters:
        return parameters[option]
    for name, text in parameters.items():
        is_line = name.replace("_", " ") in LINES
        if is_line and (found := _typed(option).search(text)):
            return found[1]
    return ""


@cache
def _typed(option: str) -> re.Pattern[str]:
    """Return a pattern of an option: ``--max-time=60``, ``--time 10``, ``-t60``."""
    if len(option) == 1:
        return re.compile(rf"(?<!\S)-{option}[= ]?([^\s=-]\S*)")
    words = re.escape(option).replace("_", "[-_]")
    return re.compile(rf"(?<!\S)--?{words}[= ]([^\s-]\S*)")


def _whole_seconds(side: Extremes) -> float:
    """Return the whole seconds after which all runs ended, else 0."""
    seconds = math.floor(side.least * (1 + EARLY))
    latest = seconds + max(OVERSHOOT_S, OVERSHOOT * seconds)
    return float(seconds) if seconds and side.greatest <= latest else 0.0
