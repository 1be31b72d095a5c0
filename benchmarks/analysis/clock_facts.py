"""What a run says of its clock, judged: ``clock`` of its facts, as agents send it.

All times are whole microseconds: ``offset_start_us`` and ``offset_end_us`` say how far
the guest's wall clock was ahead of the time server's, ``local_us`` and ``external_us``
how long the run took by each, ``interval_bound_us`` how wrong the latter may be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.analysis.clocks import (
    CLOCKS,
    GUESTS,
    MACHINES,
    GuestClock,
    Interval,
    TimeTrust,
    is_outside,
    trust_external,
    trust_guest,
    trust_unmeasured,
)

_MICROSECONDS: Final = 1e6
# Thirty years: more is no time of a run.
_LONGEST_US: Final = 1e15
# From best to worst: the worst run decides for a cell.
ORDER: Final = ("", "trusted", "unchecked", "corrected", "suspect")


@dataclass(frozen=True, slots=True)
class Report:
    """What an agent found out about a guest's clock during a run."""

    guest: GuestClock
    external: Interval | None


def report_of(facts: Mapping[str, Any]) -> Report | None:
    """Return the report in a run's facts; None if there is none that can be used."""
    told = facts.get("clock")
    if not isinstance(told, dict):
        return None
    guest_s, start_s = _seconds(told, "local_us"), _seconds(told, "offset_start_us")
    end_s = _seconds(told, "offset_end_us")
    if guest_s is None or start_s is None or end_s is None or guest_s <= 0:
        return None
    return Report(GuestClock(guest_s, start_s, end_s), _external(told))


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
    if report is None:
        if clock not in CLOCKS:
            return None
        return trust_unmeasured(clock, duration_s, is_virtual=is_virtual)
    if clock == "external" and report.external:
        return trust_external(report.external, margin=margin)
    if clock in CLOCKS and is_outside(clock, is_virtual=True):
        return trust_unmeasured(clock, duration_s, is_virtual=is_virtual)
    whose = GUESTS if is_virtual else MACHINES
    return trust_guest(report.guest, report.external, margin=margin, whose=whose)


def figures_trust(
    clock: str, facts: Mapping[str, Any], *, is_virtual: bool, margin: float = 0.02
) -> str:
    """Return how far the figures that a tool printed may be trusted.

    They were printed by the guest's clock: a duration that could be corrected by more
    than half the margin leaves them suspect.
    """
    found = run_trust(clock, facts, is_virtual=is_virtual, margin=margin)
    report = report_of(facts)
    if found is None:
        return ""
    if found.state != "corrected" or report is None:
        return found.state
    off = abs(report.guest.guest_s / found.duration_s - 1)
    return "suspect" if off > margin / 2 else "corrected"


def worst(states: Iterable[str]) -> str:
    """Return the worst of several states."""
    return max(states, key=ORDER.index, default="")


def _external(told: Mapping[str, Any]) -> Interval | None:
    duration_s = _seconds(told, "external_us")
    bound_s = _seconds(told, "interval_bound_us")
    if duration_s is None or bound_s is None or duration_s <= 0 or bound_s < 0:
        return None
    return Interval(duration_s, bound_s)


def _seconds(told: Mapping[str, Any], name: str) -> float | None:
    number = told.get(name)
    if not isinstance(number, int | float) or isinstance(number, bool):
        return None
    return number / _MICROSECONDS if abs(number) < _LONGEST_US else None
