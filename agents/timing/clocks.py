"""Clocks as functions, so that a test can put a lying one in their place."""

import hashlib
import os
import time
import uuid
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from agents.files import text_of, write_durably
from agents.home import home
from agents.timing.asking import Stamp

_BOOT = "/proc/sys/kernel/random/boot_id"
# Windows counts its boots here, from Vista on.
_BOOTS_OF_WINDOWS = (
    r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management"
    r"\PrefetchParameters"
)
# Steps are looked for in so many readings: a third of a second at most.
_STEPS, _MOST_READINGS = 5, 2000000
# Wide enough for NTP's corrections; no machine runs an agent and boots again in it.
_SAME_BOOT_US = 10000000
# What is corrected by NTP and what is not drift apart by one part in so many.
_SLOWEST_DRIFT = 2000


class Clocks(NamedTuple):
    """Two clocks of one machine, both in whole microseconds.

    ``monotonic_us`` has no known zero but is never set; readings of it can be
    subtracted where ``name`` is the same. Each moves in steps of its resolution: the
    truth is up to one step behind what it shows.
    """

    name: str
    wall_us: Callable[[], int]
    monotonic_us: Callable[[], int]
    resolution_us: int = 1
    wall_resolution_us: int = 1


def wall_us() -> int:
    """Return microseconds since 1970 by this machine's clock."""
    return int(time.time() * 1e6)


def finest() -> str:
    """Return which of Python's clocks that nobody sets moves in the smaller steps.

    On Windows `monotonic` moves 64 times a second before Python 3.13, and
    `perf_counter` ten million times. Where both are alike, it is `monotonic`.
    """
    coarse = time.get_clock_info("monotonic").resolution
    fine = time.get_clock_info("perf_counter").resolution
    return "perf_counter" if fine < coarse else "monotonic"


COUNTER = finest()
_count: Callable[[], float] = getattr(time, COUNTER)


def monotonic_us() -> int:
    """Return microseconds by the clock that nobody sets."""
    return int(_count() * 1e6)


def step_us(read_us: Callable[[], int]) -> int:
    """Return by how much a clock moves at a time, as it is seen to move.

    What the system states of its clocks is no help: it says a nanosecond of one that
    counts ticks. The median of a few steps, since 15.6 ms look like 15 and 16. A clock
    that is not seen to move at all gets the whole day.
    """
    steps: List[int] = []
    before_us = read_us()
    for _ in range(_MOST_READINGS):
        now_us = read_us()
        if now_us > before_us:
            steps.append(now_us - before_us)
        before_us = now_us
        # The first began before we looked, so that it is too short, or none.
        if len(steps) > _STEPS:
            return sorted(steps[1:])[_STEPS // 2]
    return max(steps[1:], default=86400000000)


# A process names its clock once: it stays the same clock when somebody sets the other.
_OWN: Dict[str, Clocks] = {}


def own_clocks() -> Clocks:
    """Return this machine's clocks; the name changes with every boot."""
    folder = home()
    if folder not in _OWN:
        name = boot_name() or _short(_boot_kept())
        steps = (step_us(monotonic_us), step_us(wall_us))
        _OWN[folder] = Clocks(name, wall_us, monotonic_us, *steps)
    return _OWN[folder]


def boot_name() -> Optional[str]:
    """Return what tells this boot from all others; None where nothing names it."""
    boot = text_of(_BOOT) or (_boot_of_windows() if os.name == "nt" else None)
    return _short(boot) if boot else None


def _boot_of_windows() -> Optional[str]:
    """Return the number of this boot, and the name of its installation."""
    from agents.detection.windows import value_of

    number = value_of(_BOOTS_OF_WINDOWS, "BootId")
    machine = value_of(r"SOFTWARE\Microsoft\Cryptography", "MachineGuid")
    return "%s %s" % (machine, number) if machine and number else None


def _short(boot: str) -> str:
    return hashlib.sha256(boot.encode()).hexdigest()[:16]


def _boot_kept() -> str:
    """Return one text for one boot where the system, unlike Linux, names none.

    The moment of the boot would do, but no two readings of two clocks agree. So a name
    is kept in a file with the moment as it was last seen, and stands as long as what is
    seen now can be the same boot.
    """
    up_us = monotonic_us()
    booted_us = wall_us() - up_us
    path = os.path.join(home(), "boot")
    name = uuid.uuid4().hex
    kept = text_of(path) or ""
    try:
        kept_name, *numbers = kept.split()
        if is_same_boot(booted_us, up_us, *map(int, numbers)):
            name = kept_name
    except (ValueError, TypeError):  # none yet, or not ours
        pass
    try:
        os.makedirs(home(), mode=0o700, exist_ok=True)
        write_durably(path, ("%s %d %d" % (name, booted_us, up_us)).encode())
    except OSError:
        # A name that lasts as long as this process is better than no time at all.
        return name
    # Of two who came at once the last has written it.
    return (text_of(path) or name).split()[0]


def is_same_boot(booted_us: int, up_us: int, seen_us: int, seen_up_us: int) -> bool:
    """Say whether a boot is the one that was seen when it was up for ``seen_up_us``.

    Two clocks drift apart, the more the longer they run; but no boot comes before the
    one before it was last seen.
    """
    if up_us < seen_up_us:
        return False
    apart_us = abs(booted_us - seen_us)
    drift_us = (up_us - seen_up_us) // _SLOWEST_DRIFT
    return apart_us < min(_SAME_BOOT_US + drift_us, max(_SAME_BOOT_US, seen_up_us))


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
