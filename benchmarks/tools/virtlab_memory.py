"""Virtlab memory: bandwidth of caches and memory, by the agent's own kernel.

One result row, as printed by version 1.0::

    row copy  integer    67108864   1   0.124817   0.124923   0.000072   1075.3 ...

that is the operation, the type of the numbers, the bytes of a block (read, write) or of
each array (copy, scale, add, triad), the repetition, the seconds by the machine's clock
and by the time server with its bound, MB/s (10^6 B read and written) by each, a
checksum, and whether it was right. The time server's rates are read where it timed all
repetitions of a case, else the machine's. Without its last line ``end`` an output was
cut.
"""

from dataclasses import dataclass

from benchmarks.parsing.contract import MEMORY, Metric, Tool
from benchmarks.parsing.scanning import Found, Parameter, parser
from benchmarks.parsing.virtlab_output import (
    BAND,
    Output,
    is_missed,
    is_timed_outside,
    kernel_lines,
    runs_of,
)
from benchmarks.units import whole_size

LINES = kernel_lines(
    "memory",
    facts="bytes of a number|array|minimum",
    row=r"row +(?P<operation>\w+) +(?P<type>\w+) +(?P<bytes>\S+) +"
    r"(?P<repetition>\S+) +(?P<local>\S+) +(?P<external>\S+) +(?P<bound>\S+) +"
    r"(?P<local_rate>\S+) +(?P<external_rate>\S+) +(?P<sum>\S+) +"
    r"(?P<check>right|WRONG)[ \t]*+$",
    cut=r"row ",
)
TYPES = {"integer": "integer", "floating": "floating point"}
SIZES = {"read": "block", "write": "block"}
Sweep = tuple[str, str, int]


@dataclass
class Sweeps(Output[Sweep]):
    """One start of the program: its rows by operation, type and bytes."""

    def read_own(self, line: Found) -> None:
        sweep = line["operation"], line["type"], line.whole("bytes")
        self.rows.setdefault(sweep, []).append(line)

    def take_rows(self) -> None:
        for (operation, kind, size), rows in self.rows.items():
            case: dict[str, Parameter] = {
                "operation": operation,
                "type": TYPES.get(kind, kind),
                SIZES.get(operation, "array"): whole_size(size, "MK"),
            }
            rate = "external_rate" if is_timed_outside(rows) else "local_rate"
            for row in rows:
                self.add("bandwidth", row.number(rate), "MB/s", **case)
                if row["check"] == "WRONG":
                    self.mark(
                        "wrong_result",
                        "{operation} of {kind} numbers left wrong ones in memory.",
                        operation=operation,
                        kind=kind,
                    )
        # One mark for all cases: a sweep has dozens of them.
        if missed := sum(map(is_missed, self.rows.values())):
            self.mark(
                "time_server",
                "The time server did not time all of {n} cases to {band:.0%}: their "
                "times are the machine's own.",
                n=missed,
                band=BAND,
            )


@parser("Virtlab memory printed no result row.")
def parse(output: str) -> list[Sweeps]:
    """One run for each start of the program; each repetition is one of its readings."""
    return runs_of(output, LINES, Sweeps)


TOOL = Tool(
    slug="virtlab-memory",
    title="Virtlab memory",
    homepage="https://github.com/cruvolo/ramspeed-smp",
    metrics=(Metric("bandwidth", "MB/s", "higher", "memory"),),
    labels=("{type}", "{block}", "{array}"),
    primary={
        "bandwidth": MEMORY,
    },
    version=1,
    parse=parse,
    signatures=(r"Virtlab memory \d",),
    programs=("virtlab-memory",),
    localized=False,
)
