"""Charts of the factor effects page as Plotly figures: plain values in, dicts out.

Colours are the page's, as in `charts`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10
from textwrap import wrap
from typing import Any, Final

from dashboard.charts.figures import SERIES, SYMBOLS, WHOLE, plain

HEIGHT_PX: Final = 360
ROOM: Final = 0.06
LEAST_ROOM: Final = 0.005  # as a power of ten
TICK_LETTERS: Final = {1: 24, 2: 18, 3: 12}
FEWEST_TICK_LETTERS: Final = 8


@dataclass(frozen=True)
class Line:
    """The means of one level, one for each place of the axis (None: no system)."""

    name: str
    means: Sequence[float | None]


@dataclass(frozen=True)
class Contrast:
    """A contrast: its size as a factor (1 = none), where chance would put it.

    ``told`` is what hovering says of it.
    """

    name: str
    factor: float
    quantile: float
    is_named: bool
    told: str


def line_plot(
    places: Sequence[str],
    lines: Sequence[Line],
    *,
    axis_title: str,
    line_at: float | None = None,
) -> dict[str, Any]:
    """Return means on a log axis; lines that are not parallel interact.

    ``line_at`` is drawn across and always in sight (1: native speed).
    """
    means = [mean for line in lines for mean in line.means if mean is not None]
    return {
        "data": [_line(at, line) for at, line in enumerate(lines)],
        "layout": {
            "height": HEIGHT_PX,
            "hovermode": "closest",
            "xaxis": {
                "title": {"text": ""},
                "tickvals": list(range(len(places))),
                "ticktext": [_on_lines(place, len(places)) for place in places],
                "tickangle": 0,
                "automargin": True,
                "range": [-0.4, len(places) - 0.6],
                "fixedrange": True,
            },
            "yaxis": {
                "type": "log",
                "title": {"text": plain(axis_title)},
                "tickformat": WHOLE,
                "automargin": True,
                "showgrid": True,
                "fixedrange": True,
                **({} if line_at is None else {"range": _range([*means, line_at])}),
            },
            "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
            "shapes": [] if line_at is None else [_across(line_at, len(places))],
        },
    }


def half_normal_plot(
    contrasts: Sequence[Contrast],
    *,
    chance: float,
    margins: Sequence[float],
    axis_title: str,
    other_title: str,
) -> dict[str, Any]:
    """Return contrasts against the sizes that chance alone would give them.

    ``chance`` is the factor of one standard error: chance alone lies on the line
    through 1 and it. ``margins`` are factors, drawn as vertical lines.
    """
    named = [
        _points([each for each in contrasts if each.is_named == is_named], is_named)
        for is_named in (False, True)
    ]
    return {
        "data": [
            _chance_line(chance, max(it.quantile for it in contrasts)),
            *(trace for trace in named if trace["x"]),
        ],
        "layout": {
            "height": HEIGHT_PX,
            "hovermode": "closest",
            "showlegend": False,
            "xaxis": {
                "type": "log",
                "title": {"text": plain(axis_title)},
                "fixedrange": True,
            },
            "yaxis": {
                "title": {"text": plain(other_title)},
                "automargin": True,
                "showgrid": True,
                "fixedrange": True,
            },
            "shapes": [_margin(factor) for factor in margins],
        },
    }


def _on_lines(place: str, count: int) -> str:
    """Break a place's name into lines that fit between its neighbours on a phone."""
    letters = TICK_LETTERS.get(count, FEWEST_TICK_LETTERS)
    lines = (
        line
        for part in place.split(", ")
        for line in wrap(part, letters, break_long_words=False)
    )
    return "<br>".join(map(plain, lines))


def _line(at: int, line: Line) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": plain(line.name),
        "x": list(range(len(line.means))),
        "y": list(line.means),
        "text": [plain(line.name)] * len(line.means),
        "hovertemplate": "%{text}: %{y:.3g}<extra></extra>",
        "marker": {"symbol": SYMBOLS[at % len(SYMBOLS)], "size": 9},
        "line": {"width": 2},
        "meta": {"series": at % SERIES + 1},
    }


def _points(contrasts: Sequence[Contrast], is_named: bool) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers+text" if is_named else "markers",
        "name": "",
        "x": [each.factor for each in contrasts],
        "y": [each.quantile for each in contrasts],
        "text": [plain(each.name) for each in contrasts],
        "textposition": "middle left",
        "customdata": [plain(each.told) for each in contrasts],
        "hovertemplate": "%{customdata}<extra></extra>",
        "marker": {"symbol": "circle" if is_named else "circle-open", "size": 9},
        "meta": {"series": 1 if is_named else 7},
    }


def _chance_line(factor: float, highest: float) -> dict[str, Any]:
    """Return where points lie that chance alone made; straight on the log axis."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "",
        "x": [1.0, factor**highest],
        "y": [0.0, highest],
        "hoverinfo": "skip",
        "line": {"width": 1.5, "dash": "dash"},
        "marker": {"size": 1},
        "meta": {"series": SERIES},
    }


def _across(height: float, places: int) -> dict[str, Any]:
    ends = {"x0": -0.4, "x1": places - 0.6, "y0": height, "y1": height}
    return {"type": "line", "name": "native", "layer": "between", **ends}


def _range(values: Sequence[float]) -> list[float]:
    """Return the ends of a log axis that holds values, with room for their marks."""
    low, high = log10(min(values)), log10(max(values))
    room = max((high - low) * ROOM, LEAST_ROOM)
    return [low - room, high + room]


def _margin(factor: float) -> dict[str, Any]:
    ends = {"x0": factor, "x1": factor, "y0": 0, "y1": 1, "yref": "paper"}
    return {"type": "line", "name": "margin", "layer": "below", **ends}
