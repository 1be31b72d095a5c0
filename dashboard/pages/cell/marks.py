"""Marks that the strip and the order plot share. PURE."""

from collections.abc import Sequence
from typing import Any, Final

from dashboard.charts.figures import plain
from dashboard.pages.cell.side import Side, hovering

LARGE, MIDDLE, RING = 9, 6, 17
MOST_TEXTS: Final = 1_000
MANY: Final = 40  # points of a side; more are drawn smaller


def sample_hover(side: Side, value: str) -> dict[str, Any]:
    """Return what each sample tells; of very many, its value and unit alone."""
    if side.ends()[-1] > MOST_TEXTS:
        return {"hovertemplate": f"%{{{value}}} {plain(side.unit)}<extra></extra>"}
    return hovering([text for texts in side.sample_texts() for text in texts])


def size_of(count: int) -> int:
    """Return the size of a mark among so many."""
    return MIDDLE if count > MANY else LARGE


def ring(x: Sequence[float], side: Side) -> dict[str, Any]:
    """Return rings at these places, around outliers; ``y`` is still to be set."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": list(x),
        "hoverinfo": "skip",
        "marker": {"symbol": "circle-open", "size": RING, "color": "--bad"},
        "name": plain(side.name),
        "meta": {"what": "outliers"},
    }
