"""Charts as Plotly figures: a neutral chart in, a dict for ``json_script`` out. PURE.

Plotly reads texts as markup, so every name is escaped here. Colours are left to the
page: a trace says which series of the style sheet it is, or names a token.
"""

from collections.abc import Iterator, Sequence
from html import escape
from math import isfinite, log10
from typing import Any, Final

from dashboard.charts.chart import (
    STROKE,
    Axis,
    Band,
    Bars,
    Box,
    Chart,
    Note,
    Numbers,
    Panel,
    Points,
    Reading,
    Rule,
    Stroke,
)

BESIDE_PX: Final = 10
DASHES: Final = {"dash": "4px,3px", "dot": "1px,3px"}
LINE: Final = Stroke(width=1.5, dash="dash", colour="ink")
WHOLE: Final = ",~r"
DAY_MS: Final = 86_400_000
# Days as on all pages, and minutes only where the axis is so short.
DAYS: Final = [
    {"dtickrange": [None, DAY_MS - 1], "value": "%H:%M\n%Y-%m-%d"},
    {"dtickrange": [DAY_MS, "M1"], "value": "%Y-%m-%d"},
    {"dtickrange": ["M1", "M12"], "value": "%Y-%m"},
    {"dtickrange": ["M12", None], "value": "%Y"},
]
BAR_GAP: Final = 0.3
BOX_WIDTH: Final = 0.62


def plain(text: str) -> str:
    """Return a text that Plotly shows as it is.

    Line breaks are the only markup: for bold, Plotly sets a style attribute, which the
    content security policy forbids.
    """
    return escape(text, quote=False).replace("\n", "<br>")


def figure(chart: Chart) -> dict[str, Any]:
    count = len(chart.panels)
    share = (1 - chart.gap * (count - 1)) / max(count, 1)
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"height": chart.height, "hovermode": "closest"}
    shapes: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for at, panel in enumerate(chart.panels):
        number = str(at + 1) if at else ""
        x, y = "x" if chart.shares_x else f"x{number}", f"y{number}"
        layout[f"yaxis{number}"] = _axis(panel.y, is_upright=True)
        if not (chart.shares_x and at):
            layout[f"xaxis{number}"] = _axis(panel.x, is_upright=False)
        if count > 1:
            top = 1 - at * (share + chart.gap)
            # Rounding may lead a hair below 0, where Plotly allows no panel.
            layout[f"yaxis{number}"]["domain"] = [max(top - share, 0), top]
            if not chart.shares_x:
                layout[f"xaxis{number}"]["anchor"] = y
        own = {} if not at else {"yaxis": y} | ({} if x == "x" else {"xaxis": x})
        data += [_trace(series, chart) | own for series in panel.series]
        shapes += _shapes(panel, x, y)
        notes += [_note(note, x, y) for note in panel.notes]
    if chart.shares_x:
        # Anchored as usual, its names would stand below the first panel, not the last.
        layout["xaxis"] |= {"anchor": "free", "position": 0}
    if shapes:
        layout["shapes"] = shapes
    if notes:
        layout["annotations"] = notes
    return {"data": data, "layout": layout | _frame(chart)}


def _frame(chart: Chart) -> dict[str, Any]:
    """Return how bars stand beside each other, and what the legend is like."""
    frame: dict[str, Any] = {}
    is_across = any(
        isinstance(series, Bars) and not series.is_upright for series in chart.series
    )
    if chart.bars:
        frame["barmode"] = chart.bars
    if is_across:
        frame["bargap"] = BAR_GAP
    if chart.legend != "beside":
        legend = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
        if chart.legend == "lines":
            legend |= {"entrywidth": 1, "entrywidthmode": "fraction"}
        # Of stacked bars Plotly would name the last one first.
        frame["legend"] = legend | ({"traceorder": "normal"} if is_across else {})
    if chart.has_legend is not None:
        frame["showlegend"] = chart.has_legend
    if chart.names_above and chart.panels[0].y.scale == "category":
        frame["meta"] = {"above": True}
    return frame


def _axis(axis: Axis, *, is_upright: bool) -> dict[str, Any]:
    is_log, is_category = axis.scale == "log", axis.scale == "category"
    ends = [log10(end) if is_log else end for end in axis.ends or ()]
    names = [plain(name) for _value, name in axis.ticks]
    # D2 is Plotly's word for 1, 2 and 5 of each power of ten.
    step = "D2" if axis.tick_step == "1-2-5" else axis.tick_step
    stated = {
        "title": {"text": plain(axis.title)} if axis.title else None,
        "type": axis.scale if is_log or axis.scale == "date" else None,
        "range": ends or None,
        "tickvals": [value for value, _name in axis.ticks] or None,
        "ticktext": names if any(names) else None,
        "tickangle": 0 if is_category and not is_upright else None,
        "automargin": True if is_category else None,
        "dtick": step,
        "nticks": axis.most_ticks,
        "tickformat": WHOLE if axis.has_full_ticks else None,
        "tickformatstops": DAYS if axis.scale == "date" else None,
        "ticksuffix": axis.suffix or None,
        "rangemode": "tozero" if axis.is_from_zero else None,
        "showgrid": None if axis.has_grid else False,
        "fixedrange": True,
    }
    return {name: value for name, value in stated.items() if value is not None}


def _trace(series: Points | Bars | Box, chart: Chart) -> dict[str, Any]:
    if isinstance(series, Box):
        return {
            "type": "box",
            "orientation": "h",
            "y": [series.row],
            "q1": [series.q1],
            "median": [series.median],
            "q3": [series.q3],
            "lowerfence": [series.low],
            "upperfence": [series.high],
            "width": BOX_WIDTH,
            "line": {"color": "--line-strong", "width": 1.5},
            "fillcolor": "--sunken",
            "hoverinfo": "skip",
        }
    trace = _bars(series, chart) if isinstance(series, Bars) else _points(series, chart)
    if series.name:
        trace["name"] = plain(series.name)
    if not series.is_listed:
        trace["showlegend"] = False
    return trace


def _bars(bars: Bars, chart: Chart) -> dict[str, Any]:
    across, upwards = bars.values, bars.places
    trace: dict[str, Any] = {"type": "bar"}
    if bars.is_upright:
        across, upwards = upwards, across
        trace |= {"width": list(bars.widths), "textposition": "none"}
    else:
        trace["orientation"] = "h"
    trace |= {"x": list(across), "y": list(upwards)}
    trace["marker"] = {"color": _token(bars.colour), **_outline(chart)}
    return trace | _hover(bars.name, bars.texts, bars.reading)


def _points(points: Points, chart: Chart) -> dict[str, Any]:
    parts = {"lines": points.line, "markers": points.symbol, "text": points.side}
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "+".join(name for name, is_drawn in parts.items() if is_drawn),
        "x": list(points.x),
        "y": list(points.y),
        **_hover(points.name, points.texts, points.reading),
    }
    if points.group:
        trace["legendgroup"] = plain(points.group)
        trace["legendgrouptitle"] = {"text": plain(points.group)}
    if points.values:
        trace["customdata"] = list(points.values)
    if points.names:
        trace |= {
            "text": [plain(name) for name in points.names],
            "customdata": [plain(text) for text in points.texts],
            "textposition": f"middle {points.side or 'left'}",
            "hovertemplate": "%{customdata}<extra></extra>",
        }
    if marker := _marker(points, chart):
        trace["marker"] = marker
    if line := points.line:
        look: dict[str, Any] = {"width": line.width}
        if line.dash:
            look["dash"] = line.dash
        if line.is_stepped:
            look["shape"] = "hv"
        trace["line"] = look | {"color": _token(line.colour or points.colour)}
    if points.low:
        trace |= _intervals(points)
    return trace


def _outline(chart: Chart) -> dict[str, Any]:
    return {"line": {"color": "--surface", "width": 0.75}} if chart.has_outlines else {}


def _marker(points: Points, chart: Chart) -> dict[str, Any]:
    if not points.symbol:
        return {}
    symbol, colour = points.symbol, _token(points.colour)
    if symbol == STROKE:
        return {
            "symbol": symbol,
            "size": points.size,
            "line": {"width": 3, "color": colour},
        }
    # With intervals the whole trace is faded: Plotly would leave its bars dark.
    opacity = points.opacity
    faded = opacity != 1 and not points.low
    each = list(opacity) if isinstance(opacity, tuple) else opacity
    return {
        "symbol": symbol if isinstance(symbol, str) else list(symbol),
        "size": points.size,
        "color": colour,
        **_outline(chart),
        **({"opacity": each} if faded else {}),
    }


def _intervals(points: Points) -> dict[str, Any]:
    middles = points.x if points.along == "x" else points.y
    bars = {
        "type": "data",
        "symmetric": False,
        "array": _reaches(points.high, middles),
        "arrayminus": _reaches(points.low, middles),
        "thickness": points.interval_width,
        "width": 4 * points.interval_width - 2,
    }
    bars["color"] = _token(points.colour)
    faded = {"opacity": points.opacity} if points.opacity != 1 else {}
    return {f"error_{points.along}": bars} | faded


def _reaches(ends: Numbers, middles: Numbers) -> list[float]:
    """Return how far bars reach; a point without an interval has one of no length."""
    return [
        abs(end - middle)
        if end is not None and middle is not None and isfinite(end)
        else 0.0
        for end, middle in zip(ends, middles, strict=True)
    ]


def _hover(name: str, texts: Sequence[str], reading: Reading | None) -> dict[str, Any]:
    if not texts and reading is None:
        return {"hoverinfo": "skip"}
    labels = {"text": [plain(text) for text in texts]} if texts else {}
    shown = "%{text}" if texts else plain(name)
    if reading is not None:
        spec = f":{reading.spec}" if reading.spec else ""
        number = f"%{{{reading.axis}{spec}}}"
        is_bare = reading.unit is not None
        shown = (
            f"{number} {plain(reading.unit or '')}" if is_bare else f"{shown}: {number}"
        )
    return {**labels, "hovertemplate": f"{shown}<extra></extra>"}


def _token(colour: str | tuple[str, ...]) -> str | list[str]:
    if isinstance(colour, str):
        return f"--{colour}"
    return [f"--{token}" for token in colour]


def _shapes(panel: Panel, x: str, y: str) -> Iterator[dict[str, Any]]:
    for band in panel.bands:
        ends = {f"{band.axis}0": band.low, f"{band.axis}1": band.high}
        tint = {"type": "rect", "layer": "below", "line": {"width": 0}}
        paint = {"fillcolor": "--sunken", "opacity": 0.6}
        yield tint | paint | ends | _through(band, x, y)
    for rule in panel.rules:
        # "between": above the grid, below the marks; Plotly has no such layer for lines
        # through the whole field.
        above = "between" if rule.ends else "above"
        layer = above if rule.is_above else "below"
        shape: dict[str, Any] = {"type": "line", "layer": layer}
        shape |= {f"{rule.axis}0": rule.at, f"{rule.axis}1": rule.at}
        shape |= _through(rule, x, y)
        if rule.label:
            place = {"textposition": "start", "textangle": 0, "xanchor": "left"}
            shape["label"] = {"text": plain(rule.label), **place}
        stroke = rule.stroke or LINE
        dash = DASHES.get(stroke.dash)
        line = {"color": _token(stroke.colour or "ink"), "width": stroke.width}
        yield shape | {"line": line | ({"dash": dash} if dash else {})}


def _through(mark: Band | Rule, x: str, y: str) -> dict[str, Any]:
    """Return where a mark begins and ends along the other axis: the field's ends."""
    other = "y" if mark.axis == "x" else "x"
    refs = {"xref": x, "yref": y}
    if mark.ends:
        return {f"{other}0": mark.ends[0], f"{other}1": mark.ends[1], **refs}
    refs[f"{other}ref"] += " domain"
    return {f"{other}0": 0, f"{other}1": 1, **refs}


def _note(note: Note, x: str, y: str) -> dict[str, Any]:
    place: dict[str, Any] = {"y": 1, "yanchor": "bottom"}
    if note.anchor == "left":
        place["xanchor"] = "left"
    if note.beside:
        shift = BESIDE_PX if note.beside == "right" else -BESIDE_PX
        anchor = "left" if note.beside == "right" else "right"
        place |= {"yanchor": "top", "xanchor": anchor, "xshift": shift}
    refs = {"xref": x, "yref": f"{y} domain", "showarrow": False}
    return {"text": plain(note.text), "x": note.x, **place, **refs}
