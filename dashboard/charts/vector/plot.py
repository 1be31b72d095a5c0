"""The pages' figures as SVG: the few kinds of Plotly figure that this project draws.

A figure is what `charts.bars` and `pages.factor_effects.charts` return: bars
across, lines and points, each on an even or a log axis.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, Final

from dashboard.charts.vector import pen
from dashboard.charts.vector.axes import Axis, even_axis, log_axis
from dashboard.charts.vector.legend import DASHES, legend, tone, weight

Trace = Mapping[str, Any]
LABELS: Final = 150
FLAT: Final = 130
LANE: Final = 9
GAP: Final = 7
AXIS: Final = 30
MOST_MARKS: Final = 1_000
"""More are a cloud, and as large as the script that draws them better."""
ROWS_SHARE: Final = 0.4
"""Points of the field for each pixel of a page's chart whose rows hold dots."""


@dataclass(frozen=True)
class Frame:
    """The field that is drawn in, and its axes (y of bars counts rows)."""

    x: Axis
    y: Axis
    top: float
    bottom: float
    left: float


def plot(figure: Mapping[str, Any], alt: str) -> str:
    """Return a figure of the pages as an SVG document."""
    traces, layout = figure["data"], figure["layout"]
    bars = [each for each in traces if each["type"] == "bar"]
    named, top = legend(traces)
    body = _body(layout, bars)
    frame = _frame(traces, layout, top, body, bool(bars))
    parts = [
        *named,
        *_grid(frame, layout),
        *_shapes(layout.get("shapes", ()), frame),
        *_bar_parts(bars, layout, frame),
        *_scatter_parts([each for each in traces if each["type"] != "bar"], frame),
    ]
    return pen.picture(frame.bottom + _foot(layout["xaxis"]), parts, alt)


def can_plot(figure: Mapping[str, Any]) -> bool:
    """Tell whether a figure is of a kind that is drawn here: one field, few marks."""
    axes = [name for name in figure["layout"] if name.startswith(("xaxis", "yaxis"))]
    marks = sum(len(each["x"]) for each in figure["data"] if "x" in each)
    known = map(_is_known, figure["data"])
    return len(axes) == 2 and marks <= MOST_MARKS and all(known)


def _is_known(trace: Trace) -> bool:
    """Tell whether a trace is of bars across, of lines, or of points in our forms."""
    if trace["type"] == "bar":
        return trace.get("orientation") == "h"
    symbols = trace.get("marker", {}).get("symbol", "")
    is_stroke = any(
        str(symbol).startswith("line-")
        for symbol in ([symbols] if isinstance(symbols, str) else symbols)
    )
    return trace["type"] == "scatter" and not is_stroke and "error_x" not in trace


def _body(layout: Mapping[str, Any], bars: Sequence[Trace]) -> float:
    """Return how high the field is: rows need room, curves have a common form."""
    if bars:
        return _bar_rows(layout, bars)
    return float(layout["height"]) * ROWS_SHARE if _has_rows(layout) else FLAT


def _has_rows(layout: Mapping[str, Any]) -> bool:
    """Tell whether the axis at the left names rows instead of counting."""
    return "range" in layout["yaxis"] and "tickvals" in layout["yaxis"]


def _bar_rows(layout: Mapping[str, Any], bars: Sequence[Trace]) -> float:
    rows = len(layout["yaxis"]["tickvals"])
    lanes = 1.4 if layout["barmode"] == "stack" else len(bars)
    return float(rows * (lanes * LANE + GAP))


def _frame(
    traces: Sequence[Trace],
    layout: Mapping[str, Any],
    top: float,
    body: float,
    is_bars: bool,
) -> Frame:
    left = LABELS if is_bars or _has_rows(layout) else 44
    x, y = layout["xaxis"], layout["yaxis"]
    across = _totals(traces, layout) if is_bars else _values(traces, "x")
    if not is_bars and "range" not in x:
        across += _ends(layout.get("shapes", ()))
    bottom = top + body
    axes = (
        _axis(x, across, left, pen.WIDTH - 12, is_bars=is_bars),
        _axis(y, _values(traces, "y"), bottom, top),
    )
    return Frame(*axes, top, bottom, left)


def _axis(
    said: Mapping[str, Any],
    values: list[float],
    start: float,
    end: float,
    *,
    is_bars: bool = False,
) -> Axis:
    if "range" in said:
        is_log = said.get("type") == "log"
        low, high = (10.0**each if is_log else each for each in said["range"])
        flipped = low > high
        ends = (end, start) if flipped else (start, end)
        return Axis(min(low, high), max(low, high), *ends, is_log=is_log)
    if said.get("type") == "log":
        return log_axis(values, start, end)
    return even_axis(
        values, start, end, from_zero=is_bars or said.get("rangemode") == "tozero"
    )


def _values(traces: Sequence[Trace], name: str) -> list[float]:
    return [x for each in traces for x in each[name] if x is not None]


def _totals(traces: Sequence[Trace], layout: Mapping[str, Any]) -> list[float]:
    """Return how far bars reach: end to end if they are stacked."""
    bars = [each for each in traces if each["type"] == "bar"]
    lines = [each for each in traces if each["type"] != "bar"]
    if layout["barmode"] != "stack":
        return _values(traces, "x")
    rows = zip(*(each["x"] for each in bars), strict=True)
    return [sum(x or 0.0 for x in row) for row in rows] + _values(lines, "x")


def _ends(shapes: Sequence[Mapping[str, Any]]) -> list[float]:
    return [shape[name] for shape in shapes for name in ("x0", "x1") if name in shape]


def _foot(said: Mapping[str, Any]) -> float:
    """Return how high the names and the title below the field are."""
    lines = max((len(_lines(text)) for text in said.get("ticktext") or ()), default=1)
    return AXIS + (lines - 1) * pen.LEADING


def _lines(text: str) -> list[str]:
    return [unescape(part) for part in text.split("<br>")]


def _grid(frame: Frame, layout: Mapping[str, Any]) -> Iterator[str]:
    """Draw the axes: named values across, rows or named values down."""
    yield from _across(frame, layout["xaxis"])
    yield from _down(frame, layout["yaxis"])
    yield pen.stroke((frame.left, frame.bottom), (frame.x.end, frame.bottom))
    title = unescape(layout["xaxis"].get("title", {}).get("text", ""))
    middle = (frame.left + frame.x.end) / 2
    below = frame.bottom + _foot(layout["xaxis"]) - 6
    yield pen.words((middle, below), title, anchor="middle")


def _across(frame: Frame, said: Mapping[str, Any]) -> Iterator[str]:
    counts = said.get("dtick") == 1
    for value, text in _named(frame.x, said).items():
        is_between = counts and value != int(value)
        if is_between or not frame.x.low <= value <= frame.x.high:
            continue
        x = frame.x.place(value)
        yield pen.stroke((x, frame.top), (x, frame.bottom), width=0.4, tone=0.25)
        for at, line in enumerate(_lines(text)):
            place = x, frame.bottom + 10 + at * pen.LEADING
            yield pen.words(place, line, anchor="middle")


def _named(axis: Axis, said: Mapping[str, Any]) -> dict[float, str]:
    """Return the values that an axis across names, and what it calls them."""
    if said.get("type") == "date":
        return axis.days()
    values = said.get("tickvals", axis.ticks())
    named = {value: f"{value:,.6g}" for value in values}
    return named | dict(zip(values, said.get("ticktext", ()), strict=False))


def _down(frame: Frame, said: Mapping[str, Any]) -> Iterator[str]:
    x = frame.left - 5
    if "tickvals" in said:
        for value, text in zip(said["tickvals"], said["ticktext"], strict=True):
            lines = [
                line for part in _lines(text) for line in pen.folded(part, LABELS - 10)
            ]
            yield pen.block((x, frame.y.place(value)), lines)
        return
    for value in frame.y.ticks():
        y = frame.y.place(value)
        yield pen.stroke((frame.left, y), (frame.x.end, y), width=0.4, tone=0.25)
        yield pen.block((x, y), [f"{value:,.6g}"])
    title = unescape(said.get("title", {}).get("text", ""))
    middle = (frame.top + frame.bottom) / 2
    yield pen.words((10, middle), title, anchor="middle", turn=-90)


def _shapes(shapes: Sequence[Mapping[str, Any]], frame: Frame) -> Iterator[str]:
    for shape in shapes:
        is_across = "y0" in shape and shape["y0"] == shape["y1"]
        if is_across:
            y = frame.y.place(shape["y0"])
            yield pen.stroke((frame.left, y), (frame.x.end, y), dash=DASHES[0])
        # The tints of rows are left to the page.
        if is_across or shape.get("xref") == "paper":
            continue
        x0, x1 = frame.x.place(shape["x0"]), frame.x.place(shape["x1"])
        if shape["type"] == "rect":
            ends = (x0, frame.top), (x1, frame.bottom)
            yield pen.box(*ends, tone=0.1, is_framed=False)
        else:
            yield pen.stroke((x0, frame.top), (x1, frame.bottom), dash=DASHES[0])


def _bar_parts(
    bars: Sequence[Trace], layout: Mapping[str, Any], frame: Frame
) -> Iterator[str]:
    is_stack = layout.get("barmode") == "stack"
    for row in range(len(bars[0]["x"]) if bars else 0):
        middle, begin = frame.y.place(row), 0.0
        for at, each in enumerate(bars):
            value = each["x"][row]
            if value is None:
                continue
            lane = 0.0 if is_stack else (at - (len(bars) - 1) / 2) * LANE
            half = LANE * (0.6 if is_stack else 0.42)
            low, high = frame.x.place(begin), frame.x.place(begin + value)
            top, bottom = middle + lane - half, middle + lane + half
            yield pen.box((low, top), (high, bottom), tone=tone(at))
            if is_stack:
                begin += value


def _scatter_parts(traces: Sequence[Trace], frame: Frame) -> Iterator[str]:
    dashed = 0
    for at, each in enumerate(traces):
        stretches = list(_stretches(each, frame))
        points = [point for stretch in stretches for point in stretch]
        if "lines" in each["mode"]:
            dash = DASHES[dashed % 2] if each.get("line", {}).get("dash") else ""
            dashed += bool(dash)
            for stretch in stretches:
                yield pen.path(stretch, dash=dash, width=weight(each))
        if "markers" in each["mode"]:
            yield from _marks(each, at, points)
        if "text" in each["mode"]:
            yield from _names(each, points)


def _stretches(trace: Trace, frame: Frame) -> Iterator[list[tuple[float, float]]]:
    """Yield what is joined: a line stops where there is no point."""
    stretch: list[tuple[float, float]] = []
    for x, y in zip(trace["x"], trace["y"], strict=True):
        if x is not None and y is not None:
            stretch.append((frame.x.place(x), frame.y.place(y)))
        elif stretch:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def _marks(
    trace: Trace, at: int, points: Sequence[tuple[float, float]]
) -> Iterator[str]:
    symbol, size = trace["marker"].get("symbol", ""), trace["marker"].get("size", 9)
    is_open = "open" in str(symbol)
    for point in points:
        yield pen.mark(point, 0 if is_open else at, radius=size / 3.6, is_open=is_open)


def _names(trace: Trace, points: Sequence[tuple[float, float]]) -> Iterator[str]:
    for (x, y), text in zip(points, trace["text"], strict=True):
        is_left = x - pen.width_of(text) < 50
        place = (x + 5, y + 2.5) if is_left else (x - 5, y + 2.5)
        yield pen.words(place, unescape(text), anchor="start" if is_left else "end")
