"""Dot plot of ratios on a log axis, one row per benchmark. PURE."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log10
from textwrap import wrap
from typing import Final, overload

from dashboard.charts.chart import (
    AXES_HEIGHT_PX,
    Chart,
    ChartAxis,
    ChartBand,
    Panel,
    Points,
    ReferenceLine,
    row_axis,
    row_height_px,
    series_color,
    series_symbol,
    symbol_style,
)
from dashboard.kit.formatting import number

# Sets of ticks from coarse to fine. The axis gets the first set that has enough ticks
# and reaches near both of its ends.
TICKS: Final = (
    (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50),
    (0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10),
    (0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8),
    (0.85, 0.9, 0.95, 1, 1.05, 1.1),
)
OTHER_TICKS: Final = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1, 1.2, 1.5, 2, 2.5, 3, 4)
"""Ticks if no set covers the axis."""
MIN_TICKS: Final = 4
MAX_GAP_SHARE: Final = 0.25
"""Maximum fraction of the axis before its first and after its last tick."""
# More extreme ratios are probably unit errors: they are drawn as arrows at the edge.
MAX_SHOWN_RATIO: Final = 64.0
HOVER_LINE_CHARACTERS: Final = 80
ROW_PX: Final = 26
DOT_SPREAD_PX: Final = 1.8
DOT_SPREAD_SHARE: Final = 0.62
"""Fraction of the row height over which the dots of several series are spread."""
AXIS_PADDING: Final = 0.04


@dataclass(frozen=True)
class Dot:
    """A ratio in one row of the plot. See `chart.symbol_style` for ``strength``."""

    row: int
    series: int
    ratio: float
    title: str
    sentence: str
    strength: str = ""
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class DotSeries:
    name: str
    group: str


def shortest_labels(parts: Sequence[Sequence[str]]) -> list[str]:
    """Return a label for each row: as few of its first parts as make it unique."""
    depth = [1] * len(parts)
    while True:
        names = [
            ", ".join(filter(None, dict.fromkeys(row[:count])))
            for row, count in zip(parts, depth, strict=True)
        ]
        counts = Counter(names)
        ambiguous = [
            index
            for index, name in enumerate(names)
            if (counts[name] > 1 or not name) and depth[index] < len(parts[index])
        ]
        if not ambiguous:
            return names
        for index in ambiguous:
            depth[index] += 1


def dot_plot(
    rows: Sequence[str],
    series: Sequence[DotSeries],
    dots: Sequence[Dot],
    *,
    axis_title: str,
) -> Chart | None:
    if not dots:
        return None
    used = sorted({dot.series for dot in dots})
    groups = list(dict.fromkeys(series[index].group for index in used))
    points = []
    for lane, index in enumerate(used):
        group = series[index].group
        siblings = [sibling for sibling in used if series[sibling].group == group]
        points.append(
            _points(
                [dot for dot in dots if dot.series == index],
                series[index],
                color=series_color(groups.index(group)),
                symbol=series_symbol(siblings.index(index)),
                offset=DOT_SPREAD_SHARE * (lane / max(len(used) - 1, 1) - 0.5)
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
            ChartBand(axis="y", low=index - 0.5, high=index + 0.5)
            for index in range(0, count, 2)
        ),
        # ``ends`` keeps the line above the grid: see `plotly_renderer._shapes`.
        reference_lines=(
            ReferenceLine(value=1, axis="x", ends=(-0.5, count - 0.5), is_above=True),
        ),
    )
    row = row_height_px(panel.y, round(ROW_PX + DOT_SPREAD_PX * len(used)))
    height = AXES_HEIGHT_PX + count * row
    return Chart(panels=(panel,), height=height)


def _points(
    dots: Sequence[Dot], series: DotSeries, *, color: str, symbol: str, offset: float
) -> Points:
    def clamped_symbol(ratio: float) -> str:
        if ratio < 1 / MAX_SHOWN_RATIO:
            return "triangle-left-open"
        return "triangle-right-open" if ratio > MAX_SHOWN_RATIO else symbol

    styles = [symbol_style(clamped_symbol(dot.ratio), dot.strength) for dot in dots]
    symbols, opacities = zip(*styles, strict=True)
    ends = [dot.interval or (None, None) for dot in dots]
    has_intervals = any(dot.interval for dot in dots)
    return Points(
        name=series.name,
        group=series.group,
        x=[_clamped(dot.ratio) for dot in dots],
        y=[dot.row + offset for dot in dots],
        color=color,
        symbol=symbols,
        opacity=opacities if set(opacities) != {1.0} else 1,
        low=[_clamped(low) for low, _high in ends] if has_intervals else (),
        high=[_clamped(high) for _low, high in ends] if has_intervals else (),
        interval_axis="x",
        values=[dot.ratio for dot in dots],
        hover_texts=[dot_hover_text(dot) for dot in dots],
    )


@overload
def _clamped(ratio: float) -> float: ...
@overload
def _clamped(ratio: float | None) -> float | None: ...
def _clamped(ratio: float | None) -> float | None:
    return (
        None if ratio is None else min(max(ratio, 1 / MAX_SHOWN_RATIO), MAX_SHOWN_RATIO)
    )


def dot_hover_text(dot: Dot) -> str:
    first, colon, rest = dot.sentence.partition(": ")
    lines = (
        wrap(rest, HOVER_LINE_CHARACTERS)
        if len(rest) > HOVER_LINE_CHARACTERS
        else [rest]
    )
    return "\n".join(filter(None, [dot.title, first + colon, *lines]))


def _ratio_axis(ratios: Sequence[float], title: str) -> ChartAxis:
    # The axis always includes 0.9 to 1.1, and so the line of the baseline at 1.
    low = log10(max(min(*ratios, 0.9), 1 / MAX_SHOWN_RATIO))
    high = log10(min(max(*ratios, 1.1), MAX_SHOWN_RATIO))
    margin = (high - low) * AXIS_PADDING
    suitable = (ticks for ticks in TICKS if _covers_axis(ticks, low, high))
    ticks = next(suitable, OTHER_TICKS)
    return ChartAxis(
        title=title,
        scale="log",
        limits=(10 ** (low - margin), 10 ** (high + margin)),
        ticks=tuple((tick, number(tick)) for tick in ticks),
    )


def _covers_axis(ticks: Sequence[float], low: float, high: float) -> bool:
    positions = [position for tick in ticks if low <= (position := log10(tick)) <= high]
    if len(positions) < MIN_TICKS:
        return False
    gap = MAX_GAP_SHARE * (high - low)
    return positions[0] - low <= gap and high - positions[-1] <= gap
