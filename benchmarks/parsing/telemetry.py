"""Summarize logs of meters and hosts: mean, least and most of the samples.

A log that was cut loses its last row, with a mark.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from math import fsum
from operator import add, mul, sub
from statistics import median
from typing import Final

from benchmarks.parsing.contract import (
    ENERGY,
    Better,
    Component,
    Metric,
    Parameter,
    metrics,
)
from benchmarks.parsing.scanning import Draft, Found, LineError
from benchmarks.sentences import Sentence

_CHUNK: Final = 1 << 17
_SECOND: Final = 1_000_000
# Nothing was measured for so many of the usual steps: a gap.
_GAP: Final = 10
FACTORS: Final = {"W": 1.0, "mW": 1e-3, "kW": 1e3}
CUT: Final = Sentence("The text ends within its last row: left out.")


class Summary:
    """The samples of one case, of which mean, least and most are told."""

    __slots__ = ("samples", "take", "take_all")

    def __init__(self) -> None:
        self.samples = array("d")
        # Bound once: they are called for every sample of a log.
        self.take: Callable[[float], None] = self.samples.append
        self.take_all: Callable[[Iterable[float]], None] = self.samples.extend

    def add_to(self, run: Draft, name: str, unit: str, **parameters: Parameter) -> None:
        """``name`` mean, min and max as readings of the run, if there were samples."""
        if not self.samples:
            return
        least, most = min(self.samples), max(self.samples)
        # Rounding must not put the mean outside of what was measured.
        mean = min(max(fsum(self.samples) / len(self.samples), least), most)
        run.add(f"{name} mean", mean, unit, **parameters)
        run.add(f"{name} min", least, unit, **parameters)
        run.add(f"{name} max", most, unit, **parameters)


def summary_metrics(
    name: str,
    unit: str,
    component: Component,
    better: Better = "lower",
    zero_allowed: bool = False,
) -> tuple[Metric, ...]:
    """The metrics of a summary."""
    return metrics(
        (f"{name} {which}" for which in ("mean", "min", "max")),
        unit=unit,
        better=better,
        component=component,
        # The least of a log in which something happened can be 0.
        zero_allowed=zero_allowed,
    )


ENERGY_METRICS: Final = (
    Metric("energy", "J", "lower", "power", work=ENERGY),
    # The window in which the meter ran, not the duration of the work.
    Metric("meter time", "s", "neither", "power", kind="setting"),
    *summary_metrics("power", "W", "power"),
)


def take_chunks(text: str, take: Callable[[str], None], above: int = 0) -> int:
    """Pass a text in pieces of whole lines; return ``above`` plus its lines."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _CHUNK) + 1 or len(text)
        chunk = text[start:end]
        try:
            take(chunk)
        except LineError as error:
            raise error.moved(above) from None
        above += chunk.count("\n")
        start = end
    return above


def lines_of(chunk: str) -> int:
    """The number of its lines; -1 if the last one has no end."""
    return chunk.count("\n") if chunk.endswith("\n") else -1


def refuse_other_width(line: Found, cells: Sequence[str], width: int) -> None:
    """Refuse a row that has more or fewer cells than its header."""
    if len(cells) != width:
        raise line.refused(
            "it has {cells} columns, not {width}.", cells=len(cells), width=width
        )


def summarize(
    run: Draft,
    times: Sequence[int],
    watts: Sequence[float],
    unit: str = "W",
    has_holes: bool = False,
) -> None:
    """Add mean, least and most power, and energy if time has passed.

    Times are microseconds. Power is linear between samples, also across a (marked) gap;
    gaps of logs that ``has_holes`` have no energy.
    """
    if not watts:
        return
    run.facts["samples"] = len(watts)
    mean = fsum(watts) / len(watts)
    steps = array("q", map(sub, times[1:], times[:-1]))
    seconds = sum(steps) / _SECOND
    is_gap = seconds > 0 and max(steps) > _GAP * median(steps)
    if is_gap:
        gap_s = max(steps) / _SECOND
        run.mark("gap", "Nothing was measured for {gap:g} s.", gap=gap_s)
    if seconds > 0 and not (is_gap and has_holes):
        # In C instead of a loop: a log has a million samples.
        area = fsum(map(mul, map(add, watts[1:], watts[:-1]), steps)) / 2 / _SECOND
        mean = area / seconds
        run.add("energy", area * FACTORS[unit], "J")
        run.add("meter time", seconds, "s")
    run.add("power mean", mean, unit)
    run.add("power min", min(watts), unit)
    run.add("power max", max(watts), unit)
