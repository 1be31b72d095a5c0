"""A meter's moments on the time server's clock, from the stamps taken beside them.

A log counts by the clock of the machine that read the meter, which may be an hour
wrong. Each stamp (see the agents' ``timing``) ties that clock to the server's: between
two stamps the time runs evenly, so that an offset and a drift both fall out. The
server's own steps do not matter either: within one boot its monotonic clock counts.
What ran at the same time is told by stretches of time that overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

Span = tuple[float, float]
# Less than this part of the shorter one is no running together.
LEAST_OVERLAP: Final = 0.01
LAST_S: Final = 253_000_000_000.0
"""In the year 9987: what is later, no calendar holds."""

Axis = Literal["monotonic", "wall"]
_MICROSECONDS: Final = 1e6
FIELDS: Final = (
    "server_wall_us",
    "server_monotonic_us",
    "local_wall_us",
    "local_monotonic_us",
    "round_trip_us",
)


@dataclass(frozen=True, slots=True)
class Stamp:
    """One instant on a time server's clocks and on those of a machine."""

    clock: str
    server_wall_us: int
    server_monotonic_us: int
    local_wall_us: int
    local_monotonic_us: int
    round_trip_us: int

    def local_us(self, axis: Axis) -> int:
        return self.local_wall_us if axis == "wall" else self.local_monotonic_us


@dataclass(frozen=True, slots=True)
class ServerTime:
    """The stamps of one log in order, each with its time on the server's clock."""

    axis: Axis
    stamps: tuple[Stamp, ...]
    server_s: tuple[float, ...]

    @classmethod
    def of(cls, axis: Axis, stamps: Iterable[Stamp]) -> ServerTime | None:
        """Return the way to the server's time; None if nobody ever took a stamp."""
        # `np.interp` needs moments that rise: two stamps of one moment are one.
        by_moment = {stamp.local_us(axis): stamp for stamp in stamps}
        kept = tuple(by_moment[moment] for moment in sorted(by_moment))
        return cls(axis, kept, tuple(_server_times(kept))) if kept else None

    def seconds(self, times_us: Sequence[int]) -> NDArray[np.float64]:
        """Return moments of the log's clock as seconds since 1970 of the server's.

        Before the first and after the last stamp the log's clock is taken to run right.
        """
        anchor = self.stamps[0].local_us(self.axis)
        local = [(s.local_us(self.axis) - anchor) / _MICROSECONDS for s in self.stamps]
        since = (np.asarray(times_us, dtype=np.int64) - anchor) / _MICROSECONDS
        # `np.interp` stands still beyond its ends: the local clock goes on from there.
        inside = np.interp(since, local, self.server_s)
        before = np.minimum(since - local[0], 0)
        after = np.maximum(since - local[-1], 0)
        return np.asarray(inside + before + after, dtype=float)

    @property
    def error_s(self) -> float:
        """How far the offset can be wrong: half of the longest round trip."""
        return max(stamp.round_trip_us for stamp in self.stamps) / 2 / _MICROSECONDS

    def start_of(self, begin: Stamp) -> float:
        """Return when another machine took a stamp, on this log's axis.

        By the server's monotonic clock where both asked the same server between two of
        its boots, else by its wall clock.
        """
        gone_us = [
            (begin.server_monotonic_us - stamp.server_monotonic_us, server_s)
            for stamp, server_s in zip(self.stamps, self.server_s, strict=True)
            if stamp.clock == begin.clock
        ]
        if not gone_us:
            return begin.server_wall_us / _MICROSECONDS
        since_us, server_s = min(gone_us, key=lambda gone: abs(gone[0]))
        return server_s + since_us / _MICROSECONDS


@dataclass(frozen=True, slots=True)
class Window:
    """When a run ran: by stamps of a time server, or as its uploader stated."""

    begin_s: float
    duration_s: float
    stamp: Stamp | None = None

    @property
    def is_external(self) -> bool:
        return self.stamp is not None

    def span_on(self, way: ServerTime) -> Span:
        """Return the window on a log's axis."""
        begin_s = way.start_of(self.stamp) if self.stamp else self.begin_s
        return (begin_s, begin_s + self.duration_s)


def clusters(spans: Sequence[Span]) -> list[list[int]]:
    """Return the places of spans that overlap, directly or through others, together.

    >>> clusters([(0, 10), (20, 30), (9, 12)])
    [[0, 2], [1]]
    """
    closed: list[list[int]] = []
    active: list[list[int]] = []
    for place in sorted(range(len(spans)), key=lambda place: spans[place]):
        begin = spans[place][0]
        joined, apart = [place], []
        for cluster in active:
            # Spans come by their beginning: nothing later can meet this cluster.
            if max(spans[i][1] for i in cluster) <= begin:
                closed.append(cluster)
            elif any(_meet(spans[place], spans[i]) for i in cluster):
                joined += cluster
            else:
                apart.append(cluster)
        active = [*apart, sorted(joined)]
    return sorted([*closed, *active])


def hull(spans: Sequence[Span]) -> Span:
    """Return the stretch from the first beginning to the last end."""
    return (min(start for start, _ in spans), max(end for _, end in spans))


def _meet(one: Span, other: Span) -> bool:
    shared = min(one[1], other[1]) - max(one[0], other[0])
    shorter = min(one[1] - one[0], other[1] - other[0])
    return shared > LEAST_OVERLAP * shorter


def stamp_of(fields: Any) -> Stamp | None:
    """Return a stamp as agents send it, or None if it is none."""
    if not isinstance(fields, dict) or not isinstance(fields.get("clock"), str):
        return None
    numbers = [fields.get(name) for name in FIELDS]
    # The difference of two such numbers still fits into 64 bits.
    if not all(isinstance(number, int) and abs(number) < 1 << 62 for number in numbers):
        return None
    return Stamp(fields["clock"], *(int(number or 0) for number in numbers))


def way_of(axis: Axis, pieces: Iterable[Iterable[Any]]) -> ServerTime | None:
    """Return how a log's moments become the server's, from its pieces' stamps."""
    stamps = (stamp_of(fields) for piece in pieces for fields in piece)
    return ServerTime.of(axis, (stamp for stamp in stamps if stamp))


def moment(seconds: float) -> datetime:
    """Return seconds since 1970 as a moment; the nearest that a calendar has."""
    return datetime.fromtimestamp(min(max(float(seconds), 0.0), LAST_S), UTC)


def external_window(facts: Mapping[str, Any]) -> Window | None:
    """Return the window that an agent's stamps give a run; None without them."""
    clock = facts.get("clock")
    if not isinstance(clock, dict):
        return None
    start, duration_us = stamp_of(clock.get("start")), clock.get("external_us")
    if start is None:
        return None
    if not isinstance(duration_us, int) or not 0 < duration_us < 1 << 50:
        return None
    begin_s = start.server_wall_us / _MICROSECONDS
    return known_window(Window(begin_s, duration_us / _MICROSECONDS, start))


def known_window(window: Window) -> Window | None:
    """Return a window; None for one that no calendar holds: its clock told nonsense."""
    begin_s, end_s = window.begin_s, window.begin_s + window.duration_s
    return window if 0 <= begin_s <= end_s <= LAST_S else None


def _server_times(stamps: Sequence[Stamp]) -> Iterable[float]:
    """Return the time of each: by the monotonic clock as long as it is one clock."""
    time_us = float(stamps[0].server_wall_us) if stamps else 0.0
    yield time_us / _MICROSECONDS
    for before, stamp in pairwise(stamps):
        if stamp.clock == before.clock:
            time_us += stamp.server_monotonic_us - before.server_monotonic_us
        else:
            # Another boot or server: by the wall clocks, but time never goes back.
            time_us = max(float(stamp.server_wall_us), time_us)
        yield time_us / _MICROSECONDS
