"""Virtlab system: kernel, disk and network as a guest meets them, by our own kernel.

One result row, as printed by version 1.0::

    row context-switch      0    512   1    0.025866    -    -    39588.906    - right

that is the operation, the bytes of its block, how often it was done, the repetition,
the seconds by the machine's clock and by the time server with its bound, operations/s
by each (of pipe, send and receive MB/s, 10^6 B), and whether every answer was right. An
operation with a wrong answer has no number. The time server's rates are read where it
timed all repetitions of a case, else the machine's. Without its last line ``end`` an
output was cut.
"""

from dataclasses import dataclass, field

from benchmarks.parsing.contract import NO_CLASS, Metric, Tool, Work, when
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
    "system",
    facts="machine|processors|hypervisor signature|page|second process|"
    r"processors of context switches|file|page cache|network|minimum",
    row=r"row +(?P<operation>[a-z-]+) +(?P<bytes>\S+) +(?P<turns>\S+) +"
    r"(?P<repetition>\S+) +(?P<local>\S+) +(?P<external>\S+) +(?P<bound>\S+) +"
    r"(?P<local_rate>\S+) +(?P<external_rate>\S+) +(?P<check>right|WRONG)[ \t]*+$",
    skipped=r"skipped (?P<skipped>[a-z-]+): (?P<why>[^\n]*\S)",
    failed=r"failed (?P<failed>[a-z-]+): (?P<reason>[^\n]*\S)",
    cut=r"(?:row|skipped|failed) ",
)
# The metric, its unit, and which lines of the head tell its cases apart.
METRICS = {
    "system-call": ("rate", "1/s", ()),
    "context-switch": (
        *("rate", "1/s"),
        ("second process", "processors of context switches"),
    ),
    "fork": ("rate", "1/s", ()),
    "spawn": ("rate", "1/s", ()),
    "page-fault": ("rate", "1/s", ("page",)),
    "pipe": ("pipe bandwidth", "MB/s", ("second process",)),
    "file-create": ("files", "1/s", ()),
    "random-read": ("blocks", "1/s", ("file", "page cache")),
    "random-write": ("blocks", "1/s", ("file", "page cache")),
    "round-trip": ("round trips", "1/s", ("network",)),
    "send": ("throughput", "MB/s", ("network",)),
    "receive": ("throughput", "MB/s", ("network",)),
}
PARAMETERS = {
    "second process": "partner",
    "processors of context switches": "processors",
    "page cache": "page_cache",
}


@dataclass
class Operations(Output[tuple[str, str]]):
    """One start of the program: its rows by operation and block."""

    failed: set[str] = field(default_factory=set)

    def read_own(self, line: Found) -> None:
        if line.kind == "skipped":
            self.facts[f"skipped, {line['skipped']}"] = line["why"]
        elif line.kind == "failed":
            self.failed.add(line["failed"])
        elif line["operation"] not in METRICS:
            raise line.refused("this operation is not known here.")
        else:
            case = line["operation"], whole_size(line.whole("bytes"), "MK")
            self.rows.setdefault(case, []).append(line)

    def take_rows(self) -> None:
        for (operation, block), rows in self.rows.items():
            if any(row["check"] == "WRONG" for row in rows):
                self.failed.add(operation)
                continue
            metric, unit, told = METRICS[operation]
            case: dict[str, Parameter] = {"operation": operation.replace("-", " ")}
            if metric in ("blocks", "throughput", "pipe bandwidth"):
                case["block"] = block
            for name in told:
                case[PARAMETERS.get(name, name)] = self._stated(name)
            rate = "external_rate" if is_timed_outside(rows) else "local_rate"
            for row in rows:
                self.add(metric, row.number(rate), unit, **case)
        for operation in sorted(self.failed):
            self.mark(
                "wrong_result",
                "{operation} gave a wrong answer: none of its rows is a result.",
                operation=operation,
            )
        if missed := sum(map(is_missed, self.rows.values())):
            self.mark(
                "time_server",
                "The time server did not time all of {n} cases to {band:.0%}: their "
                "times are the machine's own.",
                n=missed,
                band=BAND,
            )

    def _stated(self, name: str) -> str:
        """What the head says; of the network only whether it is this machine's own."""
        stated = str(self.facts.get(name, "not stated"))
        if name == "network" and stated not in ("loopback", "not stated"):
            return "another machine"
        return stated


@parser("Virtlab system printed no result row.")
def parse(output: str) -> list[Operations]:
    """One run for each start of the program; each repetition is one of its readings."""
    return runs_of(output, LINES, Operations)


TOOL = Tool(
    slug="virtlab-system",
    title="Virtlab system",
    homepage="https://lmbench.sourceforge.net/",
    metrics=(
        Metric("rate", "1/s", "higher", "CPU"),
        Metric("pipe bandwidth", "MB/s", "higher", "CPU"),
        Metric("files", "1/s", "higher", "disk"),
        Metric("blocks", "1/s", "higher", "disk"),
        Metric("round trips", "1/s", "higher", "network"),
        Metric("throughput", "MB/s", "higher", "network"),
    ),
    labels=("{block}", "{network}"),
    primary={
        "rate": Work(
            (
                when("system: system call", operation="system call"),
                when("system: context switch", operation="context switch"),
                when("system: process creation", operation="fork|spawn"),
            )
        ),
        # What the page cache answers says nothing about the disk.
        "blocks": Work(
            (
                when("disk: random read", operation="random read", page_cache="no"),
                when("disk: random write", operation="random write", page_cache="no"),
            )
        ),
        # No network is behind loopback.
        "round trips": Work((when("network: round trip", network="another machine"),)),
        "throughput": Work(
            (
                when(
                    "network: throughput out",
                    operation="send",
                    network="another machine",
                ),
                when(
                    "network: throughput in",
                    operation="receive",
                    network="another machine",
                ),
            )
        ),
        "pipe bandwidth": NO_CLASS,
        "files": NO_CLASS,
    },
    version=1,
    parse=parse,
    signatures=(r"Virtlab system \d",),
    programs=("virtlab-system",),
    localized=False,
)
