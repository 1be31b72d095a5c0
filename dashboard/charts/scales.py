"""Scales and ticks of chart axes. PURE."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from math import ceil, floor, isfinite, log10

from dashboard.charts.chart import Box, ChartAxis, Numbers, Panel, Points
from dashboard.kit.formatting import day_pattern, number

TICK_STEPS = (1, 2, 5, 10)
TICK_COUNT = 6
# Larger values are reduced to this one, so that the margins around them stay finite.
MAX_AXIS_VALUE = 1e250
MIN_LOG_RANGE = 1.01
SCALE_MARGIN = 0.05
DAY_MS = 86_400_000  # dates are milliseconds since 1970


@dataclass(frozen=True)
class AxisScale:
    first: float
    last: float
    is_log: bool = False

    @property
    def low(self) -> float:
        return min(self.first, self.last)

    @property
    def high(self) -> float:
        return max(self.first, self.last)

    def position(self, value: float) -> float:
        value = min(max(value, self.low), self.high)
        if self.is_log:
            first = log10(self.first)
            return (log10(value) - first) / (log10(self.last) - first)
        return (value - self.first) / (self.last - self.first)

    def ticks(self) -> list[float]:
        if self.is_log:
            powers = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
            steps = TICK_STEPS[:3] if len(powers) <= 4 else TICK_STEPS[:1]
            candidates = (step * 10.0**power for power in powers for step in steps)
            inside = [value for value in candidates if self.low <= value <= self.high]
            is_close = any(b / a < 1.2 for a, b in pairwise(inside))
            if len(inside) > 2 and not is_close:
                return inside
        even = _even_ticks(self.low, self.high)
        # Short log axes get evenly spaced ticks above 0.
        above = [value for value in even if value > 0] if self.is_log else even
        return above if len(above) > 1 else even

    def days(self) -> list[tuple[float, str]]:
        first, last = ceil(self.low / DAY_MS), floor(self.high / DAY_MS)
        step = ceil((last - first + 1) / TICK_COUNT) or 1
        midnights = [day * DAY_MS for day in range(first, last + 1, step)]
        return [
            (float(ms), datetime.fromtimestamp(ms / 1000, UTC).strftime(day_pattern()))
            for ms in midnights
        ]


def panel_scales(panel: Panel, mode: str) -> tuple[AxisScale, AxisScale]:
    x = [line.value for line in panel.reference_lines if line.axis == "x"]
    y = [line.value for line in panel.reference_lines if line.axis == "y"]
    for series in panel.series:
        if isinstance(series, Points):
            ends = [*series.low, *series.high]
            x += _finite([*series.x, *(ends if series.interval_axis == "x" else ())])
            y += _finite([*series.y, *(ends if series.interval_axis == "y" else ())])
        elif isinstance(series, Box):
            x += [series.low, series.high]
    for box in panel.bar_boxes(mode):
        x_range, y_range = box.values, box.positions
        if box.series.is_upright:
            x_range, y_range = y_range, x_range
        x += x_range
        y += y_range
    return scale_for_axis(panel.x, x), scale_for_axis(panel.y, y)


def _finite(values: Numbers) -> list[float]:
    return [value for value in values if value is not None and isfinite(value)]


def scale_for_axis(axis: ChartAxis, values: Sequence[float]) -> AxisScale:
    is_log = axis.scale == "log"
    if axis.limits:
        return AxisScale(*axis.limits, is_log)
    values = [max(-MAX_AXIS_VALUE, min(value, MAX_AXIS_VALUE)) for value in values]
    if is_log:
        return _log_scale(values)
    values = [value if abs(value) > 1 / MAX_AXIS_VALUE else 0.0 for value in values]
    low, high = min(values, default=0.0), max(values, default=1.0)
    if axis.is_from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
        margin = (high - low or 1.0) * SCALE_MARGIN
        return AxisScale(low - (margin if low < 0 else 0), high + margin)
    margin = (high - low or abs(high) or 1.0) * SCALE_MARGIN
    return AxisScale(low - margin, high + margin)


def _log_scale(values: Sequence[float]) -> AxisScale:
    positive = [max(value, 1 / MAX_AXIS_VALUE) for value in values if value > 0] or [
        1.0
    ]
    low, high = min(positive), max(positive)
    # Compute both powers first: the ratio of the values may overflow.
    margin = max(high**SCALE_MARGIN / low**SCALE_MARGIN, 1.02)
    low, high = low / margin, high * margin
    if high / low < MIN_LOG_RANGE:
        middle = (low * high) ** 0.5
        low, high = middle / MIN_LOG_RANGE**0.5, middle * MIN_LOG_RANGE**0.5
    return AxisScale(low, high, is_log=True)


def _even_ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / TICK_COUNT
    power = 10.0 ** floor(log10(rough))
    step = next(step * power for step in TICK_STEPS if step * power >= rough * 0.999)
    # Include ticks at an axis end that is off by a rounding error.
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def axis_ticks(axis: ChartAxis, scale: AxisScale) -> list[tuple[float, str]]:
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
