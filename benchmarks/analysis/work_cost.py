"""What a unit of work costs in joules: mean power beside what a tool printed.

Power is joules a second and a rate is work a second, so that one by the other is joules
for a unit of work; of work that is the same every time it is power x time.
"""

from __future__ import annotations

from typing import Final

from benchmarks.plausibility.rules.coruns import WORK_TIMES
from benchmarks.units import convert, find

RATES: Final = frozenset({"data rate", "floating-point rate", "rate"})
PER_SECOND: Final = "/s"


def cost_unit(metric: str, unit: str, better: str) -> str:
    """Return the unit of the cost of a case; empty if it counts no work.

    >>> cost_unit("throughput", "MB/s", "higher"), cost_unit("total time", "s", "lower")
    ('J/MB', 'J')
    """
    found = find(unit)
    if better == "higher" and found is not None and found.dimension in RATES:
        work = unit.removesuffix(PER_SECOND) if unit.endswith(PER_SECOND) else ""
        return f"J/{work}" if work not in ("", "1") else "J"
    return "J" if better == "lower" and metric in WORK_TIMES else ""


def work_cost(value: float, unit: str, better: str, mean_w: float) -> float | None:
    """Return the joules of a unit of work; None where nothing was done."""
    if value <= 0 or mean_w <= 0:
        return None
    if better == "lower":
        return mean_w * convert(value, unit, "s")
    rate = value if unit.endswith(PER_SECOND) else convert(value, unit, "1/s")
    return mean_w / rate
