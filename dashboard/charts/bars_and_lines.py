"""Bar charts in rows, line charts, and plots of sweeps and trends. PURE."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

from dashboard.charts.chart import (
    AXES_HEIGHT_PX,
    PANEL_HEIGHT_PX,
    SERIES_COLORS,
    Bars,
    Chart,
    ChartAxis,
    ChartBand,
    HoverValue,
    LineStyle,
    Panel,
    Points,
    ReferenceLine,
    row_axis,
    row_height_px,
    series_color,
    series_symbol,
)

BAR_PX: Final = 34
CURVES_PX: Final = 400
MAX_CURVE_TICKS: Final = 9
TARGET_STROKE_REACH: Final = 0.45
"""Half the length of a target's stroke, in row heights."""
LAST_COLOR: Final = series_color(SERIES_COLORS - 1)
MAX_MARKERS: Final = 100
MAX_BAR_TICKS: Final = 8
HOVER_FORMAT: Final = ".6g"

RowValues = tuple[str, Sequence[float | None]]
"""Name of a series, and its value in each row."""
ChartPoint = tuple[float, float, float | None, float | None, str]
"""x, y, both ends of the interval (None if there is none) and hover text."""


def bar_chart(
    rows: Sequence[str],
    bars: Sequence[RowValues],
    references: Sequence[tuple[str, float]] = (),
    *,
    axis_title: str,
    mode: Literal["stack", "group"],
    targets: Sequence[RowValues] = (),
) -> Chart:
    """Return horizontal bars.

    ``references`` are lines across all rows, ``targets`` are strokes in each row.
    """
    lane_count = 1 if mode == "stack" else max(1.0, len(bars) * 0.6)
    series = [
        Bars(
            name=name,
            positions=range(len(values)),
            values=values,
            color=series_color(index),
            hover_value=HoverValue("x", HOVER_FORMAT),
        )
        for index, (name, values) in enumerate(bars)
    ]
    strokes = []
    for index, (name, values) in enumerate(targets):
        row_values = [
            (row, value) for row, value in enumerate(values) if value is not None
        ]
        strokes.append(
            Points(
                name=name,
                x=[x for _row, value in row_values for x in (value, value, None)],
                y=[
                    y
                    for row, _x in row_values
                    for y in (
                        row - TARGET_STROKE_REACH,
                        row + TARGET_STROKE_REACH,
                        None,
                    )
                ],
                color=series_color(len(bars) + index),
                line=LineStyle(width=4, dash="dot" if index % 2 else ""),
                hover_texts=[name, "", ""] * len(row_values),
                hover_value=HoverValue("x", HOVER_FORMAT),
            )
        )
    lines = [
        Points(
            name=name,
            x=[value] * 2,
            y=[-0.5, len(rows) - 0.5],
            color=LAST_COLOR,
            line=LineStyle(dash="dot" if index % 2 else "dash"),
            hover_value=HoverValue("x", HOVER_FORMAT),
        )
        for index, (name, value) in enumerate(references)
    ]
    panel = Panel(
        x=ChartAxis(title=axis_title, is_from_zero=True),
        y=row_axis(rows),
        series=(*series, *strokes, *lines),
    )
    row = row_height_px(panel.y, BAR_PX * lane_count)
    height = AXES_HEIGHT_PX + round(len(rows) * row) + BAR_PX
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
    """Return a chart of lines or points; dashed lines are expected values.

    ``window`` is a range of x to shade. With ``counts``, the ticks of x are whole
    numbers. ``marked`` points get a ring.
    """
    series = [_line(line, index) for index, line in enumerate(lines)]
    if marked:
        ring = replace(
            marked, color=LAST_COLOR, symbol="circle-open", size=20, line=None
        )
        series.append(ring)
    panel = Panel(
        x=ChartAxis(
            title=x_title,
            tick_step=1 if counts else None,
            max_ticks=None if counts else MAX_BAR_TICKS,
        ),
        y=ChartAxis(title=y_title, is_from_zero=from_zero),
        series=tuple(series),
        bands=(ChartBand(axis="x", low=window[0], high=window[1]),) if window else (),
    )
    return Chart(panels=(panel,), height=PANEL_HEIGHT_PX, legend="above")


def _line(points: Points, index: int) -> Points:
    is_dashed = points.line is not None and points.line.dash == "dash"
    has_no_markers = points.line and (is_dashed or len(points.x) >= MAX_MARKERS)
    return replace(
        points,
        color=LAST_COLOR if is_dashed else series_color(index),
        symbol="" if has_no_markers else series_symbol(index),
    )


def curve_points(
    name: str, color: int, points: Sequence[ChartPoint], *, is_native: bool
) -> Points:
    x, y, low, high, texts = zip(*points, strict=True)
    return Points(
        name=name,
        x=x,
        y=y,
        low=low,
        high=high,
        hover_texts=texts,
        color=series_color(color),
        symbol=series_symbol(color),
        line=LineStyle(dash="dash" if is_native else ""),
    )


def sweep_plot(
    curves: Sequence[Points],
    ticks: Sequence[tuple[float, str]],
    *,
    titles: tuple[str, str],
    is_log: tuple[bool, bool],
    line_at: float | None = None,
) -> Chart:
    tick_interval = -(-len(ticks) // MAX_CURVE_TICKS) or 1
    x_axis = ChartAxis(
        title=titles[0],
        scale="log" if is_log[0] else "linear",
        ticks=tuple(ticks[::tick_interval]),
    )
    native = [] if line_at is None else [ReferenceLine(value=line_at, axis="y")]
    return _curve_plot(curves, x_axis, titles[1], is_log=is_log[1], rules=native)


def trend_plot(
    curves: Sequence[Points], changes: Sequence[tuple[float, str]], title: str
) -> Chart:
    """Return curves over time, with a labeled vertical line for each change.

    All times are in milliseconds since 1970.
    """
    rules = [
        ReferenceLine(value=time_ms, axis="x", label=text) for time_ms, text in changes
    ]
    return _curve_plot(
        curves, ChartAxis(scale="date"), title, is_log=False, rules=rules
    )


def _curve_plot(
    curves: Sequence[Points],
    x_axis: ChartAxis,
    title: str,
    *,
    is_log: bool,
    rules: Sequence[ReferenceLine],
) -> Chart:
    # Linear axes start at 0, so that small differences do not look large.
    y_axis = ChartAxis(
        title=title,
        scale="log" if is_log else "linear",
        tick_step="1-2-5" if is_log else None,
        has_full_tick_labels=is_log,
        is_from_zero=not is_log,
    )
    panel = Panel(
        x=x_axis,
        y=y_axis,
        series=tuple(curves),
        reference_lines=tuple(rules),
    )
    return Chart(panels=(panel,), height=CURVES_PX, legend="lines", has_legend=True)
