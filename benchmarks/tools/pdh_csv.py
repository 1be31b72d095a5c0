"""PDH CSV: counters of Windows (typeperf, relog; Hyper-V) and of ESXi (esxtop -b).

One row, below a header of ``"\\\\HOST\\object(instance)\\counter"``::

    "07/23/2026 06:04:44.000","10.5","3.25"

The CPU counters of hosts and virtual machines are read, in % of one CPU (ESXi adds up
the virtual CPUs: more than 100 is possible). The first sample of a rate is blank. The
group number of ESXi changes whenever a machine is started: only its name is kept. The
rows of a log are summarized.

A German Windows translates the names, each version in another way, and writes decimal
commas within the quotes, or semicolons between the cells::

    "07/23/2026 06:04:44.000","10,5","3,25"

What it counted is told by its English name, so that it is the same case.
"""

import csv
import re
from dataclasses import dataclass, field
from functools import partial

from benchmarks.parsing.contract import Parameter, Tool
from benchmarks.parsing.scanning import Draft, Found, Scanner, keep, parser
from benchmarks.parsing.telemetry import (
    CUT,
    Summary,
    lines_of,
    refuse_other_width,
    summary_metrics,
    take_chunks,
)

LINES = Scanner(
    header=r'"\(PDH-CSV 4\.0\)(?P<zone>[^"\n]*)"(?P<columns>[^\n]*)$',
    row=r'(?P<cells>"\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4} [^\n]*)$',
)
_OBJECTS = (
    "Hyper-V Hypervisor Logical Processor|Hyper-V Hypervisor Root Virtual Processor"
    "|Hyper-V Hypervisor Virtual Processor|Processor Information|Processor"
    "|Physical Cpu|Group Cpu"
)
_COUNTERS = (
    "Total Run Time|Guest Run Time|Hypervisor Run Time|Processor Time|Util Time"
    "|Used|Ready|CoStop"
)
_PATH = re.compile(
    rf"\\\\(?P<host>[^\\]+)\\(?P<object>{_OBJECTS})\((?P<instance>.*)\)"
    rf"\\% (?P<counter>{_COUNTERS})",
    re.ASCII,
)
# Of German objects only these words are the same in all versions: `Logischer Prozessor
# für Hyper-V-Hypervisor`, `Hyper-V-Hypervisor - logischer Prozessor`, `Hyper-V
# Hypervisor: virtueller Prozessor`, `... - Stamm des virtuellen Prozessors`.
_GERMAN_PATH = re.compile(
    r"\\\\(?P<host>[^\\]+)\\(?P<object>[^\\(]*prozessor[^\\(]*)"
    r"\((?P<instance>.*)\)\\(?P<counter>[^\\]*)",
    re.IGNORECASE,
)
_GERMAN_COUNTERS = (
    (r"%? ?Gesamt(?:e )?(?:lauf|ausführungs)zeit(?: \(%\))?", "Total Run Time"),
    (r"%? ?Gast(?:lauf|ausführungs)zeit(?: \(%\))?", "Guest Run Time"),
    (r"%? ?Hypervisor-?(?:lauf|ausführungs)zeit(?: \(%\))?", "Hypervisor Run Time"),
    (r"%? ?Prozessorzeit(?: \(%\))?", "Processor Time"),
)
# One search over a whole column finds a cell that is no plain number.
_NOT_PLAIN = re.compile(r"\n(?!\d{1,15}(?:\.\d{1,15})?(?:\n|\Z))", re.ASCII)
_GROUP = re.compile(r"\A\d+:(?=.)")
# Of the machine's own CPUs only the sum is read, of virtual machines each.
_OF_THE_HOST = ("Hyper-V Hypervisor Logical Processor", "Processor", "Physical Cpu")


@dataclass
class Table(Draft):
    """A header, the columns that are read, and the run of its rows."""

    width: int = 0
    separator: str = ","
    # Its names are German: so are its numbers.
    is_german: bool = False
    columns: dict[int, dict[str, Parameter]] = field(default_factory=dict)
    rows: int = 0
    summaries: dict[int, Summary] = field(default_factory=dict)

    def begin(self, line: Found) -> None:
        """Choose the columns of a header that are counters of CPUs."""
        self.separator = ";" if line["columns"].lstrip().startswith(";") else ","
        names = self.cells_of(line)
        self.width = len(names)
        self.is_german = any(map(_GERMAN_PATH.fullmatch, names))
        for index, path in enumerate(map(_counter_of, names)):
            if path is None:
                continue
            host, counted, instance, counter = path
            if counted.startswith(_OF_THE_HOST) and not instance.endswith("_Total"):
                continue
            if counted == "Group Cpu":
                instance = _GROUP.sub("", instance)
            self.facts["host"] = host
            self.columns[index] = {
                "object": counted,
                "instance": instance,
                "counter": counter,
            }
            self.summaries[index] = Summary()

    def take_alike(self, chunk: str) -> bool:
        """Take rows at once if each is whole and its numbers are plain."""
        between = f'"{self.separator}"'
        rows = [line[1:-1].split(between) for line in chunk.split("\n")[:-1]]
        # The first row may be blank: it is taken by itself.
        if lines_of(chunk) < 0 or not self.rows or {*map(len, rows)} != {self.width}:
            return False
        picked = {
            index: [self.plain(row[index]) for row in rows] for index in self.columns
        }
        if any(_NOT_PLAIN.search("\n".join(["", *cells])) for cells in picked.values()):
            return False
        # A quote within a cell would have cut it at the wrong place.
        if chunk.count('"') != 2 * self.width * len(rows):
            return False
        for index, cells in picked.items():
            self.summaries[index].take_all(map(float, cells))
        self.rows += len(rows)
        return True

    def take_row(self, line: Found) -> None:
        cells = self.cells_of(line)
        if len(cells) != self.width and line.is_open("cells"):
            self.mark("cut", CUT)
            return
        refuse_other_width(line, cells, self.width)
        for index, summary in self.summaries.items():
            cell = self.plain(cells[index].strip())
            # -1 is written where a counter gave nothing.
            if cell and cell != "-1":
                summary.take(line.amount_of(cell))
            elif self.rows:
                self.mark("not_measured", "There are blank samples: left out.")
        self.rows += 1

    def plain(self, cell: str) -> str:
        """Return a number with a decimal point."""
        return cell.replace(",", ".") if self.is_german else cell

    def cells_of(self, line: Found) -> list[str]:
        # A list ends with a separator in some versions.
        text = line.text.strip().removesuffix(self.separator)
        try:
            return next(csv.reader([text], delimiter=self.separator, strict=True))
        except csv.Error:
            raise line.refused("this row is cut or damaged: a quote is open.") from None

    def close(self) -> None:
        self.facts["samples"] = self.rows
        for index, parameters in self.columns.items():
            self.summaries[index].add_to(self, "CPU utilization", "%", **parameters)


def _counter_of(name: str) -> tuple[str, str, str, str] | None:
    """Return host, object, instance and counter of a column in English, or None."""
    if path := _PATH.fullmatch(name):
        return path["host"], path["object"], path["instance"], path["counter"]
    if not (path := _GERMAN_PATH.fullmatch(name)):
        return None
    found = [
        english
        for pattern, english in _GERMAN_COUNTERS
        if re.fullmatch(pattern, path["counter"].strip(), re.IGNORECASE)
    ]
    counted = _english_object(path["object"].casefold())
    if not found or not counted:
        return None
    return path["host"], counted, path["instance"], found[0]


def _english_object(german: str) -> str:
    if "hypervisor" in german:
        if "logisch" in german:
            return "Hyper-V Hypervisor Logical Processor"
        if "stamm" in german:
            return "Hyper-V Hypervisor Root Virtual Processor"
        return "Hyper-V Hypervisor Virtual Processor" if "virtuell" in german else ""
    if german.startswith("prozessorinformation"):
        return "Processor Information"
    return "Processor" if german == "prozessor" else ""


@parser(
    "There is no sample of a CPU counter with an English or a German name: "
    "of the counters only those of processors are read."
)
def parse(output: str) -> list[Table]:
    """Return one run for each header; the rows below it are summarized."""
    tables: list[Table] = []
    take_chunks(output, partial(_take, tables))
    return tables


def _take(tables: list[Table], chunk: str) -> None:
    if tables and tables[-1].take_alike(chunk):
        return
    for line in LINES(chunk):
        if line.kind == "header":
            table = Table()
            table.begin(line)
            keep(tables, table)
        elif tables and line.is_open("cells") and not line["cells"].endswith('"'):
            tables[-1].mark("cut", CUT)
        elif tables:
            tables[-1].take_row(line)


TOOL = Tool(
    slug="pdh-csv",
    title="PDH CSV",
    homepage="https://learn.microsoft.com/windows-server/administration/"
    "windows-commands/typeperf",
    metrics=summary_metrics("CPU utilization", "%", "CPU", zero_allowed=True),
    aliases=("typeperf", "relog", "Hyper-V counters", "esxtop", "resxtop"),
    labels=("{object}", "{instance}", "{counter}"),
    version=3,
    parse=parse,
    signatures=(r'"\(PDH-CSV 4\.0\)',),
)
