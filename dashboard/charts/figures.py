"""Charts as Plotly figures. PURE: plain values in, a dict for ``json_script`` out.

Colours are not chosen here: a trace says which ``series`` of the style sheet it is,
and the page paints it, so that a chart follows the reader's light or dark theme.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import log10
from textwrap import wrap
from typing import Any, Final

from dashboard.kit.figures import number

SYMBOLS: Final = (
    "circle",
    "square",
    "diamond",
    "triangle-up",
    "cross",
    "x",
    "triangle-down",
    "pentagon",
    "star",
    "hexagon",
)
SERIES: Final = 7
TICKS: Final = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)
# Where all ratios are near 1 and the axis would have a tick or two.
FINE_TICKS: Final = (0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8)
FEWEST_TICKS: Final = 3
# A ratio farther from 1 is most likely a slip of a unit; it is shown as an arrow on
# the edge, or all others would be squeezed into one line.
FARTHEST: Final = 64.0
# Ticks of a log axis in full: left alone, Plotly writes 2 and 5 for 20 and 50.
WHOLE: Final = ",~r"
WIDE: Final = 80
ROW_PX: Final = 26
LANE_PX: Final = 1.8
FRAME_PX: Final = 96
LANES: Final = 0.62  # the share of a row's height over which its dots are spread
PADDING: Final = 0.04


@dataclass(frozen=True)
class Dot:
    """One ratio: the row it lies in, its series, and what hovering tells."""

    row: int
    series: int
    ratio: float
    title: str
    text: str


@dataclass(frozen=True)
class Series:
    """Dots of one system; those of one group share a colour, each has its own mark."""

    name: str
    group: str


def dot_plot(
    rows: Sequence[str],
    series: Sequence[Series],
    dots: Sequence[Dot],
    *,
    axis_title: str,
) -> dict[str, Any] | None:
    """Return ratios on a log axis, one line a row; None when there is nothing to draw.

    Names come from people: Plotly would read ``<b>`` or ``<a href>`` in them as markup.
    """
    if not dots:
        return None
    used = sorted({dot.series for dot in dots})
    groups = list(dict.fromkeys(series[at].group for at in used))
    traces = [
        _trace(at, used, groups, series, [dot for dot in dots if dot.series == at])
        for at in used
    ]
    layout = _layout(rows, [dot.ratio for dot in dots], axis_title)
    layout["height"] = FRAME_PX + len(rows) * round(ROW_PX + LANE_PX * len(used))
    return {"data": traces, "layout": layout}


def plain(text: str) -> str:
    """Return a text that Plotly shows as it is."""
    return escape(text, quote=False)


def hover(dot: Dot) -> str:
    """Return the text beside a dot: its system, then its sentence, in short lines.

    Line breaks are the only markup: for bold, Plotly sets a style attribute, which the
    content security policy forbids.
    """
    first, colon, rest = dot.text.partition(": ")
    lines = wrap(rest, WIDE) if len(rest) > WIDE else [rest]
    return "<br>".join(map(plain, filter(None, [dot.title, first + colon, *lines])))


def _trace(
    at: int,
    used: Sequence[int],
    groups: Sequence[str],
    series: Sequence[Series],
    dots: Sequence[Dot],
) -> dict[str, Any]:
    group = series[at].group
    siblings = [other for other in used if series[other].group == group]
    mark = SYMBOLS[siblings.index(at) % len(SYMBOLS)]
    lane = _lane(used.index(at), len(used))
    return {
        "type": "scatter",
        "mode": "markers",
        "name": plain(series[at].name),
        "legendgroup": plain(group),
        "legendgrouptitle": {"text": plain(group)},
        "x": [min(max(dot.ratio, 1 / FARTHEST), FARTHEST) for dot in dots],
        "y": [dot.row + lane for dot in dots],
        "customdata": [dot.ratio for dot in dots],
        "text": [hover(dot) for dot in dots],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"symbol": [_mark(dot, mark) for dot in dots], "size": 9},
        "meta": {"series": groups.index(group) % SERIES + 1},
    }


def _mark(dot: Dot, mark: str) -> str:
    """Return the series' mark, or an arrow on the edge towards a ratio beyond it."""
    if dot.ratio < 1 / FARTHEST:
        return "triangle-left-open"
    return "triangle-right-open" if dot.ratio > FARTHEST else mark


def _lane(place: int, count: int) -> float:
    """Return how far from its row's middle a series is drawn: never two on one spot."""
    return LANES * (place / (count - 1) - 0.5) if count > 1 else 0.0


def row_axis(rows: Sequence[str]) -> dict[str, Any]:
    """Return an axis with a line for each row, the first one on top."""
    return {
        "range": [len(rows) - 0.5, -0.5],
        "tickvals": list(range(len(rows))),
        "ticktext": [plain(row) for row in rows],
        "automargin": True,
        "fixedrange": True,
    }


def _layout(
    rows: Sequence[str], ratios: Sequence[float], axis_title: str
) -> dict[str, Any]:
    low = log10(max(min(*ratios, 0.9), 1 / FARTHEST))
    high = log10(min(max(*ratios, 1.1), FARTHEST))
    room, ticks = (high - low) * PADDING, _ticks(low, high)
    return {
        "hovermode": "closest",
        "xaxis": {
            "type": "log",
            "title": {"text": plain(axis_title)},
            "range": [low - room, high + room],
            "tickvals": list(ticks),
            "ticktext": [number(tick) for tick in ticks],
            "fixedrange": True,
        },
        "yaxis": row_axis(rows),
        "shapes": [*_bands(len(rows)), _native_line(len(rows))],
    }


def _ticks(low: float, high: float) -> Sequence[float]:
    seen = sum(low <= log10(tick) <= high for tick in TICKS)
    return TICKS if seen >= FEWEST_TICKS else FINE_TICKS


def _native_line(count: int) -> dict[str, Any]:
    """Return a line above the grid: Plotly has none that ends on the paper."""
    ends = {"x0": 1, "x1": 1, "y0": -0.5, "y1": count - 0.5}
    return {"type": "line", "name": "native", "layer": "between", **ends}


def _bands(count: int) -> list[dict[str, Any]]:
    """Return a tint under every other row, so that the eye keeps its line."""
    ends = {"x0": 0, "x1": 1, "xref": "paper", "line": {"width": 0}}
    return [
        {
            "type": "rect",
            "name": "band",
            "layer": "below",
            "y0": at - 0.5,
            "y1": at + 0.5,
        }
        | ends
        for at in range(0, count, 2)
    ]
