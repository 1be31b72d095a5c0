"""Bars in rows, lines over a number, and the curves of sweeps and trends. PURE."""

from collections.abc import Sequence
from dataclasses import replace
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
    Rule,
    Stroke,
    row_axis,
    row_px,
    series_colour,
    symbol_at,
)

BAR_PX: Final = 34
CURVES_PX: Final = 400
MOST_CURVE_TICKS: Final = 9
REACH: Final = 0.45  # of a row: a stroke stands out above and below its bar
LAST: Final = series_colour(SERIES - 1)
MOST_MARKED: Final = 100
MOST_TICKS: Final = 8
DIGITS: Final = ".6g"

RowValues = tuple[str, Sequence[float | None]]
"""A name, and a value for each row."""
Mark = tuple[float, float, float | None, float | None, str]
"""x, y, the ends of the interval (None: there is none) and the hover text."""


def bar_chart(
    rows: Sequence[str],
    bars: Sequence[RowValues],
    references: Sequence[tuple[str, float]] = (),
    *,
    axis_title: str,
    mode: Literal["stack", "group"],
    targets: Sequence[RowValues] = (),
) -> Chart:
    """Return bars for each row, stacked or grouped.

    ``references`` are lines across all rows, ``targets`` strokes across each bar.
    """
    lanes = 1 if mode == "stack" else max(1.0, len(bars) * 0.6)
    series = [
        Bars(
            name=name,
            places=range(len(values)),
            values=values,
            colour=series_colour(at),
            reading=Reading("x", DIGITS),
        )
        for at, (name, values) in enumerate(bars)
    ]
    strokes = []
    for at, (name, values) in enumerate(targets):
        known = [(row, value) for row, value in enumerate(values) if value is not None]
        strokes.append(
            Points(
                name=name,
                x=[x for _row, value in known for x in (value, value, None)],
                y=[y for row, _x in known for y in (row - REACH, row + REACH, None)],
                colour=series_colour(len(bars) + at),
                line=Stroke(width=4, dash="dot" if at % 2 else ""),
                # Hovering over the second end shows nothing.
                texts=[name, "", ""] * len(known),
                reading=Reading("x", DIGITS),
            )
        )
    lines = [
        Points(
            name=name,
            x=[value] * 2,
            y=[-0.5, len(rows) - 0.5],
            colour=LAST,
            line=Stroke(dash="dot" if at % 2 else "dash"),
            reading=Reading("x", DIGITS),
        )
        for at, (name, value) in enumerate(references)
    ]
    panel = Panel(
        x=Axis(title=axis_title, is_from_zero=True),
        y=row_axis(rows),
        series=(*series, *strokes, *lines),
    )
    row = row_px(panel.y, BAR_PX * lanes)
    height = FRAME_PX + round(len(rows) * row) + BAR_PX
    return Chart(panels=(panel,), height=height, bars=mode, legend="above")


def line_chart(
    lines: Sequence[Points],
    *,
    x_title: str,
    y_title: str,
    window: tuple[float, float] | None = None,
    counts: bool = False,
    from_zero: bool = True,
    marked: Points | None = None,
) -> Chart:
    """Return lines or points over a number, each with a look of its own.

    ``window`` tints a part of the axis. What was not measured but follows is dashed.

    ``counts``: between two whole numbers there is nothing. Rings are drawn around what
    is ``marked``.
    """
    series = [_line(line, at) for at, line in enumerate(lines)]
    if marked:
        ring = replace(marked, colour=LAST, symbol="circle-open", size=20, line=None)
        series.append(ring)
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


def _line(points: Points, at: int) -> Points:
    is_dashed = points.line is not None and points.line.dash == "dash"
    # A thousand marks would be a smear: long series are drawn as a line alone.
    is_bare = points.line and (is_dashed or len(points.x) >= MOST_MARKED)
    return replace(
        points,
        colour=LAST if is_dashed else series_colour(at),
        symbol="" if is_bare else symbol_at(at),
    )


def curve(name: str, colour: int, marks: Sequence[Mark], *, is_native: bool) -> Points:
    """Return the line of a system, dashed for the native machine."""
    x, y, low, high, texts = zip(*marks, strict=True)
    return Points(
        name=name,
        x=x,
        y=y,
        low=low,
        high=high,
        texts=texts,
        colour=series_colour(colour),
        symbol=symbol_at(colour),
        line=Stroke(dash="dash" if is_native else ""),
    )


def sweep_plot(
    curves: Sequence[Points],
    ticks: Sequence[tuple[float, str]],
    *,
    titles: tuple[str, str],
    is_log: tuple[bool, bool],
    line_at: float | None = None,
) -> Chart:
    """Return lines over an axis; ``line_at`` is drawn across (1: native speed)."""
    every = -(-len(ticks) // MOST_CURVE_TICKS) or 1
    across = Axis(
        title=titles[0],
        scale="log" if is_log[0] else "linear",
        ticks=tuple(ticks[::every]),
    )
    native = [] if line_at is None else [Rule(at=line_at, axis="y")]
    return _plot(curves, across, titles[1], is_log=is_log[1], rules=native)


def trend_plot(
    curves: Sequence[Points], changes: Sequence[tuple[float, str]], title: str
) -> Chart:
    """Return lines over time, and where a change was found, with its factor.

    Time is counted in milliseconds since 1970.
    """
    rules = [Rule(at=at, axis="x", label=text) for at, text in changes]
    return _plot(curves, Axis(scale="date"), title, is_log=False, rules=rules)


def _plot(
    curves: Sequence[Points],
    across: Axis,
    title: str,
    *,
    is_log: bool,
    rules: Sequence[Rule],
) -> Chart:
    # A linear axis begins at 0, or a small difference would look large.
    upwards = Axis(
        title=title,
        scale="log" if is_log else "linear",
        tick_step="1-2-5" if is_log else None,
        has_full_ticks=is_log,
        is_from_zero=not is_log,
    )
    panel = Panel(
        x=across,
        y=upwards,
        series=tuple(curves),
        rules=tuple(rules),
    )
    return Chart(panels=(panel,), height=CURVES_PX, legend="lines", has_legend=True)
