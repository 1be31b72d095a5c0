"""Power over time from a meter's log, and its integral over the window of the work.

Power is linear between two samples of a wattmeter; a counter (RAPL) gives the mean
power of each step. A step much longer than the usual one is a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.analysis.energy import MIN_COVERAGE, MOST
from benchmarks.analysis.intervals import Floats
from benchmarks.sentences import Sentence

# A step this many times longer than the usual one is a gap: nothing was measured there.
GAP_STEPS: Final = 3.0
BLOCK_SAMPLES: Final = 10
SHORTEST_S: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Trace:
    """Power steps in order.

    ``is_counted``: each is the mean power that a counter measured over the step.
    """

    starts_s: Floats
    ends_s: Floats
    first_w: Floats
    last_w: Floats
    is_counted: bool = False

    @property
    def usual_s(self) -> float:
        # Not the mean, which the gaps to be found would lengthen.
        return float(np.median(self.ends_s - self.starts_s))

    @property
    def is_gap(self) -> NDArray[np.bool_]:
        return np.asarray(self.ends_s - self.starts_s > GAP_STEPS * self.usual_s)

    @property
    def moments_s(self) -> Floats:
        return np.union1d(self.starts_s, self.ends_s)

    def at(self, moments_s: Floats) -> Floats:
        """Return the power at moments that lie each in the step of the same place."""
        length_s = self.ends_s - self.starts_s
        share = np.clip((moments_s - self.starts_s) / length_s, 0, 1)
        return np.asarray(self.first_w + (self.last_w - self.first_w) * share)

    def take(self, kept: NDArray[np.bool_]) -> Trace:
        """Return some of its steps."""
        return Trace(
            self.starts_s[kept],
            self.ends_s[kept],
            self.first_w[kept],
            self.last_w[kept],
            self.is_counted,
        )

    def within(self, start_s: float, end_s: float) -> Trace:
        return self.take((self.ends_s > start_s) & (self.starts_s < end_s))


def trace_of_power(times_s: Sequence[float], watts: Sequence[float]) -> Trace:
    """Return samples of power as steps between them; ValueError if they are none."""
    times, power = _readings(times_s, watts)
    return Trace(times[:-1], times[1:], power[:-1], power[1:])


def trace_of_counter(times_s: Sequence[float], joules: Sequence[float]) -> Trace:
    """Return counter readings as steps of mean power; steps where it fell are left out.

    ValueError where it never rose or the readings are invalid.
    """
    times, counts = _readings(times_s, joules)
    rose = np.diff(counts) >= 0
    power = np.diff(counts) / np.diff(times)
    trace = Trace(times[:-1], times[1:], power, power, is_counted=True)
    if not rose.any():
        raise ValueError(Sentence("a counter of joules must not fall"))
    return trace.take(rose)


def corrected_traces(traces: Sequence[Trace]) -> list[Trace]:
    """Return the parts of traces that later traces do not replace."""
    kept: list[Trace] = []
    for trace in traces:
        first_s, last_s = float(trace.starts_s[0]), float(trace.ends_s[-1])
        parts = [
            part
            for old in kept
            for part in (
                old.take(old.ends_s <= first_s),
                old.take(old.starts_s >= last_s),
            )
            if part.starts_s.size
        ]
        kept = [*parts, trace]
    return kept


def joined_traces(traces: Iterable[Trace]) -> Trace | None:
    """Join one meter's traces in time; where two overlap the earlier one wins."""
    kept: list[Trace] = []
    for trace in sorted(traces, key=lambda trace: float(trace.starts_s[0])):
        end_s = float(kept[-1].ends_s[-1]) if kept else -np.inf
        later = trace.take(trace.starts_s >= end_s)
        kept += [later] if later.starts_s.size else []
    if not kept:
        return None
    return Trace(
        np.concatenate([trace.starts_s for trace in kept]),
        np.concatenate([trace.ends_s for trace in kept]),
        np.concatenate([trace.first_w for trace in kept]),
        np.concatenate([trace.last_w for trace in kept]),
        all(trace.is_counted for trace in kept),
    )


def quietest_w(trace: Trace, busy_s: Sequence[tuple[float, float]]) -> float | None:
    """Return the mean power of the quietest ten consecutive steps, or None.

    Steps of known work (``busy_s``) are left out.
    """
    free = ~trace.is_gap
    for start_s, end_s in busy_s:
        free &= (trace.ends_s <= start_s) | (trace.starts_s >= end_s)
    # NaN spoils every sum it is in: what is left has ten free steps in a row.
    length_s = np.where(free, trace.ends_s - trace.starts_s, np.nan)
    if length_s.size < BLOCK_SAMPLES:
        return None
    joules = (trace.first_w + trace.last_w) / 2 * length_s
    window = np.lib.stride_tricks.sliding_window_view
    means = window(joules, BLOCK_SAMPLES).sum(axis=1)
    means = means / window(length_s, BLOCK_SAMPLES).sum(axis=1)
    return None if np.isnan(means).all() else float(np.nanmin(means))


def _readings(
    times_s: Sequence[float], readings: Sequence[float]
) -> tuple[Floats, Floats]:
    times, values = np.asarray(times_s, dtype=float), np.asarray(readings, dtype=float)
    if times.shape != values.shape or times.ndim != 1 or times.size < 2:
        raise ValueError(
            Sentence("energy needs two or more samples, each a time and its power")
        )
    is_time = (np.abs(times) < MOST).all()
    if not is_time or not (np.diff(times) > SHORTEST_S).all():
        raise ValueError(Sentence("the times of the samples must rise"))
    if not ((values < MOST) & (values >= 0)).all():
        raise ValueError(Sentence("power must be a finite number of watts, 0 or more"))
    return times, values


@dataclass(frozen=True, slots=True)
class WorkEnergy:
    """Energy of one window of work, by a meter's samples.

    Gaps count with the mean power; ``edge_error_j`` bounds the error at the ends.
    """

    duration_s: float
    covered_s: float
    mean_w: float
    samples: int
    interval_s: float
    edge_error_j: float

    @property
    def energy_j(self) -> float:
        return self.mean_w * self.duration_s

    @property
    def coverage(self) -> float:
        return self.covered_s / self.duration_s

    @property
    def is_covered(self) -> bool:
        return self.coverage >= MIN_COVERAGE

    def above_idle_j(self, idle_w: float) -> float:
        """What the work took on top of the machine's idle power."""
        return (self.mean_w - idle_w) * self.duration_s


def work_energy(
    times_s: Sequence[float], watts: Sequence[float], window_s: tuple[float, float]
) -> WorkEnergy:
    """Integrate samples of power over a window; ValueError if nothing was measured."""
    return energy_within(trace_of_power(times_s, watts), window_s)


def energy_within(trace: Trace, window_s: tuple[float, float]) -> WorkEnergy:
    """Integrate a trace over a window; ValueError if nothing of it was measured."""
    start, end = window_s
    if not -MOST < start < end < MOST:
        raise ValueError(
            Sentence("the window of the work needs a start and a later end")
        )
    # Cut to the window: a step that lies outside becomes one without a length.
    low = np.clip(trace.starts_s, start, end)
    high = np.clip(trace.ends_s, start, end)
    kept = (high > low) & ~trace.is_gap
    covered = float((high - low)[kept].sum())
    if not covered:
        raise ValueError(
            Sentence("the meter measured nothing within the window of the work")
        )
    means = (trace.at(low) + trace.at(high)) / 2
    moments = trace.moments_s
    return WorkEnergy(
        duration_s=end - start,
        covered_s=covered,
        mean_w=float((means * (high - low))[kept].sum()) / covered,
        samples=int(((moments >= start) & (moments <= end)).sum()),
        interval_s=trace.usual_s,
        edge_error_j=sum(_edge_error_j(trace, edge) for edge in window_s),
    )


def _edge_error_j(trace: Trace, edge: float) -> float:
    """Bound what is not known of the step in which the window begins or ends."""
    cut = np.flatnonzero((trace.starts_s < edge) & (trace.ends_s > edge))
    if not cut.size:
        return 0.0
    step = int(cut[0])
    near = slice(max(step - 1, 0), step + 2)
    known = trace.first_w[near] if trace.is_counted else trace.last_w[step]
    step_w = float(np.abs(known - trace.first_w[step]).max())
    return step_w * float(trace.ends_s[step] - trace.starts_s[step]) / 2


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
        """Return the time of another machine's stamp on this log's axis."""
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
