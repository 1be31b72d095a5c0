"""Charts for paper, by matplotlib: SVG for the report's PDF; PDF and PGF as files.

One ink: what differs has another mark, tone or dash, so nothing is lost on a
black-and-white printer. A unit is a point.
For workers alone: to import matplotlib takes seconds and 40 MiB (see
`docs/decisions/charts.md`). The same chart is the same file.
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

from dashboard.charts.chart import (
    FRAME_PX,
    OPEN,
    STROKE,
    Axis,
    Bars,
    Box,
    Chart,
    Numbers,
    Panel,
    Points,
    Rule,
    legible,
)
from dashboard.charts.scales import Scale, scales_of, ticks_of
from dashboard.exports.escaping import OTHER_CHARACTER, tex

WIDTH_PT: Final = 480
"""As wide as the text of a report; other papers say how wide a chart shall be."""
POINTS_AN_INCH: Final = 72
POINTS_A_PX: Final = 0.6
SIZE: Final = 7
LEADING: Final = 8.6
LETTER: Final = 4.1
"""How wide a letter is, on the average."""
ROW_LABELS: Final = 150
ROW_LABELS_SHARE: Final = 0.36
"""Of a narrow chart's width, at most."""
NUMBERS: Final = 50
RIGHT: Final = 14
DOTS_AN_INCH: Final = 300
"""Of a picture made of dots."""
DATELESS: Final[dict[str, dict[str, Any]]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {},
}
GAP: Final = 12
SWATCH: Final = 24
INK, PALE, GRID = "black", "0.93", "0.85"
TONES: Final = ("0.25", "0.75", "1.0", "0.5", "0.9", "0.6")
DASHES: Final[dict[str, Any]] = {"": "-", "dash": (0, (4, 2)), "dot": (0, (1, 2))}
# Their order matters: every second one is pale. An open one says something.
PALE_MARK: Final = "0.75"
MARKS: Final = {
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
    STROKE: "|",
}
STROKE_SHARE: Final = 0.45
"""Points of a stroke for each pixel of the page's."""
BOX_SHARE: Final = 0.31
RING: Final = 12
"""Larger marks are rings around others."""
SETTINGS: Final[dict[Any, Any]] = {
    "font.family": "DejaVu Sans",  # which comes with matplotlib
    "font.size": SIZE,
    "svg.fonttype": "none",  # a text stays one, to be read out and searched
    "svg.hashsalt": "virtlab",
    "pdf.fonttype": 42,
    "pgf.texsystem": "pdflatex",  # of the three, the one that names no font
    "text.parse_math": False,  # a dollar of a name is a dollar
    "text.usetex": False,
    "axes.linewidth": 0.5,
    "lines.linewidth": 0.9,
}


def font() -> Path:
    """Return the file of the letters that charts are measured in.

    Of its folder no other: one there has a box for every letter, and a report would
    promise to be readable that is not.
    """
    return Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"


def paper(
    chart: Chart,
    form: Literal["svg", "pdf", "pgf", "png"] = "svg",
    *,
    width: float = WIDTH_PT,
) -> bytes:
    """Return a chart as a file, so many points wide; LaTeX reads PGF by ``\\input``."""
    file = BytesIO()
    with matplotlib.rc_context(SETTINGS), warnings.catch_warnings():
        # A letter that this family lacks is looked for by whoever shows the file.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = _drawn(chart, width)
        if form == "pgf":
            file.write(_pgf(figure).encode())
        else:
            dots = DOTS_AN_INCH if form == "png" else "figure"
            figure.savefig(file, format=form, metadata=DATELESS[form], dpi=dots)
    return file.getvalue()


class _Tex(RendererPgf):
    """Matplotlib's PGF without a TeX of its own: that one measures every text, and
    leaves names as they are, so that a name could be a command."""

    def get_text_width_height_descent(
        self, s: str, prop: FontProperties, ismath: Any
    ) -> tuple[float, float, float]:
        # DejaVu is wider than the letters that a paper will take: nothing will touch.
        measured = text_to_path.get_text_width_height_descent(s, prop, ismath=False)
        wide, high, deep = (it * self.dpi / POINTS_AN_INCH for it in measured)
        return wide, high, deep

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
        super().draw_text(gc, x, y, tex(s), prop, angle, ismath, mtext)


def _pgf(figure: Figure) -> str:
    """Return a figure as PGF, in the letters of the paper that takes it.

    Not by ``savefig``: its canvas names the renderer that starts a TeX.
    """
    file = StringIO()
    # Clipped to its own size, like the pictures that matplotlib's canvas prints.
    corner = rf"\pgfqpoint{{{figure.get_figwidth()}in}}{{{figure.get_figheight()}in}}"
    head = (
        r"% \usepackage[T1]{fontenc} \usepackage{textcomp,pgf}",
        OTHER_CHARACTER,
        r"\begingroup\makeatletter\begin{pgfpicture}",
        rf"\pgfpathrectangle{{\pgfpointorigin}}{{{corner}}}",
        r"\pgfusepath{use as bounding box, clip}",
    )
    print(*head, sep="\n", file=file)
    figure.draw(_Tex(figure, file))
    print(r"\end{pgfpicture}\makeatother\endgroup", file=file)
    return file.getvalue()


def _drawn(chart: Chart, wide: float) -> Figure:
    across = chart.across
    lines = [
        chart.panels[at : at + across] for at in range(0, len(chart.panels), across)
    ]
    panel = chart.panels[0]
    has_rows = panel.y.scale == "category"
    left = min(ROW_LABELS, ROW_LABELS_SHARE * wide) if has_rows else NUMBERS
    key = _legend(chart, wide)
    names = [str(handle.get_label()).split("\n") for handle in key]
    longest = max((len(line) for lines in names for line in lines), default=1)
    columns = max(1, int(wide // (SWATCH + 14 + LETTER * longest)))
    # A name of several lines stands in a column of its own.
    more = sum(len(name) - 1 for name in names)
    head = 4 + LEADING * (1.35 * -(-len(key) // columns) + more)
    above = 14 if any(it.title or it.notes for it in chart.panels) else 4
    below = _below(panel.x)
    body = max((chart.height - FRAME_PX) * POINTS_A_PX / len(lines), 40)
    if has_rows:
        tall = [len(_folded(name, left)) for _at, name in panel.y.ticks]
        body = max(body, len(tall) * (LEADING * max(tall, default=1) + 2))
    is_tight = chart.shares_x and len(lines) > 1
    foot = 4 if is_tight else below
    height = head + len(lines) * (above + body + foot) + (below - foot)

    # Not pyplot, which keeps figures alive and asks for a screen.
    figure = Figure(figsize=(wide / POINTS_AN_INCH, height / POINTS_AN_INCH))
    if key:
        figure.legend(
            handles=key,
            loc="upper left",
            bbox_to_anchor=(0, 1),
            ncols=columns,
            frameon=False,
            borderaxespad=0.2,
            columnspacing=1.2,
            handlelength=2,
        )
    top = head
    right = RIGHT + max((LETTER * len(it) for it in panel.beside), default=0)
    for number, line in enumerate(lines):
        width = (wide - left - right - GAP * (len(line) - 1)) / len(line)
        for column, panel in enumerate(line):
            start = left + column * (width + GAP)
            # Places of our own: a layout engine would not make the same file each time.
            place = (
                start / wide,
                1 - (top + above + body) / height,
                width / wide,
                body / height,
            )
            axes = figure.add_axes(place)
            is_last = number == len(lines) - 1 or not chart.shares_x
            _panel(axes, panel, chart, has_x=is_last, has_y=column == 0)
        top += above + body + foot
    return figure


def _below(axis: Axis) -> float:
    """Return how high the names and the title below a field are."""
    lines = max((name.count("\n") + 1 for _at, name in axis.ticks), default=1)
    return 6 + LEADING * lines + (16 if axis.title else 0)


def _legend(chart: Chart, wide: float) -> list[Patch | Line2D]:
    letters = int((wide - SWATCH - GAP) / LETTER)
    tones = _tones(chart)
    key: list[Patch | Line2D] = []
    for _at, series in chart.listed:
        name = "\n".join(wrap(legible(series.name), letters))
        if isinstance(series, Bars):
            patch = Patch(facecolor=tones[id(series)], edgecolor=INK, linewidth=0.5)
            patch.set_label(name)
            key.append(patch)
            continue
        if series.group not in ("", series.name):
            whole = f"{legible(series.group)}, {legible(series.name)}"
            name = "\n".join(wrap(whole, letters))
        look: dict[str, Any] = {**_line(series), **_mark(series.key, series.size)}
        key.append(Line2D([], [], label=name, **look))
    return key


def _tones(chart: Chart) -> dict[int, str]:
    bars = (series for series in chart.series if isinstance(series, Bars))
    # By id: series hold lists and have no hash.
    return {id(series): TONES[at % len(TONES)] for at, series in enumerate(bars)}


def _panel(axes: Axes, panel: Panel, chart: Chart, *, has_x: bool, has_y: bool) -> None:
    x, y = scales_of(panel, chart.bars)
    _across(axes, panel.x, x, is_named=has_x)
    _upwards(axes, panel.y, y, is_named=has_y)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0, which="both", pad=3)
    axes.set_title(legible(panel.title), fontsize=SIZE, loc="left", pad=4)
    for band in panel.bands:
        across, upwards = (band.low, band.high), band.ends or (y.low, y.high)
        if band.axis == "y":
            across, upwards = band.ends or (x.low, x.high), across
        _rectangle(axes, across, upwards, facecolor=PALE, zorder=0.5, alpha=0.8)
    _bars(axes, panel, chart)
    for series in panel.series:
        if isinstance(series, Box):
            edges = series.row - BOX_SHARE, series.row + BOX_SHARE
            look: dict[str, Any] = {
                "facecolor": "white",
                "edgecolor": "0.4",
                "linewidth": 0.7,
                "zorder": 1.5,
            }
            _rectangle(axes, (series.q1, series.q3), edges, **look)
            ends = [series.low, series.q3], [series.q1, series.high]
            axes.hlines([series.row] * 2, *ends, color="0.4", linewidth=0.7, zorder=1.5)
            axes.vlines([series.median], *edges, color="0.4", linewidth=0.7, zorder=1.6)
        elif isinstance(series, Points):
            _points(axes, series, x)
    for rule in panel.rules:
        _rule(axes, rule)
    for note in panel.notes:
        anchors = {"left": "right", "right": "left", "": "center"}
        shifts = {"left": -4, "right": 4, "": 0}
        axes.annotate(
            legible(note.text),
            (note.x, 1),
            xycoords=("data", "axes fraction"),
            xytext=(shifts[note.beside], -2 if note.beside else 3),
            textcoords="offset points",
            ha="left" if note.anchor == "left" else anchors[note.beside],
            va="top" if note.beside else "bottom",
        )
    for row, words in enumerate(panel.beside):
        axes.annotate(
            legible(words),
            (1, row),
            xycoords=("axes fraction", "data"),
            xytext=(GAP, 0),
            textcoords="offset points",
            va="center",
        )


def _across(axes: Axes, axis: Axis, scale: Scale, *, is_named: bool) -> None:
    axes.set_xscale("log" if scale.is_log else "linear")
    axes.set_xlim(scale.first, scale.last)
    ticks = ticks_of(axis, scale)
    room = _room(axes)
    shown, end = [], -1e9
    for value, name in ticks:
        half = max(len(line) for line in name.split("\n")) * LETTER / 2
        middle = scale.share(value) * room
        # Of names that would touch each other the second is left out.
        fits = middle - half > end + 3
        shown.append(legible(name) if is_named and fits else "")
        end = middle + half if fits else end
    axes.set_xticks([value for value, _name in ticks], labels=shown)
    # A log axis has small ticks of its own, and names them where it is short.
    axes.set_xticks([], minor=True)
    if axis.has_grid and axis.scale != "category":
        axes.xaxis.grid(True, color=GRID, linewidth=0.4)
    if is_named and axis.title:
        axes.set_xlabel(legible(axis.title), fontsize=SIZE, labelpad=3)


def _upwards(axes: Axes, axis: Axis, scale: Scale, *, is_named: bool) -> None:
    axes.set_yscale("log" if scale.is_log else "linear")
    axes.set_ylim(scale.first, scale.last)
    ticks = ticks_of(axis, scale)
    is_rows = axis.scale == "category"
    left = axes.get_position().x0 * _width(axes)
    names = [
        "\n".join(_folded(name, left)) if is_rows else name for _value, name in ticks
    ]
    shown = [legible(name) if is_named else "" for name in names]
    axes.set_yticks([value for value, _name in ticks], labels=shown)
    axes.set_yticks([], minor=True)
    if axis.has_grid and not is_rows:
        axes.yaxis.grid(True, color=GRID, linewidth=0.4)
    if is_named and axis.title:
        axes.set_ylabel(legible(axis.title), fontsize=SIZE, labelpad=3)


def _width(axes: Axes) -> float:
    """Return how wide the whole figure is, in points."""
    figure = axes.get_figure(root=True)
    return float(figure.get_figwidth()) * POINTS_AN_INCH if figure else WIDTH_PT


def _room(axes: Axes) -> float:
    """Return how wide a field is, in points."""
    return float(axes.get_position().width) * _width(axes)


def _folded(name: str, room: float) -> list[str]:
    """Return a row's name in lines that find room at the left."""
    letters = int(room / LETTER)
    return [line for part in name.split("\n") for line in wrap(part, letters)][:3]


def _rectangle(
    axes: Axes, across: tuple[float, float], upwards: tuple[float, float], **look: Any
) -> None:
    (x0, x1), (y0, y1) = across, upwards
    axes.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, **look))


def _bars(axes: Axes, panel: Panel, chart: Chart) -> None:
    tones = _tones(chart)
    for box in panel.bar_boxes(chart.bars):
        across, upwards = box.values, box.places
        if box.series.is_upright:
            across, upwards = upwards, across
        tone = "1.0" if box.series.is_open else tones[id(box.series)]
        look: dict[str, Any] = {
            "facecolor": tone,
            "edgecolor": INK,
            "linewidth": 0.5,
            "zorder": 2,
        }
        _rectangle(axes, across, upwards, **look)


def _points(axes: Axes, points: Points, scale: Scale) -> None:
    look: dict[str, Any]
    xs, ys = _plotted(points.x), _plotted(points.y)
    if points.line:
        stepped: dict[str, Any] = {}
        if points.line.is_stepped:
            stepped = {"drawstyle": "steps-post"}
        axes.plot(xs, ys, **_line(points), **stepped, zorder=2.5)
    if points.low:
        middles = xs if points.along == "x" else ys
        reaches = [
            [
                abs(middle - end)
                for middle, end in zip(middles, _plotted(ends), strict=True)
            ]
            for ends in (points.low, points.high)
        ]
        look = {
            f"{points.along}err": reaches,
            "fmt": "none",
            "ecolor": INK,
            "elinewidth": points.interval_width * STROKE_SHARE,
            # A range is thin and has none: it is no interval.
            "capsize": 2 if points.interval_width > 1 else 0,
            "alpha": points.opacity_at(0),
            "zorder": 2.6,
        }
        axes.errorbar(xs, ys, **look)
    symbols: Sequence[str] = (
        [points.symbol] * len(xs)
        if isinstance(points.symbol, str)
        else list(points.symbol)
    )
    # matplotlib draws one kind of marks a call.
    opacities = [points.opacity_at(at) for at in range(len(xs))]
    by_look = itemgetter(0, 1)
    placed = sorted(zip(symbols, opacities, xs, ys, strict=True), key=by_look)
    for (symbol, opacity), some in groupby(placed, key=by_look):
        if symbol:
            places = [(x, y) for _symbol, _opacity, x, y in some]
            look = {**_mark(symbol, points.size), "alpha": opacity}
            axes.plot(*zip(*places, strict=True), linestyle="", **look, zorder=3)
    if points.side:
        for x, y, name in zip(xs, ys, points.names, strict=True):
            share = scale.share(x)
            room = (len(name) * LETTER + 8) / _room(axes)
            is_left = (points.side == "left" and share > room) or share + room > 1
            _beside(axes, (x, y), name, is_left=is_left)


def _plotted(numbers: Numbers) -> list[float]:
    return [nan if number is None else number for number in numbers]


def _line(points: Points) -> dict[str, Any]:
    if not points.line:
        return {"linestyle": ""}
    return {
        "color": "0.6" if points.line.colour else INK,
        "linestyle": DASHES[points.line.dash],
        "linewidth": points.line.width * STROKE_SHARE,
    }


def _mark(symbol: str, size: float) -> dict[str, Any]:
    base = symbol.removesuffix(OPEN)
    names = list(MARKS)
    is_pale = base in names and names.index(base) % 2 == 1
    tone = "white" if symbol != base else PALE_MARK if is_pale else INK
    return {
        "marker": MARKS.get(base, "") if base else "",
        "markersize": size / 2,
        "markerfacecolor": "none" if size > RING else tone,
        "markeredgecolor": INK,
        "markeredgewidth": 0.8,
    }


def _beside(
    axes: Axes, place: tuple[float, float], text: str, *, is_left: bool
) -> None:
    axes.annotate(
        legible(text),
        place,
        xytext=(-5 if is_left else 5, 0),
        textcoords="offset points",
        ha="right" if is_left else "left",
        va="center",
    )


def _rule(axes: Axes, rule: Rule) -> None:
    look: dict[str, Any] = {
        "color": INK,
        "linewidth": rule.stroke.width * 0.6 if rule.stroke else 0.8,
        "linestyle": DASHES[rule.stroke.dash if rule.stroke else "dash"],
        "zorder": 2.7 if rule.is_above else 1.8,
    }
    if rule.axis == "y":
        axes.axhline(rule.at, **look)
        return
    axes.axvline(rule.at, **look)
    if rule.label:
        top = axes.get_ylim()[1]
        axes.annotate(
            legible(rule.label),
            (rule.at, top),
            xytext=(3, -3),
            textcoords="offset points",
            va="top",
        )
