"""The samples of a power meter's log, with their times: what a summary leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from benchmarks.errors import ParseError
from benchmarks.parsing.decoding import decode
from benchmarks.tools.power_csv import tables_of
from benchmarks.tools.watts_up import logs_of

_MICROSECONDS: Final = 1e6
# The year 2001: no log counts so many seconds from its own start.
_FIRST_DATE_S: Final = 1e9


@dataclass(frozen=True, slots=True)
class PowerLog:
    """Power samples in order; times since 1970 if ``is_absolute``, else since any
    moment."""

    times_s: tuple[float, ...]
    watts: tuple[float, ...]

    @property
    def is_absolute(self) -> bool:
        return self.times_s[0] >= _FIRST_DATE_S

    def started_at(self, start_s: float) -> PowerLog:
        """The log with its first sample at a moment that is known from elsewhere."""
        first = self.times_s[0]
        times = tuple(start_s + time - first for time in self.times_s)
        return PowerLog(times, self.watts)


def power_log(tool: str, output: str) -> PowerLog:
    """Return the samples of the only log in a text; raise ParseError without times."""
    if tool == "power-csv":
        logs = [
            PowerLog(
                tuple(time / _MICROSECONDS for time in rows.times),
                tuple(watts * rows.factor for watts in rows.watts),
            )
            for rows in tables_of(decode(output))
        ]
    elif tool == "watts-up":
        logs = []
        for log in logs_of(decode(output)):
            times = tuple(time / _MICROSECONDS for time in log.times)
            if not times and log.interval and not log.has_holes:
                # No packet says when it was sent, but each stands for the interval that
                # was asked for.
                steps = range(len(log.watts))
                times = tuple(float(step * log.interval) for step in steps)
            logs.append(PowerLog(times, tuple(log.watts)))
    else:
        raise ParseError("This meter's samples are not kept with their times.")
    logs = [log for log in logs if log.watts]
    if len(logs) != 1:
        raise ParseError(
            "This part of the upload holds {logs} logs, not one.", logs=len(logs)
        )
    if len(logs[0].times_s) != len(logs[0].watts) or len(logs[0].watts) < 2:
        raise ParseError("The log does not say when its samples were taken.")
    return logs[0]
