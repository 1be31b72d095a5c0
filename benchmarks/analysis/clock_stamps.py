"""Times of runs and power logs on the clock of the time server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

Span = tuple[float, float]
MIN_WINDOW_OVERLAP: Final = 0.01
MAX_TIMESTAMP_S: Final = 253_000_000_000.0
"""A time in the year 9987, because datetimes end in 9999."""
Axis = Literal["monotonic", "wall"]
_MICROSECONDS: Final = 1e6
STAMP_FIELDS: Final = (
    "server_wall_us",
    "server_monotonic_us",
    "local_wall_us",
    "local_monotonic_us",
    "round_trip_us",
)


@dataclass(frozen=True, slots=True)
class ClockStamp:
    """One instant by the clocks of a time server and of a machine."""

    clock: str
    server_wall_us: int
    server_monotonic_us: int
    local_wall_us: int
    local_monotonic_us: int
    round_trip_us: int

    def local_us(self, axis: Axis) -> int:
        return self.local_wall_us if axis == "wall" else self.local_monotonic_us


@dataclass(frozen=True, slots=True)
class ServerClock:
    """Conversion of a machine's clock to the time server's, by stamps of both."""

    axis: Axis
    stamps: tuple[ClockStamp, ...]
    server_s: tuple[float, ...]

    @classmethod
    def from_stamps(
        cls, axis: Axis, stamps: Iterable[ClockStamp]
    ) -> ServerClock | None:
        # `np.interp` needs increasing moments.
        by_moment = {stamp.local_us(axis): stamp for stamp in stamps}
        ordered = tuple(by_moment[moment] for moment in sorted(by_moment))
        return cls(axis, ordered, tuple(_server_times(ordered))) if ordered else None

    def to_server_seconds(self, times_us: Sequence[int]) -> NDArray[np.float64]:
        anchor = self.stamps[0].local_us(self.axis)
        local = [(s.local_us(self.axis) - anchor) / _MICROSECONDS for s in self.stamps]
        since = (np.asarray(times_us, dtype=np.int64) - anchor) / _MICROSECONDS
        # `np.interp` is constant beyond its ends: add the time that passed there.
        inside = np.interp(since, local, self.server_s)
        before = np.minimum(since - local[0], 0)
        after = np.maximum(since - local[-1], 0)
        return np.asarray(inside + before + after, dtype=float)

    @property
    def error_s(self) -> float:
        return max(stamp.round_trip_us for stamp in self.stamps) / 2 / _MICROSECONDS

    def server_seconds_of(self, begin: ClockStamp) -> float:
        """Return the server's time (s since 1970) of a run's first stamp."""
        elapsed = [
            (begin.server_monotonic_us - stamp.server_monotonic_us, server_s)
            for stamp, server_s in zip(self.stamps, self.server_s, strict=True)
            if stamp.clock == begin.clock
        ]
        if not elapsed:
            return begin.server_wall_us / _MICROSECONDS
        since_us, server_s = min(elapsed, key=lambda pair: abs(pair[0]))
        return server_s + since_us / _MICROSECONDS


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """The start and duration of a run, by the server (``stamp``) or as uploaded."""

    begin_s: float
    duration_s: float
    stamp: ClockStamp | None = None

    @property
    def is_external(self) -> bool:
        return self.stamp is not None

    def span(self, clock: ServerClock) -> Span:
        begin_s = clock.server_seconds_of(self.stamp) if self.stamp else self.begin_s
        return (begin_s, begin_s + self.duration_s)


def overlapping_groups(spans: Sequence[Span]) -> list[list[int]]:
    """Group the indices of spans that overlap, directly or through others."""
    closed: list[list[int]] = []
    active: list[list[int]] = []
    for index in sorted(range(len(spans)), key=lambda index: spans[index]):
        begin = spans[index][0]
        joined, separate = [index], []
        for cluster in active:
            if max(spans[i][1] for i in cluster) <= begin:
                closed.append(cluster)
            elif any(_overlap(spans[index], spans[i]) for i in cluster):
                joined += cluster
            else:
                separate.append(cluster)
        active = [*separate, sorted(joined)]
    return sorted([*closed, *active])


def enclosing_span(spans: Sequence[Span]) -> Span:
    return (min(start for start, _ in spans), max(end for _, end in spans))


def _overlap(first: Span, second: Span) -> bool:
    shared = min(first[1], second[1]) - max(first[0], second[0])
    shorter = min(first[1] - first[0], second[1] - second[0])
    return shared > MIN_WINDOW_OVERLAP * shorter


def parse_clock_stamp(fields: Any) -> ClockStamp | None:
    if not isinstance(fields, dict) or not isinstance(fields.get("clock"), str):
        return None
    numbers = [fields.get(name) for name in STAMP_FIELDS]
    if not all(isinstance(number, int) and abs(number) < 1 << 62 for number in numbers):
        return None
    return ClockStamp(fields["clock"], *(int(number or 0) for number in numbers))


def server_clock(axis: Axis, chunks: Iterable[Iterable[Any]]) -> ServerClock | None:
    stamps = (parse_clock_stamp(fields) for chunk in chunks for fields in chunk)
    return ServerClock.from_stamps(axis, (stamp for stamp in stamps if stamp))


def clamped_datetime(seconds: float) -> datetime:
    return datetime.fromtimestamp(min(max(float(seconds), 0.0), MAX_TIMESTAMP_S), UTC)


def stamped_window(facts: Mapping[str, Any]) -> TimeWindow | None:
    clock = facts.get("clock")
    if not isinstance(clock, dict):
        return None
    start, duration_us = parse_clock_stamp(clock.get("start")), clock.get("external_us")
    if start is None:
        return None
    if not isinstance(duration_us, int) or not 0 < duration_us < 1 << 50:
        return None
    begin_s = start.server_wall_us / _MICROSECONDS
    return valid_window(TimeWindow(begin_s, duration_us / _MICROSECONDS, start))


def valid_window(window: TimeWindow) -> TimeWindow | None:
    begin_s, end_s = window.begin_s, window.begin_s + window.duration_s
    return window if 0 <= begin_s <= end_s <= MAX_TIMESTAMP_S else None


def _server_times(stamps: Sequence[ClockStamp]) -> Iterable[float]:
    time_us = float(stamps[0].server_wall_us) if stamps else 0.0
    yield time_us / _MICROSECONDS
    for before, stamp in pairwise(stamps):
        if stamp.clock == before.clock:
            time_us += stamp.server_monotonic_us - before.server_monotonic_us
        else:
            # Monotonic clocks of different servers or boots cannot be compared. Use
            # wall clocks, but never go back in time.
            time_us = max(float(stamp.server_wall_us), time_us)
        yield time_us / _MICROSECONDS
