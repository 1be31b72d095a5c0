"""The number of VMs that keep a limit of quality. PURE."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DensityPoint:
    """The worst quality figure of any VM while ``vms`` run, with its interval."""

    vms: int
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Density:
    """``holds`` is the largest number of VMs that keeps the limit, as do all smaller
    ones; ``breaks`` is the smallest that does not. None: no such number was measured.

    ``surely_holds`` and ``surely_breaks`` are the same by the ends of the intervals;
    they are None without intervals, or if no number is sure.
    """

    holds: int | None
    breaks: int | None
    surely_holds: int | None
    surely_breaks: int | None


def density(
    points: Sequence[DensityPoint], limit: float, *, is_lower_better: bool
) -> Density:
    """Return how many VMs keep the limit, which is the most a time may be."""

    def keeps(value: float) -> bool:
        return value <= limit if is_lower_better else value >= limit

    def worst(point: DensityPoint) -> float | None:
        return point.high if is_lower_better else point.low

    def best(point: DensityPoint) -> float | None:
        return point.low if is_lower_better else point.high

    ordered = sorted(points, key=lambda point: point.vms)
    sure = [p.vms for p in ordered if (end := best(p)) is not None and not keeps(end)]
    return Density(
        _last_that_keeps([(p.vms, keeps(p.value)) for p in ordered]),
        next((p.vms for p in ordered if not keeps(p.value)), None),
        _last_that_keeps(
            [(p.vms, (end := worst(p)) is not None and keeps(end)) for p in ordered]
        ),
        sure[0] if sure else None,
    )


def default_limit(points: Sequence[DensityPoint], *, is_lower_better: bool) -> float:
    """Return twice the time, or half the rate, of the smallest number of VMs."""
    first = min(points, key=lambda point: point.vms)
    return first.value * 2 if is_lower_better else first.value / 2


def _last_that_keeps(outcomes: Sequence[tuple[int, bool]]) -> int | None:
    last = None
    for vms, is_kept in outcomes:
        if not is_kept:
            break
        last = vms
    return last
