"""Axes: where a value lies, and which values are named."""

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from math import ceil, floor, log10

STEPS = (1, 2, 5, 10)
NAMED = 6
LEAST_RATIO = 1.01
DAY_MS = 86_400_000  # Plotly counts dates in milliseconds since 1970


@dataclass(frozen=True)
class Axis:
    """From ``low`` at ``start`` to ``high`` at ``end``, even or on a log scale."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def place(self, value: float) -> float:
        """Return where a value lies; what is beyond an end lies on it."""
        value = min(max(value, self.low), self.high)
        if self.is_log:
            share = log10(value / self.low) / log10(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return a few round values on the axis."""
        found = _log_ticks(self.low, self.high) if self.is_log else []
        return found if len(found) > 1 else _even_ticks(self.low, self.high)

    def days(self) -> dict[float, str]:
        """Return a few days of an axis of dates, each by its midnight."""
        first, last = ceil(self.low / DAY_MS), floor(self.high / DAY_MS)
        step = ceil((last - first + 1) / NAMED) or 1
        midnights = [day * DAY_MS for day in range(first, last + 1, step)]
        return {
            float(ms): f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d}"
            for ms in midnights
        }


def even_axis(
    values: list[float], start: float, end: float, *, from_zero: bool
) -> Axis:
    """Return an even axis that holds the values, with a little room."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = (high - low or abs(high) or 1.0) * 0.05
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
        room = (high - low or 1.0) * 0.05
        return Axis(low - (room if low < 0 else 0), high + room, start, end)
    return Axis(low - room, high + room, start, end)


def log_axis(values: list[float], start: float, end: float) -> Axis:
    """Return a log axis that holds those of the values that are above 0."""
    positive = [value for value in values if value > 0] or [1.0]
    low, high = min(positive), max(positive)
    room = max((high / low) ** 0.05, 1.02)
    low, high = low / room, high * room
    if high / low < LEAST_RATIO:
        middle = (low * high) ** 0.5
        low, high = middle / LEAST_RATIO**0.5, middle * LEAST_RATIO**0.5
    return Axis(low, high, start, end, is_log=True)


def _even_ticks(low: float, high: float) -> list[float]:
    step = _step((high - low) / NAMED)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [at * step for at in range(first, last + 1)]


def _step(rough: float) -> float:
    power = 10.0 ** floor(log10(rough))
    return next(step * power for step in STEPS if step * power >= rough * 0.999)


def _log_ticks(low: float, high: float) -> list[float]:
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    steps = STEPS[:3] if len(powers) <= 4 else STEPS[:1]
    found = [step * 10.0**power for power in powers for step in steps]
    inside = [value for value in found if low <= value <= high]
    is_close = any(b / a < 1.2 for a, b in pairwise(inside))
    return inside if len(inside) > 2 and not is_close else _fine(low, high)


def _fine(low: float, high: float) -> list[float]:
    """Return round values of a short stretch of a log scale."""
    return [value for value in _even_ticks(low, high) if value > 0]
