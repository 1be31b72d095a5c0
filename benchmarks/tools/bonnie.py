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

from benchmarks.parsing.contract import (
    DISK,
    NO_CLASS,
    Metric,
    Parameter,
    Tool,
    always,
    cost_metric,
)
from benchmarks.parsing.scanning import Draft, Found, Scanner, keep, parser

# The CSV of 1.03 names no version: 27 fields of this form are its sign.
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


@parser("Bonnie++ printed no result.")
def parse(output: str) -> list[Draft]:
    """Return one run for each row of CSV; without any, one for each table."""
    runs: list[Draft] = []
    version = ""
    for line in LINES(output):
        if line.kind == "version":
            # The CSV of 1.03 does not tell it; the table above does.
            version = line["version"]
        elif line.kind in {"csv", "old"}:
            keep(runs, _of_csv(line, version))
    if not runs:
        runs = _of_tables(LINES(output))
        for run in runs:
            if run:
                run.mark(
                    "table_only",
                    "The CSV below the table is not there: the numbers are rounded,"
                    " and tests may be missing.",
                )
    return runs


def _of_csv(line: Found, version: str) -> Draft:
    """Return the run of a CSV row; 1.03 has neither its version nor latencies."""
    if line.kind == "old":
        fields = line["old"].strip().split(",")
        if line.is_open("old") and fields[-1]:
            raise line.refused("the text ends within this line: upload its end.")
        size, _, chunk = fields[1].partition(":")
        concurrency, first = "", 2
        files, created = fields[14], fields[15:]
        latencies = [""] * 12
    else:
        fields = line["fields"].rstrip().split(",")
        first = CSV_HEADS.get(line["format"], 0)
        # The tests of the large file (12), the small files' number and sizes (5), their
        # tests (12), and the latencies of both (12).
        if not first or len(fields) != first + 41:
            raise line.refused(
                "these are not the fields of CSV {format}.", format=line["format"]
            )
        version, concurrency = line["bonnie"], fields[1]
        size, chunk = fields[3:5]
        files = "/".join(filter(None, fields[first + 12 : first + 17]))
        created, latencies = fields[first + 17 : first + 29], fields[first + 29 :]
    run = Draft(tool_version=version)
    _read_sizes(run, size, chunk)
    if concurrency.isdecimal():
        # A damaged text can have thousands of digits.
        run.parameters["concurrency"] = int(concurrency[:9])
    _read_rates(line, fields[first : first + 12], IO, run)
    _read_latencies(line, latencies[:6], IO, run)
    run.parameters["files"] = files
    _read_rates(line, created, FILES, run)
    _read_latencies(line, latencies[6:], FILES, run)
    return run


def _read_sizes(run: Draft, size: str, chunk: str) -> None:
    for name, text in (("size", size), ("chunk", chunk)):
        if amount := _SIZE.fullmatch(text):
            unit = SIZES[amount[2].lower()] if amount[2] else "MiB"
            run.parameters[name] = f"{amount[1]} {unit}"


def _read_rates(
    line: Found, cells: list[str], tests: Tests, run: Draft, unit: str = "K/sec"
) -> None:
    """Add the rate and CPU of six tests; ``unit`` is that of their heading."""
    _forget_sizes(run, tests)
    for (metric, case), rate, cpu in zip(tests, cells[::2], cells[1::2], strict=True):
        if rate.startswith("+"):
            run.mark("too_fast", "A test was too fast to be measured (+++++).")
        elif rate and metric != "throughput":
            run.add(metric, line.amount_of(rate), "1/s", **case)
        elif rate:
            suffix = rate[-1] if rate[-1] in UNITS else ""
            if not suffix and unit != "K/sec":
                raise line.refused(
                    '"{text}" does not say whether it is in KiB/s or MiB/s.', text=rate
                )
            value = line.amount_of(rate.removesuffix(suffix))
            run.add(metric, value, UNITS[suffix or "k"], **case)
        if cpu and not cpu.startswith("+"):
            run.add("CPU utilization", line.amount_of(cpu), "%", **case)


def _read_latencies(line: Found, cells: list[str], tests: Tests, run: Draft) -> None:
    _forget_sizes(run, tests)
    for (_, case), cell in zip(tests, cells, strict=True):
        if cell:
            if not (latency := _LATENCY.fullmatch(cell)):
                raise line.refused('"{cell}" is not a latency.', cell=cell)
            run.add("latency max", float(latency[1]), latency[2], **case)


def _forget_sizes(run: Draft, tests: Tests) -> None:
    # The many small files do not depend on the size of the large one.
    if tests is FILES:
        run.parameters.pop("size", None)
        run.parameters.pop("chunk", None)


@dataclass(slots=True)
class Table:
    """A table being read: its tests, unit, first column, and the run of its row."""

    tests: Tests = IO
    unit: str = ""
    start: int = 0
    first: int = 0
    row: int = -1

    def begin(self, line: Found) -> None:
        """Take a heading; text before its first rate is not a test."""
        self.unit = line["unit"]
        self.start = line.text.find("/sec") - 2
        self.row = self.first - 1

    def is_row(self, line: Found) -> bool:
        """Whether it is the first line below a heading, or has every cell."""
        cells = line["row"].split()[-12:]
        is_whole = len(cells) == 12 and all(map(_CELL.fullmatch, cells))
        return self.row < self.first or is_whole

    def next_run(self, runs: list[Draft]) -> Draft:
        """Return the run of the next row; bon_csv2txt has rows of several runs."""
        self.row += 1
        if self.row == len(runs) and self.tests is IO:
            keep(runs, Draft(tool_version=runs[-1].tool_version))
        return runs[min(self.row, len(runs) - 1)]

    def read_row(self, line: Found, run: Draft) -> None:
        """Add a row: its name (or size, or number of files) and its cells."""
        cells = _cells(line, self.start, "row", 2)
        is_whole = len(line["row"].split()) >= 13
        name = line["row"] if is_whole else line.text[: self.start]
        head = name.split()[: -12 if is_whole else None]
        if self.tests is IO:
            size, _, chunk = (head or [""])[-1].partition(":")
            _read_sizes(run, size, chunk)
        elif head:
            run.parameters["files"] = run.facts["files"] = head[-1]
        _read_rates(line, cells, self.tests, run, self.unit)


def _of_tables(lines: Iterator[Found]) -> list[Draft]:
    """Return the runs of a text that has no CSV."""
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
            # Latencies begin two places further left than rates.
            cells = _cells(line, table.start - 2, "latency", 1)
            _read_latencies(line, cells, table.tests, runs[table.row])
        elif line.kind == "row" and table.unit and table.is_row(line):
            table.read_row(line, table.next_run(runs))
    return runs


def _cells(line: Found, start: int, group: str, per_test: int) -> list[str]:
    """Return the cells of six tests, by their places if some were not done."""
    if line.is_open(group):
        raise line.refused("the text ends within this line: upload its end.")
    words = line[group].split()
    if len(words) >= 6 * per_test:
        return words[-6 * per_test :]

    # By where they end: every tenth place, later if a number is too wide.
    tokens = list(re.finditer(r"\S+", line.text[start:]))
    cells = [""] * (6 * per_test)
    shift = 0
    for index in range(0, len(tokens), per_test):
        group_of_test = [token[0] for token in tokens[index : index + per_test]]
        column, over = divmod(tokens[index : index + per_test][-1].end() - shift, 10)
        is_placed = 1 <= column <= 6 and over <= max(0, len(group_of_test[0]) - 5)
        if (
            not is_placed
            or len(group_of_test) != per_test
            or cells[(column - 1) * per_test]
        ):
            raise line.refused("its columns are not below their heading.")
        cells[(column - 1) * per_test : column * per_test] = group_of_test
        shift += over
    return cells


TOOL = Tool(
    slug="bonnie",
    title="Bonnie++",
    homepage="https://www.coker.com.au/bonnie++/",
    metrics=(
        Metric("throughput", "KiB/s", "higher", "disk", work=DISK),
        Metric("seek rate", "1/s", "higher", "disk", work=always("disk: random read")),
        Metric("file rate", "1/s", "higher", "disk", work=NO_CLASS),
        Metric("CPU utilization", "%", "lower", "disk", zero_allowed=True),
        Metric("latency max", "us", "lower", "disk"),
        cost_metric("CPU time per data", "disk", ("CPU utilization",), "throughput"),
    ),
    aliases=("bonnie",),
    labels=("by {by}", "{size}", "{files} files"),
    version=2,
    parse=parse,
    signatures=(
        r"Version +\d\S* +-+Sequential (?:Output|Create)-",
        r"1\.9\d,[12]\.\d\d\w?,[^\n,]*,\d+,",
        _OLD,
    ),
    programs=("bonnie++", "bonnie"),
    localized=False,
)
