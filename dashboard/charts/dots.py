"""Ratios as dots on a log axis, a line for each case. PURE."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log10
from textwrap import wrap
from typing import Final, overload

from dashboard.charts.chart import (
    FRAME_PX,
    Axis,
    Band,
    Chart,
    Panel,
    Points,
    Rule,
    marked,
    row_axis,
    row_px,
    series_colour,
    symbol_at,
)
from dashboard.kit.figures import number

# From few ticks to many: those are taken that leave no end of the axis unnamed.
TICKS: Final = (
    (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50),
    (0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10),
    (0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8),
    (0.85, 0.9, 0.95, 1, 1.05, 1.1),
)
FEWEST_TICKS: Final = 4
WIDEST_GAP: Final = 0.25
"""The share of the axis before its first tick, and after its last one."""
# A ratio farther from 1 is most likely a slip of a unit; it is shown as an arrow on
# the edge, or all others would be squeezed into one line.
FARTHEST: Final = 64.0
WIDE: Final = 80
ROW_PX: Final = 26
LANE_PX: Final = 1.8
LANES: Final = 0.62  # the share of a row's height over which its dots are spread
PADDING: Final = 0.04


@dataclass(frozen=True)
class Dot:
    """One ratio: the row it lies in, its series, and what hovering tells.

    ``strength`` is that of its ``interval`` (`chart.marked`), which is drawn as a bar.
    """

    row: int
    series: int
    ratio: float
    title: str
    text: str
    strength: str = ""
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Series:
    """Dots of one system; those of one group share a colour, each has its own mark."""

    name: str
    group: str


def short_labels(parts: Sequence[Sequence[str]]) -> list[str]:
    """Return each row's name with as few of its parts as tell it from all others.

    >>> short_labels([["read", "4 KiB"], ["read", "64 KiB"], ["write", "4 KiB"]])
    ['read, 4 KiB', 'read, 64 KiB', 'write']
    """
    depth = [1] * len(parts)
    while True:
        names = [
            ", ".join(filter(None, dict.fromkeys(row[:count])))
            for row, count in zip(parts, depth, strict=True)
        ]
        counts = Counter(names)
        unlike = [
            at
            for at, name in enumerate(names)
            if (counts[name] > 1 or not name) and depth[at] < len(parts[at])
        ]
        if not unlike:
            return names
        for at in unlike:
            depth[at] += 1


def dot_plot(
    rows: Sequence[str],
    series: Sequence[Series],
    dots: Sequence[Dot],
    *,
    axis_title: str,
) -> Chart | None:
    """Return ratios on a log axis, one line a row; None when there is nothing to draw.

    A tint under every other row lets the eye keep its line.
    """
    if not dots:
        return None
    used = sorted({dot.series for dot in dots})
    groups = list(dict.fromkeys(series[at].group for at in used))
    points = []
    for lane, at in enumerate(used):
        group = series[at].group
        siblings = [other for other in used if series[other].group == group]
        points.append(
            _points(
                [dot for dot in dots if dot.series == at],
                series[at],
                colour=series_colour(groups.index(group)),
                symbol=symbol_at(siblings.index(at)),
                # Two series of a row never lie on one spot.
                offset=LANES * (lane / max(len(used) - 1, 1) - 0.5)
                if len(used) > 1
                else 0.0,
            )
        )
    count = len(rows)
    panel = Panel(
        x=_ratio_axis(
            [end for dot in dots for end in (dot.ratio, *(dot.interval or ()))],
            axis_title,
        ),
        y=row_axis(rows),
        series=tuple(points),
        bands=tuple(
            Band(axis="y", low=at - 0.5, high=at + 0.5) for at in range(0, count, 2)
        ),
        # Plotly has no line above the grid that ends on the paper.
        rules=(Rule(at=1, axis="x", ends=(-0.5, count - 0.5), is_above=True),),
    )
    row = row_px(panel.y, round(ROW_PX + LANE_PX * len(used)))
    height = FRAME_PX + count * row
    return Chart(panels=(panel,), height=height)


def _points(
    dots: Sequence[Dot], series: Series, *, colour: str, symbol: str, offset: float
) -> Points:
    def mark(ratio: float) -> str:
        if ratio < 1 / FARTHEST:
            return "triangle-left-open"
        return "triangle-right-open" if ratio > FARTHEST else symbol

    looks = [marked(mark(dot.ratio), dot.strength) for dot in dots]
    symbols, opacities = zip(*looks, strict=True)
    ends = [dot.interval or (None, None) for dot in dots]
    has_intervals = any(dot.interval for dot in dots)
    return Points(
        name=series.name,
        group=series.group,
        x=[_clamped(dot.ratio) for dot in dots],
        y=[dot.row + offset for dot in dots],
        colour=colour,
        symbol=symbols,
        opacity=opacities if set(opacities) != {1.0} else 1,
        low=[_clamped(low) for low, _high in ends] if has_intervals else (),
        high=[_clamped(high) for _low, high in ends] if has_intervals else (),
        along="x",
        values=[dot.ratio for dot in dots],
        texts=[hover(dot) for dot in dots],
    )


@overload
def _clamped(ratio: float) -> float: ...
@overload
def _clamped(ratio: float | None) -> float | None: ...
def _clamped(ratio: float | None) -> float | None:
    return None if ratio is None else min(max(ratio, 1 / FARTHEST), FARTHEST)


def hover(dot: Dot) -> str:
    first, colon, rest = dot.text.partition(": ")
    lines = wrap(rest, WIDE) if len(rest) > WIDE else [rest]
    return "\n".join(filter(None, [dot.title, first + colon, *lines]))


def _ratio_axis(ratios: Sequence[float], title: str) -> Axis:
    # 1 is in sight, with some room on both sides, wherever the ratios lie.
    low = log10(max(min(*ratios, 0.9), 1 / FARTHEST))
    high = log10(min(max(*ratios, 1.1), FARTHEST))
    room = (high - low) * PADDING
    named = (ticks for ticks in TICKS if _is_named(ticks, low, high))
    ticks = next(named, TICKS[-1])
    return Axis(
        title=title,
        scale="log",
        ends=(10 ** (low - room), 10 ** (high + room)),
        ticks=tuple((tick, number(tick)) for tick in ticks),
    )


def _is_named(ticks: Sequence[float], low: float, high: float) -> bool:
    """Tell whether an axis of logarithms has ticks enough, and some near its ends."""
    places = [place for tick in ticks if low <= (place := log10(tick)) <= high]
    if len(places) < FEWEST_TICKS:
        return False
    gap = WIDEST_GAP * (high - low)
    return places[0] - low <= gap and high - places[-1] <= gap
