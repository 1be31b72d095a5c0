"""What stands where a chart will be: its room, a picture of it, its buttons.

PURE: a Plotly figure in; how high it is, the same as SVG, its series and what can be
done with it out. Plotly comes only when a chart is looked at, and nothing moves then.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, Final

from dashboard.charts.vector.plot import can_plot, plot

PX_A_REM: Final = 16
LABEL_PX: Final = 16
"""The room of a row's name above its dots, on a phone (`LABEL` of `chart.js`)."""
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

    ``picture`` is an SVG without Plotly, empty where there is none of this kind.
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


def outline(figure: Mapping[str, Any]) -> Outline:
    """Return what a figure will take of the page."""
    traces, layout = figure["data"], figure["layout"]
    height = layout["height"]
    names = layout["yaxis"].get("tickvals", ())
    is_tokened = layout.get("meta", {}).get("tokens")
    labels = 0 if is_tokened else len(names) * LABEL_PX
    return Outline(
        height=height,
        narrow_height=height + labels,
        groups=_groups(traces, layout.get("showlegend")),
        is_zoomable=any(_zoomable(traces, layout)),
        picture=_picture(figure),
    )


def _picture(figure: Mapping[str, Any]) -> str:
    """Return a figure as SVG, told by its axes: its heading stands beside it."""
    axes = [figure["layout"].get(name, {}) for name in ("xaxis", "yaxis")]
    titles = [axis.get("title", {}).get("text", "") for axis in axes]
    alt = ", ".join(_plain(title) for title in titles if title)
    return plot(figure, alt) if can_plot(figure) else ""


def _groups(
    traces: Sequence[Mapping[str, Any]], is_told: bool | None
) -> tuple[Group, ...]:
    """Return what a legend would name: nothing where there is but one thing to see."""
    groups: dict[str, list[Entry]] = {}
    for at, trace in enumerate(traces):
        if trace.get("name") and trace.get("showlegend") is not False:
            name = _plain(trace.get("legendgrouptitle", {}).get("text", ""))
            groups.setdefault(name, []).append(Entry(at, _plain(trace["name"])))
    if is_told is None:
        is_told = sum(map(len, groups.values())) > 1
    found = [Group(name, tuple(entries)) for name, entries in groups.items()]
    return tuple(found) if is_told else ()


def _plain(text: str) -> str:
    return unescape(text.replace("<br>", " "))


def _zoomable(
    traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]
) -> Iterator[bool]:
    """Tell of each axis whether a part of it can be looked at.

    Bars are compared by their length, rows by their place: neither is cut off.
    """
    bars = {
        "xaxis" if trace.get("orientation") == "h" else _axis(trace.get("yaxis", "y"))
        for trace in traces
        if trace["type"] == "bar"
    }
    for name, axis in layout.items():
        if name.startswith(("xaxis", "yaxis")) and name not in bars:
            is_rows = "range" in axis and "tickvals" in axis
            yield not is_rows or axis.get("type") == "log"


def _axis(name: str) -> str:
    """Return what a layout calls an axis that a trace calls ``y2``."""
    return f"{name[0]}axis{name[1:]}"
