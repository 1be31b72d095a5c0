"""One measured run: stamps from outside, load and steal around it, and its facts."""

import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from agents.measuring.execution import Execution, execute, locale_of
from agents.measuring.runners import Step
from agents.measuring.surroundings import changes, look_around, unfitness
from agents.programs import plain_environment
from agents.timing.asking import NoTimeError, open_asking
from agents.timing.intervals import ClocksDifferError, clock_report
from agents.timing.stamps import Stamp, take_stamp

SETTLE_S = 0.5  # long enough to see in the counters whether others are at work


class Measured(NamedTuple):
    """A step's execution and what was seen around it."""

    execution: Execution
    facts: Dict[str, Any]
    warnings: List[str]


class TimePath:
    """The way to a time server, and the shortest round trip it was ever seen to take.

    Every stamp of a session makes the bounds of the later ones more honest.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.shortest_us: Optional[int] = None

    def stamp(self) -> Stamp:
        """Take a stamp; raise NoTimeError if nobody answers."""
        with open_asking(self.address) as asking:
            stamp = take_stamp(asking)
        known_us = self.shortest_us
        trip_us = stamp.round_trip_us
        self.shortest_us = trip_us if known_us is None else min(known_us, trip_us)
        return stamp


# What stands between the look around and the start: it returns the first stamp, or
# why there is none.
Gate = Callable[[TimePath], Tuple[Optional[Stamp], str]]
Enough = Optional[Callable[[], bool]]


def stamp_or_silence(path: TimePath) -> Tuple[Optional[Stamp], str]:
    """Return a stamp, or why there is none."""
    try:
        return path.stamp(), ""
    except NoTimeError as error:
        return None, str(error)


def measure(
    step: Step,
    path: TimePath,
    folder: str = ".",
    pass_gate: Gate = stamp_or_silence,
    is_enough: Enough = None,
) -> Measured:
    """Run a step between two stamps. Without a time server the run is still a run.

    ``pass_gate`` may wait for others; ``is_enough`` may end the program sooner.
    """
    idle = look_around()
    time.sleep(SETTLE_S)
    before = look_around()
    warnings = unfitness(idle, before)
    first, silence = pass_gate(path)
    execution = execute(step.argv, step.limit_s, folder, is_enough)
    last, later_silence = stamp_or_silence(path) if first else (None, "")
    clock = _clock(first, last, path.shortest_us, silence or later_silence)
    warnings = warnings + clock.get("suspicions", [])
    around = changes(before, look_around())
    facts = {
        "execution": dict(_execution_facts(execution), **around),
        "clock": clock,
        "warnings": warnings,
    }
    return Measured(execution, facts, warnings)


def _execution_facts(execution: Execution) -> Dict[str, Any]:
    return {
        "argv": execution.argv,
        "environment": locale_of(plain_environment()),
        "local_us": execution.local_us,
        "exit code": execution.exit_code,
    }


def _clock(
    first: Optional[Stamp],
    last: Optional[Stamp],
    shortest_us: Optional[int],
    silence: str,
) -> Dict[str, Any]:
    if first is None or last is None:
        return {"unknown": silence}
    try:
        return clock_report(first, last, shortest_us)
    except ClocksDifferError as error:
        return {"unknown": str(error)}
