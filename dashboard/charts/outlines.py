"""What stands where a chart will be: its room, a picture of it, its buttons. PURE.

A chart in; how high it is, a picture of it, its series and what can be done with it
out. Plotly comes only when a chart is looked at, and nothing moves then.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from dashboard.charts.chart import Bars, Chart, Points, full_name, lines_of
from dashboard.charts.sketch import sketch

PX_A_REM: Final = 16
LABEL_PX: Final = 16
"""A line of a row's name above its dots, on a phone (`LABEL` of `chart.js`)."""
FEW: Final = 3
"""Fewer series are not worth a button for all of them."""


@dataclass(frozen=True)
class Entry:
    """A series that can be put away: its place among the traces, and its name."""

    at: int
    name: str


@dataclass(frozen=True)
class Group:
    """Series under one name: systems of one hypervisor."""

    name: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Outline:
    """A chart's height, in a wide place and in a narrow one, and its buttons.

    ``picture`` is what stands there until Plotly has come.
    """

    height: float
    narrow_height: float
    groups: tuple[Group, ...]
    is_zoomable: bool
    picture: str

    @property
    def room(self) -> str:
        """How high the chart is, as a length."""
        return f"{self.height / PX_A_REM:g}rem"

    @property
    def narrow_room(self) -> str:
        """How high it is where the names of its rows stand above their dots."""
        return f"{self.narrow_height / PX_A_REM:g}rem"

    @property
    def has_many(self) -> bool:
        """Whether a button for all series is worth its place."""
        return sum(len(group.entries) for group in self.groups) >= FEW


def outline(chart: Chart) -> Outline:
    """Return what a chart will take of the page."""
    # As `narrowed` in chart.js does it: nothing may move when Plotly comes.
    rows = chart.panels[0].y
    labels = len(rows.ticks) * lines_of(rows) * LABEL_PX * chart.has_names_above
    counts = Counter(_group(series) for _at, series in chart.listed)
    groups: dict[str, list[Entry]] = {}
    for at, series in chart.listed:
        # A group of one is no group.
        group = _group(series) if counts[_group(series)] > 1 else ""
        name = series.name if group else full_name(series)
        groups.setdefault(group, []).append(Entry(at, name))
    return Outline(
        height=chart.height,
        narrow_height=chart.height + labels,
        groups=tuple(Group(name, tuple(entries)) for name, entries in groups.items()),
        is_zoomable=is_zoomable(chart),
        picture=sketch(chart, chart.title),
    )


def _group(series: Points | Bars) -> str:
    return "" if isinstance(series, Bars) else series.group


def is_zoomable(chart: Chart) -> bool:
    """Tell whether a part of some axis can be looked at.

    Bars are compared by their length, rows by their place: neither is cut off.
    """
    for panel in chart.panels:
        bars = [series for series in panel.series if isinstance(series, Bars)]
        has_upright = any(series.is_upright for series in bars)
        free = [] if bars and not has_upright else [panel.x]
        free += [] if has_upright else [panel.y]
        if any(axis.scale != "category" for axis in free):
            return True
    return False
