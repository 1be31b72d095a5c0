"""One measured run: stamps from outside, load and steal around it, and its facts."""

import time
from typing import Any, Dict, List, NamedTuple, Optional

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


def measure(step: Step, time_server: str, folder: str = ".") -> Measured:
    """Run a step between two stamps. Without a time server the run is still a run."""
    idle = look_around()
    time.sleep(SETTLE_S)
    before = look_around()
    warnings = unfitness(idle, before)
    first, silence = _stamp(time_server)
    execution = execute(step.argv, step.limit_s, folder)
    last, later_silence = _stamp(time_server) if first else (None, "")
    clock = _clock(first, last, silence or later_silence)
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


def _stamp(time_server: str) -> Any:
    try:
        with open_asking(time_server) as asking:
            return take_stamp(asking), ""
    except NoTimeError as error:
        return None, str(error)


def _clock(
    first: Optional[Stamp], last: Optional[Stamp], silence: str
) -> Dict[str, Any]:
    if first is None or last is None:
        return {"unknown": silence}
    try:
        return clock_report(first, last)
    except ClocksDifferError as error:
        return {"unknown": str(error)}
