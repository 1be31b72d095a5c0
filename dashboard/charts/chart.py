"""What a chart shows, whoever draws it. PURE: frozen plain values.

Renderers: `plotly` for pages, `sketch` for pages without script (reports and frames of
other sites), `paper` for PDF and files. Texts are plain; each renderer escapes them.
Colours are tokens of the style sheet (``series-1``, ``ink``).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Final, Literal

# Their order matters: `sketch` has four forms, and chooses one by a place here.
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
OPEN: Final = "-open"
"""The end of a symbol that is drawn as a ring."""
FAINT: Final = 0.45
"""The opacity of what says hardly anything."""
STROKE: Final = "line-ns"
"""An upright stroke as a mark."""
FRAME_PX: Final = 96
"""What the names and the title of the axes take of a chart's height."""
FLAT_PX: Final = 360
ROW_LETTERS: Final = 42
"""As many letters of a row's name stand in a line: a phone has no room for more."""
NAME_PX: Final = 15
"""What a line of a row's name takes of the row's height."""
PX_A_REM: Final = 16
LABEL_PX: Final = 16
"""A line of a row's name above its dots, on a phone (`LABEL` of `chart.js`)."""
FEW: Final = 3
LANES: Final = 0.7
"""The share of a row that its bars take."""

# What no XML document may hold, however it is written.
FORBIDDEN: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# A space before a dot between parts of a name, or before a unit: no line begins there.
HELD: Final = re.compile(r" (?=\u00b7)|(?<=\d) (?=(?:[kKMGT]?i?B|[mun]?s|%)(?!\w))")

Numbers = Sequence[float | None]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """What places mean, across or upwards.

    ``ends`` are values (None: as wide as the series need); the first may be the
    greater. ``ticks`` are values with their names; an empty name is the value itself.
    """

    title: str = ""
    scale: Literal["linear", "log", "date", "category"] = "linear"
    ends: tuple[float, float] | None = None
    ticks: tuple[tuple[float, str], ...] = ()
    tick_step: float | Literal["1-2-5"] | None = None
    most_ticks: int | None = None
    has_full_ticks: bool = False
    """Each tick is written in full: left alone, Plotly writes 2 and 5 for 20 and 50."""
    suffix: str = ""
    is_from_zero: bool = False
    has_grid: bool = True


@dataclass(frozen=True, kw_only=True)
class Stroke:
    """How a line looks; ``colour`` is empty for that of its series."""

    width: float = 2
    dash: Literal["", "dash", "dot"] = ""
    is_stepped: bool = False
    colour: str = ""


@dataclass(frozen=True)
class Reading:
    """The number that hovering tells of a point, as a format of Python writes it.

    It stands after the point's text, or after its series' name; or before a ``unit``.
    """

    axis: Literal["x", "y"]
    spec: str = ""
    unit: str | None = None


@dataclass(frozen=True, kw_only=True)
class Points:
    """Marks at places, joined by a line, or the line alone (no ``symbol``).

    A line stops where a place is None. ``low`` and ``high`` are the ends of intervals
    along ``along`` (None: there is none); ``values`` what the points stand for that are
    drawn elsewhere. Hovering tells ``texts``, or the ``reading``, or nothing at all;
    ``names`` are what points are called, written beside them if ``side`` says where.
    """

    name: str = ""
    group: str = ""
    x: Numbers
    y: Numbers
    colour: str | tuple[str, ...] = "ink"
    symbol: str | tuple[str, ...] = ""
    size: float = 9
    opacity: float | tuple[float, ...] = 1
    line: Stroke | None = None
    low: Numbers = ()
    high: Numbers = ()
    along: Literal["x", "y"] = "y"
    interval_width: float = 1.5
    values: Sequence[float] = ()
    texts: Sequence[str] = ()
    reading: Reading | None = None
    names: Sequence[str] = ()
    side: Literal["", "left", "right"] = ""
    is_listed: bool = True
    """Whether the legend names it."""

    @property
    def key(self) -> str:
        if isinstance(self.symbol, str):
            return self.symbol
        full = (symbol for symbol in self.symbol if not symbol.endswith(OPEN))
        return next(full, self.symbol[0] if self.symbol else "")

    def opacity_at(self, at: int) -> float:
        return self.opacity[at] if isinstance(self.opacity, tuple) else self.opacity


@dataclass(frozen=True, kw_only=True)
class Bars:
    """A bar for each place: across from the left, or upright from the bottom.

    ``base`` is where they begin; ``widths`` are those of upright ones.
    """

    name: str
    places: Sequence[float]
    values: Numbers
    colour: str
    is_upright: bool = False
    is_open: bool = False
    base: float = 0
    widths: Sequence[float] = ()
    texts: Sequence[str] = ()
    reading: Reading | None = None
    is_listed: bool = True


@dataclass(frozen=True)
class Box:
    row: float
    low: float
    q1: float
    median: float
    q3: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A straight line at a value of an axis, through the field or between ``ends``."""

    at: float
    axis: Literal["x", "y"]
    ends: tuple[float, float] | None = None
    label: str = ""
    stroke: Stroke | None = None
    is_above: bool = False


@dataclass(frozen=True, kw_only=True)
class Band:
    axis: Literal["x", "y"]
    low: float
    high: float
    ends: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Note:
    """Words above the field, or ``beside`` a line at its top, to its left or right."""

    text: str
    x: float
    anchor: Literal["left", "middle"] = "middle"
    beside: Literal["", "left", "right"] = ""


@dataclass(frozen=True, kw_only=True)
class Panel:
    x: Axis
    y: Axis
    series: tuple[Points | Bars | Box, ...] = ()
    bands: tuple[Band, ...] = ()
    rules: tuple[Rule, ...] = ()
    notes: tuple[Note, ...] = ()
    title: str = ""
    """Written above the field where panels stand side by side."""
    beside: tuple[str, ...] = ()
    """Words right of each row, on paper: on a screen they are in the table below."""

    def bar_boxes(self, mode: str) -> Iterator["BarBox"]:
        """Yield each bar where it stands: end to end, or beside each other in lanes."""
        bars = [series for series in self.series if isinstance(series, Bars)]
        lane = LANES / (1 if mode == "stack" else max(len(bars), 1))
        reached: dict[float, float] = {}
        for number, series in enumerate(bars):
            shift = 0 if mode == "stack" else (number - (len(bars) - 1) / 2) * lane
            for at, value in enumerate(series.values):
                if value is None:
                    continue
                place = series.places[at]
                start = reached.get(place, series.base)
                # Of what begins at 1 a value is where it ends, not how long it is.
                end = value if series.base else start + value
                if mode == "stack" and not series.base:
                    reached[place] = end
                half = series.widths[at] / 2 if series.widths else lane / 2
                middle = place + shift
                yield BarBox(series, (middle - half, middle + half), (start, end))


@dataclass(frozen=True)
class BarBox:
    """A bar with its edges: along the axis of its places, and of its values."""

    series: Bars
    places: tuple[float, float]
    values: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One field or several: below each other, or ``across`` of them side by side.

    ``height`` is in pixels. ``gap`` is the part of the height between panels;
    ``has_legend`` None: where there is more than one name.
    """

    panels: tuple[Panel, ...]
    height: float
    bars: Literal["", "stack", "group"] = ""
    legend: Literal["beside", "above", "lines"] = "beside"
    """``lines``: above, each name in a line of its own."""
    has_legend: bool | None = None
    has_outlines: bool = True
    """Whether marks have an outline in the colour of the page."""
    names_above: bool = True
    """Whether names of rows are above them on a phone."""
    gap: float = 0
    shares_x: bool = False
    across: int = 1

    @property
    def series(self) -> Iterator[Points | Bars | Box]:
        return (series for panel in self.panels for series in panel.series)

    @property
    def listed(self) -> list[tuple[int, Points | Bars]]:
        named = [
            (at, series)
            for at, series in enumerate(self.series)
            if not isinstance(series, Box) and series.name and series.is_listed
        ]
        has_legend = len(named) > 1 if self.has_legend is None else self.has_legend
        return named if has_legend else []

    @property
    def room(self) -> str:
        """Height as a CSS length."""
        return f"{self.height / PX_A_REM:g}rem"

    @property
    def narrow_room(self) -> str:
        """Height on a phone, where row names are above their rows."""
        # Like `narrowed` in chart.js, so that nothing moves when Plotly draws.
        rows = self.panels[0].y
        labels = len(rows.ticks) * lines_of(rows) * LABEL_PX * self.names_above
        return f"{(self.height + labels) / PX_A_REM:g}rem"

    @property
    def series_groups(self) -> list[tuple[str, list[tuple[int, str]]]]:
        """Series that can be hidden (place, name) by group; a group of one has none."""

        def group_of(series: Points | Bars) -> str:
            return "" if isinstance(series, Bars) else series.group

        counts = Counter(group_of(series) for _at, series in self.listed)
        groups: dict[str, list[tuple[int, str]]] = {}
        for at, series in self.listed:
            group = group_of(series) if counts[group_of(series)] > 1 else ""
            name = series.name if group else full_name(series)
            groups.setdefault(group, []).append((at, name))
        return list(groups.items())

    @property
    def has_many(self) -> bool:
        """Whether there are enough series for a button that hides all."""
        return len(self.listed) >= FEW

    @property
    def is_zoomable(self) -> bool:
        """Whether an axis can be enlarged: bars need their length, rows their place."""
        for panel in self.panels:
            bars = [series for series in panel.series if isinstance(series, Bars)]
            has_upright = any(series.is_upright for series in bars)
            free = [] if bars and not has_upright else [panel.x]
            free += [] if has_upright else [panel.y]
            if any(axis.scale != "category" for axis in free):
                return True
        return False


NOTHING: Final = Chart(panels=(Panel(x=Axis(), y=Axis()),), height=0)


def marked(symbol: str, strength: str) -> tuple[str, float]:
    """Return the mark and the opacity of a ratio, by the strength of its interval.

    Hollow is what gives no verdict by its design, faint what hardly gives one.
    """
    is_hollow = strength == "hollow" and not symbol.endswith(OPEN)
    opacity = FAINT if strength == "faint" else 1.0
    return f"{symbol}{OPEN}" if is_hollow else symbol, opacity


def series_colour(at: int) -> str:
    return f"series-{at % SERIES + 1}"


def symbol_at(at: int) -> str:
    return SYMBOLS[at % len(SYMBOLS)]


def row_axis(rows: Sequence[str]) -> Axis:
    """Return an axis with a line for each row, the first one on top.

    A long name is folded into lines, never cut.
    """
    return Axis(
        scale="category",
        ends=(len(rows) - 0.5, -0.5),
        ticks=tuple(enumerate(map(folded, rows))),
        has_grid=False,
    )


def full_name(series: Points | Bars) -> str:
    group = series.group if isinstance(series, Points) else ""
    return series.name if group in ("", series.name) else f"{group}, {series.name}"


def folded(name: str) -> str:
    """Return a name in lines that leave most of the width to what is drawn."""
    # No line begins with a dot or with a unit.
    held = HELD.sub("\N{NO-BREAK SPACE}", name)
    parts = (wrap(part, ROW_LETTERS) for part in held.split("\n"))
    return "\n".join(line for lines in parts for line in lines)


def lines_of(axis: Axis) -> int:
    return max((name.count("\n") + 1 for _value, name in axis.ticks), default=1)


def row_px(axis: Axis, least: float) -> float:
    """Return how high a row is: the longest name has room beside it."""
    return max(least, NAME_PX * lines_of(axis))


def legible(text: str) -> str:
    return FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
