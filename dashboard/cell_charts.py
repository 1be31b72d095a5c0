"""Every sample of a cell, drawn twice: as a strip and in the order of the doing.

PURE: sides in, Plotly figures out.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from dashboard.cell_side import Side, axis, figure, hovering
from dashboard.charts import SYMBOLS, plain

SPREAD: Final = 0.5  # the share of a row over which its runs are spread
MEAN_AT: Final = 0.4
LARGE, MIDDLE, SMALL, RING = 9, 6, 4, 17
MOST_TEXTS: Final = 1_000
MANY: Final = 40  # samples of a side; more are drawn smaller
MOST_LINES: Final = 60
ROW_PX, PANEL_PX, FRAME_PX = 130, 230, 90
GAP: Final = 0.14


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
    size = _size(side.ends()[-1])
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
        **_hover(side, "x"),
    }


def _hover(side: Side, value: str) -> dict[str, Any]:
    """Return what each sample tells; of very many, its value and unit alone."""
    if side.ends()[-1] > MOST_TEXTS:
        return {"hovertemplate": f"%{{{value}}} {plain(side.unit)}<extra></extra>"}
    return hovering([text for texts in side.sample_texts() for text in texts])


def _size(count: int) -> int:
    return MIDDLE if count > MANY else LARGE


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
        **_ring([side.series[at] for at in side.outliers], side),
        "y": [heights[at] for at in side.outliers],
    }


def _ring(x: Sequence[float], side: Side) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": list(x),
        "hoverinfo": "skip",
        "marker": {"symbol": "circle-open", "size": RING, "color": "--bad"},
        "name": plain(side.name),
        "meta": {"what": "outliers"},
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


def order(
    sides: Sequence[Side], axis_title: str, place_title: str, first_run: str
) -> dict[str, Any] | None:
    """Return the values in the order they were measured, one panel a side.

    A period gives its positions marks of their own; sessions, and runs of several
    samples, are parted by lines; a first run that differs is named ``first_run``.
    """
    drawn = [side for side in sides if len(side.series) > 1]
    data, layout = [], {}
    lines: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    share = (1 - GAP * (len(drawn) - 1)) / max(len(drawn), 1)
    for at, side in enumerate(drawn):
        suffix = "" if at == 0 else str(at + 1)
        top = 1 - at * (share + GAP)
        layout[f"yaxis{suffix}"] = axis(axis_title, domain=[max(top - share, 0), top])
        layout[f"xaxis{suffix}"] = axis(
            f"{side.name}: {place_title}", anchor=f"y{suffix}", showgrid=False
        )
        panel = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        data += [trace | panel for trace in _order_of(side)]
        lines += [line | _within(suffix) for line in _parting_lines(side)]
        notes += [note | _within(suffix) for note in _notes(side, first_run)]
    height = FRAME_PX + PANEL_PX * len(drawn)
    return figure(data, height, **layout, shapes=lines, annotations=notes)


def _within(suffix: str) -> dict[str, Any]:
    return {"xref": f"x{suffix}", "yref": f"y{suffix} domain"}


def _order_of(side: Side) -> list[dict[str, Any]]:
    places, speeds = side.places(), side.speed_of()
    path = {
        "type": "scatter",
        "mode": "lines",
        "x": places,
        "y": list(side.series),
        "line": {"color": "--line-strong", "width": 1.5},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    found = [*_iterations(side), path]
    for speed, token in enumerate(side.speed_tokens()):
        members = [at for at, each in enumerate(speeds) if each == speed]
        found.append(_points(side, members, places, token, speed))
    if side.outliers:
        ring = _ring([places[at] for at in side.outliers], side)
        values = [side.series[at] for at in side.outliers]
        found.append({**ring, "y": values, "showlegend": False})
    return found


def _points(
    side: Side, members: Sequence[int], places: Sequence[float], token: str, speed: int
) -> dict[str, Any]:
    texts = side.texts()
    period = side.period or 1
    label = side.speeds[speed].label if len(side.speeds) > 1 else side.name
    return {
        "type": "scatter",
        "mode": "markers",
        "name": plain(label),
        "showlegend": len(side.speeds) > 1,
        "x": [places[at] for at in members],
        "y": [side.series[at] for at in members],
        "marker": {
            "symbol": [SYMBOLS[at % period] for at in members],
            "size": _size(len(side.series)),
            "color": token,
        },
        **hovering([texts[at] for at in members]),
    }


def _iterations(side: Side) -> list[dict[str, Any]]:
    """Return the samples behind run means, small and pale."""
    if not (side.is_of_run_means and side.has_iterations):
        return []
    values = [value for strand in side.strands for value in strand.values]
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "x": list(range(1, len(values) + 1)),
            "y": values,
            "marker": {"size": SMALL, "color": side.token, "opacity": 0.5},
            "showlegend": False,
            **_hover(side, "y"),
        }
    ]


def _parting_lines(side: Side) -> list[dict[str, Any]]:
    """Return lines between sessions, and between runs of several samples."""
    ends = side.ends()
    parts = list(zip(pairwise(side.strands), ends[:-1], strict=True))
    shows_runs = side.has_iterations and len(parts) < MOST_LINES
    return [
        _line(end + 0.5, is_session=before.session != after.session)
        for (before, after), end in parts
        if shows_runs or before.session != after.session
    ]


def _line(x: float, *, is_session: bool) -> dict[str, Any]:
    look = {"color": "--ink-2" if is_session else "--line", "width": 1}
    dash = {"dash": "4px,3px"} if is_session else {}
    ends = {"x0": x, "x1": x, "y0": 0, "y1": 1}
    return {"type": "line", "layer": "below", "line": look | dash, **ends}


def _notes(side: Side, first_run: str) -> list[dict[str, Any]]:
    found = [
        {"text": plain(strand.session), "x": place}
        for strand, place in _session_starts(side)
    ]
    if side.is_first_apart:
        found.append({"text": plain(first_run), "x": side.places()[0]})
    look = {"y": 1, "yanchor": "bottom", "xanchor": "left", "showarrow": False}
    return [note | look for note in found]


def _session_starts(side: Side) -> list[tuple[Any, float]]:
    starts = [0, *side.ends()[:-1]]
    runs = list(zip(side.strands, starts, strict=True))
    first = [(runs[0][0], 0.5)]
    later = [
        (strand, start + 0.5)
        for (before, _), (strand, start) in pairwise(runs)
        if before.session != strand.session
    ]
    return [*first, *later] if later else []
