"""Bars in rows, and lines or points over a number. PURE."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from dashboard.charts.chart import (
    FLAT_PX,
    FRAME_PX,
    SERIES,
    Axis,
    Band,
    Bars,
    Chart,
    Panel,
    Points,
    Reading,
    Stroke,
    row_axis,
    row_px,
    series_colour,
    symbol_at,
)

BAR_PX: Final = 34
REACH: Final = 0.45  # of a row: a stroke stands out above and below its bar
LAST: Final = series_colour(SERIES - 1)
MOST_MARKED: Final = 100
MOST_TICKS: Final = 8
DIGITS: Final = ".6g"


@dataclass(frozen=True)
class RowBars:
    """One series of bars: a value for each row, or None where there is none."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True)
class Reference:
    """A value that all rows are to be seen against, drawn as a line across them."""

    name: str
    value: float


@dataclass(frozen=True)
class Targets:
    """A value that each row is to reach, drawn as a stroke across its bar."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True)
class Line:
    """Points of one thing, joined where ``is_joined``; ``texts`` show on hovering.

    A line stops where ``y`` is None. What was not measured but follows is dashed.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    texts: Sequence[str]
    is_joined: bool = True
    is_dashed: bool = False


def bar_chart(
    rows: Sequence[str],
    bars: Sequence[RowBars],
    references: Sequence[Reference] = (),
    *,
    axis_title: str,
    mode: Literal["stack", "group"],
    targets: Sequence[Targets] = (),
) -> Chart:
    """Return a line of bars for each row: put end to end, or one below the other."""
    lanes = 1 if mode == "stack" else max(1.0, len(bars) * 0.6)
    series = [
        Bars(
            name=one.name,
            places=range(len(one.values)),
            values=one.values,
            colour=series_colour(at),
            reading=Reading("x", DIGITS),
        )
        for at, one in enumerate(bars)
    ]
    strokes = [
        _strokes(target, series_colour(len(bars) + at), is_dotted=bool(at % 2))
        for at, target in enumerate(targets)
    ]
    lines = [
        Points(
            name=reference.name,
            x=[reference.value] * 2,
            y=[-0.5, len(rows) - 0.5],
            colour=LAST,
            line=Stroke(dash="dot" if at % 2 else "dash"),
            reading=Reading("x", DIGITS),
        )
        for at, reference in enumerate(references)
    ]
    panel = Panel(
        x=Axis(title=axis_title, is_from_zero=True),
        y=row_axis(rows),
        series=(*series, *strokes, *lines),
    )
    row = row_px(panel.y, BAR_PX * lanes)
    height = FRAME_PX + round(len(rows) * row) + BAR_PX
    return Chart(panels=(panel,), height=height, bars=mode, legend="above")


def _strokes(targets: Targets, colour: str, *, is_dotted: bool) -> Points:
    """Return a stroke for each row that has a target; its second end tells nothing."""
    rows = [
        (row, value) for row, value in enumerate(targets.values) if value is not None
    ]
    return Points(
        name=targets.name,
        x=[x for _row, value in rows for x in (value, value, None)],
        y=[y for row, _value in rows for y in (row - REACH, row + REACH, None)],
        colour=colour,
        line=Stroke(width=4, dash="dot" if is_dotted else ""),
        texts=[targets.name, "", ""] * len(rows),
        reading=Reading("x", DIGITS),
    )


def line_chart(
    lines: Sequence[Line],
    *,
    x_title: str,
    y_title: str,
    window: tuple[float, float] | None = None,
    counts: bool = False,
    from_zero: bool = True,
    marked: Line | None = None,
) -> Chart:
    """Return lines or points over a number; ``window`` tints a part of the axis.

    ``counts``: between two whole numbers there is nothing. Rings are drawn around what
    is ``marked``.
    """
    series = [_line(line, at) for at, line in enumerate(lines)]
    if marked:
        series.append(
            Points(
                name=marked.name,
                x=marked.x,
                y=marked.y,
                colour=LAST,
                symbol="circle-open",
                size=20,
                texts=marked.texts,
            )
        )
    panel = Panel(
        x=Axis(
            title=x_title,
            tick_step=1 if counts else None,
            most_ticks=None if counts else MOST_TICKS,
        ),
        y=Axis(title=y_title, is_from_zero=from_zero),
        series=tuple(series),
        bands=(Band(axis="x", low=window[0], high=window[1]),) if window else (),
    )
    return Chart(panels=(panel,), height=FLAT_PX, legend="above")


def _line(line: Line, at: int) -> Points:
    # A thousand marks would be a smear: long series are drawn as a line alone.
    is_marked = not line.is_joined or not (line.is_dashed or len(line.x) >= MOST_MARKED)
    dash = Stroke(dash="dash" if line.is_dashed else "")
    return Points(
        name=line.name,
        x=line.x,
        y=line.y,
        colour=LAST if line.is_dashed else series_colour(at),
        symbol=symbol_at(at) if is_marked else "",
        line=dash if line.is_joined else None,
        texts=line.texts,
    )
