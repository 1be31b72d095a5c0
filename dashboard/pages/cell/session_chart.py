"""Each session's own ratio beside that of the whole cell. PURE."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dashboard.charts.chart import (
    FRAME_PX,
    Axis,
    Band,
    Chart,
    Panel,
    Points,
    Rule,
    marked,
    row_axis,
    row_px,
)

ROW_PX: Final = 30


@dataclass(frozen=True)
class RatioMark:
    """A ratio in a row of its own; its interval may be missing.

    ``strength`` is that of its interval (`chart.marked`).
    """

    name: str
    ratio: float
    low: float | None
    high: float | None
    text: str
    is_whole: bool = False
    strength: str = ""


def session_ratio_chart(
    marks: Sequence[RatioMark], margin: float, axis_title: str
) -> Chart:
    """Return ratios on an axis with 1 and the band of equivalence, one row each."""
    rows = row_axis([mark.name for mark in marks])
    panel = Panel(
        x=Axis(title=axis_title),
        y=rows,
        series=tuple(_points(row, mark) for row, mark in enumerate(marks)),
        bands=(Band(axis="x", low=1 - margin, high=1 + margin),),
        rules=(
            Rule(
                at=1,
                axis="x",
                kind="native",
                ends=(-0.5, len(marks) - 0.5),
                is_above=True,
            ),
        ),
    )
    height = FRAME_PX + row_px(rows, ROW_PX) * len(marks)
    return Chart(panels=(panel,), height=height, has_legend=False, names_colours=True)


def _points(row: int, mark: RatioMark) -> Points:
    # No diamond: the sketch draws these hollow, which means something here.
    symbol, opacity = marked("square" if mark.is_whole else "circle", mark.strength)
    return Points(
        x=[mark.ratio],
        y=[row],
        low=[mark.low],
        high=[mark.high],
        along="x",
        interval_width=2,
        colour="ink" if mark.is_whole else "series-2",
        symbol=symbol,
        size=12 if mark.is_whole else 9,
        opacity=opacity,
        texts=[mark.text],
    )
