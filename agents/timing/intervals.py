"""Offset, drift and external duration from two stamps: pure arithmetic.

The bound of an interval is (rtt_1 - rtt_min) + (rtt_2 - rtt_min), as docs/method.md
has it: what a path always takes is in both stamps and falls out of their difference, so
only what a round trip took beyond the shortest can have hidden on one side. That bound
trusts the shortest trip seen. A clock is called a liar only beyond half of both round
trips, which holds whatever the path did.

Clocks move in steps. A reading is up to one step behind, so each of the four round
trips is wrong by up to a step of our clock, and the server's difference by one of its.
"""

from typing import Any, Dict, List, NamedTuple, Optional

from agents.timing.asking import Stamp

OFFSET_LIMIT_US = 50000
DRIFT_LIMIT_PPM = 500.0


class ClocksDifferError(Exception):
    """Two stamps of different clocks cannot be subtracted."""


class Offset(NamedTuple):
    """How far our wall clock is ahead of the server's, give or take ``bound_us``."""

    us: int
    bound_us: int


class Interval(NamedTuple):
    """The time between two stamps on the server's clock and on ours."""

    external_us: int
    local_us: int
    bound_us: int
    hard_bound_us: int
    wall_step_us: int

    @property
    def drift_ppm(self) -> Optional[float]:
        """How much faster our clock runs; None over no time at all."""
        return _ppm(self.local_us - self.external_us, self.external_us)

    @property
    def drift_bound_ppm(self) -> Optional[float]:
        """How wrong the drift can be, whatever the path did."""
        return _ppm(self.hard_bound_us, self.external_us)


def offset_of(stamp: Stamp) -> Offset:
    """Compare the wall clocks. The answer was given at some time of the round trip, so
    half of it bounds the error whatever the path; and steps of the clocks read."""
    behind_us = stamp.server_wall_us - stamp.local_wall_us
    steps_us = stamp.resolution_us + stamp.wall_resolution_us
    bound_us = stamp.round_trip_us // 2 + steps_us + stamp.server_resolution_us
    return Offset(-behind_us, bound_us)


def interval_of(
    start: Stamp, end: Stamp, shortest_us: Optional[int] = None
) -> Interval:
    """Subtract two stamps of one server.

    ``shortest_us`` is the shortest round trip known of the path, if these two have not
    seen it. Round trips are timed by the very clock that is in doubt: where it runs
    slow, they are lengthened as it would have to be. Raises ClocksDifferError.
    """
    if start.clock != end.clock:
        raise ClocksDifferError("The time server was started anew during the run.")
    external_us = end.server_monotonic_us - start.server_monotonic_us
    local_us = end.local_monotonic_us - start.local_monotonic_us
    trips_us = (start.round_trip_us, end.round_trip_us)
    floor_us = min(trips_us) if shortest_us is None else min(*trips_us, shortest_us)
    slowness = max(1.0, external_us / local_us) if local_us > 0 else 1.0
    step_us = max(start.resolution_us, end.resolution_us)
    server_us = max(start.server_resolution_us, end.server_resolution_us)
    excess_us = sum(trips_us) - 2 * floor_us + 4 * step_us
    bound_us = round(excess_us * slowness) + server_us
    hard_us = round((sum(trips_us) / 2 + 2 * step_us) * slowness) + server_us
    wall_us = end.local_wall_us - start.local_wall_us
    return Interval(external_us, local_us, bound_us, hard_us, wall_us - local_us)


def suspicions(start: Stamp, end: Stamp) -> List[str]:
    """Say why this clock is not to be trusted; beyond the error of asking only."""
    reasons = []
    for when, stamp in (("start", start), ("end", end)):
        offset = offset_of(stamp)
        if abs(offset.us) - offset.bound_us > OFFSET_LIMIT_US:
            off = (when, offset.us / 1e6)
            reasons.append("At the %s the clock was %+.3f s off." % off)
    interval = interval_of(start, end)
    drift, bound = interval.drift_ppm, interval.drift_bound_ppm
    if drift is not None and bound is not None and abs(drift) - bound > DRIFT_LIMIT_PPM:
        reasons.append("The clock ran %+.0f ppm against the server's." % drift)
    return reasons


def clock_report(
    start: Stamp, end: Stamp, shortest_us: Optional[int] = None
) -> Dict[str, Any]:
    """Return what an upload says of its clock: the stamps and what follows."""
    first, last = offset_of(start), offset_of(end)
    interval = interval_of(start, end, shortest_us)
    return {
        "start": dict(start._asdict()),
        "end": dict(end._asdict()),
        "offset_start_us": first.us,
        "offset_start_bound_us": first.bound_us,
        "offset_end_us": last.us,
        "offset_end_bound_us": last.bound_us,
        "shortest_round_trip_us": shortest_us,
        "resolution_us": max(start.resolution_us, end.resolution_us),
        "external_us": interval.external_us,
        "local_us": interval.local_us,
        "interval_bound_us": interval.bound_us,
        "interval_hard_bound_us": interval.hard_bound_us,
        "drift_ppm": interval.drift_ppm,
        "drift_bound_ppm": interval.drift_bound_ppm,
        "wall_step_us": interval.wall_step_us,
        "suspicions": suspicions(start, end),
    }


def _ppm(part_us: float, whole_us: float) -> Optional[float]:
    return part_us / whole_us * 1e6 if whole_us > 0 else None
