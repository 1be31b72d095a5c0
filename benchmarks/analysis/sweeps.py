"""Numeric parameters as an axis: levels, their scale, and where systems part.

A level is read from the canonical spelling of a parameter (`fingerprints`), in which
``4 KiB`` and ``4096 B`` are the same. What has no known unit (``4k``) is a name and no
level: it is never guessed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from benchmarks import units

LEAST_LEVELS: Final = 3
WIDE: Final = 10
"""Levels that span less than this factor fit on a linear axis."""
TINY: Final = 1e-9

Scale = Literal["log2", "log10", "linear"]
Course = Literal["keeps", "parts", "joins", "slower"]

_LEVEL = re.compile(r"([+-]?[\d.]+(?:E[+-]?\d+)?)(?: (\S+))?", re.ASCII)


@dataclass(frozen=True, order=True)
class Level:
    """A parameter's value as a number of its base unit (empty: a plain number)."""

    amount: float
    unit: str = ""


@dataclass(frozen=True)
class Parting:
    """How a system goes along an axis against what it is compared with.

    ``keeps``: never slower. ``parts``: not slower before level ``at``, slower from it
    on. ``joins``: slower before level ``at``, not slower from it on. ``slower``: slower
    everywhere.
    """

    course: Course
    at: int = 0


def level_of(canonical: str) -> Level | None:
    """Return the number that a canonical parameter is, or None if it is a name."""
    match = _LEVEL.fullmatch(canonical)
    if match is None or (match[2] and units.find(match[2]) is None):
        return None
    try:
        amount = float(match[1])
    except ValueError:
        return None
    return Level(amount, match[2] or "") if math.isfinite(amount) else None


def scale_of(amounts: Sequence[float]) -> Scale:
    """Return the axis for these levels: log2 where each is the smallest times 2^k.

    Other levels above 0 that span a factor of 10 have a log10 axis, all else a linear
    one; two neighbours of a count (2, 3, 4) are no powers of two.
    """
    low, high = min(amounts), max(amounts)
    if low <= 0:
        return "linear"
    steps = [math.log2(each / low) for each in amounts]
    if all(abs(step - round(step)) < TINY for step in steps):
        return "log2"
    return "log10" if high / low >= WIDE else "linear"


def parting(verdicts: Sequence[str]) -> Parting | None:
    """Say how the verdicts of one system change along the axis, lowest level first.

    None unless every level has a verdict that decides and they change at most once:
    nothing else can be said in a sentence that the data carry.
    """
    if len(verdicts) < LEAST_LEVELS:
        return None
    if not {"slower", "faster", "equivalent"}.issuperset(verdicts):
        return None
    is_slower = [verdict == "slower" for verdict in verdicts]
    changes = [
        place
        for place in range(1, len(is_slower))
        if is_slower[place - 1 : place + 1] in ([True, False], [False, True])
    ]
    if len(changes) > 1:
        return None
    if not changes:
        return Parting("slower" if is_slower[0] else "keeps")
    return Parting("joins" if is_slower[0] else "parts", changes[0])
