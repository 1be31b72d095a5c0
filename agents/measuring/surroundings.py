"""The machine around a run: load, steal, memory, and whether it is fit to measure."""

import os
from typing import Any, Dict, List, NamedTuple, Optional

from agents.detection.cpus import memory_fields
from agents.files import text_of

BUSY_SHARE = 0.15
STEAL_SHARE = 0.02
LEAST_MEMORY_SHARE = 0.1


class Surroundings(NamedTuple):
    """Counters at one moment; None where the system does not tell."""

    ticks: Optional[List[int]]
    load: Optional[float]
    memory_share: Optional[float]


def look_around(root: str = "/") -> Surroundings:
    """Read /proc/stat, /proc/loadavg and /proc/meminfo."""
    stat = text_of(os.path.join(root, "proc/stat")) or ""
    load = text_of(os.path.join(root, "proc/loadavg"))
    memory = memory_fields(text_of(os.path.join(root, "proc/meminfo")) or "")
    free, whole = memory.get("MemAvailable"), memory.get("MemTotal")
    return Surroundings(
        ticks=_ticks(stat),
        load=float(load.split()[0]) if load else None,
        memory_share=free / whole if free is not None and whole else None,
    )


def changes(before: Surroundings, after: Surroundings) -> Dict[str, Any]:
    """Return how much of all CPUs' time was busy and stolen in between."""
    found = {"load before": before.load, "load after": after.load}
    if before.ticks and after.ticks and len(before.ticks) == len(after.ticks):
        spent = [late - early for early, late in _pairs(before.ticks, after.ticks)]
        whole = sum(spent)
        if whole > 0:
            found["busy share"] = 1 - (spent[3] + spent[4]) / whole
            found["steal share"] = spent[7] / whole
    return {name: value for name, value in found.items() if value is not None}


def unfitness(before: Surroundings, now: Surroundings) -> List[str]:
    """Say what speaks against measuring now, from a short time of doing nothing.

    The load average would still remember the run before.
    """
    found = []
    shares = changes(before, now)
    if shares.get("busy share", 0.0) > BUSY_SHARE:
        found.append("The machine is busy: %.0f %%." % (shares["busy share"] * 100))
    if shares.get("steal share", 0.0) > STEAL_SHARE:
        stolen = shares["steal share"] * 100
        found.append("Its host takes %.0f %% of its time for others." % stolen)
    if now.memory_share is not None and now.memory_share < LEAST_MEMORY_SHARE:
        found.append("Only %.0f %% of memory is free." % (now.memory_share * 100))
    return found


def _pairs(first: List[int], second: List[int]) -> List[Any]:
    return [(first[place], second[place]) for place in range(len(first))]


def _ticks(stat: str) -> Optional[List[int]]:
    """Return user nice system idle iowait irq softirq steal; guest time is in user."""
    for line in stat.splitlines():
        if line.startswith("cpu "):
            ticks = [int(each) for each in line.split()[1:9]]
            return ticks if len(ticks) == 8 else None
    return None
