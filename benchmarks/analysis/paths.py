"""Compare the two directions of network paths."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from benchmarks.analysis.intervals import Rollups, log_ratio_intervals

Medium = Literal["loopback", "inside", "wire", "unknown"]
Ends = tuple[str, str]

INSIDE: Final = frozenset({"inter-vm", "same-host"})
"""Scenarios whose data never leaves the host: memory is the medium, not the wire."""
CLEAR: Final = 1.25
"""A smaller difference of two directions is not worth a reader's time."""


@dataclass(frozen=True)
class PathMean:
    """The mean of a path's runs, with what its interval needs."""

    n: int
    mean: float
    m2: float
    resolution: float | None


@dataclass(frozen=True)
class Asymmetry:
    """Two directions that differ by ``factor``; ``low`` and ``high`` are None for
    single runs."""

    larger: Ends
    factor: float
    low: float | None
    high: float | None


def medium_of(scenario: str, ends: Ends, hosts: tuple[str, str]) -> Medium:
    """Return what carries a path, from what was stated; nothing is guessed."""
    if ends[0] == ends[1]:
        return "loopback"
    if scenario in INSIDE or (hosts[0] and hosts[0] == hosts[1]):
        return "inside"
    if scenario == "inter-host" or all(hosts):
        return "wire"
    return "unknown"


def asymmetries(paths: Mapping[Ends, PathMean]) -> tuple[Asymmetry, ...]:
    """Return the pairs whose directions differ clearly, the largest factor first."""
    asymmetric = []
    for ends, there in paths.items():
        back = paths.get((ends[1], ends[0]))
        # Each pair once, and no loopback.
        if ends[0] < ends[1] and back and min(there.mean, back.mean) > 0:
            larger = ends if there.mean >= back.mean else (ends[1], ends[0])
            above, below = paths[larger], paths[larger[1], larger[0]]
            ratio = log_ratio_intervals(_rollups(above), _rollups(below), [True])
            low, high = float(ratio.low[0]), float(ratio.high[0])
            interval = (low, high) if np.isfinite(low) else (None, None)
            asymmetric.append(Asymmetry(larger, above.mean / below.mean, *interval))
    # Without an interval (single runs) the factor decides alone.
    clear = [it for it in asymmetric if it.factor >= CLEAR and (it.low or 2) > 1]
    return tuple(sorted(clear, key=lambda pair: -pair.factor))


def _rollups(reading: PathMean) -> Rollups:
    digits = np.nan if reading.resolution is None else reading.resolution
    return Rollups.of([reading.n], [reading.mean], [reading.m2], [digits])
