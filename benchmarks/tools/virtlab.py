"""Our own kernels, which the agent brings along: LINPACK, memory and system.

Their outputs begin and end alike::

    Virtlab LINPACK 1.0
    compiler: gcc 12.2.0
    bits: 64
    clock steps: 0.000000038 s
    time server: 127.0.0.1:8037, shortest round trip 0.000031 s
    ...
    end

An output without its last line ``end`` was cut. One result row of each, version 1.0::

    row double   1000          1       0.512345       0.512401   0.000092  ...
    row copy  integer    67108864   1   0.124817   0.124923   0.000072   1075.3 ...
    row context-switch      0    512   1    0.025866    -    -    39588.906    - right

- LINPACK: precision, n, repetition, times, Mflop/s (10^6), the normalized residual.
- memory: operation, type of the numbers, bytes of a block (read, write) or of each
  array (copy, scale, add, triad), repetition, times, MB/s (10^6 B read and written), a
  checksum, and whether it was right.
- system: operation, bytes of its block, how often it was done, repetition, times,
  operations/s (for pipe, send and receive MB/s of 10^6 B), and whether every answer was
  right. An operation with a wrong answer has no number.

Times are seconds by the machine's clock, and by the time server with its bound (``-``
where it did not time the row); rates follow by each clock. The time server's are read
where it timed all rows of a case to within 2 %, else the machine's. A machine's clock
with steps of more than 1 % of the shortest row is marked.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Generic, TypeVar

from benchmarks.errors import ParseError
from benchmarks.parsing.contract import (
    FLOATING_POINT,
    MEMORY,
    NO_CLASS,
    Metric,
    Parameter,
    Tool,
    when,
    works,
)
from benchmarks.parsing.scanning import Draft, Found, Scanner, keep, parser
from benchmarks.sentences import Sentence
from benchmarks.units import whole_size

# Another main version may mean something else by the same rows.
KNOWN: Final = "1."
BAND: Final = 0.02
COARSE: Final = BAND / 2
WARM_UP: Final = "warm-up"
CLOCKS: Final = {"external": "time server", "local": "the machine's own"}
_TIMES: Final = (
    r"(?P<repetition>\S+) +(?P<local>\S+) +(?P<external>\S+) +(?P<bound>\S+) +"
    r"(?P<local_rate>\S+) +(?P<external_rate>\S+) +"
)

Case = TypeVar("Case")
Size = tuple[str, int]
Sweep = tuple[str, str, int]


def _lines(title: str, facts: str, **own: str) -> Scanner:
    """Return the lines of a kernel: common ones, its further facts, and its own.

    ``row`` is among its own, and ``cut``, which matches rows that are not whole.
    """
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


LINPACK_LINES: Final = _lines(
    "LINPACK",
    facts="sizes|budget|columns at once",
    row=rf"row +(?P<precision>\S+) +(?P<n>\S+) +{_TIMES}(?P<residual>\S+)[ \t]*+$",
    verdict=r"residual (?P<of>double|single) (?P<order>\S+): (?P<worst>\S+) +"
    r"(?:of (?P<limit>\S+) +)?(?P<check>passed|failed)\b",
    skipped=r"skipped (?P<skipped>[^\n]*\S)",
    cut=r"(?:row|residual) ",
)
MEMORY_LINES: Final = _lines(
    "memory",
    facts="bytes of a number|array|minimum",
    row=r"row +(?P<operation>\w+) +(?P<type>\w+) +(?P<bytes>\S+) +"
    rf"{_TIMES}(?P<sum>\S+) +(?P<check>right|WRONG)[ \t]*+$",
    cut=r"row ",
)
SYSTEM_LINES: Final = _lines(
    "system",
    facts="machine|processors|hypervisor signature|page|second process|"
    r"processors of context switches|file|page cache|network|minimum",
    row=r"row +(?P<operation>[a-z-]+) +(?P<bytes>\S+) +(?P<turns>\S+) +"
    rf"{_TIMES}(?P<check>right|WRONG)[ \t]*+$",
    skipped=r"skipped (?P<skipped>[a-z-]+): (?P<why>[^\n]*\S)",
    failed=r"failed (?P<failed>[a-z-]+): (?P<reason>[^\n]*\S)",
    cut=r"(?:row|skipped|failed) ",
)

TYPES: Final = {"integer": "integer", "floating": "floating point"}
BLOCKS: Final = {"read": "block", "write": "block"}
# The metric, its unit, and which lines of the head tell its cases apart.
OPERATIONS: Final = {
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
PARAMETERS: Final = {
    "second process": "partner",
    "processors of context switches": "processors",
    "page cache": "page_cache",
}


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
        if line.kind == "title":
            if not line["version"].startswith(KNOWN):
                raise line.refused("this version is not known here: update Virtlab.")
            self.tool_version = line["version"]
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

    def add_rates(
        self, rows: list[Found], metric: str, unit: str, **case: Parameter
    ) -> None:
        """Add the rate of each row, by the time server's clock or the machine's."""
        rate = "external_rate" if is_timed_outside(rows) else "local_rate"
        for row in rows:
            self.add(metric, row.number(rate), unit, **case)

    def mark_missed(self) -> None:
        """Mark once how many cases the time server missed: a sweep has dozens."""
        if missed := sum(map(is_missed, self.rows.values())):
            self.mark(
                "time_server",
                "The time server did not time all of {n} cases to {band:.0%}: their "
                "times are the machine's own.",
                n=missed,
                band=BAND,
            )


def is_timed_outside(rows: list[Found]) -> bool:
    """Whether the time server timed every row, and each within the band."""
    return all(
        row["external"] != "-" and row.number("bound") <= BAND * row.number("external")
        for row in rows
    )


def is_missed(rows: list[Found]) -> bool:
    """Whether a time server was asked, and is not believed."""
    return not is_timed_outside(rows) and any(row["external"] != "-" for row in rows)


@dataclass
class Solutions(Output[Size]):
    """LINPACK: rows by precision and n, and which were checked."""

    subject = "LINPACK"

    checked: set[Size] = field(default_factory=set)

    def read_own(self, line: Found) -> None:
        if line.kind == "row":
            size = line["precision"], line.whole("n")
            self.rows.setdefault(size, []).append(line)
            return
        if line.kind == "skipped":
            skipped = line["skipped"]
            self.mark("unfinished", "LINPACK skipped {skipped}.", skipped=skipped)
            return
        # The program's own check of its numbers.
        precision, n = size = line["of"], line.whole("order")
        self.checked.add(size)
        if line["check"] == "failed":
            self.mark(
                "residual_check",
                "The residual check of n = {size} in {precision} precision failed.",
                size=n,
                precision=precision,
            )
        else:
            worst = line.number("worst", decimals=6)
            self.facts[f"residual, {precision}, n={n}"] = worst

    def take_rows(self) -> None:
        columns = str(self.facts.get("columns at once", "all"))
        if columns != "all":
            self.parameters["columns_at_once"] = columns
        for size, rows in self.rows.items():
            if size not in self.checked:
                raise rows[-1].refused("its residual was not checked.")
            self._take_size(size, rows)

    def _take_size(self, size: Size, rows: list[Found]) -> None:
        # Warm-ups and the other clock's times are facts, no readings.
        precision, n = size
        name = f"{precision}, n={n}"
        warm_ups = [row for row in rows if row["repetition"] == WARM_UP]
        counted = [row for row in rows if row["repetition"] != WARM_UP]
        clocks = ("external", "local")
        clock, other = clocks if is_timed_outside(counted) else clocks[::-1]
        for row in counted:
            time, rate = row.number(clock), row.number(f"{clock}_rate")
            self.add("time", time, "s", precision=precision, n=n)
            self.add("performance", rate, "Mflop/s", precision=precision, n=n)

        self.facts[f"clock, {name}"] = CLOCKS[clock]
        for fact, which, group in (
            ("warm-up s", warm_ups, clock),
            (f"{other} s", counted, other),
            ("bound s", counted, "bound"),
        ):
            if times := [row[group] for row in which if row[group] != "-"]:
                self.facts[f"{fact}, {name}"] = " ".join(times)
        if is_missed(counted):
            self.mark(
                "time_server",
                "The time server did not time all of {size} to {band:.0%}: its times "
                "are the machine's own.",
                size=name,
                band=BAND,
            )


@dataclass
class Sweeps(Output[Sweep]):
    """Memory: rows by operation, type and bytes."""

    def read_own(self, line: Found) -> None:
        sweep = line["operation"], line["type"], line.whole("bytes")
        self.rows.setdefault(sweep, []).append(line)

    def take_rows(self) -> None:
        for (operation, kind, size), rows in self.rows.items():
            case: dict[str, Parameter] = {
                "operation": operation,
                "type": TYPES.get(kind, kind),
                BLOCKS.get(operation, "array"): whole_size(size, "MK"),
            }
            self.add_rates(rows, "bandwidth", "MB/s", **case)
            if any(row["check"] == "WRONG" for row in rows):
                self.mark(
                    "wrong_result",
                    "{operation} of {kind} numbers left wrong ones in memory.",
                    operation=operation,
                    kind=kind,
                )
        self.mark_missed()


@dataclass
class Operations(Output[tuple[str, str]]):
    """System: rows by operation and block."""

    failed: set[str] = field(default_factory=set)

    def read_own(self, line: Found) -> None:
        if line.kind == "skipped":
            self.facts[f"skipped, {line['skipped']}"] = line["why"]
        elif line.kind == "failed":
            self.failed.add(line["failed"])
        elif line["operation"] not in OPERATIONS:
            raise line.refused("this operation is not known here.")
        else:
            case = line["operation"], whole_size(line.whole("bytes"), "MK")
            self.rows.setdefault(case, []).append(line)

    def take_rows(self) -> None:
        for (operation, block), rows in self.rows.items():
            if any(row["check"] == "WRONG" for row in rows):
                self.failed.add(operation)
                continue
            metric, unit, told = OPERATIONS[operation]
            case: dict[str, Parameter] = {"operation": operation.replace("-", " ")}
            if metric in ("blocks", "throughput", "pipe bandwidth"):
                case["block"] = block
            for name in told:
                case[PARAMETERS.get(name, name)] = self._stated(name)
            self.add_rates(rows, metric, unit, **case)
        for operation in sorted(self.failed):
            self.mark(
                "wrong_result",
                "{operation} gave a wrong answer: none of its rows is a result.",
                operation=operation,
            )
        self.mark_missed()

    def _stated(self, name: str) -> str:
        """Return a fact of the head; for the network, only whether it is loopback."""
        stated = str(self.facts.get(name, "not stated"))
        if name == "network" and stated not in ("loopback", "not stated"):
            return "another machine"
        return stated


def _kernel(name: str, lines: Scanner, kind: type[Output[Any]], **more: Any) -> Tool:
    """Return the tool of a kernel; each start of the program is a run."""

    @parser(Sentence("Virtlab {kernel} printed no result row.", kernel=name))
    def parse(output: str) -> list[Output[Any]]:
        outputs = [kind()]
        for line in lines(output):
            if line.kind == "title":
                keep(outputs, kind())
            outputs[-1].attempt(outputs[-1].read, line)
        return outputs

    slug = f"virtlab-{name.lower()}"
    return Tool(
        slug=slug,
        title=f"Virtlab {name}",
        version=1,
        parse=parse,
        signatures=(rf"Virtlab {name} \d",),
        programs=(slug,),
        localized=False,
        **more,
    )


CALLS: Final = works(
    when("system: system call", operation="system call"),
    when("system: context switch", operation="context switch"),
    when("system: process creation", operation="fork|spawn"),
)
# What the page cache answers says nothing about the disk.
BLOCKS_ON_DISK: Final = works(
    when("disk: random read", operation="random read", page_cache="no"),
    when("disk: random write", operation="random write", page_cache="no"),
)
# No network is behind loopback.
REMOTE: Final = {"network": "another machine"}
ROUND_TRIPS: Final = works(when("network: round trip", **REMOTE))
SENT: Final = works(
    when("network: throughput out", operation="send", **REMOTE),
    when("network: throughput in", operation="receive", **REMOTE),
)
LINPACK: Final = _kernel(
    "LINPACK",
    LINPACK_LINES,
    Solutions,
    homepage="https://www.netlib.org/linpack/",
    metrics=(
        Metric("time", "s", "lower", "CPU", implied_by=("performance",)),
        Metric("performance", "Mflop/s", "higher", "CPU", work=FLOATING_POINT),
    ),
    labels=("n={n}", "{precision}"),
)
MEMORY_KERNEL: Final = _kernel(
    "memory",
    MEMORY_LINES,
    Sweeps,
    homepage="https://github.com/cruvolo/ramspeed-smp",
    metrics=(Metric("bandwidth", "MB/s", "higher", "memory", work=MEMORY),),
    labels=("{type}", "{block}", "{array}"),
)
SYSTEM: Final = _kernel(
    "system",
    SYSTEM_LINES,
    Operations,
    homepage="https://lmbench.sourceforge.net/",
    metrics=(
        Metric("rate", "1/s", "higher", "CPU", work=CALLS),
        Metric("pipe bandwidth", "MB/s", "higher", "CPU", work=NO_CLASS),
        Metric("files", "1/s", "higher", "disk", work=NO_CLASS),
        Metric("blocks", "1/s", "higher", "disk", work=BLOCKS_ON_DISK),
        Metric("round trips", "1/s", "higher", "network", work=ROUND_TRIPS),
        Metric("throughput", "MB/s", "higher", "network", work=SENT),
    ),
    labels=("{block}", "{network}"),
)
