"""PDH CSV: counters of Windows (typeperf, relog; Hyper-V) and of ESXi (esxtop -b).

One row, below a header of ``"\\\\HOST\\object(instance)\\counter"``::

    "07/23/2026 06:04:44.000","10.5","3.25"

Only CPU counters are read, in % of one CPU. ESXi adds up the virtual CPUs, so more than
100 is possible. The first sample of a rate is blank. ESXi changes the group number
whenever a machine starts, so only the name is used. German Windows translates the
names, differently in each version, and writes decimal commas.
"""

import csv
import re
from dataclasses import dataclass, field
from functools import partial

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    check_row_width,
    parser,
)
from benchmarks.parsing.sampled_logs import (
    TRUNCATED_ROW,
    SampleSummary,
    count_lines,
    read_chunks,
    summary_metrics,
)
from benchmarks.parsing.tool import Parameter, Tool

LINES = LineScanner(
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
# Only the word "prozessor" is the same in all versions of Windows.
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
_NOT_PLAIN = re.compile(r"\n(?!\d{1,15}(?:\.\d{1,15})?(?:\n|\Z))", re.ASCII)
_GROUP = re.compile(r"\A\d+:(?=.)")
_OF_THE_HOST = ("Hyper-V Hypervisor Logical Processor", "Processor", "Physical Cpu")


@dataclass
class PdhTable(Draft):
    width: int = 0
    separator: str = ","
    # Tables with German names have decimal commas.
    is_german: bool = False
    columns: dict[int, dict[str, Parameter]] = field(default_factory=dict)
    rows: int = 0
    summaries: dict[int, SampleSummary] = field(default_factory=dict)

    def begin(self, line: MatchedLine) -> None:
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
            self.summaries[index] = SampleSummary()

    def read_uniform_chunk(self, chunk: str) -> bool:
        delimiter = f'"{self.separator}"'
        rows = [line[1:-1].split(delimiter) for line in chunk.split("\n")[:-1]]
        # The first row may be blank.
        if count_lines(chunk) < 0 or not self.rows or {*map(len, rows)} != {self.width}:
            return False
        picked = {
            index: [self.plain(row[index]) for row in rows] for index in self.columns
        }
        if any(_NOT_PLAIN.search("\n".join(["", *cells])) for cells in picked.values()):
            return False
        if chunk.count('"') != 2 * self.width * len(rows):
            return False
        for index, cells in picked.items():
            self.summaries[index].extend(map(float, cells))
        self.rows += len(rows)
        return True

    def read_row(self, line: MatchedLine) -> None:
        cells = self.cells_of(line)
        if len(cells) != self.width and line.may_be_truncated("cells"):
            self.add_warning("cut", TRUNCATED_ROW)
            return
        check_row_width(line, cells, self.width)
        for index, summary in self.summaries.items():
            cell = self.plain(cells[index].strip())
            # -1 means that the counter gave no value.
            if cell and cell != "-1":
                summary.append(line.parse_amount(cell))
            elif self.rows:
                self.add_warning("not_measured", "Blank samples were excluded.")
        self.rows += 1

    def plain(self, cell: str) -> str:
        return cell.replace(",", ".") if self.is_german else cell

    def cells_of(self, line: MatchedLine) -> list[str]:
        # Some versions end each row with a separator.
        text = line.text.strip().removesuffix(self.separator)
        try:
            return next(csv.reader([text], delimiter=self.separator, strict=True))
        except csv.Error:
            raise line.parse_error(
                "this row is truncated or damaged: a quotation mark is not closed."
            ) from None

    def close(self) -> None:
        self.facts["samples"] = self.rows
        for index, parameters in self.columns.items():
            self.summaries[index].add_to(self, "CPU utilization", "%", **parameters)


def _counter_of(name: str) -> tuple[str, str, str, str] | None:
    if path := _PATH.fullmatch(name):
        return path["host"], path["object"], path["instance"], path["counter"]
    if not (path := _GERMAN_PATH.fullmatch(name)):
        return None
    counters = [
        english
        for pattern, english in _GERMAN_COUNTERS
        if re.fullmatch(pattern, path["counter"].strip(), re.IGNORECASE)
    ]
    counted = _english_object(path["object"].casefold())
    if not counters or not counted:
        return None
    return path["host"], counted, path["instance"], counters[0]


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
    "No samples of a CPU counter with an English or German name found. Only "
    "processor counters are read."
)
def parse(output: str) -> list[PdhTable]:
    tables: list[PdhTable] = []
    read_chunks(output, partial(_read_chunk, tables))
    return tables


def _read_chunk(tables: list[PdhTable], chunk: str) -> None:
    if tables and tables[-1].read_uniform_chunk(chunk):
        return
    for line in LINES(chunk):
        if line.kind == "header":
            table = PdhTable()
            table.begin(line)
            append_limited(tables, table)
        elif (
            tables
            and line.may_be_truncated("cells")
            and not line["cells"].endswith('"')
        ):
            tables[-1].add_warning("cut", TRUNCATED_ROW)
        elif tables:
            tables[-1].read_row(line)


TOOL = Tool(
    slug="pdh-csv",
    title="PDH CSV",
    homepage="https://learn.microsoft.com/windows-server/administration/"
    "windows-commands/typeperf",
    metrics=summary_metrics("CPU utilization", "%", "CPU", allows_zero=True),
    aliases=("typeperf", "relog", "Hyper-V counters", "esxtop", "resxtop"),
    labels=("{object}", "{instance}", "{counter}"),
    version=3,
    parse=parse,
    targets=("host",),
    signatures=(r'"\(PDH-CSV 4\.0\)',),
)
