"""Bars, curves and points as Plotly figures: plain values in, dicts out.

Colours are the page's, as in `charts`: a trace names its series of the style sheet.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from dashboard.charts.figures import FRAME_PX, SERIES, SYMBOLS, plain, row_axis

BAR_PX: Final = 34
FLAT_PX: Final = 360
REACH: Final = 0.45  # of a row: a stroke stands out above and below its bar
LAST: Final = SERIES
ABOVE: Final = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}


@dataclass(frozen=True)
class Bars:
    """One series of bars: a value for each row, or None where there is none."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True)
class Reference:
    """A value that all rows are to be seen against, drawn as a line across them."""

    name: str
    value: float


@dataclass(frozen=True)
class Targets:
    """A value that each row is to reach, drawn as a stroke across its bar."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True)
class Line:
    """Points of one thing, joined where ``is_joined``; ``texts`` show on hovering.

    A line stops where ``y`` is None. What was not measured but follows is dashed.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    texts: Sequence[str]
    is_joined: bool = True
    is_dashed: bool = False


def bar_chart(
    rows: Sequence[str],
    bars: Sequence[Bars],
    references: Sequence[Reference] = (),
    *,
    axis_title: str,
    mode: Literal["stack", "group"],
    targets: Sequence[Targets] = (),
) -> dict[str, Any]:
    """Return a line of bars for each row: put end to end, or one below the other."""
    lanes = 1 if mode == "stack" else max(1.0, len(bars) * 0.6)
    return {
        "data": [
            *(_bars(at, each) for at, each in enumerate(bars)),
            *(_targets(at, each, len(bars)) for at, each in enumerate(targets)),
            *(_reference(at, each, len(rows)) for at, each in enumerate(references)),
        ],
        "layout": {
            "height": FRAME_PX + round(len(rows) * BAR_PX * lanes) + BAR_PX,
            "barmode": mode,
            "bargap": 0.3,
            "hovermode": "closest",
            "xaxis": {
                "title": {"text": plain(axis_title)},
                "rangemode": "tozero",
                "fixedrange": True,
            },
            "yaxis": row_axis(rows),
            "legend": ABOVE | {"traceorder": "normal"},
            "shapes": [],
        },
    }


def line_chart(
    lines: Sequence[Line],
    *,
    x_title: str,
    y_title: str,
    window: tuple[float, float] | None = None,
    counts: bool = False,
    from_zero: bool = True,
    marked: Line | None = None,
) -> dict[str, Any]:
    """Return lines or points over a number; ``window`` tints a part of the axis.

    ``counts``: between two whole numbers there is nothing.
    """
    traces = [_line(at, each) for at, each in enumerate(lines)]
    if marked:
        traces.append(_marks(marked))
    return {
        "data": traces,
        "layout": {
            "height": FLAT_PX,
            "hovermode": "closest",
            "xaxis": {
                "title": {"text": plain(x_title)},
                "fixedrange": True,
                **({"dtick": 1} if counts else {"nticks": 8}),
            },
            "yaxis": {
                "title": {"text": plain(y_title)},
                "rangemode": "tozero" if from_zero else "normal",
                "showgrid": True,
                "automargin": True,
                "fixedrange": True,
            },
            "legend": ABOVE,
            "shapes": [_window(*window)] if window else [],
        },
    }


def _bars(at: int, bars: Bars) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": plain(bars.name),
        "x": list(bars.values),
        "y": list(range(len(bars.values))),
        "hovertemplate": plain(bars.name) + ": %{x:.6g}<extra></extra>",
        "marker": {"size": 0},
        "meta": {"series": at % SERIES + 1},
    }


def _targets(at: int, targets: Targets, bars: int) -> dict[str, Any]:
    """Return a stroke for each row that has a target; its second end tells nothing."""
    rows = [(at, each) for at, each in enumerate(targets.values) if each is not None]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plain(targets.name),
        "x": [x for _row, value in rows for x in (value, value, None)],
        "y": [y for row, _value in rows for y in (row - REACH, row + REACH, None)],
        "text": [plain(targets.name), "", ""] * len(rows),
        "hovertemplate": "%{text}: %{x:.6g}<extra></extra>",
        "line": {"width": 4, **({"dash": "dot"} if at % 2 else {})},
        "marker": {"size": 1},
        "meta": {"series": (bars + at) % SERIES + 1},
    }


def _reference(at: int, reference: Reference, rows: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plain(reference.name),
        "x": [reference.value] * 2,
        "y": [-0.5, rows - 0.5],
        "hovertemplate": plain(reference.name) + ": %{x:.6g}<extra></extra>",
        "line": {"width": 2, "dash": ("dash", "dot")[at % 2]},
        "marker": {"size": 1},
        "meta": {"series": LAST},
    }


def _line(at: int, line: Line) -> dict[str, Any]:
    # A thousand marks would be a smear: long series are drawn as a line alone.
    is_marked = len(line.x) < 100 and not line.is_dashed
    mode = "lines+markers" if is_marked else "lines"
    return {
        "type": "scatter",
        "mode": mode if line.is_joined else "markers",
        "name": plain(line.name),
        "x": list(line.x),
        "y": list(line.y),
        "text": [plain(text) for text in line.texts],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"symbol": SYMBOLS[at % len(SYMBOLS)], "size": 9},
        "line": {"width": 2, **({"dash": "dash"} if line.is_dashed else {})},
        "meta": {"series": LAST if line.is_dashed else at % SERIES + 1},
    }


def _marks(line: Line) -> dict[str, Any]:
    """Return rings around points that are to be seen."""
    found = _line(0, line)
    found["mode"] = "markers"
    found["marker"] = {"symbol": "circle-open", "size": 20}
    found["meta"] = {"series": LAST}
    return found


def _window(start: float, end: float) -> dict[str, Any]:
    return {
        "type": "rect",
        "name": "band",
        "layer": "below",
        "x0": start,
        "x1": end,
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "line": {"width": 0},
    }
