"""The lines a run was read from, those with its numbers marked. PURE."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

LINES_SHOWN: Final = 120
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
    """Return the first lines of a text, and whether there are more.

    ``first`` is the number of its first line. A line is marked where one of its numbers
    is one of ``values``; values converted to another unit are not found again.
    """
    rows = text.split("\n")
    if rows and not rows[-1]:
        rows.pop()
    wanted = set(values)
    shown = tuple(
        RawLine(first + at, row, _holds(row, wanted))
        for at, row in enumerate(rows[:LINES_SHOWN])
    )
    return shown, len(rows) > LINES_SHOWN


def _holds(row: str, wanted: set[float]) -> bool:
    return any(float(each) in wanted for each in NUMBER.findall(row))
