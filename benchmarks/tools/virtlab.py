"""Virtlab's own kernels, shipped with the agent: LINPACK, memory and system.

LINPACK prints Mflop/s. The bytes in rows of memory are those of a block (read, write)
or of each array (copy, scale, add, triad), and MB/s are 10^6 B read and written. Rates
of system are operations/s, or MB/s for pipe, send and receive. An operation of system
with a wrong answer has no result.

Times are in seconds by the machine's clock and by the time server, with an error bound
(``-`` if the server did not time the row). Rates of the time server are used if it
timed all rows of a case to within 2 %, else those of the machine. A machine clock with
steps of more than 1 % of the shortest row gets a warning.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Generic, TypeVar

from benchmarks.errors import ParseError
from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import (
    FLOATING_POINT,
    MEMORY,
    NO_WORK_CLASS,
    Metric,
    Parameter,
    Tool,
    first_match,
    when,
)
from benchmarks.sentences import Sentence
from benchmarks.units import format_whole_size

# Rows of other major versions may have another meaning.
KNOWN_VERSIONS: Final = "1."
MAX_CLOCK_DEVIATION: Final = 0.02
MAX_CLOCK_STEP: Final = MAX_CLOCK_DEVIATION / 2
WARM_UP: Final = "warm-up"
CLOCKS: Final = {"external": "time server", "local": "the machine's own"}
_TIMES: Final = (
    r"(?P<repetition>\S+) +(?P<local>\S+) +(?P<external>\S+) +(?P<bound>\S+) +"
    r"(?P<local_rate>\S+) +(?P<external_rate>\S+) +"
)

Case = TypeVar("Case")
Size = tuple[str, int]
Sweep = tuple[str, str, int]


def _lines(title: str, facts: str, **own: str) -> LineScanner:
    """Return the scanner of a kernel; ``own`` contains ``row`` and ``cut`` (incomplete
    rows).
    """
    return LineScanner(
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
class KernelOutput(Draft, ABC, Generic[Case]):
    subject: ClassVar[str] = Sentence("The program")

    rows: dict[Case, list[MatchedLine]] = field(default_factory=dict)
    is_complete: bool = False
    step_s: float = 0.0

    @abstractmethod
    def read_kernel_line(self, line: MatchedLine) -> None:
        """Read a line that only this kernel prints."""

    @abstractmethod
    def read_rows(self) -> None:
        """Convert the rows of a complete output to readings."""

    def read(self, line: MatchedLine) -> None:
        if line.kind == "title":
            if not line["version"].startswith(KNOWN_VERSIONS):
                raise line.parse_error("this version is not supported. Update Virtlab.")
            self.tool_version = line["version"]
        elif line.kind == "fact":
            self.facts[line["what"]] = line["fact"].strip()
        elif line.kind == "bits":
            self.parameters["bits"] = line.integer("bits")
        elif line.kind == "steps":
            self.step_s = line.number("steps")
            self.facts["clock steps s"] = line["steps"]
        elif line.kind == "lost":
            self.add_warning(
                "time_server",
                "{kernel} lost its connection to the time server.",
                kernel=self.subject,
            )
        elif line.kind == "end":
            self.is_complete = True
        elif line.kind == "cut":
            raise line.parse_error("this line is incomplete.")
        else:
            self.read_kernel_line(line)

    def close(self) -> None:
        """Raise ParseError if the output is truncated."""
        if not (self.rows or self.tool_version):
            return
        if not (self.tool_version and "bits" in self.parameters):
            raise ParseError(
                "The beginning of the output is missing. Upload the output from "
                "its first line."
            )
        if not self.is_complete:
            raise ParseError(
                "The output is truncated: the last line, `end`, is missing."
            )
        self.read_rows()
        self._warn_about_coarse_clock()

    def _warn_about_coarse_clock(self) -> None:
        local_cases = [
            rows for rows in self.rows.values() if not is_externally_timed(rows)
        ]
        if not local_cases:
            return
        shortest_s = min(row.number("local") for rows in local_cases for row in rows)
        if self.step_s > MAX_CLOCK_STEP * shortest_s:
            self.add_warning(
                "coarse_clock",
                "The resolution of the clock is {steps:.3g} s, and the shortest "
                "row took only {shortest:.3g} s.",
                steps=self.step_s,
                shortest=shortest_s,
            )

    def add_rates(
        self, rows: list[MatchedLine], metric: str, unit: str, **case: Parameter
    ) -> None:
        rate = "external_rate" if is_externally_timed(rows) else "local_rate"
        for row in rows:
            self.add(metric, row.number(rate), unit, **case)

    def warn_rejected_times(self) -> None:
        if missed := sum(map(is_external_time_rejected, self.rows.values())):
            self.add_warning(
                "time_server",
                "Number of benchmarks that the time server did not time to within "
                "{band:.0%}: {n}. Their times come from the machine's own clock.",
                n=missed,
                band=MAX_CLOCK_DEVIATION,
            )


def is_externally_timed(rows: list[MatchedLine]) -> bool:
    return all(
        row["external"] != "-"
        and row.number("bound") <= MAX_CLOCK_DEVIATION * row.number("external")
        for row in rows
    )


def is_external_time_rejected(rows: list[MatchedLine]) -> bool:
    return not is_externally_timed(rows) and any(row["external"] != "-" for row in rows)


@dataclass
class LinpackOutput(KernelOutput[Size]):
    subject = "LINPACK"

    checked: set[Size] = field(default_factory=set)

    def read_kernel_line(self, line: MatchedLine) -> None:
        if line.kind == "row":
            size = line["precision"], line.integer("n")
            self.rows.setdefault(size, []).append(line)
            return
        if line.kind == "skipped":
            skipped = line["skipped"]
            self.add_warning(
                "unfinished", "LINPACK skipped {skipped}.", skipped=skipped
            )
            return
        precision, n = size = line["of"], line.integer("order")
        self.checked.add(size)
        if line["check"] == "failed":
            self.add_failure(
                "residual_check",
                "The residual check for n = {size} in {precision} precision failed.",
                size=n,
                precision=precision,
            )
        else:
            worst = line.number("worst", decimals=6)
            self.facts[f"residual, {precision}, n={n}"] = worst

    def read_rows(self) -> None:
        columns = str(self.facts.get("columns at once", "all"))
        if columns != "all":
            self.parameters["columns_at_once"] = columns
        for size, rows in self.rows.items():
            if size not in self.checked:
                raise rows[-1].parse_error("its residual was not checked.")
            self._read_size(size, rows)

    def _read_size(self, size: Size, rows: list[MatchedLine]) -> None:
        # Warm-ups and times of the other clock are facts, not readings.
        precision, n = size
        name = f"{precision}, n={n}"
        warm_ups = [row for row in rows if row["repetition"] == WARM_UP]
        counted = [row for row in rows if row["repetition"] != WARM_UP]
        clocks = ("external", "local")
        clock, other_clock = clocks if is_externally_timed(counted) else clocks[::-1]
        for row in counted:
            time, rate = row.number(clock), row.number(f"{clock}_rate")
            self.add("time", time, "s", precision=precision, n=n)
            self.add("performance", rate, "Mflop/s", precision=precision, n=n)

        self.facts[f"clock, {name}"] = CLOCKS[clock]
        for fact, selected, group in (
            ("warm-up s", warm_ups, clock),
            (f"{other_clock} s", counted, other_clock),
            ("bound s", counted, "bound"),
        ):
            if times := [row[group] for row in selected if row[group] != "-"]:
                self.facts[f"{fact}, {name}"] = " ".join(times)
        if is_external_time_rejected(counted):
            self.add_warning(
                "time_server",
                "The time server did not time every repetition of {size} to within "
                "{band:.0%}, so the times come from the machine's own clock.",
                size=name,
                band=MAX_CLOCK_DEVIATION,
            )


@dataclass
class MemoryOutput(KernelOutput[Sweep]):
    def read_kernel_line(self, line: MatchedLine) -> None:
        sweep = line["operation"], line["type"], line.integer("bytes")
        self.rows.setdefault(sweep, []).append(line)

    def read_rows(self) -> None:
        for (operation, kind, size), rows in self.rows.items():
            case: dict[str, Parameter] = {
                "operation": operation,
                "type": TYPES.get(kind, kind),
                BLOCKS.get(operation, "array"): format_whole_size(size, "MK"),
            }
            self.add_rates(rows, "bandwidth", "MB/s", **case)
            if any(row["check"] == "WRONG" for row in rows):
                self.add_failure(
                    "wrong_result",
                    "The operation {operation} with {kind} numbers left incorrect "
                    "values in memory.",
                    operation=operation,
                    kind=kind,
                )
        self.warn_rejected_times()


@dataclass
class SystemOutput(KernelOutput[tuple[str, str]]):
    failed: set[str] = field(default_factory=set)

    def read_kernel_line(self, line: MatchedLine) -> None:
        if line.kind == "skipped":
            self.facts[f"skipped, {line['skipped']}"] = line["why"]
        elif line.kind == "failed":
            self.failed.add(line["failed"])
        elif line["operation"] not in OPERATIONS:
            raise line.parse_error("this operation is unknown.")
        else:
            case = line["operation"], format_whole_size(line.integer("bytes"), "MK")
            self.rows.setdefault(case, []).append(line)

    def read_rows(self) -> None:
        for (operation, block), rows in self.rows.items():
            if any(row["check"] == "WRONG" for row in rows):
                self.failed.add(operation)
                continue
            metric, unit, header_names = OPERATIONS[operation]
            case: dict[str, Parameter] = {"operation": operation.replace("-", " ")}
            if metric in ("blocks", "throughput", "pipe bandwidth"):
                case["block"] = block
            for name in header_names:
                case[PARAMETERS.get(name, name)] = self._header_fact(name)
            self.add_rates(rows, metric, unit, **case)
        for operation in sorted(self.failed):
            self.add_warning(
                "wrong_result",
                "The operation {operation} returned an incorrect result. None of its "
                "rows count as results.",
                operation=operation,
            )
        self.warn_rejected_times()

    def _header_fact(self, name: str) -> str:
        """Return a fact of the header; for the network, only whether it is loopback."""
        fact = str(self.facts.get(name, "not stated"))
        if name == "network" and fact not in ("loopback", "not stated"):
            return "another machine"
        return fact


def _kernel(
    name: str, lines: LineScanner, kind: type[KernelOutput[Any]], **more: Any
) -> Tool:
    @parser(Sentence("Virtlab {kernel} printed no result row.", kernel=name))
    def parse(output: str) -> list[KernelOutput[Any]]:
        outputs = [kind()]
        for line in lines(output):
            if line.kind == "title":
                append_limited(outputs, kind())
            outputs[-1].read_line(outputs[-1].read, line)
        return outputs

    slug = f"virtlab-{name.lower()}"
    return Tool(
        slug=slug,
        title=f"Virtlab {name}",
        version=2,
        parse=parse,
        signatures=(rf"Virtlab {name} \d",),
        programs=(slug,),
        is_localized=False,
        **more,
    )


SYSTEM_CALL_WORK: Final = first_match(
    when("system: system call", operation="system call"),
    when("system: context switch", operation="context switch"),
    when("system: process creation", operation="fork|spawn"),
)
# Results from the page cache do not measure the disk.
DISK_WORK: Final = first_match(
    when("disk: random read", operation="random read", page_cache="no"),
    when("disk: random write", operation="random write", page_cache="no"),
)
REMOTE: Final = {"network": "another machine"}
ROUND_TRIP_WORK: Final = first_match(when("network: round trip", **REMOTE))
NETWORK_WORK: Final = first_match(
    when("network: throughput out", operation="send", **REMOTE),
    when("network: throughput in", operation="receive", **REMOTE),
)
LINPACK: Final = _kernel(
    "LINPACK",
    LINPACK_LINES,
    LinpackOutput,
    homepage="https://www.netlib.org/linpack/",
    metrics=(
        Metric("time", "s", "lower", "CPU", implied_by=("performance",)),
        Metric("performance", "Mflop/s", "higher", "CPU", work_class=FLOATING_POINT),
    ),
    labels=("n={n}", "{precision}"),
)
MEMORY_KERNEL: Final = _kernel(
    "memory",
    MEMORY_LINES,
    MemoryOutput,
    homepage="https://github.com/cruvolo/ramspeed-smp",
    metrics=(Metric("bandwidth", "MB/s", "higher", "memory", work_class=MEMORY),),
    labels=("{type}", "{block}", "{array}"),
)
SYSTEM: Final = _kernel(
    "system",
    SYSTEM_LINES,
    SystemOutput,
    homepage="https://lmbench.sourceforge.net/",
    metrics=(
        Metric("rate", "1/s", "higher", "CPU", work_class=SYSTEM_CALL_WORK),
        Metric("pipe bandwidth", "MB/s", "higher", "CPU", work_class=NO_WORK_CLASS),
        Metric("files", "1/s", "higher", "disk", work_class=NO_WORK_CLASS),
        Metric("blocks", "1/s", "higher", "disk", work_class=DISK_WORK),
        Metric("round trips", "1/s", "higher", "network", work_class=ROUND_TRIP_WORK),
        Metric("throughput", "MB/s", "higher", "network", work_class=NETWORK_WORK),
    ),
    labels=("{block}", "{network}"),
)
