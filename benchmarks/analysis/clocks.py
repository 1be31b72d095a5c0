"""Whose clock timed a run, and how far it may be trusted.

A guest that counts timer ticks loses time exactly when its host is busy, and nothing
inside the guest shows it. A time server outside the host does: each of its stamps
carries the round trip of the question (``docs/method.md``, whose clock).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

Clock = Literal["external", "client", "meter", "guest", "local"]
Trust = Literal["trusted", "corrected", "suspect", "unchecked"]

CLOCKS: Final[dict[Clock, str]] = {
    "external": "a time server outside the host",
    "client": "the machine that drove the load from outside the guests",
    "meter": "the power meter",
    "guest": "the guest's own clock",
    "local": "the machine that ran the tool",
}
MAX_OFFSET_S: Final = 0.050
MAX_DRIFT_PPM: Final = 500.0


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time server's answer: its time, and the round trip of the question."""

    time_s: float
    round_trip_s: float


@dataclass(frozen=True, slots=True)
class Interval:
    """A duration between two stamps; the true one is within ``bound_s`` of it."""

    duration_s: float
    bound_s: float

    def is_refused(self, band: float = 0.02) -> bool:
        """The bound is more than half the band: it could make a verdict by itself."""
        return self.bound_s > band / 2 * self.duration_s

    def sentence(self, band: float = 0.02) -> str:
        share = 100 * self.bound_s / self.duration_s
        known = f"{self.duration_s:.6g} s are known to {_span(self.bound_s)}"
        if not self.is_refused(band):
            return f"{known} ({share:.2g} %)."
        return (
            f"{known} ({share:.2g} %), more than half the band of {100 * band:g} %: "
            "refused."
        )


@dataclass(frozen=True, slots=True)
class GuestClock:
    """A guest's clock against the time server, at a run's start and end.

    Offsets are guest - server in seconds; ``guest_s`` is the run's duration by the
    guest's clock.
    """

    guest_s: float
    offset_start_s: float
    offset_end_s: float

    @property
    def drift_ppm(self) -> float:
        """What the guest's clock gained (or, below 0, lost) in a million seconds."""
        gained_s = self.offset_end_s - self.offset_start_s
        true_s = self.guest_s - gained_s
        return 1e6 * gained_s / true_s if true_s > 0 else math.inf


@dataclass(frozen=True, slots=True)
class TimeTrust:
    """How far a run's duration is to be trusted, and the duration to use."""

    state: Trust
    duration_s: float
    sentence: str


def external_interval(start: Stamp, end: Stamp, *, least_s: float) -> Interval:
    """The duration between two stamps and its bound.

    (rtt_1 - rtt_min) + (rtt_2 - rtt_min): beyond the shortest round trip ``least_s``
    ever seen on this path, nobody knows on which way the question was held up
    (D. L. Mills' clock filter, RFC 5905, rests on the same).
    """
    trips = (start.round_trip_s, end.round_trip_s)
    if not 0 <= least_s <= min(trips) < math.inf:
        raise ValueError("no round trip can be shorter than the shortest one")
    duration_s = end.time_s - start.time_s
    if not 0 < duration_s < math.inf:
        raise ValueError("the end of a run must come after its start")
    return Interval(duration_s, sum(trips) - 2 * least_s)


def is_outside(clock: Clock, *, is_virtual: bool) -> bool:
    """Whether this clock is beyond a guest's influence; "local" is, on bare metal."""
    return clock in ("external", "client", "meter") or (
        clock == "local" and not is_virtual
    )


def trust_external(interval: Interval, *, band: float = 0.02) -> TimeTrust:
    """Judge a run that the time server timed."""
    state: Trust = "suspect" if interval.is_refused(band) else "trusted"
    return TimeTrust(state, interval.duration_s, interval.sentence(band))


def trust_unmeasured(
    clock: Clock, duration_s: float, *, is_virtual: bool = True
) -> TimeTrust:
    """Judge a run of whose clock nothing but its kind is known."""
    if is_outside(clock, is_virtual=is_virtual):
        return TimeTrust("trusted", duration_s, f"Timed by {CLOCKS[clock]}.")
    return TimeTrust(
        "unchecked",
        duration_s,
        "Timed by a clock inside the guest that nobody set against another one.",
    )


def trust_guest(
    clock: GuestClock, external: Interval | None = None, *, band: float = 0.02
) -> TimeTrust:
    """Judge a run timed by its guest, and correct it if the server timed it too.

    Suspect: more than 50 ms off at the start or the end, or a drift of more than 500
    ppm that the error bound of the external duration does not explain.
    """
    if not 0 < clock.guest_s < math.inf:
        raise ValueError("a run has a duration above 0")
    faults = _faults(clock, external)
    if not faults:
        return TimeTrust(
            "trusted",
            clock.guest_s,
            f"The guest's clock kept within {_span(_worst_s(clock))} and "
            f"{abs(clock.drift_ppm):,.0f} ppm of the time server's.",
        )
    found = f"The guest's clock {' and '.join(faults)}"
    if external is None:
        text = f"{found}, and no outside clock timed the run."
        return TimeTrust("suspect", clock.guest_s, text)
    if external.is_refused(band):
        text = f"{found}; outside, {external.sentence(band)}"
        return TimeTrust("suspect", clock.guest_s, text)
    text = f"{found}: corrected to the time server's {external.duration_s:.6g} s."
    return TimeTrust("corrected", external.duration_s, text)


def _faults(clock: GuestClock, external: Interval | None) -> list[str]:
    faults = []
    if _worst_s(clock) > MAX_OFFSET_S:
        faults.append(f"was up to {_span(_worst_s(clock))} off")
    bound_s = external.bound_s if external else 0.0
    gained_s = abs(clock.offset_end_s - clock.offset_start_s)
    if abs(clock.drift_ppm) > MAX_DRIFT_PPM and gained_s > bound_s:
        verb = "gained" if clock.drift_ppm > 0 else "lost"
        faults.append(f"{verb} {abs(clock.drift_ppm):,.0f} ppm")
    return faults


def _worst_s(clock: GuestClock) -> float:
    return max(abs(clock.offset_start_s), abs(clock.offset_end_s))


def _span(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
