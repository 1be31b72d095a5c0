"""The chart of a sweep as a Plotly figure: plain values in, a dict out.

Colours are the page's, as in `charts`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from dashboard.charts.figures import SERIES, SYMBOLS, WHOLE, plain

HEIGHT_PX: Final = 400
MOST_TICKS: Final = 9


@dataclass(frozen=True)
class Mark:
    """A point with its interval (None: there is none) and what hovering tells."""

    x: float
    y: float
    low: float | None
    high: float | None
    text: str


@dataclass(frozen=True)
class Curve:
    """The marks of one system; the native machine's is drawn dashed."""

    name: str
    series: int
    is_native: bool
    marks: Sequence[Mark]


def sweep_plot(
    curves: Sequence[Curve],
    ticks: Sequence[tuple[float, str]],
    *,
    titles: tuple[str, str],
    is_log: tuple[bool, bool],
    line_at: float | None = None,
) -> dict[str, Any]:
    """Return lines over an axis; ``line_at`` is drawn across (1: native speed)."""
    across = {"x0": 0, "x1": 1, "xref": "paper", "y0": line_at, "y1": line_at}
    return {
        "data": [_curve(curve) for curve in curves],
        "layout": {
            "height": HEIGHT_PX,
            "hovermode": "closest",
            "showlegend": True,
            "xaxis": _axis(titles[0], is_log[0]) | _ticks(ticks),
            "yaxis": _axis(titles[1], is_log[1]) | _height(is_log[1]),
            "legend": {
                "orientation": "h",
                "x": 0,
                "y": 1.02,
                "yanchor": "bottom",
                "entrywidth": 1,
                "entrywidthmode": "fraction",
            },
            "shapes": []
            if line_at is None
            else [{"type": "line", "name": "native", "layer": "below", **across}],
        },
    }


def _axis(title: str, is_log: bool) -> dict[str, Any]:
    return {
        "type": "log" if is_log else "linear",
        "title": {"text": plain(title)},
        "automargin": True,
        "fixedrange": True,
    }


def _height(is_log: bool) -> dict[str, Any]:
    """A linear axis begins at 0, or a small difference would look large."""
    return {
        "showgrid": True,
        **({"dtick": "D2", "tickformat": WHOLE} if is_log else {"rangemode": "tozero"}),
    }


def _ticks(ticks: Sequence[tuple[float, str]]) -> dict[str, Any]:
    every = -(-len(ticks) // MOST_TICKS) or 1
    shown = ticks[::every]
    return {
        "tickvals": [amount for amount, _ in shown],
        "ticktext": [plain(text) for _, text in shown],
    }


def _curve(curve: Curve) -> dict[str, Any]:
    at = curve.series
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": plain(curve.name),
        "x": [mark.x for mark in curve.marks],
        "y": [mark.y for mark in curve.marks],
        "text": [plain(mark.text) for mark in curve.marks],
        "hovertemplate": "%{text}<extra></extra>",
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [_reach(mark.high, mark.y) for mark in curve.marks],
            "arrayminus": [_reach(mark.low, mark.y) for mark in curve.marks],
            "thickness": 1.5,
            "width": 4,
        },
        "marker": {"symbol": SYMBOLS[at % len(SYMBOLS)], "size": 9},
        "line": {"width": 2, "dash": "dash" if curve.is_native else "solid"},
        "meta": {"series": at % SERIES + 1},
    }


def _reach(end: float | None, middle: float) -> float:
    """How far a bar reaches; a point without an interval has a bar of no length."""
    return abs(end - middle) if end is not None and isfinite(end) else 0.0
