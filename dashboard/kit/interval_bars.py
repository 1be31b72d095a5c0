"""An interval as a bar against the margin within which nothing counts as different."""

from dataclasses import dataclass
from math import exp, log, log1p

from benchmarks.analysis.judgement import Judgement
from dashboard.kit import figures

ROOM = 1.15
WIDEST = log(64)


@dataclass(frozen=True)
class IntervalBar:
    """Places in percent of a log axis of ratios whose middle is 1.

    ``ends`` and ``middle`` are what is written at them.
    """

    margin: tuple[str, str]
    interval: tuple[str, str]
    ratio: str
    ends: tuple[str, str]
    middle: str = "1"


def reach(judgements: list[Judgement], margin: float) -> float:
    """Return how far from 1 an axis must go to hold these intervals, as a log."""
    said = [x for each in judgements for x in (each.low, each.high, each.ratio) if x]
    farthest = max([2 * log1p(margin), *(abs(log(x)) for x in said if x > 0)])
    return min(farthest * ROOM, WIDEST)


def interval_bar(
    judgement: Judgement, margin: float, reach: float, *, is_overhead: bool = False
) -> IntervalBar | None:
    """Return the bar of a judgement; None where there is no interval."""
    low, high, ratio = judgement.low, judgement.high, judgement.ratio
    if low is None or high is None or ratio is None:
        return None
    ends = (exp(-reach), exp(reach))
    write = figures.overhead if is_overhead else figures.ratio
    return IntervalBar(
        margin=_ends(1 - margin, 1 + margin, ends),
        interval=_ends(low, high, ends),
        ratio=f"{100 * figures.place(ratio, *ends):.2f}%",
        ends=(write(ends[0]), write(ends[1])),
        middle=write(1) if is_overhead else "1",
    )


def _ends(low: float, high: float, ends: tuple[float, float]) -> tuple[str, str]:
    """Return where a bar begins and how wide it is."""
    begin, end = (100 * figures.place(each, *ends) for each in (low, high))
    return f"{begin:.2f}%", f"{max(end - begin, 0.6):.2f}%"
