"""Every ratio at its place: a band for each component and platform.

A ratio with an interval is a dot on its bar, the bars of a band one below the other in
the order of their ratios; one without is a stroke.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dashboard.charts.vector import pen
from dashboard.charts.vector.axes import Axis, log_axis

LABELS: Final = 120
STRIP: Final = 12
LINE: Final = 4
GAP: Final = 6
FARTHEST: Final = 20.0
"""A ratio farther from 1 is an arrow on the edge: most likely a slip of a unit."""


@dataclass(frozen=True)
class Ratio:
    """A cell against its baseline; ``low`` and ``high`` where it has an interval."""

    ratio: float
    low: float | None = None
    high: float | None = None

    @property
    def is_measured_often(self) -> bool:
        """Whether there is an interval."""
        return self.low is not None and self.high is not None


@dataclass(frozen=True)
class Band:
    """The ratios of one component on one platform."""

    name: str
    ratios: tuple[Ratio, ...]

    @property
    def height(self) -> float:
        """How much room it takes."""
        return STRIP + LINE * len(self.bars)

    @property
    def bars(self) -> list[Ratio]:
        """Those with an interval, the smallest first."""
        return sorted(
            (each for each in self.ratios if each.is_measured_often),
            key=lambda each: each.ratio,
        )


def ratios(bands: Sequence[Band], axis_title: str, alt: str) -> str:
    """Return bands on one log axis as an SVG document."""
    every = [each.ratio for band in bands for each in band.ratios]
    held = [min(max(each, 1 / FARTHEST), FARTHEST) for each in every]
    axis = log_axis([0.9, 1.1, *held], LABELS, pen.WIDTH - 12)
    body = sum(band.height + GAP for band in bands)
    parts = [*_scale(axis, 6, 6 + body, axis_title)]
    y = 6.0
    for band in bands:
        parts += _band(band, axis, y)
        y += band.height + GAP
    return pen.picture(y + 28, parts, alt)


def _scale(axis: Axis, top: float, bottom: float, title: str) -> Iterator[str]:
    yield pen.stroke((axis.start, bottom), (axis.end, bottom))
    for value in axis.ticks():
        x = axis.place(value)
        yield pen.stroke((x, top), (x, bottom), width=0.4, tone=0.2)
        yield pen.words((x, bottom + 10), f"{value:.6g}", anchor="middle")
    one = axis.place(1.0)
    yield pen.stroke((one, top), (one, bottom), width=0.9, dash="3 2")
    middle = (axis.start + axis.end) / 2
    yield pen.words((middle, bottom + 22), title, anchor="middle")


def _band(band: Band, axis: Axis, top: float) -> Iterator[str]:
    lines = pen.folded(band.name, LABELS - 8, most=2)
    yield pen.block((LABELS - 6, top + band.height / 2), lines)
    for each in band.ratios:
        if not each.is_measured_often:
            yield from _stroke(each.ratio, axis, top)
    y = top + (STRIP if len(band.bars) < len(band.ratios) else STRIP / 2)
    for each in band.bars:
        yield from _bar(each, axis, y)
        y += LINE


def _stroke(ratio: float, axis: Axis, top: float) -> Iterator[str]:
    x = axis.place(ratio)
    if axis.low <= ratio <= axis.high:
        yield pen.stroke((x, top + 1), (x, top + STRIP - 1), width=0.8, tone=0.8)
    else:
        yield pen.words((x, top + 9), "«" if ratio < 1 else "»", anchor="middle")


def _bar(each: Ratio, axis: Axis, y: float) -> Iterator[str]:
    low, high = each.low or each.ratio, each.high or each.ratio
    yield pen.stroke((axis.place(low), y), (axis.place(high), y), width=1.0)
    yield pen.mark((axis.place(each.ratio), y), 0, radius=1.5)
