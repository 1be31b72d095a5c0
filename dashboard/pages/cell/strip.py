"""Every sample of a cell as a strip, with box and mean. PURE: sides in, figure out."""

from collections.abc import Sequence
from typing import Any, Final

from dashboard.charts.figures import SYMBOLS, plain
from dashboard.pages.cell.marks import LARGE, ring, sample_hover, size_of
from dashboard.pages.cell.side import Side, axis, figure, hovering

SPREAD: Final = 0.5  # the share of a row over which its runs are spread
MEAN_AT: Final = 0.4
ROW_PX, FRAME_PX = 130, 90


def strip(sides: Sequence[Side], axis_title: str) -> dict[str, Any] | None:
    """Return every sample as a dot, one line a run, with box and mean of each side."""
    data = [
        trace
        for row, side in enumerate(sides)
        if side.strands
        for trace in _strip_of(side, row)
    ]
    yaxis = axis(
        range=[len(sides) - 0.45, -0.55],
        tickvals=list(range(len(sides))),
        ticktext=[plain(side.name) for side in sides],
        automargin=True,
        showgrid=False,
    )
    height = FRAME_PX + ROW_PX * len(sides)
    return figure(data, height, xaxis=axis(axis_title), yaxis=yaxis)


def _strip_of(side: Side, row: int) -> list[dict[str, Any]]:
    found = [_box(side, row), _speed_marks(side, row), _dots(side, row)]
    found += [_rings(side, _ring_rows(side, row)), _mean(side, row)]
    return [trace for trace in found if trace]


def _lanes(side: Side, row: int) -> list[float]:
    """Return the height of each run's line, the first one on top."""
    most = len(side.strands) - 1
    return [
        row + (SPREAD * (at / most - 0.5) if most else 0.0) for at in range(most + 1)
    ]


def _dots(side: Side, row: int) -> dict[str, Any]:
    lanes = _lanes(side, row)
    runs = list(zip(side.strands, lanes, strict=True))
    size = size_of(side.ends()[-1])
    marks = [
        SYMBOLS[at % len(SYMBOLS)] if side.has_iterations else "circle"
        for at, strand in enumerate(side.strands)
        for _ in strand.values
    ]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [value for strand, _ in runs for value in strand.values],
        "y": [lane for strand, lane in runs for _ in strand.values],
        "marker": {"symbol": marks, "size": size, "color": side.token, "opacity": 0.8},
        **sample_hover(side, "x"),
    }


def _ring_rows(side: Side, row: int) -> list[float]:
    lanes = _lanes(side, row)
    if side.is_of_run_means:
        return lanes
    runs = zip(side.strands, lanes, strict=True)
    return [lane for strand, lane in runs for _ in strand.values]


def _rings(side: Side, heights: Sequence[float]) -> dict[str, Any] | None:
    """Return a ring around each outlier of the strip."""
    if not side.outliers:
        return None
    return {
        **ring([side.series[at] for at in side.outliers], side),
        "y": [heights[at] for at in side.outliers],
    }


def _box(side: Side, row: int) -> dict[str, Any] | None:
    if side.box is None:
        return None
    low, q1, median, q3, high = side.box
    return {
        "type": "box",
        "orientation": "h",
        "y": [row],
        "q1": [q1],
        "median": [median],
        "q3": [q3],
        "lowerfence": [low],
        "upperfence": [high],
        "width": 0.62,
        "line": {"color": "--line-strong", "width": 1.5},
        "fillcolor": "--sunken",
        "hoverinfo": "skip",
    }


def _speed_marks(side: Side, row: int) -> dict[str, Any] | None:
    """Return a tall line at each speed, where there is no box."""
    if len(side.speeds) < 2:
        return None
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [speed.centre for speed in side.speeds],
        "y": [row for _ in side.speeds],
        "marker": {
            "symbol": "line-ns",
            "size": 80,
            "line": {"width": 3, "color": list(side.speed_tokens())},
        },
        **hovering([plain(speed.label) for speed in side.speeds]),
    }


def _mean(side: Side, row: int) -> dict[str, Any] | None:
    if side.mean is None:
        return None
    found = side.mean
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [found.mean],
        "y": [row + MEAN_AT],
        "opacity": 0.45 if side.is_faint else 1,
        "marker": {"symbol": "diamond", "size": LARGE + 2, "color": "--ink"},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [found.high - found.mean],
            "arrayminus": [found.mean - found.low],
            "color": "--ink",
            "thickness": 2,
            "width": 6,
        },
        "meta": {"what": "mean"},
        **hovering([side.said(side.mean_label, found.mean)]),
    }
