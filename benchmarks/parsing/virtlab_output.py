"""What all our own kernels print around their rows, and whose clock a row is read by.

Their outputs begin and end alike::

    Virtlab LINPACK 1.0
    compiler: gcc 12.2.0
    bits: 64
    clock steps: 0.000000038 s
    time server: 127.0.0.1:8037, shortest round trip 0.000031 s
    ...
    end

A row tells the seconds by the machine's clock and by the time server with its bound, or
``-`` where the server did not time it. The time server's are read where it timed all
rows of a case, each to within 2 %; else the machine's. A clock whose steps are more
than half of that beside a row is marked. An output without its last line
``end`` was cut.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Generic, TypeVar

from benchmarks.errors import ParseError
from benchmarks.parsing.scanning import Draft, Found, Scanner, keep
from benchmarks.sentences import Sentence

# Another main version may mean something else by the same rows.
KNOWN: Final = "1."
BAND: Final = 0.02
COARSE: Final = BAND / 2

Case = TypeVar("Case")
T = TypeVar("T", bound="Output[Any]")


@dataclass
class Output(Draft, ABC, Generic[Case]):
    """One start of a kernel, and its rows case by case."""

    subject: ClassVar[str] = Sentence("The kernel")

    rows: dict[Case, list[Found]] = field(default_factory=dict)
    is_whole: bool = False
    step_s: float = 0.0

    @abstractmethod
    def read_own(self, line: Found) -> None:
        """Take a line that only this kernel prints."""

    @abstractmethod
    def take_rows(self) -> None:
        """Make readings of the rows; the output is whole."""

    def read(self, line: Found) -> None:
        """Take one line."""
        if line.kind == "title":
            self._open(line)
        elif line.kind == "fact":
            self.facts[line["what"]] = line["fact"].strip()
        elif line.kind == "bits":
            self.parameters["bits"] = line.whole("bits")
        elif line.kind == "steps":
            self.step_s = line.number("steps")
            self.facts["clock steps s"] = line["steps"]
        elif line.kind == "lost":
            self.mark(
                "time_server", "{kernel} lost its time server.", kernel=self.subject
            )
        elif line.kind == "end":
            self.is_whole = True
        elif line.kind == "cut":
            raise line.refused("this line is not whole.")
        else:
            self.read_own(line)

    def close(self) -> None:
        """Take the rows of a whole output; nothing of one that was cut."""
        # What stands before the first title: a prompt, or nothing.
        if not (self.rows or self.tool_version):
            return
        if not (self.tool_version and "bits" in self.parameters):
            raise ParseError(
                "The output's head is missing: upload it from its first line."
            )
        if not self.is_whole:
            raise ParseError("The output has no last line `end`: it was cut.")
        self.take_rows()
        self._mark_a_coarse_clock()

    def _mark_a_coarse_clock(self) -> None:
        own = [rows for rows in self.rows.values() if not is_timed_outside(rows)]
        if not own:
            return
        shortest_s = min(row.number("local") for rows in own for row in rows)
        if self.step_s > COARSE * shortest_s:
            self.mark(
                "coarse_clock",
                "The clock moves in steps of {steps:.3g} s, and the shortest row took "
                "{shortest:.3g} s.",
                steps=self.step_s,
                shortest=shortest_s,
            )

    def _open(self, line: Found) -> None:
        if not line["version"].startswith(KNOWN):
            raise line.refused("this version is not known here: update Virtlab.")
        self.tool_version = line["version"]


def kernel_lines(title: str, facts: str, **own: str) -> Scanner:
    """The lines of a kernel: what all print, its further facts, and its own lines,
    among them ``row`` and, for what begins so and is not whole, ``cut``."""
    return Scanner(
        title=rf"Virtlab {title} (?P<version>\S+)[ \t]*+$",
        fact=r"(?P<what>compiler|flags|built|clock|time server|repetitions|"
        rf"{facts}): *+(?P<fact>\S[^\n]*+)",
        steps=r"clock steps: *+(?P<steps>\S+) s[ \t]*+$",
        bits=r"bits: (?P<bits>\S+)[ \t]*+$",
        lost=r"time server lost: (?P<lost>[^\n]*\S)",
        end=r"end[ \t]*+$",
        **own,
    )


def runs_of(text: str, lines: Scanner, kind: type[T]) -> list[T]:
    """One run for each start of the program; each repetition is one of its readings."""
    outputs = [kind()]
    for line in lines(text):
        if line.kind == "title":
            keep(outputs, kind())
        outputs[-1].attempt(outputs[-1].read, line)
    return outputs


def is_timed_outside(rows: list[Found]) -> bool:
    """Whether the time server timed every row, and each within the band."""
    return all(
        row["external"] != "-" and row.number("bound") <= BAND * row.number("external")
        for row in rows
    )


def is_missed(rows: list[Found]) -> bool:
    """Whether a time server was asked, and is not believed."""
    return not is_timed_outside(rows) and any(row["external"] != "-" for row in rows)
