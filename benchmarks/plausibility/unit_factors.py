"""The factors between two units of one quantity, and which of them a ratio is near."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from benchmarks.plausibility.facts import CellFact
from benchmarks.sentences import Sentence

FACTORS: Final[Mapping[str, float]] = {
    Sentence("8 (bits and bytes)"): 8,
    "10": 10,
    "100": 100,
    "1000": 1000,
    "1024": 1024,
    Sentence("8000 (kbit and MB)"): 8000,
    "10^6": 1e6,
    "1024^2": 1024**2,
}
FACTORS_OF_TIME: Final[Mapping[str, float]] = {
    "10": 10,
    Sentence("60 (seconds and minutes)"): 60,
    "100": 100,
    "1000": 1000,
    Sentence("3600 (seconds and hours)"): 3600,
    "10^6": 1e6,
    "10^9": 1e9,
}
SHARES: Final[Mapping[str, float]] = {"100": 100, "1000": 1000}
"""How busy a CPU is may differ tenfold between two systems."""
LEAST: Final = math.log(5)
"""Below a factor of 5 no unit is mistaken for another one; many a setting matters."""
CLEARLY: Final = 3
"""In standard deviations of the siblings' residuals."""
NEAR: Final = 0.3
FARTHEST: Final = 0.9
"""How far from a factor a slip may lie, as a log ratio: 35 %, and where predictions
are worse 2.5 of their standard deviations, but never so far that all is near one."""
TIMES: Final = frozenset({"s", "ms", "us", "ns", "min", "h", "J", "Wh", "kWh"})


def nearest_factor(cell: CellFact, off: float, tolerance: float) -> str:
    """The name of the factor that a log ratio comes near to; empty if none."""
    factors = FACTORS_OF_TIME if cell.unit in TIMES else FACTORS
    if cell.is_share:
        factors = SHARES
    name, factor = min(factors.items(), key=lambda each: _miss(off, each[1]))
    return name if _miss(off, factor) <= tolerance else ""


def _miss(off: float, factor: float) -> float:
    return abs(abs(off) - math.log(factor))
