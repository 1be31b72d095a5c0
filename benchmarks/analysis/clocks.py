"""Whose clock timed a run, and how far it may be trusted (``docs/method.md``).

A guest that counts timer ticks loses time when its host is busy; only a time server
outside shows it. Agents report under ``clock`` of a run's facts, in microseconds: the
guest's offsets to the server (``offset_start_us``, ``offset_end_us``), the duration by
each (``local_us``, ``external_us``) with ``interval_bound_us`` as its error
(``agents/timing/asking.py``), and the observed clock step ``resolution_us``. Agents
without it assumed a microsecond: a clock that read the same before and after a question
is coarser.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from benchmarks.sentences import Parameter, Sentence, every

Clock = Literal["external", "client", "meter", "guest", "local"]
Trust = Literal["trusted", "corrected", "suspect", "unchecked"]

CLOCKS: Final[dict[Clock, Sentence]] = {
    "external": Sentence("a time server outside the host"),
    "client": Sentence("the machine that drove the load from outside the guests"),
    "meter": Sentence("the power meter"),
    "guest": Sentence("the guest's own clock"),
    "local": Sentence("the machine that ran the tool"),
}
# Whose clock is judged.
GUESTS: Final = Sentence("The guest's clock")
MACHINES: Final = Sentence("The machine's clock")
MAX_OFFSET_S: Final = 0.050
MAX_DRIFT_PPM: Final = 500.0

_MICROSECONDS: Final = 1e6
# Thirty years: more is no time of a run.
_LONGEST_US: Final = 1e15
# From best to worst: the worst run decides for a cell.
ORDER: Final = ("", "trusted", "unchecked", "corrected", "suspect")


@dataclass(frozen=True, slots=True)
class Interval:
    """A duration between two stamps; the true one is within ``bound_s`` of it."""

    duration_s: float
    bound_s: float

    def is_too_uncertain(self, margin: float = 0.02) -> bool:
        """A bound over half the equivalence margin could make a verdict alone."""
        return self.bound_s > margin / 2 * self.duration_s

    def sentence(self, margin: float = 0.02) -> Sentence:
        known: dict[str, Parameter] = {
            "took": self.duration_s,
            "span": _span(self.bound_s),
            "share": 100 * self.bound_s / self.duration_s,
        }
        if not self.is_too_uncertain(margin):
            return Sentence(
                "{took:.6g} s are known to {span} ({share:.2g} %).", **known
            )
        return Sentence(
            "{took:.6g} s are known to {span} ({share:.2g} %), more than half the "
            "equivalence margin of {margin:g} %: too uncertain.",
            margin=100 * margin,
            **known,
        )


@dataclass(frozen=True, slots=True)
class GuestClock:
    """A guest's clock against the time server's; offsets are guest - server."""

    guest_s: float
    offset_start_s: float
    offset_end_s: float
    resolution_s: float = 0.0
    """In which steps it moves; infinite where they are unknown and too long."""

    def is_too_coarse(self, margin: float = 0.02) -> bool:
        """A step over half the equivalence margin could make a verdict alone."""
        return self.resolution_s > margin / 2 * self.guest_s

    @property
    def drift_ppm(self) -> float:
        """What the guest's clock gained (or, below 0, lost) in a million seconds."""
        gained_s = self.offset_end_s - self.offset_start_s
        true_s = self.guest_s - gained_s
        # A clock that gained more than all its time is suspect, whatever the limit.
        return 1e6 * gained_s / true_s if true_s > 0 else math.inf


@dataclass(frozen=True, slots=True)
class TimeTrust:
    """How far a run's duration is to be trusted, and the duration to use."""

    state: Trust
    duration_s: float
    sentence: str


@dataclass(frozen=True, slots=True)
class ClockReport:
    """An agent's report on a guest's clock during a run."""

    guest: GuestClock
    external: Interval | None


def is_outside(clock: Clock, *, is_virtual: bool) -> bool:
    """Whether this clock is beyond a guest's influence; "local" is, on bare metal."""
    return clock in ("external", "client", "meter") or (
        clock == "local" and not is_virtual
    )


def trust_external(interval: Interval, *, margin: float = 0.02) -> TimeTrust:
    state: Trust = "suspect" if interval.is_too_uncertain(margin) else "trusted"
    return TimeTrust(state, interval.duration_s, interval.sentence(margin))


def trust_unmeasured(
    clock: Clock, duration_s: float, *, is_virtual: bool = True
) -> TimeTrust:
    """Judge a run of whose clock nothing but its kind is known."""
    if is_outside(clock, is_virtual=is_virtual):
        sentence = Sentence("Timed by {clock}.", clock=CLOCKS[clock])
        return TimeTrust("trusted", duration_s, sentence)
    return TimeTrust(
        "unchecked",
        duration_s,
        Sentence("Timed by a clock inside the guest, not compared with another one."),
    )


def trust_guest(
    clock: GuestClock,
    external: Interval | None = None,
    *,
    margin: float = 0.02,
    whose: Sentence = GUESTS,
) -> TimeTrust:
    """Judge a run timed by its guest, and correct it if the server timed it too.

    Suspect: over 50 ms off at either end, over 500 ppm drift beyond the error bound, or
    clock steps over half the equivalence margin.
    """
    if not 0 < clock.guest_s < math.inf:
        raise ValueError("a run has a duration above 0")
    faults = _faults(clock, external, margin)
    if not faults:
        return TimeTrust(
            "trusted",
            clock.guest_s,
            Sentence(
                "{whose} kept within {span} and {ppm:,.0f} ppm of the time server's.",
                whose=whose,
                span=_span(max(_worst_s(clock), clock.resolution_s)),
                ppm=abs(clock.drift_ppm),
            ),
        )
    parts = {"whose": whose, "faults": every(faults)}
    if external is None:
        text = Sentence(
            "{whose} {faults}, and no outside clock timed the run.", **parts
        )
        return TimeTrust("suspect", clock.guest_s, text)
    if external.is_too_uncertain(margin):
        outside = external.sentence(margin)
        text = Sentence(
            "{whose} {faults}; outside, {outside}", outside=outside, **parts
        )
        return TimeTrust("suspect", clock.guest_s, text)
    text = Sentence(
        "{whose} {faults}: corrected to the time server's {took:.6g} s.",
        took=external.duration_s,
        **parts,
    )
    return TimeTrust("corrected", external.duration_s, text)


def _faults(
    clock: GuestClock, external: Interval | None, margin: float
) -> list[Sentence]:
    faults = []
    if clock.is_too_coarse(margin) and math.isinf(clock.resolution_s):
        faults.append(
            Sentence("read the same before and after a question to the server")
        )
    elif clock.is_too_coarse(margin):
        faults.append(
            Sentence(
                "moves in steps of {span} ({share:.2g} % of the run)",
                span=_span(clock.resolution_s),
                share=100 * clock.resolution_s / clock.guest_s,
            )
        )
    if _worst_s(clock) > MAX_OFFSET_S:
        worst = _span(_worst_s(clock))
        faults.append(Sentence("was up to {span} off", span=worst))
    bound_s = external.bound_s if external else 0.0
    gained_s = abs(clock.offset_end_s - clock.offset_start_s)
    if abs(clock.drift_ppm) > MAX_DRIFT_PPM and gained_s > bound_s:
        drift = clock.drift_ppm
        faults.append(
            Sentence("gained {ppm:,.0f} ppm", ppm=drift)
            if drift > 0
            else Sentence("lost {ppm:,.0f} ppm", ppm=-drift)
        )
    return faults


def _worst_s(clock: GuestClock) -> float:
    return max(abs(clock.offset_start_s), abs(clock.offset_end_s))


def _span(seconds: float) -> Sentence:
    if seconds < 1:
        return Sentence("{span:.3g} ms", span=1000 * seconds)
    return Sentence("{span:.3g} s", span=seconds)


def report_of(facts: Mapping[str, Any]) -> ClockReport | None:
    """Return the report in a run's facts; None if there is none that can be used."""
    clock = facts.get("clock")
    if not isinstance(clock, dict):
        return None
    guest_s, start_s = _seconds(clock, "local_us"), _seconds(clock, "offset_start_us")
    end_s = _seconds(clock, "offset_end_us")
    if guest_s is None or start_s is None or end_s is None or guest_s <= 0:
        return None
    resolution_s = _resolution_s(clock)
    guest = GuestClock(guest_s, start_s, end_s, resolution_s)
    # Its bound counts steps of a microsecond that were none.
    if math.isinf(resolution_s):
        return ClockReport(guest, None)
    duration_s = _seconds(clock, "external_us")
    bound_s = _seconds(clock, "interval_bound_us")
    if duration_s is None or bound_s is None or duration_s <= 0 or bound_s < 0:
        return ClockReport(guest, None)
    return ClockReport(guest, Interval(duration_s, bound_s))


def _resolution_s(clock: Mapping[str, Any]) -> float:
    """Return the reported clock steps: 0 if not stated, infinity if too coarse."""
    stated_s = _seconds(clock, "resolution_us")
    if stated_s is not None:
        return max(stated_s, 0.0)
    stamps = (clock.get("start"), clock.get("end"))
    trips = [stamp.get("round_trip_us") for stamp in stamps if isinstance(stamp, dict)]
    return math.inf if 0 in trips else 0.0


def _unreported(facts: Mapping[str, Any], duration_s: float) -> GuestClock | None:
    """Return the clock of an agent that no time server answered, by its steps alone."""
    clock, execution = facts.get("clock"), facts.get("execution")
    if not isinstance(clock, dict):
        return None
    timed = _seconds(execution, "local_us") if isinstance(execution, dict) else None
    guest_s = timed or duration_s
    return GuestClock(guest_s, 0.0, 0.0, _resolution_s(clock)) if guest_s > 0 else None


def run_trust(
    clock: str,
    facts: Mapping[str, Any],
    *,
    is_virtual: bool,
    duration_s: float = 0.0,
    margin: float = 0.02,
) -> TimeTrust | None:
    """Judge the clock of a run; None if nobody said which one it was."""
    report = report_of(facts)
    whose = GUESTS if is_virtual else MACHINES
    if report is None:
        if clock not in CLOCKS:
            return None
        own = _unreported(facts, duration_s) if clock in ("guest", "local") else None
        if own and own.is_too_coarse(margin):
            return trust_guest(own, margin=margin, whose=whose)
        return trust_unmeasured(clock, duration_s, is_virtual=is_virtual)
    if clock == "external" and report.external:
        return trust_external(report.external, margin=margin)
    if clock == "external" and report.guest.is_too_coarse(margin):
        return trust_guest(report.guest, margin=margin, whose=whose)
    # As if virtual: with a report a bare machine's own clock is judged by it, too.
    if clock in CLOCKS and is_outside(clock, is_virtual=True):
        return trust_unmeasured(clock, duration_s, is_virtual=is_virtual)
    return trust_guest(report.guest, report.external, margin=margin, whose=whose)


def figures_trust(
    clock: str, facts: Mapping[str, Any], *, is_virtual: bool, margin: float = 0.02
) -> str:
    """Return the trust in a tool's own figures.

    Suspect if the correction exceeds half the margin.
    """
    trust = run_trust(clock, facts, is_virtual=is_virtual, margin=margin)
    report = report_of(facts)
    if trust is None:
        return ""
    if trust.state != "corrected" or report is None:
        return trust.state
    off = abs(report.guest.guest_s / trust.duration_s - 1)
    return "suspect" if off > margin / 2 else "corrected"


def worst(states: Iterable[str]) -> str:
    return max(states, key=ORDER.index, default="")


def _seconds(clock: Mapping[str, Any], name: str) -> float | None:
    number = clock.get(name)
    # Facts are whatever an agent sent; to Python true is a number.
    if not isinstance(number, int | float) or isinstance(number, bool):
        return None
    return number / _MICROSECONDS if abs(number) < _LONGEST_US else None
