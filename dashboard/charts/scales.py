"""Where a value lies between the ends of an axis, and which values are named. PURE."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from math import ceil, floor, isfinite, log10

from dashboard.charts.chart import Axis, Box, Numbers, Panel, Points
from dashboard.kit.figures import number

STEPS = (1, 2, 5, 10)
NAMED = 6
# An axis goes no farther, and tells nothing nearer from 0 (FAR's reciprocal): beyond,
# the room beside its values would be no number.
FAR = 1e250
LEAST_RATIO = 1.01
ROOM = 0.05
DAY_MS = 86_400_000  # dates are counted in milliseconds since 1970


@dataclass(frozen=True)
class Scale:
    """From ``first`` to ``last``, which may be the lower one; even or logarithmic."""

    first: float
    last: float
    is_log: bool = False

    @property
    def low(self) -> float:
        return min(self.first, self.last)

    @property
    def high(self) -> float:
        return max(self.first, self.last)

    def share(self, value: float) -> float:
        value = min(max(value, self.low), self.high)
        if self.is_log:
            first = log10(self.first)
            return (log10(value) - first) / (log10(self.last) - first)
        return (value - self.first) / (self.last - self.first)

    def ticks(self) -> list[float]:
        if self.is_log:
            powers = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
            steps = STEPS[:3] if len(powers) <= 4 else STEPS[:1]
            known = (step * 10.0**power for power in powers for step in steps)
            inside = [value for value in known if self.low <= value <= self.high]
            is_close = any(b / a < 1.2 for a, b in pairwise(inside))
            if len(inside) > 2 and not is_close:
                return inside
        even = _even_ticks(self.low, self.high)
        # On a short stretch of a log axis, even ticks above 0.
        above = [value for value in even if value > 0] if self.is_log else even
        return above if len(above) > 1 else even

    def days(self) -> list[tuple[float, str]]:
        first, last = ceil(self.low / DAY_MS), floor(self.high / DAY_MS)
        step = ceil((last - first + 1) / NAMED) or 1
        midnights = [day * DAY_MS for day in range(first, last + 1, step)]
        return [
            (float(ms), f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d}")
            for ms in midnights
        ]


def scales_of(panel: Panel, mode: str) -> tuple[Scale, Scale]:
    """Return scales across and upwards that hold all that a panel draws."""
    x = [rule.at for rule in panel.rules if rule.axis == "x"]
    y = [rule.at for rule in panel.rules if rule.axis == "y"]
    for series in panel.series:
        if isinstance(series, Points):
            ends = [*series.low, *series.high]
            x += _known([*series.x, *(ends if series.along == "x" else ())])
            y += _known([*series.y, *(ends if series.along == "y" else ())])
        elif isinstance(series, Box):
            x += [series.low, series.high]
    for box in panel.bar_boxes(mode):
        across, upwards = box.values, box.places
        if box.series.is_upright:
            across, upwards = upwards, across
        x += across
        y += upwards
    return scale_of(panel.x, x), scale_of(panel.y, y)


def _known(values: Numbers) -> list[float]:
    return [value for value in values if value is not None and isfinite(value)]


def scale_of(axis: Axis, values: Sequence[float]) -> Scale:
    """Return the scale of an axis: its own ends, or ones that hold the values."""
    is_log = axis.scale == "log"
    if axis.ends:
        return Scale(*axis.ends, is_log)
    values = [max(-FAR, min(value, FAR)) for value in values]
    if is_log:
        return _log_scale(values)
    values = [value if abs(value) > 1 / FAR else 0.0 for value in values]
    low, high = min(values, default=0.0), max(values, default=1.0)
    if axis.is_from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
        room = (high - low or 1.0) * ROOM
        return Scale(low - (room if low < 0 else 0), high + room)
    room = (high - low or abs(high) or 1.0) * ROOM
    return Scale(low - room, high + room)


def _log_scale(values: Sequence[float]) -> Scale:
    """Return a log scale that holds those of the values that are above 0."""
    positive = [max(value, 1 / FAR) for value in values if value > 0] or [1.0]
    low, high = min(positive), max(positive)
    # Of each: their ratio may be more than a float holds.
    room = max(high**ROOM / low**ROOM, 1.02)
    low, high = low / room, high * room
    # Values that are all alike would leave the axis without a length.
    if high / low < LEAST_RATIO:
        middle = (low * high) ** 0.5
        low, high = middle / LEAST_RATIO**0.5, middle * LEAST_RATIO**0.5
    return Scale(low, high, is_log=True)


def _even_ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / NAMED
    power = 10.0 ** floor(log10(rough))
    # A hair less, so that rounding does not cost the step that just fits.
    step = next(step * power for step in STEPS if step * power >= rough * 0.999)
    # An end that misses a round value by its rounding is named, too.
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [at * step for at in range(first, last + 1)]


def ticks_of(axis: Axis, scale: Scale) -> list[tuple[float, str]]:
    """Return the values that an axis names, as far as they are on it, with names."""
    ticks = list(axis.ticks)
    if axis.scale == "date":
        ticks = scale.days()
    elif not ticks:
        ticks = [(value, "") for value in scale.ticks()]
        if axis.tick_step == 1:
            ticks = [(value, "") for value, _name in ticks if value == int(value)]
    low, high = scale.low, scale.high
    return [
        (value, name or number(value, ",.6g") + axis.suffix)
        for value, name in ticks
        if low <= value <= high
    ]
