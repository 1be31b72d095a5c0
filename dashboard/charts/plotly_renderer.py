"""Charts as Plotly figures: dicts for ``json_script``. PURE.

Plotly interprets texts as markup, so every name is escaped here.
"""

from collections.abc import Iterator, Sequence
from html import escape
from math import isfinite, log10
from typing import Any, Final

from dashboard.charts.chart import (
    VERTICAL_STROKE,
    Bars,
    Box,
    Chart,
    ChartAxis,
    ChartBand,
    ChartNote,
    HoverValue,
    LineStyle,
    Numbers,
    Panel,
    Points,
    ReferenceLine,
)
from dashboard.charts.scales import DAY_MS
from dashboard.kit.formatting import day_pattern, month_pattern, with_unit

NOTE_OFFSET_PX: Final = 10
PLOTLY_DASHES: Final = {"dash": "4px,3px", "dot": "1px,3px"}
REFERENCE_LINE_STYLE: Final = LineStyle(width=1.5, dash="dash", color="ink")
PLAIN_TICK_FORMAT: Final = ",~r"
BAR_GAP: Final = 0.3
BOX_WIDTH: Final = 0.62


def _date_tick_formats() -> list[dict[str, Any]]:
    """Show the time of day only if ticks are less than a day apart."""
    day, month = day_pattern(), month_pattern()
    return [
        {"dtickrange": [None, DAY_MS - 1], "value": f"%H:%M\n{day}"},
        {"dtickrange": [DAY_MS, "M1"], "value": day},
        {"dtickrange": ["M1", "M12"], "value": month},
        {"dtickrange": ["M12", None], "value": "%Y"},
    ]


def escape_text(text: str) -> str:
    """Return a text that Plotly shows literally, with line breaks as ``<br>``."""
    return escape(text, quote=False).replace("\n", "<br>")


def plotly_figure(chart: Chart) -> dict[str, Any]:
    count = len(chart.panels)
    panel_height = (1 - chart.gap * (count - 1)) / max(count, 1)
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"height": chart.height, "hovermode": "closest"}
    shapes: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for index, panel in enumerate(chart.panels):
        number = str(index + 1) if index else ""
        x, y = "x" if chart.shares_x_axis else f"x{number}", f"y{number}"
        layout[f"yaxis{number}"] = _axis(panel.y, is_upright=True)
        if not (chart.shares_x_axis and index):
            layout[f"xaxis{number}"] = _axis(panel.x, is_upright=False)
        if count > 1:
            top = 1 - index * (panel_height + chart.gap)
            # Plotly rejects numbers just below 0.
            layout[f"yaxis{number}"]["domain"] = [max(top - panel_height, 0), top]
            if not chart.shares_x_axis:
                layout[f"xaxis{number}"]["anchor"] = y
        axes = {} if not index else {"yaxis": y} | ({} if x == "x" else {"xaxis": x})
        data += [_trace(series, chart) | axes for series in panel.series]
        shapes += _shapes(panel, x, y)
        notes += [_note(note, x, y) for note in panel.notes]
    if chart.shares_x_axis:
        # By default, Plotly puts the labels of a shared axis below the first panel.
        layout["xaxis"] |= {"anchor": "free", "position": 0}
    if shapes:
        layout["shapes"] = shapes
    if notes:
        layout["annotations"] = notes
    return {"data": data, "layout": layout | _bar_and_legend_layout(chart)}


def _bar_and_legend_layout(chart: Chart) -> dict[str, Any]:
    layout: dict[str, Any] = {}
    is_across = any(
        isinstance(series, Bars) and not series.is_upright for series in chart.series
    )
    if chart.bars:
        layout["barmode"] = chart.bars
    if is_across:
        layout["bargap"] = BAR_GAP
    if chart.legend != "beside":
        legend = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
        if chart.legend == "lines":
            legend |= {"entrywidth": 1, "entrywidthmode": "fraction"}
        # By default Plotly reverses the legend of stacked bars.
        layout["legend"] = legend | ({"traceorder": "normal"} if is_across else {})
    if chart.has_legend is not None:
        layout["showlegend"] = chart.has_legend
    if chart.has_names_above and chart.panels[0].y.scale == "category":
        layout["meta"] = {"above": True}
    return layout


def _axis(axis: ChartAxis, *, is_upright: bool) -> dict[str, Any]:
    is_log, is_category = axis.scale == "log", axis.scale == "category"
    ends = [log10(end) if is_log else end for end in axis.limits or ()]
    names = [escape_text(name) for _value, name in axis.ticks]
    step = "D2" if axis.tick_step == "1-2-5" else axis.tick_step
    options = {
        "title": {"text": escape_text(axis.title)} if axis.title else None,
        "type": axis.scale if is_log or axis.scale == "date" else None,
        "range": ends or None,
        "tickvals": [value for value, _name in axis.ticks] or None,
        "ticktext": names if any(names) else None,
        "tickangle": 0 if is_category and not is_upright else None,
        "automargin": True if is_category else None,
        "dtick": step,
        "nticks": axis.max_ticks,
        "tickformat": PLAIN_TICK_FORMAT if axis.has_full_tick_labels else None,
        "tickformatstops": _date_tick_formats() if axis.scale == "date" else None,
        "ticksuffix": axis.suffix or None,
        "rangemode": "tozero" if axis.is_from_zero else None,
        "showgrid": None if axis.has_grid else False,
        "fixedrange": True,
    }
    return {name: value for name, value in options.items() if value is not None}


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
        trace["name"] = escape_text(series.name)
    if not series.is_in_legend:
        trace["showlegend"] = False
    return trace


def _bars(bars: Bars, chart: Chart) -> dict[str, Any]:
    x, y = bars.values, bars.positions
    trace: dict[str, Any] = {"type": "bar"}
    if bars.is_upright:
        x, y = y, x
        trace |= {"width": list(bars.widths), "textposition": "none"}
    else:
        trace["orientation"] = "h"
    trace |= {"x": list(x), "y": list(y)}
    trace["marker"] = {"color": _css_variable(bars.color), **_outline(chart)}
    return trace | _hover(bars.name, bars.texts, bars.hover_value)


def _points(points: Points, chart: Chart) -> dict[str, Any]:
    parts = {"lines": points.line, "markers": points.symbol, "text": points.label_side}
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "+".join(name for name, is_drawn in parts.items() if is_drawn),
        "x": list(points.x),
        "y": list(points.y),
        **_hover(points.name, points.hover_texts, points.hover_value),
    }
    if points.group:
        trace["legendgroup"] = escape_text(points.group)
        trace["legendgrouptitle"] = {"text": escape_text(points.group)}
    if points.values:
        trace["customdata"] = list(points.values)
    if points.names:
        trace |= {
            "text": [escape_text(name) for name in points.names],
            "customdata": [escape_text(text) for text in points.hover_texts],
            "textposition": f"middle {points.label_side or 'left'}",
            "hovertemplate": "%{customdata}<extra></extra>",
        }
    if marker := _marker(points, chart):
        trace["marker"] = marker
    if line := points.line:
        style: dict[str, Any] = {"width": line.width}
        if line.dash:
            style["dash"] = line.dash
        if line.is_stepped:
            style["shape"] = "hv"
        trace["line"] = style | {"color": _css_variable(line.color or points.color)}
    if points.low:
        trace |= _error_bars(points)
    return trace


def _outline(chart: Chart) -> dict[str, Any]:
    return {"line": {"color": "--surface", "width": 0.75}} if chart.has_outlines else {}


def _marker(points: Points, chart: Chart) -> dict[str, Any]:
    if not points.symbol:
        return {}
    symbol, color = points.symbol, _css_variable(points.color)
    if symbol == VERTICAL_STROKE:
        return {
            "symbol": symbol,
            "size": points.size,
            "line": {"width": 3, "color": color},
        }
    # Marker opacity does not affect error bars. `_error_bars` fades the whole trace.
    opacity = points.opacity
    is_faded = opacity != 1 and not points.low
    opacities = list(opacity) if isinstance(opacity, tuple) else opacity
    return {
        "symbol": symbol if isinstance(symbol, str) else list(symbol),
        "size": points.size,
        "color": color,
        **_outline(chart),
        **({"opacity": opacities} if is_faded else {}),
    }


def _error_bars(points: Points) -> dict[str, Any]:
    middles = points.x if points.interval_axis == "x" else points.y
    bars = {
        "type": "data",
        "symmetric": False,
        "array": _error_bar_lengths(points.high, middles),
        "arrayminus": _error_bar_lengths(points.low, middles),
        "thickness": points.interval_width,
        "width": 4 * points.interval_width - 2,
    }
    bars["color"] = _css_variable(points.color)
    opacity = {"opacity": points.opacity} if points.opacity != 1 else {}
    return {f"error_{points.interval_axis}": bars} | opacity


def _error_bar_lengths(ends: Numbers, middles: Numbers) -> list[float]:
    return [
        abs(end - middle)
        if end is not None and middle is not None and isfinite(end)
        else 0.0
        for end, middle in zip(ends, middles, strict=True)
    ]


def _hover(
    name: str, texts: Sequence[str], hover_value: HoverValue | None
) -> dict[str, Any]:
    if not texts and hover_value is None:
        return {"hoverinfo": "skip"}
    labels = {"text": [escape_text(text) for text in texts]} if texts else {}
    template = "%{text}" if texts else escape_text(name)
    if hover_value is not None:
        spec = f":{hover_value.spec}" if hover_value.spec else ""
        number = f"%{{{hover_value.axis}{spec}}}"
        is_bare = hover_value.unit is not None
        template = (
            with_unit(number, escape_text(hover_value.unit or ""))
            if is_bare
            else f"{template}: {number}"
        )
    return {**labels, "hovertemplate": f"{template}<extra></extra>"}


def _css_variable(color: str | tuple[str, ...]) -> str | list[str]:
    if isinstance(color, str):
        return f"--{color}"
    return [f"--{token}" for token in color]


def _shapes(panel: Panel, x: str, y: str) -> Iterator[dict[str, Any]]:
    for band in panel.bands:
        ends = {f"{band.axis}0": band.low, f"{band.axis}1": band.high}
        base = {"type": "rect", "layer": "below", "line": {"width": 0}}
        paint = {"fillcolor": "--sunken", "opacity": 0.6}
        yield base | paint | ends | _extent(band, x, y)
    for reference_line in panel.reference_lines:
        # Draw lines above the grid but below the markers, if they have ends: Plotly
        # does not support it for other lines.
        above = "between" if reference_line.ends else "above"
        layer = above if reference_line.is_above else "below"
        shape: dict[str, Any] = {"type": "line", "layer": layer}
        shape |= {
            f"{reference_line.axis}0": reference_line.value,
            f"{reference_line.axis}1": reference_line.value,
        }
        shape |= _extent(reference_line, x, y)
        if reference_line.label:
            position = {"textposition": "start", "textangle": 0, "xanchor": "left"}
            shape["label"] = {"text": escape_text(reference_line.label), **position}
        stroke = reference_line.stroke or REFERENCE_LINE_STYLE
        dash = PLOTLY_DASHES.get(stroke.dash)
        line = {"color": _css_variable(stroke.color or "ink"), "width": stroke.width}
        yield shape | {"line": line | ({"dash": dash} if dash else {})}


def _extent(shape: ChartBand | ReferenceLine, x: str, y: str) -> dict[str, Any]:
    axis = "y" if shape.axis == "x" else "x"
    refs = {"xref": x, "yref": y}
    if shape.ends:
        return {f"{axis}0": shape.ends[0], f"{axis}1": shape.ends[1], **refs}
    refs[f"{axis}ref"] += " domain"
    return {f"{axis}0": 0, f"{axis}1": 1, **refs}


def _note(note: ChartNote, x: str, y: str) -> dict[str, Any]:
    position: dict[str, Any] = {"y": 1, "yanchor": "bottom"}
    if note.anchor == "left":
        position["xanchor"] = "left"
    if note.line_side:
        shift = NOTE_OFFSET_PX if note.line_side == "right" else -NOTE_OFFSET_PX
        anchor = "left" if note.line_side == "right" else "right"
        position |= {"yanchor": "top", "xanchor": anchor, "xshift": shift}
    refs = {"xref": x, "yref": f"{y} domain", "showarrow": False}
    return {"text": escape_text(note.text), "x": note.x, **position, **refs}
