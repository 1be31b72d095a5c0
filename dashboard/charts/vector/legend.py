"""The names of several series above a field, each with what it is drawn as."""

from collections.abc import Mapping, Sequence
from html import unescape
from typing import Any, Final

from dashboard.charts.vector import pen

Trace = Mapping[str, Any]
GAP: Final = 14
DASHES: Final = ("4 2", "1 2")
STROKE: Final = 0.45
"""Points of a stroke for each pixel of the page's."""


def tone(at: int) -> float:
    """Return how dark the bars of a series are."""
    return pen.TONES[at % len(pen.TONES)]


def weight(trace: Trace) -> float:
    """Return how thick the line of a series is."""
    return float(trace.get("line", {}).get("width", 2)) * STROKE


def legend(traces: Sequence[Trace]) -> tuple[list[str], float]:
    """Return the names of several series above the field, and where that begins."""
    named = [(at, each) for at, each in enumerate(traces) if each.get("name")]
    if len(named) < 2:
        return [], 8.0
    parts, x, y = [], 4.0, 10.0
    for at, each in named:
        name = unescape(each["name"])
        room = 18 + pen.width_of(name)
        if x + room > pen.WIDTH and x > 4:
            x, y = 4.0, y + GAP
        parts += [_swatch(traces, at, (x, y)), pen.words((x + 15, y), name)]
        x += room + 8
    return parts, y + 10


def _swatch(traces: Sequence[Trace], at: int, place: tuple[float, float]) -> str:
    x, y = place
    each = traces[at]
    if each["type"] == "bar":
        bars = sum(other["type"] == "bar" for other in traces[:at])
        return pen.box((x, y - 6.5), (x + 11, y), tone=tone(bars))
    others = [it for it in traces[:at] if it["type"] != "bar"]
    if each.get("line", {}).get("dash"):
        before = sum(bool(it.get("line", {}).get("dash")) for it in others)
        return pen.stroke((x, y - 3), (x + 12, y - 3), dash=DASHES[before % 2])
    if "markers" not in each["mode"]:
        return pen.stroke((x, y - 3), (x + 12, y - 3), width=weight(each))
    is_open = "open" in str(each["marker"].get("symbol", ""))
    kind = 0 if is_open else len(others)
    return pen.mark((x + 6, y - 3), kind, is_open=is_open)
