"""The samples of a cell in the order of the doing. PURE: sides in, figure out."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from dashboard.charts.figures import SYMBOLS, plain
from dashboard.pages.cell.marks import ring, sample_hover, size_of
from dashboard.pages.cell.side import Side, axis, figure, hovering

SMALL: Final = 4
MOST_LINES: Final = 60
PANEL_PX, FRAME_PX = 230, 90
GAP: Final = 0.14


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
        rings = ring([places[at] for at in side.outliers], side)
        values = [side.series[at] for at in side.outliers]
        found.append({**rings, "y": values, "showlegend": False})
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
            "size": size_of(len(side.series)),
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
            **sample_hover(side, "y"),
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
