"""Charts as static SVG with an HTML legend, for pages without JavaScript. PURE.

Positions are percentages of the panel. Markers of the same style form one path of
zero-length strokes, which keep their size when scaled.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from operator import itemgetter
from textwrap import wrap
from typing import Final

from benchmarks.text_validation import replace_forbidden
from dashboard.charts.chart import (
    AXES_HEIGHT_PX,
    HOLLOW_SUFFIX,
    ROW_NAME_CHARACTERS,
    SYMBOLS,
    VERTICAL_STROKE,
    Bars,
    Box,
    Chart,
    ChartBand,
    ChartNote,
    Panel,
    Points,
    ReferenceLine,
    series_full_name,
)
from dashboard.charts.scales import AxisScale, axis_ticks, panel_scales

FIELD_UNITS: Final = 1000
SVG_CHARACTER_PX: Final = 6.6
NARROW_PX, WIDE_PX = 250, 640
LINE_PX: Final = 14
EDGE_ARROWS: Final = {"triangle-left-open": "◁", "triangle-right-open": "▷"}
PANEL_NAME_CHARACTERS: Final = 26
"""Maximum length of a line of a row label if there are several panels."""
BOX_SHARE: Final = 0.31
RING_HOLE_SHARE: Final = 0.32
Point = tuple[float, float]


@dataclass(frozen=True)
class PlotField:
    panel: Panel
    x: AxisScale
    y: AxisScale
    height_px: float

    def at(self, x: float, y: float) -> str:
        x_units = FIELD_UNITS * self.x.position(x)
        y_units = FIELD_UNITS - FIELD_UNITS * self.y.position(y)
        return f"{x_units:.0f} {y_units:.0f}"


def render_svg(chart: Chart, alt: str) -> str:
    css_classes = ["svg-chart"]
    if chart.panels[0].y.scale == "category":
        css_classes.append("svg-chart-rows")
        lines = (
            line for _at, name in chart.panels[0].y.ticks for line in name.split("\n")
        )
        if (
            len(chart.panels) == 1
            and max(map(len, lines), default=0) > PANEL_NAME_CHARACTERS
        ):
            css_classes.append("svg-chart-long")
    x_labels = (name for panel in chart.panels for _value, name in panel.x.ticks)
    if any("\n" in name for name in x_labels):
        css_classes.append("svg-chart-deep")
    if chart.columns > 1:
        css_classes.append("svg-chart-panels")
    panels = "".join(_positioned_panels(chart))
    label = escape(replace_forbidden(alt))
    return (
        f'<div class="{" ".join(css_classes)}">{_legend(chart)}'
        f'<svg class="svg-chart-field" height="{chart.css_height}" role="img" '
        f'aria-label="{label}">{panels}</svg></div>'
    )


def _legend(chart: Chart) -> str:
    entries = []
    for _at, series in chart.legend_series:
        paint = _color_class(series.color)
        if isinstance(series, Bars):
            swatch = f'<path class="area {paint}" d="M0 1h12v10h-12z"/>'
        else:
            line = '<path class="line{}" d="M0 6h12"/>'
            dashed = f" {series.line.dash}" if series.line else ""
            swatch = line.format(f" {paint}{dashed}") if series.line else ""
            if series.symbol:
                swatch += "".join(_markers("M6 6h0", series.legend_symbol, paint, 8, 1))
        svg = f'<svg viewBox="0 0 12 12" aria-hidden="true">{swatch}</svg>'
        entries.append(f"<li>{svg}{_escape(series_full_name(series))}</li>")
    return f'<ul class="svg-chart-legend">{"".join(entries)}</ul>' if entries else ""


def _positioned_panels(chart: Chart) -> Iterator[str]:
    count, columns = len(chart.panels), chart.columns
    rows = -(-count // columns)
    panel_height = (1 - chart.gap * (rows - 1)) / rows
    for index, panel in enumerate(chart.panels):
        row, column = divmod(index, columns)
        is_last = not chart.shares_x_axis or row == rows - 1
        content = "".join(_panel(panel, chart, has_x=is_last, has_y=column == 0))
        if count == 1:
            yield content
            continue
        columns_in_row = min(columns, count - row * columns)
        panel_width = 1 / columns_in_row
        x, y = column * panel_width, row * (panel_height + chart.gap)
        width = panel_width * (0.94 if columns_in_row > 1 else 1)
        yield (
            f'<svg x="{x:.1%}" y="{y:.1%}" width="{width:.1%}" '
            f'height="{panel_height:.1%}">'
            f"{content}</svg>"
        )


def _panel(panel: Panel, chart: Chart, *, has_x: bool, has_y: bool) -> Iterator[str]:
    lines = 1 if chart.shares_x_axis else -(-len(chart.panels) // chart.columns)
    height_px = (chart.height - AXES_HEIGHT_PX) / lines
    field = PlotField(panel, *panel_scales(panel, chart.bars), height_px)
    x_ticks, y_ticks = axis_ticks(panel.x, field.x), axis_ticks(panel.y, field.y)
    elements = [
        *(_band(band, field) for band in panel.bands),
        *_grid(panel, field, x_ticks, y_ticks),
        *_draw_series(panel, chart, field),
        *(_reference_line(line, field) for line in panel.reference_lines),
    ]
    yield (
        f'<svg viewBox="0 0 {FIELD_UNITS} {FIELD_UNITS}" width="100%" height="100%" '
        f'preserveAspectRatio="none">{"".join(elements)}</svg>'
    )
    if has_x:
        yield from _x_labels(field, x_ticks, min(chart.columns, len(chart.panels)))
    if has_y:
        is_alone = len(chart.panels) == 1
        characters = ROW_NAME_CHARACTERS if is_alone else PANEL_NAME_CHARACTERS
        yield from _y_labels(field, y_ticks, characters)
    if panel.title:
        yield _text(0, 0, panel.title, dy="-0.5em")
    for note in panel.notes:
        yield _note(note, field)
    for line in panel.reference_lines:
        if line.label:
            yield _text(field.x.position(line.value), 0, line.label, dx=4, dy="1em")
    for series in panel.series:
        if isinstance(series, Points):
            yield from _edge_arrows(series, field)
            yield from _point_labels(series, field) if series.label_side else ()


def _grid(
    panel: Panel,
    field: PlotField,
    x_ticks: Sequence[tuple[float, str]],
    y_ticks: Sequence[tuple[float, str]],
) -> Iterator[str]:
    lines = ""
    if panel.x.has_grid and panel.x.scale != "category":
        xs = (FIELD_UNITS * field.x.position(value) for value, _name in x_ticks)
        lines += "".join(f"M{x:.0f} 0V{FIELD_UNITS}" for x in xs)
    if panel.y.has_grid and panel.y.scale != "category":
        ys = (
            FIELD_UNITS - FIELD_UNITS * field.y.position(value)
            for value, _name in y_ticks
        )
        lines += "".join(f"M0 {y:.0f}H{FIELD_UNITS}" for y in ys)
    yield f'<path class="svg-chart-grid" d="{lines}M0 {FIELD_UNITS}H{FIELD_UNITS}"/>'


def _x_labels(
    field: PlotField, ticks: Sequence[tuple[float, str]], columns: int
) -> Iterator[str]:
    axis, scale = field.panel.x, field.x
    positions = [scale.position(value) for value, _name in ticks]
    fitting_narrow, fitting_wide = (
        _fitting_labels(positions, ticks, px / columns) for px in (NARROW_PX, WIDE_PX)
    )
    for index, (position, (_value, name)) in enumerate(
        zip(positions, ticks, strict=True)
    ):
        if index in fitting_wide:
            css_class = "" if index in fitting_narrow else "svg-chart-wide"
            yield _text(
                position, 1, name, dy="1.25em", anchor="middle", css_class=css_class
            )
    if axis.title:
        title = axis.title
        yield _text(1, 1, title, dy="2.7em", anchor="end", css_class="svg-chart-title")


def _fitting_labels(
    positions: Sequence[float], ticks: Sequence[tuple[float, str]], width: float
) -> set[int]:
    fitting, end = set(), -1e9
    for index, position in sorted(enumerate(positions), key=itemgetter(1)):
        characters = max(len(line) for line in ticks[index][1].split("\n"))
        half = characters * SVG_CHARACTER_PX / 2
        if position * width - half > end:
            fitting.add(index)
            end = position * width + half + SVG_CHARACTER_PX
    return fitting


def _y_labels(
    field: PlotField, ticks: Sequence[tuple[float, str]], characters: int
) -> Iterator[str]:
    axis, scale = field.panel.y, field.y
    is_rows = axis.scale == "category"
    values = sorted(value for value, _name in ticks)
    distance = min((b - a for a, b in pairwise(values)), default=1.0)
    row = distance / (scale.high - scale.low)
    for value, name in ticks:
        y = 1 - scale.position(value)
        if not is_rows:
            yield _text(0, y, name, dx=-6, dy="0.35em", anchor="end")
            continue
        lines = [line for part in name.split("\n") for line in wrap(part, characters)]
        max_lines = max(1, int(row * field.height_px / LINE_PX))
        if len(lines) > max_lines:
            lines = [
                *lines[: max_lines - 1],
                f"{lines[max_lines - 1][: characters - 1]}…",
            ]
        dy = f"{0.35 - 0.6 * (len(lines) - 1):.2f}em"
        wide_label, narrow_label = "\n".join(lines), name.replace("\n", ", ")
        # The style sheet shows one of two variants, depending on the screen width.
        yield _text(
            0, y, wide_label, dx=-8, dy=dy, anchor="end", css_class="svg-chart-wide"
        )
        yield _text(
            0,
            max(y - row / 2, 0),
            narrow_label,
            dy="0.4em",
            css_class="svg-chart-narrow",
        )
    if axis.title:
        yield _text(0, 0, axis.title, dx=-50, dy="-0.6em", css_class="svg-chart-title")


def _band(band: ChartBand, field: PlotField) -> str:
    x_range, y_range = (band.low, band.high), band.ends or (field.y.low, field.y.high)
    if band.axis == "y":
        x_range, y_range = band.ends or (field.x.low, field.x.high), x_range
    return f'<path class="band" d="{_rectangle_path(field, x_range, y_range)}"/>'


def _rectangle_path(field: PlotField, x_range: Point, y_range: Point) -> str:
    (x0, x1), (y0, y1) = x_range, y_range
    corners = ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
    return f"M{'L'.join(field.at(*corner) for corner in corners)}z"


def _reference_line(line: ReferenceLine, field: PlotField) -> str:
    ends = line.ends or (
        (field.y.low, field.y.high) if line.axis == "x" else (field.x.low, field.x.high)
    )
    points = [
        (line.value, end) if line.axis == "x" else (end, line.value) for end in ends
    ]
    dash = "" if line.stroke and not line.stroke.dash else " dash"
    d = "L".join(field.at(*point) for point in points)
    return f'<path class="rule{dash}" d="M{d}"/>'


def _draw_series(panel: Panel, chart: Chart, field: PlotField) -> Iterator[str]:
    boxes: dict[int, list[str]] = {}
    for box in panel.bar_boxes(chart.bars):
        x_range, y_range = box.values, box.positions
        if box.series.is_upright:
            x_range, y_range = y_range, x_range
        boxes.setdefault(id(box.series), []).append(
            _rectangle_path(field, x_range, y_range)
        )
    for series in panel.series:
        if isinstance(series, Box):
            yield from _box_plot(series, field)
        elif isinstance(series, Points):
            yield from _points(series, field)
        else:
            is_open = " open" if series.is_hollow else ""
            d = "".join(boxes.get(id(series), ()))
            yield f'<path class="area {_color_class(series.color)}{is_open}" d="{d}"/>'


def _box_plot(box: Box, field: PlotField) -> Iterator[str]:
    top, bottom = box.row - BOX_SHARE, box.row + BOX_SHARE
    body = _rectangle_path(field, (box.q1, box.q3), (top, bottom))
    ends = ((box.low, box.q1), (box.q3, box.high))
    lines = [f"M{field.at(a, box.row)}L{field.at(b, box.row)}" for a, b in ends]
    lines.append(f"M{field.at(box.median, top)}L{field.at(box.median, bottom)}")
    yield f'<path class="box" d="{body}{"".join(lines)}"/>'


def _points(points: Points, field: PlotField) -> Iterator[str]:
    positions = list(zip(points.x, points.y, strict=True))
    color_class = _color_class(points.color)
    if points.line:
        own_color = points.line.color
        line_class = _color_class(own_color) if own_color else color_class
        width = " wide" if points.line.width > 2 else ""
        d = _line_path(positions, field, is_stepped=points.line.is_stepped)
        yield f'<path class="line {line_class} {points.line.dash}{width}" d="{d}"/>'
    if points.low:
        yield f'<path class="line {color_class}" d="{_interval_path(points, field)}"/>'
    if not points.symbol:
        return
    moves_by_style: dict[tuple[str, str, float], list[str]] = {}
    for index, (x, y) in enumerate(positions):
        if x is None or y is None:
            continue
        symbol = (
            points.symbol if isinstance(points.symbol, str) else points.symbol[index]
        )
        color = points.color if isinstance(points.color, str) else points.color[index]
        style = symbol, _color_class(color), points.opacity_at(index)
        moves_by_style.setdefault(style, []).append(f"M{field.at(x, y)}")
    for (symbol, css_class, opacity), moves in moves_by_style.items():
        if symbol in EDGE_ARROWS:
            continue
        if symbol == VERTICAL_STROKE:
            # This marker is a line of the chart's coordinates, unlike other markers.
            half = FIELD_UNITS * points.size / 2 / field.height_px
            d = "".join(f"{move}m0 {-half:.0f}v{2 * half:.0f}" for move in moves)
            yield f'<path class="line {css_class}" d="{d}"/>'
        else:
            d = "".join(f"{move}h0" for move in moves)
            yield from _markers(d, symbol, css_class, points.size, opacity)


def _markers(
    d: str, symbol: str, color: str, size: float, opacity: float
) -> Iterator[str]:
    base = symbol.removesuffix(HOLLOW_SUFFIX)
    index = SYMBOLS.index(base) if base in SYMBOLS else 0
    shape = "square" if index % 2 else "round"
    opacity_attribute = f' opacity="{opacity:g}"' if opacity != 1 else ""
    width = size * (0.85 if index % 2 else 0.95)
    attributes = f'class="mark {shape} {color}" stroke-width="{width:.3g}"'
    yield f'<path {attributes}{opacity_attribute} d="{d}"/>'
    hole = width - 3.4 if symbol.endswith(HOLLOW_SUFFIX) else width * RING_HOLE_SHARE
    if symbol.endswith(HOLLOW_SUFFIX) or index % 4 > 1:
        attributes = f'class="mark {shape} hole" stroke-width="{hole:.3g}"'
        yield f'<path {attributes} d="{d}"/>'


def _line_path(
    positions: Sequence[tuple[float | None, float | None]],
    field: PlotField,
    *,
    is_stepped: bool,
) -> str:
    parts = []
    for (x0, y0), (x, y) in pairwise([(None, None), *positions]):
        if x is None or y is None:
            continue
        if x0 is None or y0 is None:
            parts.append(f"M{field.at(x, y)}")
        else:
            if is_stepped:
                parts.append(f"L{field.at(x, y0)}")
            parts.append(f"L{field.at(x, y)}")
    return "".join(parts)


def _interval_path(points: Points, field: PlotField) -> str:
    parts = []
    for x, y, low, high in zip(
        points.x, points.y, points.low, points.high, strict=True
    ):
        if x is None or y is None or low is None or high is None:
            continue
        is_across = points.interval_axis == "x"
        ends = [(end, y) if is_across else (x, end) for end in (low, high)]
        parts.append("M" + "L".join(field.at(*end) for end in ends))
    return "".join(parts)


def _edge_arrows(points: Points, field: PlotField) -> Iterator[str]:
    for index, (x, y) in enumerate(zip(points.x, points.y, strict=True)):
        symbol = (
            points.symbol if isinstance(points.symbol, str) else points.symbol[index]
        )
        if symbol in EDGE_ARROWS and x is not None and y is not None:
            point = field.x.position(x), 1 - field.y.position(y)
            yield _text(*point, EDGE_ARROWS[symbol], dy="0.35em", anchor="middle")


def _point_labels(points: Points, field: PlotField) -> Iterator[str]:
    for x, y, name in zip(points.x, points.y, points.names, strict=True):
        if x is None or y is None:
            continue
        position = field.x.position(x)
        label_width = len(name) * SVG_CHARACTER_PX / NARROW_PX
        is_left = (
            points.label_side == "left" and position > label_width
        ) or position + label_width > 1.1
        dx, anchor = (-8, "end") if is_left else (8, "start")
        up = 1 - field.y.position(y)
        yield _text(position, up, name, dx=dx, dy="0.35em", anchor=anchor)


def _note(note: ChartNote, field: PlotField) -> str:
    position = field.x.position(note.x)
    is_centered = not note.line_side and note.anchor == "middle"
    is_left = note.line_side == "left" or (is_centered and position > 0.5)
    dx, anchor = (-6, "end") if is_left else (6, "start")
    return _text(position, 0, note.text, dx=dx, dy="1em", anchor=anchor)


def _text(
    x: float,
    y: float,
    text: str,
    *,
    dx: float = 0,
    dy: str = "0",
    anchor: str = "start",
    css_class: str = "",
) -> str:
    position = f'x="{100 * x:.4g}%" y="{100 * y:.4g}%"'
    offset = (f' dx="{dx:g}"' if dx else "") + (f' dy="{dy}"' if dy != "0" else "")
    class_attribute = f' class="{css_class}"' if css_class else ""
    anchor_attribute = f' text-anchor="{anchor}"' if anchor != "start" else ""
    first, *rest = text.split("\n")
    lines = "".join(
        # chr(34) is a double quote: Python 3.11 allows only two kinds per f-string.
        f'<tspan x="{100 * x:.4g}%"{f" dx={chr(34)}{dx:g}{chr(34)}" if dx else ""} '
        f'dy="1.2em">{_escape(line)}</tspan>'
        for line in rest
    )
    attributes = f"{position}{offset}{anchor_attribute}{class_attribute}"
    return f"<text {attributes}>{_escape(first)}{lines}</text>"


def _color_class(color: str | tuple[str, ...]) -> str:
    return f"color-{color if isinstance(color, str) else color[0]}"


def _escape(text: str) -> str:
    return escape(replace_forbidden(text), quote=False)
