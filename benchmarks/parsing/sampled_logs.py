"""Summaries of logs of meters and hosts: mean, minimum and maximum of the samples.

A truncated log loses its last row, with a warning.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from math import fsum
from operator import add, mul, sub
from statistics import median
from typing import Final

from benchmarks.parsing.parser_toolkit import Draft, LineError
from benchmarks.parsing.tool import (
    ENERGY,
    Better,
    Component,
    Metric,
    Parameter,
    metrics,
)
from benchmarks.sentences import Sentence

_CHUNK: Final = 1 << 17
_SECOND: Final = 1_000_000
# A step longer than this many median steps is a gap.
_GAP: Final = 10
FACTORS: Final = {"W": 1.0, "mW": 1e-3, "kW": 1e3}
TRUNCATED_ROW: Final = Sentence(
    "The text ends within its last row, so the row was excluded."
)


class SampleSummary:
    __slots__ = ("append", "extend", "samples")

    def __init__(self) -> None:
        self.samples = array("d")
        # These methods are bound once, because they are called for every sample.
        self.append: Callable[[float], None] = self.samples.append
        self.extend: Callable[[Iterable[float]], None] = self.samples.extend

    def add_to(self, run: Draft, name: str, unit: str, **parameters: Parameter) -> None:
        if not self.samples:
            return
        smallest, largest = min(self.samples), max(self.samples)
        # Rounding must not move the mean outside of the range.
        mean = min(max(fsum(self.samples) / len(self.samples), smallest), largest)
        run.add(f"{name} mean", mean, unit, **parameters)
        run.add(f"{name} min", smallest, unit, **parameters)
        run.add(f"{name} max", largest, unit, **parameters)


def summary_metrics(
    name: str,
    unit: str,
    component: Component,
    better: Better = "lower",
    allows_zero: bool = False,
) -> tuple[Metric, ...]:
    return metrics(
        (f"{name} {which}" for which in ("mean", "min", "max")),
        unit=unit,
        better=better,
        component=component,
        allows_zero=allows_zero,
    )


ENERGY_METRICS: Final = (
    Metric("energy", "J", "lower", "power", work_class=ENERGY),
    # This is not the duration of the work.
    Metric("meter time", "s", "neither", "power", kind="setting"),
    *summary_metrics("power", "W", "power"),
)


def read_chunks(text: str, read: Callable[[str], None], above: int = 0) -> int:
    """Call ``read`` with chunks of whole lines.

    ``above`` is the number of lines before the text. The line numbers of errors and the
    returned number of lines include it.
    """
    start = 0
    while start < len(text):
        end = text.find("\n", start + _CHUNK) + 1 or len(text)
        chunk = text[start:end]
        try:
            read(chunk)
        except LineError as error:
            raise error.shifted(above) from None
        above += chunk.count("\n")
        start = end
    return above


def count_lines(chunk: str) -> int:
    """Return the number of lines, or -1 if the last one has no line end."""
    return chunk.count("\n") if chunk.endswith("\n") else -1


def summarize(
    run: Draft,
    times: Sequence[int],
    watts: Sequence[float],
    unit: str = "W",
    has_holes: bool = False,
) -> None:
    """Add mean, minimum and maximum power to a run, and energy if time has passed.

    Times are in microseconds. Power is interpolated linearly between samples, also
    across a gap, which gets a warning. If invalid samples were excluded
    (``has_holes``), a log with a gap has no energy.
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
        run.add_warning("gap", "The meter measured nothing for {gap:g} s.", gap=gap_s)
    if seconds > 0 and not (is_gap and has_holes):
        # These functions run in C, because a log may have a million samples.
        area = fsum(map(mul, map(add, watts[1:], watts[:-1]), steps)) / 2 / _SECOND
        mean = area / seconds
        run.add("energy", area * FACTORS[unit], "J")
        run.add("meter time", seconds, "s")
    run.add("power mean", mean, unit)
    run.add("power min", min(watts), unit)
    run.add("power max", max(watts), unit)
