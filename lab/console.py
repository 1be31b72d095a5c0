"""What systems said on their consoles. PURE."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from lab.processes import Line

_UP: Final = re.compile(r"lab: (\S+) is up$")
_DONE: Final = re.compile(r"lab: (\S+) is done$")
_BEGINS: Final = re.compile(r"lab: clock begins$")
_ENDS: Final = re.compile(r"lab: clock ends$")
_TIMES: Final = re.compile(r"lab: clock external (\d+) local (\d+)$")


@dataclass(frozen=True)
class ClockCheck:
    """The same work, timed by us, by the time server and by the system itself."""

    truth_s: float
    external_s: float
    local_s: float

    @property
    def external_error(self) -> float:
        return self.external_s / self.truth_s - 1

    @property
    def local_error(self) -> float:
        return self.local_s / self.truth_s - 1


@dataclass
class Said:
    """What one system said."""

    up_s: float
    done_s: float | None = None
    clocks: list[ClockCheck] = field(default_factory=list)


def read_console(lines: Iterable[Line]) -> dict[str, Said]:
    """Return what each system of a console said; they speak one after another."""
    found: dict[str, Said] = {}
    begun_s, truth_s, said = 0.0, 0.0, None
    for line in lines:
        if up := _UP.search(line.text):
            said = found.setdefault(up[1], Said(line.at_s))
        elif _BEGINS.search(line.text):
            begun_s = line.at_s
        elif _ENDS.search(line.text):
            truth_s = line.at_s - begun_s
        elif (times := _TIMES.search(line.text)) and said:
            external_s, local_s = (int(text) / 1e6 for text in times.groups())
            said.clocks.append(ClockCheck(truth_s, external_s, local_s))
        elif (done := _DONE.search(line.text)) and done[1] in found:
            found[done[1]].done_s = line.at_s
    return found
