"""Bonnie++: one large file written and read, and many small ones created and deleted.

One result row, as printed by Bonnie++ 2.00a (its CSV format 1.98, shortened)::

    1.98,2.00a,testhost,1,1795221947,512M,,8192,5,1042,58,251743,65,+++++,+++,1749,67

Rates of data are in KiB/s; a table has k, m and g for KiB, MiB and GiB. ``+++++`` was
too fast to be measured: it is missing. The CSV is more exact than the table above it,
which is read only where there is no CSV.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.parsing.contract import Metric, Tool
from benchmarks.parsing.drafts import (
    Draft,
    Parameter,
    ParsedRun,
    Parser,
    finished,
    keep,
)
from benchmarks.parsing.scanning import Found, Scanner
from benchmarks.sentences import Sentence

_CELLS = r"(?:,(?:[\d.]+|\++)?){12}"
_OLD = rf"[^\s,]{{1,99}},(?:\d+[kMG]?(?::\d+\w?)?)?{_CELLS},[\d:/]*{_CELLS}[ \t]*+$"
LINES = Scanner(
    csv=r"(?P<format>1\.9\d),(?P<bonnie>[\d.]+\w*),(?P<fields>[^\n]*)$",
    old=rf"(?P<old>{_OLD})",
    version=r"(?:Version +(?P<version>\d\S*+) +)?-{4,8}Sequential "
    r"(?P<what>Output|Create)-",
    concurrency=r"Concurrency +(?P<concurrency>\d+) ",
    head=r"(?:Machine|Name:Size|Size|files:max|files )[^\n]*? (?P<unit>K?/sec) %CP",
    latency=r"Latency +(?P<latency>\d[^\n]*)$",
    row=r"(?P<row>[^\n]*[\d+][^\n]*)$",
)
# How many fields stand between the two versions and the first result.
CSV_HEADS = {"1.96": 5, "1.97": 5, "1.98": 7}
Tests = tuple[tuple[str, dict[str, Parameter]], ...]
IO: Tests = (
    ("throughput", {"operation": "write", "by": "character"}),
    ("throughput", {"operation": "write", "by": "block"}),
    ("throughput", {"operation": "rewrite", "by": "block"}),
    ("throughput", {"operation": "read", "by": "character"}),
    ("throughput", {"operation": "read", "by": "block"}),
    ("seek rate", {"access": "random", "operation": "seek"}),
)
FILES: Tests = tuple(
    ("file rate", {"access": access, "operation": operation})
    for access in ("sequential", "random")
    for operation in ("create", "stat", "delete")
)
UNITS = {"k": "KiB/s", "m": "MiB/s", "g": "GiB/s"}
SIZES = {"k": "KiB", "m": "MiB", "g": "GiB"}
_RATE = re.compile(r"(.*?)([kmg]?)", re.ASCII)
_CELL = re.compile(r"\d[\d.]*[kKmMgG]?|\++", re.ASCII)
_LATENCY = re.compile(r"(\d{1,15})(us|ms|s)", re.ASCII)
_SIZE = re.compile(r"(\d{1,15})([kKMG]?)", re.ASCII)


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each row of CSV; without any, one for each table."""
    runs: list[Draft] = []
    version = ""
    for line in LINES(output):
        if line.kind == "version":
            version = line["version"]
        elif line.kind in {"csv", "old"}:
            keep(runs, _csv(line, version))
    return finished(
        runs or _rounded(LINES(output)), Sentence("Bonnie++ printed no result.")
    )


def _rounded(lines: Iterator[Found]) -> list[Draft]:
    """The runs of a text without CSV: copied without it, or cut before it."""
    runs = _tables(lines)
    for run in runs:
        if run:
            run.mark(
                "table_only",
                Sentence(
                    "The CSV below the table is not there: the numbers are rounded,"
                    " and tests may be missing."
                ),
            )
    return runs


def _csv(line: Found, version: str) -> Draft:
    if line.kind == "old":
        fields = line["old"].strip().split(",")
        if line.is_open("old") and fields[-1]:
            raise line.refused(
                Sentence("the text ends within this line: upload its end.")
            )
        size, _, chunk = fields[1].partition(":")
        _head(run := Draft(tool_version=version), size, chunk, "")
        _results(line, fields[2:14], IO, run)
        run.parameters["files"] = fields[14]
        _results(line, fields[15:], FILES, run)
        return run
    fields = line["fields"].rstrip().split(",")
    start = CSV_HEADS.get(line["format"])
    if start is None or len(fields) != start + 41:
        raise line.refused(
            Sentence("these are not the fields of CSV {format}.", format=line["format"])
        )
    run = Draft(tool_version=line["bonnie"])
    _head(run, fields[3], fields[4], fields[1])
    _results(line, fields[start : start + 12], IO, run)
    _latencies(line, fields[start + 29 : start + 35], IO, run)
    run.parameters["files"] = "/".join(filter(None, fields[start + 12 : start + 17]))
    _results(line, fields[start + 17 : start + 29], FILES, run)
    _latencies(line, fields[start + 35 :], FILES, run)
    return run


def _head(run: Draft, size: str, chunk: str, concurrency: str) -> None:
    for name, text in (("size", size), ("chunk", chunk)):
        if found := _SIZE.fullmatch(text):
            unit = SIZES[found[2].lower()] if found[2] else "MiB"
            run.parameters[name] = f"{found[1]} {unit}"
    if concurrency.isdecimal():
        run.parameters["concurrency"] = int(concurrency[:9])


def _results(
    line: Found,
    cells: list[str],
    tests: Tests,
    run: Draft,
    unit: str = "K/sec",
) -> None:
    for (metric, case), rate, cpu in zip(tests, cells[::2], cells[1::2], strict=True):
        if rate.startswith("+"):
            run.mark(
                "too_fast", Sentence("A test was too fast to be measured (+++++).")
            )
        elif rate:
            value, its_unit = _rate(line, metric, rate, unit)
            run.add(metric, value, its_unit, **_case(run, metric, case))
        if cpu and not cpu.startswith("+"):
            share = _positive(line, cpu)
            run.add("CPU utilization", share, "%", **_case(run, metric, case))


def _case(run: Draft, metric: str, case: dict[str, Parameter]) -> dict[str, Parameter]:
    if metric == "file rate":
        run.parameters.pop("size", None)
        run.parameters.pop("chunk", None)
    return case


def _rate(line: Found, metric: str, text: str, unit: str) -> tuple[float, str]:
    if metric != "throughput":
        return _positive(line, text), "1/s"
    found = _RATE.fullmatch(text)
    number, suffix = (found[1], found[2]) if found else (text, "")
    if not suffix and unit != "K/sec":
        raise line.refused(
            Sentence('"{text}" says not whether it is in KiB/s or MiB/s.', text=text)
        )
    return _positive(line, number), UNITS[suffix or "k"]


def _positive(line: Found, text: str) -> float:
    if (value := line.number_of(text)) < 0:
        raise line.refused(Sentence("{text} cannot be: it is negative.", text=text))
    return value


def _latencies(
    line: Found,
    cells: list[str],
    tests: Tests,
    run: Draft,
) -> None:
    for (metric, case), cell in zip(tests, cells, strict=True):
        if not cell:
            continue
        if not (found := _LATENCY.fullmatch(cell)):
            raise line.refused(Sentence('"{cell}" is no latency.', cell=cell))
        run.add("latency max", float(found[1]), found[2], **_case(run, metric, case))


@dataclass(slots=True)
class Table:
    """Where a table stands: its tests, unit, first column, and the run of its row."""

    tests: Tests = IO
    unit: str = ""
    start: int = 0
    first: int = 0
    row: int = -1

    def begin(self, line: Found) -> None:
        """A heading: what is not named stands in front of its first rate."""
        self.unit = line["unit"]
        self.start = line.text.find("/sec") - 2
        self.row = self.first - 1

    def next_run(self, runs: list[Draft]) -> Draft:
        """The run of the next row. bon_csv2txt has the rows of several runs."""
        self.row += 1
        if self.row == len(runs) and self.tests is IO:
            keep(runs, Draft(tool_version=runs[-1].tool_version))
        return runs[min(self.row, len(runs) - 1)]


def _tables(lines: Iterator[Found]) -> list[Draft]:
    runs = [Draft()]
    table = Table()
    for line in lines:
        if line.kind == "version":
            table = Table(IO if line["what"] == "Output" else FILES, first=table.first)
            if table.tests is IO:
                keep(runs, Draft())
                table.first = len(runs) - 1
            runs[-1].tool_version = line["version"] or runs[-1].tool_version
        elif line.kind == "concurrency":
            runs[-1].parameters["concurrency"] = line.whole("concurrency")
        elif line.kind == "head":
            table.begin(line)
        elif line.kind == "latency" and table.unit and table.row >= 0:
            cells = _cells(line, table.start - 2, "latency", 1)
            _latencies(line, cells, table.tests, runs[table.row])
        elif line.kind == "row" and table.unit and _is_row(line, table):
            _row(line, table, table.next_run(runs))
    return runs


def _is_row(line: Found, table: Table) -> bool:
    """The first row below a heading; another one only if it has every cell."""
    cells = line["row"].split()[-12:]
    is_whole = len(cells) == 12 and all(map(_CELL.fullmatch, cells))
    return table.row < table.first or is_whole


def _row(line: Found, table: Table, run: Draft) -> None:
    cells = _cells(line, table.start, "row", 2)
    is_whole = len(line["row"].split()) >= 13
    name = line["row"] if is_whole else line.text[: table.start]
    head = name.split()[: -12 if is_whole else None]
    if table.tests is IO:
        size, _, chunk = (head or [""])[-1].partition(":")
        _head(run, size, chunk, "")
    elif head:
        run.parameters["files"] = run.facts["files"] = head[-1]
    _results(line, cells, table.tests, run, table.unit)


def _cells(line: Found, start: int, group: str, each: int) -> list[str]:
    """The cells of six tests, by their places if some of them were not done."""
    if line.is_open(group):
        raise line.refused(Sentence("the text ends within this line: upload its end."))
    tokens = line[group].split()
    if len(tokens) >= 6 * each:
        return tokens[-6 * each :]
    return _placed(line, start, each)


def _placed(line: Found, start: int, each: int) -> list[str]:
    """The cells by where they end: every tenth place, later if a number is too wide."""
    tokens = list(re.finditer(r"\S+", line.text[start:]))
    cells = [""] * (6 * each)
    shift = 0
    for index in range(0, len(tokens), each):
        group = [token[0] for token in tokens[index : index + each]]
        column, over = divmod(tokens[index : index + each][-1].end() - shift, 10)
        is_placed = 1 <= column <= 6 and over <= max(0, len(group[0]) - 5)
        if not is_placed or len(group) != each or cells[(column - 1) * each]:
            raise line.refused(
                Sentence("its columns do not stand below their heading.")
            )
        cells[(column - 1) * each : column * each] = group
        shift += over
    return cells


TOOL = Tool(
    slug="bonnie",
    title="Bonnie++",
    homepage="https://www.coker.com.au/bonnie++/",
    metrics=(
        Metric(name="throughput", unit="KiB/s", better="higher", component="disk"),
        Metric(name="seek rate", unit="1/s", better="higher", component="disk"),
        Metric(name="file rate", unit="1/s", better="higher", component="disk"),
        Metric(
            name="CPU utilization",
            unit="%",
            better="lower",
            component="disk",
            zero_allowed=True,
        ),
        Metric(name="latency max", unit="us", better="lower", component="disk"),
    ),
    aliases=("bonnie",),
    labels=("by {by}", "{size}", "{files} files"),
    parser=Parser(
        version=2,
        parse=parse,
        signatures=(
            r"Version +\d\S* +-+Sequential (?:Output|Create)-",
            r"1\.9\d,[12]\.\d\d\w?,[^\n,]*,\d+,",
            _OLD,
        ),
        programs=("bonnie++", "bonnie"),
        localized=False,
    ),
)
