"""Means with their intervals and ranges: a row a system, a panel a component."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dashboard.charts.vector import pen
from dashboard.charts.vector.axes import Axis, log_axis

LABELS: Final = 165
PANEL_GAP: Final = 10
ROW: Final = 13
HEAD: Final = 20
FOOT: Final = 18
MOST_PANELS: Final = 4


@dataclass(frozen=True)
class Mean:
    """A mean on a log scale, its interval if there is one, and the range below it."""

    mean: float
    low: float | None
    high: float | None
    minimum: float
    maximum: float

    @property
    def values(self) -> list[float]:
        """All numbers that must find room on an axis."""
        numbers = (self.mean, self.low, self.high, self.minimum, self.maximum)
        return [number for number in numbers if number is not None]


@dataclass(frozen=True)
class Row:
    """A system; None where it has nothing in a panel."""

    name: str
    means: tuple[Mean | None, ...]


def panels(names: Sequence[str], rows: Sequence[Row], alt: str) -> str:
    """Return means as an SVG document, ``MOST_PANELS`` side by side."""
    parts: list[str] = []
    height = 0.0
    for first in range(0, len(names), MOST_PANELS):
        some = slice(first, first + MOST_PANELS)
        width = (pen.WIDTH - LABELS) / len(names[some]) - PANEL_GAP
        heights = [_row_height(row) for row in rows]
        parts += _labels(rows, heights, height + HEAD)
        for at, name in enumerate(names[some]):
            left = LABELS + at * (width + PANEL_GAP)
            means = [row.means[first + at] for row in rows]
            parts += _panel(name, means, heights, (left, left + width), height)
        height += HEAD + sum(heights) + FOOT + 6
    return pen.picture(height, parts, alt)


def _row_height(row: Row) -> float:
    return max(ROW, len(_label(row)) * pen.LEADING + 3)


def _label(row: Row) -> list[str]:
    return pen.folded(row.name, LABELS - 8)


def _labels(rows: Sequence[Row], heights: Sequence[float], top: float) -> Iterator[str]:
    for row, height in zip(rows, heights, strict=True):
        yield pen.block((LABELS - 6, top + height / 2), _label(row))
        top += height


def _panel(
    name: str,
    means: Sequence[Mean | None],
    heights: Sequence[float],
    ends: tuple[float, float],
    top: float,
) -> Iterator[str]:
    values = [value for mean in means if mean for value in mean.values]
    axis = log_axis([1.0, *values], *ends)
    begin, end = top + HEAD, top + HEAD + sum(heights)
    yield pen.words((ends[0], top + 12), name)
    yield from _scale(axis, begin, end)
    y = begin
    for mean, height in zip(means, heights, strict=True):
        if mean:
            yield from _mean(mean, axis, y + height / 2)
        y += height


def _scale(axis: Axis, top: float, bottom: float) -> Iterator[str]:
    """Draw the axis; the line at 1 is native speed."""
    yield pen.stroke((axis.start, bottom), (axis.end, bottom))
    taken = axis.start - 20.0
    for value in axis.ticks():
        x, text = axis.place(value), f"{value:.6g}"
        yield pen.stroke((x, top), (x, bottom), width=0.4, tone=0.2)
        if x - pen.width_of(text) / 2 > taken:
            yield pen.words((x, bottom + 10), text, anchor="middle")
            taken = x + pen.width_of(text) / 2 + 3
    one = axis.place(1.0)
    yield pen.stroke((one, top - 3), (one, bottom), width=0.9, dash="3 2")


def _mean(mean: Mean, axis: Axis, y: float) -> Iterator[str]:
    """Draw the range thin, the interval thick with caps, the mean as a dot.

    A mean without interval is an open dot.
    """
    ends = axis.place(mean.minimum), axis.place(mean.maximum)
    yield pen.stroke((ends[0], y), (ends[1], y), width=0.6, tone=0.7)
    has_interval = mean.low is not None and mean.high is not None
    if mean.low is not None and mean.high is not None:
        low, high = axis.place(mean.low), axis.place(mean.high)
        yield pen.stroke((low, y), (high, y), width=2.2)
        for x in (low, high):
            yield pen.stroke((x, y - 3), (x, y + 3), width=0.8)
    yield pen.mark((axis.place(mean.mean), y), 0, is_open=not has_interval)
