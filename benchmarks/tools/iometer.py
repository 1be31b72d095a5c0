"""Iometer: disk and network load of chosen block sizes, reads and writes.

Its CSV file has a row for each target below a line with the column names::

    ALL,All,4K read,1,2,2,1523.41,1523.41,0,5.95082,5.95082,0,6.23989,6.23989,0,...

``MBps`` is 10^6 B/s if called decimal. If called binary, and in files of 2006, it is
2^20 B/s. A line with an apostrophe names the values below it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from benchmarks.parsing import tool
from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import Metric, Parameter, Tool, cost_metric
from benchmarks.sentences import Sentence
from benchmarks.units import format_whole_size

LINES = LineScanner(
    key=r"'(?P<key>[^\n,]*+)[^\n]*",
    value=r"(?P<value>[^'\n][^\n]*)",
)
TRUNCATED_RESULTS = Sentence("The results end before the time stamp that closes them.")
NETWORK: Final = frozenset({"NETWORK", "VI", "TCP"})
RATES: Final = {
    "MBps (Decimal)": "MB/s",
    "MiBps (Binary)": "MiB/s",
    "MBps (Binary)": "MiB/s",
    "MBps": "MiB/s",
}
RARE_PARAMETERS: Final = {"delay": 0, "burst": 1, "align": 0, "reply": 0}
ERRORS: Final = ("Errors", "Read Errors", "Write Errors")


@dataclass(slots=True)
class IometerBlock:
    version: str = ""
    facts: dict[str, Parameter] = field(default_factory=dict)
    specifications: dict[str, list[MatchedLine]] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    total: MatchedLine | None = None
    kinds: set[str] = field(default_factory=set)
    named: str = ""

    def close(self) -> None:
        self.total = None
        self.kinds = set()

    def read(self, key: str, line: MatchedLine) -> None:
        text = line["value"].strip().rstrip(",")
        if key == "target type":
            kind = line["value"].partition(",")[0].strip()
            self.kinds.add(kind)
            if kind == "ALL":
                self.total = line
        elif key == "access specification name":
            # The name is followed by its default assignment.
            self.named = text.rpartition(",")[0]
            self.specifications[self.named] = []
        elif key == "size" and self.named in self.specifications:
            self.specifications[self.named].append(line)
        elif key == "version":
            self.version = text
        elif key == "time stamp":
            self.facts["time stamp"] = text
        elif key == "test type" and (description := text.partition(",")[2]):
            self.facts["description"] = description

    @property
    def loads_network(self) -> bool:
        return not self.kinds.isdisjoint(NETWORK)

    @property
    def loads_disks(self) -> bool:
        return "DISK" in self.kinds or not self.loads_network

    def cells(self, line: MatchedLine) -> dict[str, str]:
        """Return the cells of a row by column.

        Names of access specifications may contain commas without quotes.
        """
        text = line["value"].strip()
        head, _, rest = text.partition(",All,")
        longest = sorted(self.specifications, key=len, reverse=True)
        matching_names = (column for column in longest if rest.startswith(f"{column},"))
        name = next(matching_names, rest.partition(",")[0])
        cells = [head, "All", name, *rest[len(name) + 1 :].split(",")]

        columns = [column.strip() for column in self.columns]
        while len(cells) > len(columns) and not cells[-1].strip():
            cells.pop()
        # Rows may lack the latency columns.
        bins = sum(column[:1].isdigit() or column.startswith(">") for column in columns)
        if len(cells) not in {len(columns), len(columns) - bins}:
            raise line.parse_error(
                "the row has {cells} cells, but the line above has {columns} columns.",
                cells=len(cells),
                columns=len(columns),
            )
        return dict(zip(columns, map(str.strip, cells), strict=False))

    def run(self, line: MatchedLine) -> Draft:
        cells = self.cells(line)
        draft = Draft(tool_version=self.version, facts=dict(self.facts))
        name = cells.get("Access Specification Name", "")
        draft.facts["access specification"] = name
        # Iometer prints a negative number if the concurrency varied.
        for column in ("# Managers", "# Workers", "# Disks", "Queue Depth"):
            if (text := cells.get(column, "")) and (count := _whole(line, text)) > 0:
                parameter = column.removeprefix("# ").casefold().replace(" ", "_")
                draft.parameters[parameter] = count
        # A specification with several rows has no single size or read share.
        rows = self.specifications.get(name, [])
        if len(rows) == 1 and len(rows[0]["value"].split(",")) >= 4:
            draft.parameters.update(_access(rows[0]))
        else:
            draft.parameters.update(_measured_access(line, name, cells))
        if not self.loads_disks:
            draft.parameters.pop("access", None)

        for column in ERRORS:
            if cells.get(column) and line.parse_amount(cells[column]) > 0:
                draft.add_warning(
                    "errors",
                    "{column} counted by Iometer: {cells}.",
                    column=column,
                    cells=cells[column],
                )
        if self.loads_disks and self.loads_network:
            draft.add_warning(
                "mixed_targets", "Disks and networks were loaded at the same time."
            )
        else:
            IometerRow(line, cells, draft).read(
                "disk" if self.loads_disks else "network"
            )
        return draft


@parser(Sentence("Iometer wrote no complete results. {cut}", cut=TRUNCATED_RESULTS))
def parse(output: str) -> list[Draft]:
    runs: list[Draft] = []
    block = IometerBlock()
    key = ""
    for line in LINES(output):
        if line.kind == "value":
            block.read(key, line)
            continue
        key = line["key"].strip().casefold()
        if key == "test type":
            block = IometerBlock()
        elif key == "results":
            block.close()
        elif key == "target type":
            block.columns = line.text.strip(" ',").split(",")
        elif key == "time stamp" and block.total:
            append_limited(runs, block.run(block.total))
            block.close()
    if runs and block.total:
        runs[-1].add_warning(
            "incomplete",
            "More results follow, but they are truncated. {cut}",
            cut=TRUNCATED_RESULTS,
        )
    return runs


def _access(row: MatchedLine) -> Iterator[tuple[str, Parameter]]:
    texts = [text.strip() for text in row["value"].split(",")]
    size, _, reads, random = (_whole(row, text) for text in texts[:4])
    yield "block_size", format_whole_size(size)
    yield "operation", _operation(reads > 0, reads < 100)
    if 0 < reads < 100:
        yield "reads", f"{reads} %"
    words = {0: "sequential", 100: "random"}
    yield "access", words.get(random, f"{random} % random")
    for (name, usual), text in zip(RARE_PARAMETERS.items(), texts[4:], strict=False):
        if text and (value := _whole(row, text)) > usual:
            yield name, value


def _measured_access(
    line: MatchedLine, name: str, cells: dict[str, str]
) -> Iterator[tuple[str, Parameter]]:
    if name:
        yield "specification", name
    reads, writes = (
        line.parse_amount(cells.get(f"{direction} IOps") or "0") > 0
        for direction in ("Read", "Write")
    )
    if reads or writes:
        yield "operation", _operation(reads, writes)


def _operation(reads: bool, writes: bool) -> str:
    if reads and writes:
        return "mixed"
    return "read" if reads else "write"


def _whole(line: MatchedLine, text: str) -> int:
    number = line.parse_number(text)
    # A double represents every whole number up to this limit.
    if abs(number) > 10**15 or number != int(number):
        raise line.parse_error("{text} is not a whole number.", text=text)
    return int(number)


@dataclass(slots=True)
class IometerRow:
    line: MatchedLine
    cells: dict[str, str]
    draft: Draft

    def read(self, loaded: str) -> None:
        self._read_throughput("", f"{loaded} throughput")
        if loaded == "disk":
            self._read_disk("")
            if self.draft.parameters.get("operation") == "mixed":
                for direction in ("Read ", "Write "):
                    part = direction.strip().casefold()
                    self._read_throughput(direction, "disk throughput", part=part)
                    self._read_disk(direction, part=part)
        self._add("% CPU Utilization", f"CPU utilization ({loaded})", "%")

    def _read_disk(self, direction: str, **part: Parameter) -> None:
        self._add(f"{direction}IOps", "IOps", "1/s", **part)
        self._add(
            f"Average {direction}Response Time", "response time mean", "ms", **part
        )
        self._add(
            f"Maximum {direction}Response Time", "response time max", "ms", **part
        )

    def _read_throughput(self, direction: str, metric: str, **part: Parameter) -> None:
        for column, unit in RATES.items():
            if f"{direction}{column}" in self.cells:
                self._add(f"{direction}{column}", metric, unit, **part)
                return

    def _add(self, column: str, metric: str, unit: str, **part: Parameter) -> None:
        if text := self.cells.get(column):
            self.draft.add(metric, self.line.parse_amount(text), unit, **part)


TOOL = Tool(
    slug="iometer",
    title="Iometer",
    homepage="http://www.iometer.org/",
    metrics=(
        Metric(
            "network throughput", "MB/s", "higher", "network", work_class=tool.NETWORK
        ),
        Metric("CPU utilization (network)", "%", "lower", "network", allows_zero=True),
        Metric("disk throughput", "MB/s", "higher", "disk", work_class=tool.DISK),
        Metric("CPU utilization (disk)", "%", "lower", "disk", allows_zero=True),
        Metric("IOps", "1/s", "higher", "disk", implied_by=("disk throughput",)),
        Metric(
            "response time mean",
            "ms",
            "lower",
            "disk",
            implied_by=("disk throughput", "IOps"),
        ),
        Metric("response time max", "ms", "lower", "disk"),
        cost_metric(
            "CPU time per data (network)",
            "network",
            ("CPU utilization (network)",),
            "network throughput",
        ),
        cost_metric(
            "CPU time per data (disk)",
            "disk",
            ("CPU utilization (disk)",),
            "disk throughput",
        ),
    ),
    labels=("{block_size}",),
    version=1,
    parse=parse,
    signatures=(
        r"'Test Type,Test Description",
        r"'Target Type,Target Name,Access Specification Name",
    ),
    is_localized=False,
)
