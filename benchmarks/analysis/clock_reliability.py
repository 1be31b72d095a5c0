"""Clocks that time runs, and how far they can be trusted (``docs/method.md``).

A guest that counts timer ticks loses time when its host is busy, which only an external
time server reveals.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from benchmarks.sentences import (
    Parameter,
    Sentence,
    join_with_and,
    template,
    to_sentence,
)

Clock = Literal["external", "client", "meter", "guest", "local"]
Trust = Literal["trusted", "corrected", "suspect", "unchecked"]

CLOCKS: Final[dict[Clock, Sentence]] = {
    "external": Sentence("a time server outside the host"),
    "client": Sentence("the load generator outside the guests"),
    "meter": Sentence("the power meter"),
    "guest": Sentence("the guest's own clock"),
    "local": Sentence("the machine that ran the tool"),
}
GUEST_CLOCK_PHRASE: Final = Sentence("The guest's clock")
MACHINE_CLOCK_PHRASE: Final = Sentence("The machine's clock")
MAX_OFFSET_S: Final = 0.050
MAX_DRIFT_PPM: Final = 500.0

UNCORRECTED_FIGURES: Final = template(
    "{whose} {faults}. The time server measured the duration, but the values that the "
    "tool printed cannot be corrected."
)

_MICROSECONDS: Final = 1e6
_LONGEST_US: Final = 1e15
TRUST_ORDER: Final = ("", "trusted", "unchecked", "corrected", "suspect")


@dataclass(frozen=True, slots=True)
class TimedDuration:
    duration_s: float
    max_error_s: float

    def is_too_uncertain(self, margin: float = 0.02) -> bool:
        return self.max_error_s > margin / 2 * self.duration_s

    def sentence(self, margin: float = 0.02) -> Sentence:
        parameters: dict[str, Parameter] = {
            "took": self.duration_s,
            "span": _span(self.max_error_s),
            "share": 100 * self.max_error_s / self.duration_s,
        }
        if not self.is_too_uncertain(margin):
            return Sentence(
                "Duration by the time server: {took:.6g} s ± {span} ({share:.2g}%).",
                **parameters,
            )
        return Sentence(
            "Duration by the time server: {took:.6g} s ± {span} ({share:.2g}%). "
            "The error is more than half the equivalence margin of {margin:g}%.",
            margin=100 * margin,
            **parameters,
        )


@dataclass(frozen=True, slots=True)
class GuestClock:
    """A guest's clock compared with the time server's.

    Offsets are guest time minus server time.
    """

    guest_s: float
    offset_start_s: float
    offset_end_s: float
    resolution_s: float = 0.0
    """Infinite if not reported although the clock did not advance during a request."""

    def is_too_coarse(self, margin: float = 0.02) -> bool:
        return self.resolution_s > margin / 2 * self.guest_s

    @property
    def drift_ppm(self) -> float:
        """Parts per million; negative if the guest's clock lost time."""
        gained_s = self.offset_end_s - self.offset_start_s
        true_s = self.guest_s - gained_s
        return 1e6 * gained_s / true_s if true_s > 0 else math.inf


@dataclass(frozen=True, slots=True)
class TimeTrust:
    trust: Trust
    duration_s: float
    sentence: str


@dataclass(frozen=True, slots=True)
class ClockReport:
    guest: GuestClock
    external: TimedDuration | None


def is_external(clock: Clock, *, is_virtual: bool) -> bool:
    return clock in ("external", "client", "meter") or (
        clock == "local" and not is_virtual
    )


def trust_external(interval: TimedDuration, *, margin: float = 0.02) -> TimeTrust:
    state: Trust = "suspect" if interval.is_too_uncertain(margin) else "trusted"
    return TimeTrust(state, interval.duration_s, interval.sentence(margin))


def trust_by_kind(
    clock: Clock, duration_s: float, *, is_virtual: bool = True
) -> TimeTrust:
    if is_external(clock, is_virtual=is_virtual):
        sentence = Sentence("The run was timed by {clock}.", clock=CLOCKS[clock])
        return TimeTrust("trusted", duration_s, sentence)
    return TimeTrust(
        "unchecked",
        duration_s,
        Sentence(
            "The run was timed by a clock inside the guest that was not checked "
            "against another clock."
        ),
    )


def trust_guest(
    clock: GuestClock,
    external: TimedDuration | None = None,
    *,
    margin: float = 0.02,
    clock_phrase: Sentence = GUEST_CLOCK_PHRASE,
) -> TimeTrust:
    """Return the trust in the guest's clock. See docs/method.md, Whose clock."""
    if not 0 < clock.guest_s < math.inf:
        raise ValueError("a run has a duration above 0")
    faults = _faults(clock, external, margin)
    if not faults:
        return TimeTrust(
            "trusted",
            clock.guest_s,
            Sentence(
                "{whose} stayed within {span} and {ppm:,.0f} ppm of the time server.",
                whose=clock_phrase,
                span=_span(max(_worst_s(clock), clock.resolution_s)),
                ppm=abs(clock.drift_ppm),
            ),
        )
    parts = {"whose": clock_phrase, "faults": join_with_and(faults)}
    if external is None:
        text = Sentence(
            "{whose} {faults}, and no external clock timed the run.", **parts
        )
        return TimeTrust("suspect", clock.guest_s, text)
    if external.is_too_uncertain(margin):
        outside = external.sentence(margin)
        text = Sentence("{whose} {faults}. {outside}", outside=outside, **parts)
        return TimeTrust("suspect", clock.guest_s, text)
    text = Sentence(
        "{whose} {faults}. The duration was corrected to {took:.6g} s, measured by "
        "the time server.",
        took=external.duration_s,
        **parts,
    )
    return TimeTrust("corrected", external.duration_s, text)


def _faults(
    clock: GuestClock, external: TimedDuration | None, margin: float
) -> list[Sentence]:
    faults = []
    if clock.is_too_coarse(margin) and math.isinf(clock.resolution_s):
        faults.append(
            Sentence(
                "showed the same time before and after a request to the time server"
            )
        )
    elif clock.is_too_coarse(margin):
        faults.append(
            Sentence(
                "has a resolution of {span} ({share:.2g}% of the run)",
                span=_span(clock.resolution_s),
                share=100 * clock.resolution_s / clock.guest_s,
            )
        )
    if _worst_s(clock) > MAX_OFFSET_S:
        worst = _span(_worst_s(clock))
        faults.append(Sentence("was up to {span} off", span=worst))
    bound_s = external.max_error_s if external else 0.0
    gained_s = abs(clock.offset_end_s - clock.offset_start_s)
    if abs(clock.drift_ppm) > MAX_DRIFT_PPM and gained_s > bound_s:
        faults.append(_drift_sentence(clock.drift_ppm))
    return faults


def _drift_sentence(ppm: float) -> Sentence:
    if ppm >= _MICROSECONDS:
        times = float(f"{1 + ppm / _MICROSECONDS:.2g}")
        return Sentence("ran {times:,g} times as fast as real time", times=times)
    percent = float(f"{abs(ppm) / 10_000:.2g}")
    if ppm > 0:
        return Sentence("ran {percent:,g}% fast", percent=percent)
    return Sentence("ran {percent:,g}% slow", percent=percent)


def _worst_s(clock: GuestClock) -> float:
    return max(abs(clock.offset_start_s), abs(clock.offset_end_s))


def _span(seconds: float) -> Sentence:
    if seconds < 1:
        return Sentence("{span:.3g} ms", span=1000 * seconds)
    return Sentence("{span:.3g} s", span=seconds)


def read_clock_report(facts: Mapping[str, Any]) -> ClockReport | None:
    clock = facts.get("clock")
    if not isinstance(clock, dict):
        return None
    guest_s, start_s = _seconds(clock, "local_us"), _seconds(clock, "offset_start_us")
    end_s = _seconds(clock, "offset_end_us")
    if guest_s is None or start_s is None or end_s is None or guest_s <= 0:
        return None
    resolution_s = _resolution_s(clock)
    guest = GuestClock(guest_s, start_s, end_s, resolution_s)
    if math.isinf(resolution_s):
        return ClockReport(guest, None)
    duration_s = _seconds(clock, "external_us")
    bound_s = _seconds(clock, "interval_bound_us")
    if duration_s is None or bound_s is None or duration_s <= 0 or bound_s < 0:
        return ClockReport(guest, None)
    return ClockReport(guest, TimedDuration(duration_s, bound_s))


def _resolution_s(clock: Mapping[str, Any]) -> float:
    stated_s = _seconds(clock, "resolution_us")
    if stated_s is not None:
        return max(stated_s, 0.0)
    stamps = (clock.get("start"), clock.get("end"))
    trips = [stamp.get("round_trip_us") for stamp in stamps if isinstance(stamp, dict)]
    return math.inf if 0 in trips else 0.0


def _clock_without_offsets(
    facts: Mapping[str, Any], duration_s: float
) -> GuestClock | None:
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
    """Return the trust in the time of a run; None if its clock is not reported."""
    report = read_clock_report(facts)
    clock_phrase = GUEST_CLOCK_PHRASE if is_virtual else MACHINE_CLOCK_PHRASE
    if report is None:
        if clock not in CLOCKS:
            return None
        unchecked = (
            _clock_without_offsets(facts, duration_s)
            if clock in ("guest", "local")
            else None
        )
        if unchecked and unchecked.is_too_coarse(margin):
            return trust_guest(unchecked, margin=margin, clock_phrase=clock_phrase)
        return trust_by_kind(clock, duration_s, is_virtual=is_virtual)
    if clock == "external" and report.external:
        return trust_external(report.external, margin=margin)
    if clock == "external" and report.guest.is_too_coarse(margin):
        return trust_guest(report.guest, margin=margin, clock_phrase=clock_phrase)
    # Even on bare metal, a reported comparison says more than the kind of the clock.
    if clock in CLOCKS and is_external(clock, is_virtual=True):
        return trust_by_kind(clock, duration_s, is_virtual=is_virtual)
    return trust_guest(
        report.guest, report.external, margin=margin, clock_phrase=clock_phrase
    )


def figures_trust(
    clock: str, facts: Mapping[str, Any], *, is_virtual: bool, margin: float = 0.02
) -> str:
    """Return the trust in figures that a tool computed itself; empty if unknown.

    They contain the uncorrected duration, so a large correction makes them suspect.
    """
    trust = run_trust(clock, facts, is_virtual=is_virtual, margin=margin)
    report = read_clock_report(facts)
    if trust is None:
        return ""
    if trust.trust != "corrected" or report is None:
        return trust.trust
    correction = abs(report.guest.guest_s / trust.duration_s - 1)
    return "suspect" if correction > margin / 2 else "corrected"


def figures_sentence(trust: TimeTrust) -> str:
    """Return what a suspect clock means for figures that a tool computed itself."""
    if trust.trust == "corrected" and isinstance(trust.sentence, Sentence):
        return to_sentence(UNCORRECTED_FIGURES, trust.sentence.parameters)
    return trust.sentence


def worst_trust(states: Iterable[str]) -> str:
    return max(states, key=TRUST_ORDER.index, default="")


def _seconds(clock: Mapping[str, Any], name: str) -> float | None:
    number = clock.get(name)
    if not isinstance(number, int | float) or isinstance(number, bool):
        return None
    return number / _MICROSECONDS if abs(number) < _LONGEST_US else None
