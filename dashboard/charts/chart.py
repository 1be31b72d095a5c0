"""Renderer-independent chart model: frozen dataclasses of plain values. PURE.

Texts are unescaped; each renderer escapes them. Colors are names of CSS variables
(``series-1``, ``ink``).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Final, Literal

# The index selects one of four shapes in `svg_renderer`.
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
SERIES_COLORS: Final = 7
HOLLOW_SUFFIX: Final = "-open"
"""Suffix of the name of an outlined symbol."""
FAINT_OPACITY: Final = 0.45
VERTICAL_STROKE: Final = "line-ns"
AXES_HEIGHT_PX: Final = 96
"""Height of the tick labels and axis titles."""
PANEL_HEIGHT_PX: Final = 360
ROW_NAME_CHARACTERS: Final = 42
"""Maximum length of a line of a row label."""
NAME_LINE_PX: Final = 15
PX_PER_REM: Final = 16
NARROW_LABEL_PX: Final = 16
"""Line height of labels above rows on a phone (`LABEL_LINE_PX` in chart.js)."""
TOGGLE_ALL_FROM: Final = 3
"""Number of series from which one button shows or hides all of them."""
BAR_SHARE: Final = 0.7
"""Fraction of a row's height that its bars fill."""

# Spaces where no line may break: before a middle dot, and between number and unit.
NONBREAKING_SPACES: Final = re.compile(
    r" (?=\u00b7)|(?<=\d) (?=(?:[kKMGT]?i?B|[mun]?s|%)(?!\w))"
)

Numbers = Sequence[float | None]


@dataclass(frozen=True, kw_only=True)
class ChartAxis:
    """Axis of a panel.

    ``limits`` may be descending; without them, the axis covers the range of the series.
    ``ticks`` are (value, label) pairs.
    """

    title: str = ""
    scale: Literal["linear", "log", "date", "category"] = "linear"
    limits: tuple[float, float] | None = None
    ticks: tuple[tuple[float, str], ...] = ()
    tick_step: float | Literal["1-2-5"] | None = None
    max_ticks: int | None = None
    has_full_tick_labels: bool = False
    """Without this option, Plotly labels 20 and 50 on a log axis as 2 and 5."""
    suffix: str = ""
    is_from_zero: bool = False
    has_grid: bool = True


@dataclass(frozen=True, kw_only=True)
class LineStyle:
    """Style of a line; an empty ``color`` means the color of the series."""

    width: float = 2
    dash: Literal["", "dash", "dot"] = ""
    is_stepped: bool = False
    color: str = ""


@dataclass(frozen=True)
class HoverValue:
    axis: Literal["x", "y"]
    spec: str = ""
    unit: str | None = None


@dataclass(frozen=True, kw_only=True)
class Points:
    """Markers, optionally joined by a line, which is interrupted at None.

    Without ``symbol``, only the line is drawn. ``low`` and ``high`` are the ends of
    intervals along ``interval_axis``. ``values`` are true values, also of points drawn
    at the axis's edge.
    """

    name: str = ""
    group: str = ""
    x: Numbers
    y: Numbers
    color: str | tuple[str, ...] = "ink"
    symbol: str | tuple[str, ...] = ""
    size: float = 9
    opacity: float | tuple[float, ...] = 1
    line: LineStyle | None = None
    low: Numbers = ()
    high: Numbers = ()
    interval_axis: Literal["x", "y"] = "y"
    interval_width: float = 1.5
    values: Sequence[float] = ()
    hover_texts: Sequence[str] = ()
    hover_value: HoverValue | None = None
    names: Sequence[str] = ()
    label_side: Literal["", "left", "right"] = ""
    is_in_legend: bool = True

    @property
    def legend_symbol(self) -> str:
        if isinstance(self.symbol, str):
            return self.symbol
        full = (symbol for symbol in self.symbol if not symbol.endswith(HOLLOW_SUFFIX))
        return next(full, self.symbol[0] if self.symbol else "")

    def opacity_at(self, index: int) -> float:
        return self.opacity[index] if isinstance(self.opacity, tuple) else self.opacity


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Bars that start at ``base``.

    If ``base`` is 0, ``values`` are the lengths of the bars, else their ends.
    ``widths`` are the widths of upright bars.
    """

    name: str
    positions: Sequence[float]
    values: Numbers
    color: str
    is_upright: bool = False
    is_hollow: bool = False
    base: float = 0
    widths: Sequence[float] = ()
    texts: Sequence[str] = ()
    hover_value: HoverValue | None = None
    is_in_legend: bool = True


@dataclass(frozen=True)
class Box:
    row: float
    low: float
    q1: float
    median: float
    q3: float
    high: float


@dataclass(frozen=True, kw_only=True)
class ReferenceLine:
    """Line at a ``value`` of ``axis``, across the panel or only between ``ends``."""

    value: float
    axis: Literal["x", "y"]
    ends: tuple[float, float] | None = None
    label: str = ""
    stroke: LineStyle | None = None
    is_above: bool = False


@dataclass(frozen=True, kw_only=True)
class ChartBand:
    axis: Literal["x", "y"]
    low: float
    high: float
    ends: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class ChartNote:
    text: str
    x: float
    anchor: Literal["left", "middle"] = "middle"
    line_side: Literal["", "left", "right"] = ""


@dataclass(frozen=True, kw_only=True)
class Panel:
    x: ChartAxis
    y: ChartAxis
    series: tuple[Points | Bars | Box, ...] = ()
    bands: tuple[ChartBand, ...] = ()
    reference_lines: tuple[ReferenceLine, ...] = ()
    notes: tuple[ChartNote, ...] = ()
    title: str = ""
    """Printed above the panel if panels are side by side."""
    row_texts: tuple[str, ...] = ()
    """Texts to the right of rows, only in files."""

    def bar_boxes(self, mode: str) -> Iterator["BarBox"]:
        bars = [series for series in self.series if isinstance(series, Bars)]
        lane = BAR_SHARE / (1 if mode == "stack" else max(len(bars), 1))
        stack_tops: dict[float, float] = {}
        for number, series in enumerate(bars):
            shift = 0 if mode == "stack" else (number - (len(bars) - 1) / 2) * lane
            for index, value in enumerate(series.values):
                if value is None:
                    continue
                position = series.positions[index]
                start = stack_tops.get(position, series.base)
                end = value if series.base else start + value
                if mode == "stack" and not series.base:
                    stack_tops[position] = end
                half = series.widths[index] / 2 if series.widths else lane / 2
                middle = position + shift
                yield BarBox(series, (middle - half, middle + half), (start, end))


@dataclass(frozen=True)
class BarBox:
    series: Bars
    positions: tuple[float, float]
    values: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Panels below each other, or side by side in ``columns``.

    ``height`` is in pixels. ``gap``, the space between panels, is a fraction of it.
    """

    panels: tuple[Panel, ...]
    height: float
    bars: Literal["", "stack", "group"] = ""
    legend: Literal["beside", "above", "lines"] = "beside"
    """``lines`` is a legend above the panels with one name per line."""
    has_legend: bool | None = None
    has_outlines: bool = True
    has_names_above: bool = True
    """Whether a phone shows row labels above their rows."""
    gap: float = 0
    shares_x_axis: bool = False
    columns: int = 1

    @property
    def series(self) -> Iterator[Points | Bars | Box]:
        return (series for panel in self.panels for series in panel.series)

    @property
    def legend_series(self) -> list[tuple[int, Points | Bars]]:
        named_series = [
            (index, series)
            for index, series in enumerate(self.series)
            if not isinstance(series, Box) and series.name and series.is_in_legend
        ]
        has_legend = (
            len(named_series) > 1 if self.has_legend is None else self.has_legend
        )
        return named_series if has_legend else []

    @property
    def css_height(self) -> str:
        return f"{self.height / PX_PER_REM:g}rem"

    @property
    def narrow_css_height(self) -> str:
        # Must equal the height in `narrowLayout` (chart.js), or the page shifts.
        rows = self.panels[0].y
        labels = (
            len(rows.ticks)
            * name_line_count(rows)
            * NARROW_LABEL_PX
            * self.has_names_above
        )
        return f"{(self.height + labels) / PX_PER_REM:g}rem"

    @property
    def series_groups(self) -> list[tuple[str, list[tuple[int, str]]]]:
        """The series of the legend as (index, label) pairs, by group."""

        def group_of(series: Points | Bars) -> str:
            return "" if isinstance(series, Bars) else series.group

        counts = Counter(group_of(series) for _index, series in self.legend_series)
        groups: dict[str, list[tuple[int, str]]] = {}
        for index, series in self.legend_series:
            group = group_of(series) if counts[group_of(series)] > 1 else ""
            name = series.name if group else series_full_name(series)
            groups.setdefault(group, []).append((index, name))
        return list(groups.items())

    @property
    def has_toggle_all(self) -> bool:
        return len(self.legend_series) >= TOGGLE_ALL_FROM

    @property
    def is_zoomable(self) -> bool:
        for panel in self.panels:
            bars = [series for series in panel.series if isinstance(series, Bars)]
            has_upright = any(series.is_upright for series in bars)
            free = [] if bars and not has_upright else [panel.x]
            free += [] if has_upright else [panel.y]
            if any(axis.scale != "category" for axis in free):
                return True
        return False


EMPTY_CHART: Final = Chart(panels=(Panel(x=ChartAxis(), y=ChartAxis()),), height=0)


def symbol_style(symbol: str, strength: str) -> tuple[str, float]:
    """Return the symbol and opacity of a point.

    ``strength`` is "hollow" (no verdict), "faint" (weak evidence) or "".
    """
    is_hollow = strength == "hollow" and not symbol.endswith(HOLLOW_SUFFIX)
    opacity = FAINT_OPACITY if strength == "faint" else 1.0
    return f"{symbol}{HOLLOW_SUFFIX}" if is_hollow else symbol, opacity


def series_color(index: int) -> str:
    return f"series-{index % SERIES_COLORS + 1}"


def series_symbol(index: int) -> str:
    return SYMBOLS[index % len(SYMBOLS)]


def row_axis(rows: Sequence[str]) -> ChartAxis:
    return ChartAxis(
        scale="category",
        limits=(len(rows) - 0.5, -0.5),
        ticks=tuple(enumerate(map(wrap_name, rows))),
        has_grid=False,
    )


def series_full_name(series: Points | Bars) -> str:
    group = series.group if isinstance(series, Points) else ""
    return series.name if group in ("", series.name) else f"{group}, {series.name}"


def wrap_name(name: str) -> str:
    nonbreaking = NONBREAKING_SPACES.sub("\N{NO-BREAK SPACE}", name)
    parts = (wrap(part, ROW_NAME_CHARACTERS) for part in nonbreaking.split("\n"))
    return "\n".join(line for lines in parts for line in lines)


def name_line_count(axis: ChartAxis) -> int:
    return max((name.count("\n") + 1 for _value, name in axis.ticks), default=1)


def row_height_px(axis: ChartAxis, minimum: float) -> float:
    return max(minimum, NAME_LINE_PX * name_line_count(axis))
