"""What systems said on their consoles. PURE."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from lab.processes import Line

_UP: Final = re.compile(r"lab: (\S+) is up$")
_DONE: Final = re.compile(r"lab: (\S+) is done$")
_MOMENT: Final = re.compile(r"lab: clock (opens|begins|ends|closes)$")
_TIMES: Final = re.compile(r"lab: clock external (\d+) local (\d+)$")


@dataclass(frozen=True)
class ClockCheck:
    """The same work, timed by us, by the time server and by the system itself.

    Ours is sure to ``bound_s``: stamps take their time, and so does a console.
    """

    truth_s: float
    bound_s: float
    external_s: float
    local_s: float

    @property
    def external_error(self) -> float:
        return self.external_s / self.truth_s - 1

    @property
    def local_error(self) -> float:
        return self.local_s / self.truth_s - 1

    @property
    def bound(self) -> float:
        return self.bound_s / self.truth_s


@dataclass
class Said:
    """What one system said."""

    up_s: float
    done_s: float | None = None
    clocks: list[ClockCheck] = field(default_factory=list)


def read_console(lines: Iterable[Line]) -> dict[str, Said]:
    """Return what each system of a console said; they speak one after another."""
    found: dict[str, Said] = {}
    moments: dict[str, float] = {}
    said = None
    for line in lines:
        if up := _UP.search(line.text):
            said = found.setdefault(up[1], Said(line.at_s))
        elif moment := _MOMENT.search(line.text):
            moments[moment[1]] = line.at_s
        elif (times := _TIMES.search(line.text)) and said and len(moments) == 4:
            external_s, local_s = (int(text) / 1e6 for text in times.groups())
            said.clocks.append(ClockCheck(*_truth(moments), external_s, local_s))
            moments.clear()
        elif (done := _DONE.search(line.text)) and done[1] in found:
            found[done[1]].done_s = line.at_s
    return found


def _truth(moments: Mapping[str, float]) -> tuple[float, float]:
    """Return what lay between two stamps, and how wrong that can be.

    No less than between the lines inside of them, no more than between those outside.
    """
    most_s = moments["closes"] - moments["opens"]
    least_s = moments["ends"] - moments["begins"]
    return (most_s + least_s) / 2, (most_s - least_s) / 2
