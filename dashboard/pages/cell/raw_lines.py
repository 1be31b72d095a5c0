"""The lines a run was read from, those with its numbers marked. PURE."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

LINES_SHOWN: Final = 120
BEFORE: Final = 10
# What a unit's prefix, binary or decimal, and bits for bytes make of a number.
FACTORS: Final = [
    1000.0**power * 1.024**binary * bits
    for power in range(-3, 4)
    for binary in range(-3, 4)
    for bits in (1, 8, 0.125)
]
TELLING: Final = 3
NUMBER: Final = re.compile(r"(?<![\w.])[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class RawLine:
    """A line, its number in the output (from 1), and whether a sample stands in it."""

    number: int
    text: str
    is_read: bool


def raw_lines(
    text: str, first: int, values: Collection[float]
) -> tuple[tuple[RawLine, ...], bool]:
    """Return the lines around the first number that was read, and if there are more.

    ``first`` is the number of the text's first line. A line is marked where one of its
    numbers is one of ``values``, in any unit if it has three digits or more.
    """
    rows = text.split("\n")
    if rows and not rows[-1]:
        rows.pop()
    wanted = _spellings(values)
    lines = [
        RawLine(first + at, row, _holds(row, wanted)) for at, row in enumerate(rows)
    ]
    read = next((at for at, line in enumerate(lines) if line.is_read), 0)
    start = 0 if read < LINES_SHOWN else read - BEFORE
    shown = tuple(lines[start : start + LINES_SHOWN])
    return shown, len(shown) < len(lines)


def _spellings(values: Collection[float]) -> set[str]:
    """Return the values as they may stand in the text; a short one in its unit only."""
    return {
        _spelling(value * factor)
        for value in values
        for factor in (FACTORS if _digits(value) >= TELLING else [1.0])
    }


def _digits(value: float) -> int:
    """Return how many significant digits a number is written with."""
    return len(f"{value:.15g}".partition("e")[0].replace(".", "").strip("-0"))


def _spelling(value: float) -> str:
    return f"{value:.9g}"


def _holds(row: str, wanted: set[str]) -> bool:
    return any(_spelling(float(each)) in wanted for each in NUMBER.findall(row))
