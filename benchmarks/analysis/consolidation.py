"""What each further virtual machine adds: sum, mean and fairness over their number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.analysis.coruns import (
    CoRuns,
    Fairness,
    fairness,
    half_width,
    rates_of,
)


@dataclass(frozen=True, slots=True)
class Point:
    """The curve at k VMs; ``scaling`` and ``share`` are None without a single run.

    ``noise`` is the half-width of the sum's 95 % interval in parts of the sum.
    """

    k: int
    sum: float
    noise: float | None
    mean: float
    fairness: Fairness
    scaling: float | None
    share: float | None


@dataclass(frozen=True, slots=True)
class Consolidation:
    """Sum, mean and fairness for each number of VMs.

    ``knee`` is the last number of VMs that raised the best sum so far; if it is the
    largest one measured, the end is not reached.
    """

    points: tuple[Point, ...]
    knee: int

    @property
    def is_end_reached(self) -> bool:
        return self.knee < self.points[-1].k


def consolidation(
    coruns_by_k: Mapping[int, CoRuns], *, margin: float = 0.02
) -> Consolidation:
    """The curve over the number of VMs, and its knee.

    Adding VMs raised the sum if it grew over the best sum of fewer VMs by more than the
    margin and by more than the noise of both sums, where they were repeated. ValueError
    without co-runs, or where one of k VMs has not k slots.
    """
    if not coruns_by_k:
        raise ValueError("a consolidation curve needs at least one co-run")
    single = coruns_by_k.get(1)
    alone = None if single is None else float(rates_of(single).mean())
    points = tuple(_point(k, coruns_by_k[k], alone) for k in sorted(coruns_by_k))
    best = points[0]
    for point in points[1:]:
        noise = math.hypot(best.noise or 0.0, point.noise or 0.0)
        if math.log(point.sum / best.sum) > max(math.log1p(margin), noise):
            best = point
    return Consolidation(points, best.k)


def _point(k: int, coruns: CoRuns, alone: float | None) -> Point:
    values = rates_of(coruns)
    if values.shape[1] != k:
        raise ValueError(f"a co-run of {k} VMs has {values.shape[1]} slots")
    sums = values.sum(axis=1)
    total, mean = float(sums.mean()), float(values.mean())
    return Point(
        k=k,
        sum=total,
        noise=half_width(sums) / total if sums.size > 1 else None,
        mean=mean,
        fairness=fairness(coruns),
        scaling=total / alone if alone else None,
        share=mean / alone if alone else None,
    )
