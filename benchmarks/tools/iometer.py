"""Iometer: disk and network load of chosen block sizes, reads and writes.

Its CSV file holds a row for each target under a line that names the columns::

    ALL,All,4K read,1,2,2,1523.41,1523.41,0,5.95082,5.95082,0,6.23989,6.23989,0,...

``MBps`` is 2^20 B/s in files of 2006 and where it is called binary, 10^6 B/s where it
is called decimal. A line with an apostrophe names what stands below it. The rates are
those of the timer of the machine that is measured.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from benchmarks.parsing import contract
from benchmarks.parsing.contract import Metric, Parameter, Tool, cost_metric
from benchmarks.parsing.scanning import Draft, Found, Scanner, keep, parser
from benchmarks.sentences import Sentence
from benchmarks.units import whole_size

LINES = Scanner(
    key=r"'(?P<key>[^\n,]*+)[^\n]*",
    value=r"(?P<value>[^'\n][^\n]*)",
)
CUT = Sentence("The results end before the time stamp below them.")
NETWORK: Final = frozenset({"NETWORK", "VI", "TCP"})
RATES: Final = {
    "MBps (Decimal)": "MB/s",
    "MiBps (Binary)": "MiB/s",
    "MBps (Binary)": "MiB/s",
    "MBps": "MiB/s",
}
# What a specification says of bursts, alignment and replies, and the usual values.
RARE: Final = {"delay": 0, "burst": 1, "align": 0, "reply": 0}
ERRORS: Final = ("Errors", "Read Errors", "Write Errors")


@dataclass(slots=True)
class Block:
    """A test, and its block of results that is open."""

    version: str = ""
    facts: dict[str, Parameter] = field(default_factory=dict)
    specifications: dict[str, list[Found]] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    total: Found | None = None
    kinds: set[str] = field(default_factory=set)
    named: str = ""

    def close(self) -> None:
        self.total = None
        self.kinds = set()

    def read(self, key: str, line: Found) -> None:
        text = line["value"].strip().rstrip(",")
        if key == "target type":
            kind = line["value"].partition(",")[0].strip()
            self.kinds.add(kind)
            if kind == "ALL":
                self.total = line
        elif key == "access specification name":
            # Behind the name: whom it is assigned to by default.
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
        """Whether disks are loaded, also if no targets are recorded."""
        return "DISK" in self.kinds or not self.loads_network

    def cells(self, line: Found) -> dict[str, str]:
        """Return a row's cells by column; unquoted names with commas are known ones."""
        text = line["value"].strip()
        head, _, rest = text.partition(",All,")
        longest = sorted(self.specifications, key=len, reverse=True)
        known = (column for column in longest if rest.startswith(f"{column},"))
        name = next(known, rest.partition(",")[0])
        cells = [head, "All", name, *rest[len(name) + 1 :].split(",")]

        columns = [column.strip() for column in self.columns]
        # A row may end with commas below no heading.
        while len(cells) > len(columns) and not cells[-1].strip():
            cells.pop()
        # The columns of latencies are left out where Iometer does not count them.
        bins = sum(column[:1].isdigit() or column.startswith(">") for column in columns)
        if len(cells) not in {len(columns), len(columns) - bins}:
            raise line.refused(
                "it has {cells} cells, the line above has {columns} columns.",
                cells=len(cells),
                columns=len(columns),
            )
        return dict(zip(columns, map(str.strip, cells), strict=False))

    def run(self, line: Found) -> Draft:
        """Return the run of these results, from the row of all targets."""
        cells = self.cells(line)
        draft = Draft(tool_version=self.version, facts=dict(self.facts))
        name = cells.get("Access Specification Name", "")
        draft.facts["access specification"] = name
        # How many worked at once; Iometer prints a negative number where it varied.
        for column in ("# Managers", "# Workers", "# Disks", "Queue Depth"):
            if (text := cells.get(column, "")) and (count := _whole(line, text)) > 0:
                parameter = column.removeprefix("# ").casefold().replace(" ", "_")
                draft.parameters[parameter] = count
        # Several rows are a mix, of which no single size or share is true.
        rows = self.specifications.get(name, [])
        if len(rows) == 1 and len(rows[0]["value"].split(",")) >= 4:
            draft.parameters.update(_access(rows[0]))
        else:
            draft.parameters.update(_measured_access(line, name, cells))
        if not self.loads_disks:
            # What is sent over a network has no place that could be random.
            draft.parameters.pop("access", None)

        for column in ERRORS:
            if cells.get(column) and line.amount_of(cells[column]) > 0:
                draft.mark(
                    "errors",
                    "{column} counted by Iometer: {cells}.",
                    column=column,
                    cells=cells[column],
                )
        if self.loads_disks and self.loads_network:
            draft.mark("mixed_targets", "Disks and networks were loaded at once.")
        else:
            Row(line, cells, draft).read("disk" if self.loads_disks else "network")
        return draft


@parser(Sentence("Iometer wrote no whole results. {cut}", cut=CUT))
def parse(output: str) -> list[Draft]:
    """Return one run for each block of results that its time stamp closes."""
    runs: list[Draft] = []
    block = Block()
    key = ""
    for line in LINES(output):
        if line.kind == "value":
            block.read(key, line)
            continue
        key = line["key"].strip().casefold()
        if key == "test type":
            block = Block()
        elif key == "results":
            block.close()
        elif key == "target type":
            block.columns = line.text.strip(" ',").split(",")
        elif key == "time stamp" and block.total:
            keep(runs, block.run(block.total))
            block.close()
    if runs and block.total:
        runs[-1].mark("incomplete", "More results follow that are cut. {cut}", cut=CUT)
    return runs


def _access(row: Found) -> Iterator[tuple[str, Parameter]]:
    """Yield the parameters of an access specification of one row."""
    texts = [text.strip() for text in row["value"].split(",")]
    size, _, reads, random = (_whole(row, text) for text in texts[:4])
    yield "block_size", whole_size(size)
    yield "operation", _operation(reads > 0, reads < 100)
    if 0 < reads < 100:
        yield "reads", f"{reads} %"
    words = {0: "sequential", 100: "random"}
    yield "access", words.get(random, f"{random} % random")
    for (name, usual), text in zip(RARE.items(), texts[4:], strict=False):
        if text and (value := _whole(row, text)) > usual:
            yield name, value


def _measured_access(
    line: Found, name: str, cells: dict[str, str]
) -> Iterator[tuple[str, Parameter]]:
    """Yield measured parameters where a specification is a mix or missing."""
    if name:
        yield "specification", name
    reads, writes = (
        line.amount_of(cells.get(f"{way} IOps") or "0") > 0 for way in ("Read", "Write")
    )
    if reads or writes:
        yield "operation", _operation(reads, writes)


def _operation(reads: bool, writes: bool) -> str:
    if reads and writes:
        return "mixed"
    return "read" if reads else "write"


def _whole(line: Found, text: str) -> int:
    number = line.number_of(text)
    # Up to there a double holds every whole number.
    if abs(number) > 10**15 or number != int(number):
        raise line.refused("{text} is not a whole number.", text=text)
    return int(number)


@dataclass(slots=True)
class Row:
    """The row of all targets."""

    line: Found
    cells: dict[str, str]
    draft: Draft

    def read(self, loaded: str) -> None:
        self._read_throughput("", f"{loaded} throughput")
        if loaded == "disk":
            self._read_disk("")
            if self.draft.parameters.get("operation") == "mixed":
                for way in ("Read ", "Write "):
                    part = way.strip().casefold()
                    self._read_throughput(way, "disk throughput", part=part)
                    self._read_disk(way, part=part)
        self._add("% CPU Utilization", f"CPU utilization ({loaded})", "%")

    def _read_disk(self, way: str, **part: Parameter) -> None:
        self._add(f"{way}IOps", "IOps", "1/s", **part)
        self._add(f"Average {way}Response Time", "response time mean", "ms", **part)
        self._add(f"Maximum {way}Response Time", "response time max", "ms", **part)

    def _read_throughput(self, way: str, metric: str, **part: Parameter) -> None:
        for column, unit in RATES.items():
            if f"{way}{column}" in self.cells:
                self._add(f"{way}{column}", metric, unit, **part)
                return

    def _add(self, column: str, metric: str, unit: str, **part: Parameter) -> None:
        if text := self.cells.get(column):
            self.draft.add(metric, self.line.amount_of(text), unit, **part)


TOOL = Tool(
    slug="iometer",
    title="Iometer",
    homepage="http://www.iometer.org/",
    metrics=(
        Metric(
            "network throughput", "MB/s", "higher", "network", work=contract.NETWORK
        ),
        Metric("CPU utilization (network)", "%", "lower", "network", zero_allowed=True),
        Metric("disk throughput", "MB/s", "higher", "disk", work=contract.DISK),
        Metric("CPU utilization (disk)", "%", "lower", "disk", zero_allowed=True),
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
    localized=False,
)
