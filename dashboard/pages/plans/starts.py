"""How far apart the slots of co-runs began, as dots of a strip. PURE but for words."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.analysis.coruns import MIN_OVERLAP
from dashboard.wording.plans import share

LIMIT_MS = 100.0
WIDTH, LEFT, RIGHT = 100.0, 1.0, 99.0


@dataclass(frozen=True)
class Starts:
    """Spreads in ms with their places on a strip from 0 to ``end``."""

    dots: tuple[str, ...]
    median_at: str
    limit_at: str
    end: str
    median: str
    most: str
    n: int
    beyond: int
    least_overlap: str
    few_overlaps: int
    overlaps: int


def starts_of(spreads_us: Sequence[int], overlaps: Sequence[float]) -> Starts | None:
    """Return the strip; None while no co-run is done."""
    spreads = [each / 1000 for each in spreads_us]
    if not spreads:
        return None
    end = max(LIMIT_MS * 1.25, max(spreads) * 1.05)
    few = [each for each in overlaps if each < MIN_OVERLAP]
    return Starts(
        dots=tuple(_place(each, end) for each in sorted(spreads)),
        median_at=_place(median(spreads), end),
        limit_at=_place(LIMIT_MS, end),
        end=f"{end:.0f}",
        median=_ms(median(spreads)),
        most=_ms(max(spreads)),
        n=len(spreads),
        beyond=sum(each > LIMIT_MS for each in spreads),
        least_overlap=share(min(overlaps)) if overlaps else "",
        few_overlaps=len(few),
        overlaps=len(overlaps),
    )


def _place(value: float, end: float) -> str:
    return f"{LEFT + (RIGHT - LEFT) * value / end:.2f}"


def _ms(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"
