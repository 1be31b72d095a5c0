"""Distribution functions of several samples. PURE."""

from collections.abc import Sequence
from typing import Final

from dashboard.charts.chart import (
    PANEL_HEIGHT_PX,
    SERIES_COLORS,
    Chart,
    ChartAxis,
    LineStyle,
    Panel,
    Points,
    ReferenceLine,
    series_color,
)

LOG_FROM: Final = 4.0
"""Ratio of the highest to the lowest value for a logarithmic axis."""
DASHES: Final = ("", "dash", "dot")


def distribution_plot(
    samples: Sequence[tuple[str, Sequence[tuple[float, float]]]],
    *,
    titles: tuple[str, str],
    quantiles: Sequence[tuple[float, str]],
) -> Chart:
    """Return step lines of (value, share of values up to it), with lines at
    quantiles.
    """
    values = [value for _name, points in samples for value, _share in points]
    low, high = min(values), max(values)
    lines = tuple(
        Points(
            name=name,
            x=[points[0][0], *(value for value, _share in points)],
            y=[0.0, *(share for _value, share in points)],
            color=series_color(index),
            line=LineStyle(
                is_stepped=True, dash=DASHES[index // SERIES_COLORS % len(DASHES)]
            ),
            hover_texts=[name] * (len(points) + 1),
        )
        for index, (name, points) in enumerate(samples)
    )
    panel = Panel(
        x=ChartAxis(
            title=titles[0],
            scale="log" if 0 < low * LOG_FROM < high else "linear",
            has_full_tick_labels=True,
        ),
        y=ChartAxis(title=titles[1], limits=(0, 1.06)),
        series=lines,
        reference_lines=tuple(
            ReferenceLine(value=share, axis="y", label=label)
            for share, label in quantiles
        ),
    )
    return Chart(
        panels=(panel,), height=PANEL_HEIGHT_PX + 60, legend="lines", has_legend=True
    )
