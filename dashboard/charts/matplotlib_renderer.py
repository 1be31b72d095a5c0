"""Charts drawn by matplotlib in black and gray; lengths are in points.

Only workers import this module (matplotlib needs seconds and 40 MiB). Output is
reproducible byte for byte.
"""

import warnings
from collections.abc import Sequence
from io import BytesIO, StringIO
from itertools import groupby
from math import nan
from operator import itemgetter
from pathlib import Path
from textwrap import wrap
from typing import Any, Final, Literal

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backend_bases import GraphicsContextBase
from matplotlib.backends.backend_pgf import RendererPgf
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.text import Text
from matplotlib.textpath import text_to_path

from benchmarks.text_validation import replace_forbidden
from dashboard.charts.chart import (
    AXES_HEIGHT_PX,
    HOLLOW_SUFFIX,
    VERTICAL_STROKE,
    Bars,
    Box,
    Chart,
    ChartAxis,
    Numbers,
    Panel,
    Points,
    ReferenceLine,
)
from dashboard.charts.scales import AxisScale, axis_ticks, panel_scales
from dashboard.exports.latex_escaping import CHARACTER_COMMAND, escape_latex

WIDTH_PT: Final = 480
"""Text width of a report; other callers pass a width."""
POINTS_PER_INCH: Final = 72
POINTS_PER_PX: Final = 0.6
FONT_SIZE_PT: Final = 7
LINE_HEIGHT_PT: Final = 8.6
CHARACTER_WIDTH_PT: Final = 4.1
ROW_LABEL_WIDTH_PT: Final = 150
MAX_ROW_LABEL_SHARE: Final = 0.36
"""Maximum fraction of the chart's width that row labels may take."""
ROW_TEXT_WIDTH_PT: Final = 50
RIGHT_MARGIN_PT: Final = 14
DOTS_PER_INCH: Final = 300
METADATA_WITHOUT_DATE: Final[dict[str, dict[str, Any]]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {},
}
LEGEND_GAP_PT: Final = 12
SWATCH_PT: Final = 24
INK, PALE, GRID = "black", "0.93", "0.85"
BAR_GRAYS: Final = ("0.25", "0.75", "1.0", "0.5", "0.9", "0.6")
DASHES: Final[dict[str, Any]] = {"": "-", "dash": (0, (4, 2)), "dot": (0, (1, 2))}
# Every second symbol is filled with gray. White would look like an outlined symbol.
PALE_MARKER_GRAY: Final = "0.75"
MARKERS: Final = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "cross": "P",
    "x": "X",
    "triangle-down": "v",
    "pentagon": "p",
    "star": "*",
    "hexagon": "h",
    "triangle-left": "<",
    "triangle-right": ">",
    VERTICAL_STROKE: "|",
}
STROKE_POINTS_PER_PX: Final = 0.45
BOX_SHARE: Final = 0.31
RING_FROM_SIZE: Final = 12
"""Larger markers are rings around other markers."""
RC_PARAMS: Final[dict[Any, Any]] = {
    "font.family": "DejaVu Sans",
    "font.size": FONT_SIZE_PT,
    "svg.fonttype": "none",  # text stays accessible and searchable
    "svg.hashsalt": "virtlab",
    "pdf.fonttype": 42,
    "pgf.texsystem": "pdflatex",  # the only value that does not set a font
    "text.parse_math": False,  # a dollar sign in a name is literal
    "text.usetex": False,
    "axes.linewidth": 0.5,
    "lines.linewidth": 0.9,
}


def font_path() -> Path:
    """Return the path of the charts' font.

    Do not register its folder: another font there has a box for every character, which
    would hide missing glyphs.
    """
    return Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"


def render_chart_file(
    chart: Chart,
    form: Literal["svg", "pdf", "pgf", "png"] = "svg",
    *,
    width: float = WIDTH_PT,
) -> bytes:
    file = BytesIO()
    with matplotlib.rc_context(RC_PARAMS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = _draw_figure(chart, width)
        if form == "pgf":
            file.write(_render_pgf(figure).encode())
        else:
            dots = DOTS_PER_INCH if form == "png" else "figure"
            figure.savefig(
                file, format=form, metadata=METADATA_WITHOUT_DATE[form], dpi=dots
            )
    return file.getvalue()


class _PgfRenderer(RendererPgf):
    """PGF renderer that does not need TeX.

    Matplotlib's own renderer starts TeX and does not escape texts.
    """

    def get_text_width_height_descent(
        self, s: str, prop: FontProperties, ismath: Any
    ) -> tuple[float, float, float]:
        # DejaVu is wider than most fonts of papers, so texts do not overlap there.
        measured = text_to_path.get_text_width_height_descent(s, prop, ismath=False)
        width, height, descent = (
            length * self.dpi / POINTS_PER_INCH for length in measured
        )
        return width, height, descent

    def draw_text(
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        s: str,
        prop: FontProperties,
        angle: float,
        ismath: Any = False,
        mtext: Text | None = None,
    ) -> None:
        super().draw_text(gc, x, y, escape_latex(s), prop, angle, ismath, mtext)


def _render_pgf(figure: Figure) -> str:
    """Return a figure as PGF that uses the font of the surrounding document."""
    file = StringIO()
    corner = rf"\pgfqpoint{{{figure.get_figwidth()}in}}{{{figure.get_figheight()}in}}"
    head = (
        r"% \usepackage[T1]{fontenc} \usepackage{textcomp,pgf}",
        CHARACTER_COMMAND,
        r"\begingroup\makeatletter\begin{pgfpicture}",
        rf"\pgfpathrectangle{{\pgfpointorigin}}{{{corner}}}",
        r"\pgfusepath{use as bounding box, clip}",
    )
    print(*head, sep="\n", file=file)
    figure.draw(_PgfRenderer(figure, file))
    print(r"\end{pgfpicture}\makeatother\endgroup", file=file)
    return file.getvalue()


def _draw_figure(chart: Chart, total_width: float) -> Figure:
    columns_per_row = chart.columns
    panel_rows = [
        chart.panels[start_index : start_index + columns_per_row]
        for start_index in range(0, len(chart.panels), columns_per_row)
    ]
    panel = chart.panels[0]
    has_rows = panel.y.scale == "category"
    left = (
        min(ROW_LABEL_WIDTH_PT, MAX_ROW_LABEL_SHARE * total_width)
        if has_rows
        else ROW_TEXT_WIDTH_PT
    )
    handles = _legend_handles(chart, total_width)
    names = [str(handle.get_label()).split("\n") for handle in handles]
    longest = max((len(line) for name in names for line in name), default=1)
    columns = max(
        1, int(total_width // (SWATCH_PT + 14 + CHARACTER_WIDTH_PT * longest))
    )
    extra_lines = sum(len(name) - 1 for name in names)
    legend_height = 4 + LINE_HEIGHT_PT * (
        1.35 * -(-len(handles) // columns) + extra_lines
    )
    above = 14 if any(panel.title or panel.notes for panel in chart.panels) else 4
    below = _x_labels_height(panel.x)
    body = max((chart.height - AXES_HEIGHT_PX) * POINTS_PER_PX / len(panel_rows), 40)
    if has_rows:
        label_lines = [len(_wrap_row_label(name, left)) for _at, name in panel.y.ticks]
        body = max(
            body, len(label_lines) * (LINE_HEIGHT_PT * max(label_lines, default=1) + 2)
        )
    is_tight = chart.shares_x_axis and len(panel_rows) > 1
    bottom = 4 if is_tight else below
    height = (
        legend_height + len(panel_rows) * (above + body + bottom) + (below - bottom)
    )

    # pyplot would keep figures in memory and require a display.
    figure = Figure(figsize=(total_width / POINTS_PER_INCH, height / POINTS_PER_INCH))
    if handles:
        figure.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(0, 1),
            ncols=columns,
            frameon=False,
            borderaxespad=0.2,
            columnspacing=1.2,
            handlelength=2,
        )
    top = legend_height
    right = RIGHT_MARGIN_PT + max(
        (CHARACTER_WIDTH_PT * len(text) for text in panel.row_texts), default=0
    )
    for number, line in enumerate(panel_rows):
        width = (total_width - left - right - LEGEND_GAP_PT * (len(line) - 1)) / len(
            line
        )
        for column, panel in enumerate(line):
            start = left + column * (width + LEGEND_GAP_PT)
            # Matplotlib's layout engines do not give reproducible output.
            bounds = (
                start / total_width,
                1 - (top + above + body) / height,
                width / total_width,
                body / height,
            )
            axes = figure.add_axes(bounds)
            is_last = number == len(panel_rows) - 1 or not chart.shares_x_axis
            _draw_panel(axes, panel, chart, has_x=is_last, has_y=column == 0)
        top += above + body + bottom
    return figure


def _x_labels_height(axis: ChartAxis) -> float:
    lines = max((name.count("\n") + 1 for _at, name in axis.ticks), default=1)
    return 6 + LINE_HEIGHT_PT * lines + (16 if axis.title else 0)


def _legend_handles(chart: Chart, total_width: float) -> list[Patch | Line2D]:
    characters = int((total_width - SWATCH_PT - LEGEND_GAP_PT) / CHARACTER_WIDTH_PT)
    grays = _bar_grays(chart)
    handles: list[Patch | Line2D] = []
    for _at, series in chart.legend_series:
        name = "\n".join(wrap(replace_forbidden(series.name), characters))
        if isinstance(series, Bars):
            patch = Patch(facecolor=grays[id(series)], edgecolor=INK, linewidth=0.5)
            patch.set_label(name)
            handles.append(patch)
            continue
        if series.group not in ("", series.name):
            full_name = (
                f"{replace_forbidden(series.group)}, {replace_forbidden(series.name)}"
            )
            name = "\n".join(wrap(full_name, characters))
        style: dict[str, Any] = {
            **_line_style(series),
            **_marker_style(series.legend_symbol, series.size),
        }
        handles.append(Line2D([], [], label=name, **style))
    return handles


def _bar_grays(chart: Chart) -> dict[int, str]:
    bars = (series for series in chart.series if isinstance(series, Bars))
    return {
        id(series): BAR_GRAYS[index % len(BAR_GRAYS)]
        for index, series in enumerate(bars)
    }


def _draw_panel(
    axes: Axes, panel: Panel, chart: Chart, *, has_x: bool, has_y: bool
) -> None:
    x, y = panel_scales(panel, chart.bars)
    _draw_x_axis(axes, panel.x, x, is_named=has_x)
    _draw_y_axis(axes, panel.y, y, is_named=has_y)
    axes.set_axisbelow(True)
    for spine in ("top", "right", "left"):
        axes.spines[spine].set_visible(False)
    axes.tick_params(length=0, which="both", pad=3)
    axes.set_title(
        replace_forbidden(panel.title), fontsize=FONT_SIZE_PT, loc="left", pad=4
    )
    for band in panel.bands:
        x_range, y_range = (band.low, band.high), band.ends or (y.low, y.high)
        if band.axis == "y":
            x_range, y_range = band.ends or (x.low, x.high), x_range
        _draw_rectangle(axes, x_range, y_range, facecolor=PALE, zorder=0.5, alpha=0.8)
    _draw_bars(axes, panel, chart)
    for series in panel.series:
        if isinstance(series, Box):
            edges = series.row - BOX_SHARE, series.row + BOX_SHARE
            style: dict[str, Any] = {
                "facecolor": "white",
                "edgecolor": "0.4",
                "linewidth": 0.7,
                "zorder": 1.5,
            }
            _draw_rectangle(axes, (series.q1, series.q3), edges, **style)
            ends = [series.low, series.q3], [series.q1, series.high]
            axes.hlines([series.row] * 2, *ends, color="0.4", linewidth=0.7, zorder=1.5)
            axes.vlines([series.median], *edges, color="0.4", linewidth=0.7, zorder=1.6)
        elif isinstance(series, Points):
            _draw_points(axes, series, x)
    for reference_line in panel.reference_lines:
        _draw_reference_line(axes, reference_line)
    for note in panel.notes:
        anchors = {"left": "right", "right": "left", "": "center"}
        shifts = {"left": -4, "right": 4, "": 0}
        axes.annotate(
            replace_forbidden(note.text),
            (note.x, 1),
            xycoords=("data", "axes fraction"),
            xytext=(shifts[note.line_side], -2 if note.line_side else 3),
            textcoords="offset points",
            ha="left" if note.anchor == "left" else anchors[note.line_side],
            va="top" if note.line_side else "bottom",
        )
    for row, text in enumerate(panel.row_texts):
        axes.annotate(
            replace_forbidden(text),
            (1, row),
            xycoords=("axes fraction", "data"),
            xytext=(LEGEND_GAP_PT, 0),
            textcoords="offset points",
            va="center",
        )


def _draw_x_axis(
    axes: Axes, axis: ChartAxis, scale: AxisScale, *, is_named: bool
) -> None:
    axes.set_xscale("log" if scale.is_log else "linear")
    axes.set_xlim(scale.first, scale.last)
    ticks = axis_ticks(axis, scale)
    width = _panel_width(axes)
    labels, end = [], -1e9
    for value, name in ticks:
        half = max(len(line) for line in name.split("\n")) * CHARACTER_WIDTH_PT / 2
        middle = scale.position(value) * width
        fits = middle - half > end + 3
        labels.append(replace_forbidden(name) if is_named and fits else "")
        end = middle + half if fits else end
    axes.set_xticks([value for value, _name in ticks], labels=labels)
    # Log axes add minor ticks and may label them.
    axes.set_xticks([], minor=True)
    if axis.has_grid and axis.scale != "category":
        axes.xaxis.grid(True, color=GRID, linewidth=0.4)
    if is_named and axis.title:
        axes.set_xlabel(
            replace_forbidden(axis.title), fontsize=FONT_SIZE_PT, labelpad=3
        )


def _draw_y_axis(
    axes: Axes, axis: ChartAxis, scale: AxisScale, *, is_named: bool
) -> None:
    axes.set_yscale("log" if scale.is_log else "linear")
    axes.set_ylim(scale.first, scale.last)
    ticks = axis_ticks(axis, scale)
    is_rows = axis.scale == "category"
    left = axes.get_position().x0 * _figure_width(axes)
    names = [
        "\n".join(_wrap_row_label(name, left)) if is_rows else name
        for _value, name in ticks
    ]
    labels = [replace_forbidden(name) if is_named else "" for name in names]
    axes.set_yticks([value for value, _name in ticks], labels=labels)
    axes.set_yticks([], minor=True)
    if axis.has_grid and not is_rows:
        axes.yaxis.grid(True, color=GRID, linewidth=0.4)
    if is_named and axis.title:
        axes.set_ylabel(
            replace_forbidden(axis.title), fontsize=FONT_SIZE_PT, labelpad=3
        )


def _figure_width(axes: Axes) -> float:
    figure = axes.get_figure(root=True)
    return float(figure.get_figwidth()) * POINTS_PER_INCH if figure else WIDTH_PT


def _panel_width(axes: Axes) -> float:
    return float(axes.get_position().width) * _figure_width(axes)


def _wrap_row_label(name: str, width: float) -> list[str]:
    characters = int(width / CHARACTER_WIDTH_PT)
    return [line for part in name.split("\n") for line in wrap(part, characters)]


def _draw_rectangle(
    axes: Axes, x_range: tuple[float, float], y_range: tuple[float, float], **style: Any
) -> None:
    (x0, x1), (y0, y1) = x_range, y_range
    axes.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, **style))


def _draw_bars(axes: Axes, panel: Panel, chart: Chart) -> None:
    grays = _bar_grays(chart)
    for box in panel.bar_boxes(chart.bars):
        x_range, y_range = box.values, box.positions
        if box.series.is_upright:
            x_range, y_range = y_range, x_range
        gray = "1.0" if box.series.is_hollow else grays[id(box.series)]
        style: dict[str, Any] = {
            "facecolor": gray,
            "edgecolor": INK,
            "linewidth": 0.5,
            "zorder": 2,
        }
        _draw_rectangle(axes, x_range, y_range, **style)


def _draw_points(axes: Axes, points: Points, scale: AxisScale) -> None:
    style: dict[str, Any]
    xs, ys = _none_to_nan(points.x), _none_to_nan(points.y)
    if points.line:
        stepped: dict[str, Any] = {}
        if points.line.is_stepped:
            stepped = {"drawstyle": "steps-post"}
        axes.plot(xs, ys, **_line_style(points), **stepped, zorder=2.5)
    if points.low:
        middles = xs if points.interval_axis == "x" else ys
        reaches = [
            [
                abs(middle - end)
                for middle, end in zip(middles, _none_to_nan(ends), strict=True)
            ]
            for ends in (points.low, points.high)
        ]
        style = {
            f"{points.interval_axis}err": reaches,
            "fmt": "none",
            "ecolor": INK,
            "elinewidth": points.interval_width * STROKE_POINTS_PER_PX,
            "capsize": 2 if points.interval_width > 1 else 0,
            "alpha": points.opacity_at(0),
            "zorder": 2.6,
        }
        axes.errorbar(xs, ys, **style)
    symbols: Sequence[str] = (
        [points.symbol] * len(xs)
        if isinstance(points.symbol, str)
        else list(points.symbol)
    )
    opacities = [points.opacity_at(index) for index in range(len(xs))]
    by_style = itemgetter(0, 1)
    points_by_style = sorted(zip(symbols, opacities, xs, ys, strict=True), key=by_style)
    for (symbol, opacity), group in groupby(points_by_style, key=by_style):
        if symbol:
            positions = [(x, y) for _symbol, _opacity, x, y in group]
            style = {**_marker_style(symbol, points.size), "alpha": opacity}
            axes.plot(*zip(*positions, strict=True), linestyle="", **style, zorder=3)
    if points.label_side:
        for x, y, name in zip(xs, ys, points.names, strict=True):
            position = scale.position(x)
            label_width = (len(name) * CHARACTER_WIDTH_PT + 8) / _panel_width(axes)
            is_left = (
                points.label_side == "left" and position > label_width
            ) or position + label_width > 1
            _draw_point_label(axes, (x, y), name, is_left=is_left)


def _none_to_nan(numbers: Numbers) -> list[float]:
    return [nan if number is None else number for number in numbers]


def _line_style(points: Points) -> dict[str, Any]:
    if not points.line:
        return {"linestyle": ""}
    return {
        "color": "0.6" if points.line.color else INK,
        "linestyle": DASHES[points.line.dash],
        "linewidth": points.line.width * STROKE_POINTS_PER_PX,
    }


def _marker_style(symbol: str, size: float) -> dict[str, Any]:
    base = symbol.removesuffix(HOLLOW_SUFFIX)
    names = list(MARKERS)
    is_pale = base in names and names.index(base) % 2 == 1
    gray = "white" if symbol != base else PALE_MARKER_GRAY if is_pale else INK
    return {
        "marker": MARKERS.get(base, "") if base else "",
        "markersize": size / 2,
        "markerfacecolor": "none" if size > RING_FROM_SIZE else gray,
        "markeredgecolor": INK,
        "markeredgewidth": 0.8,
    }


def _draw_point_label(
    axes: Axes, point: tuple[float, float], text: str, *, is_left: bool
) -> None:
    axes.annotate(
        replace_forbidden(text),
        point,
        xytext=(-5 if is_left else 5, 0),
        textcoords="offset points",
        ha="right" if is_left else "left",
        va="center",
    )


def _draw_reference_line(axes: Axes, line: ReferenceLine) -> None:
    style: dict[str, Any] = {
        "color": INK,
        "linewidth": line.stroke.width * 0.6 if line.stroke else 0.8,
        "linestyle": DASHES[line.stroke.dash if line.stroke else "dash"],
        "zorder": 2.7 if line.is_above else 1.8,
    }
    if line.axis == "y":
        axes.axhline(line.value, **style)
        return
    axes.axvline(line.value, **style)
    if line.label:
        top = axes.get_ylim()[1]
        axes.annotate(
            replace_forbidden(line.label),
            (line.value, top),
            xytext=(3, -3),
            textcoords="offset points",
            va="top",
        )
