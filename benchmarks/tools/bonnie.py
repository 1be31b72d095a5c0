"""Bonnie++: reads and writes of one large file, and creation of many small ones.

CSV of Bonnie++ 2.00a (format 1.98, shortened)::

    1.98,2.00a,testhost,1,1795221947,512M,,8192,5,1042,58,251743,65,+++++,+++,1749,67

Data rates are in KiB/s. ``+++++`` means that a test was too fast to measure. The table
(k, m and g are KiB, MiB and GiB) is read only if the more exact CSV is missing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import (
    DISK,
    NO_WORK_CLASS,
    Metric,
    Parameter,
    Tool,
    always,
    cost_metric,
)

# A CSV row of 1.03 has no version, but 27 fields of this form.
_CELLS = r"(?:,(?:[\d.]+|\++)?){12}"
_OLD = rf"[^\s,]{{0,99}},(?:\d+[kMG]?(?::\d+\w?)?)?{_CELLS},[\d:/]*{_CELLS}[ \t]*+$"
LINES = LineScanner(
    csv=r"(?P<format>1\.9\d),(?P<bonnie>[\d.]+\w*),(?P<fields>[^\n]*)$",
    old=rf"(?P<old>{_OLD})",
    version=r"(?:Version +(?P<version>\d\S*+) +)?-{4,8}Sequential "
    r"(?P<what>Output|Create)-",
    concurrency=r"Concurrency +(?P<concurrency>\d+) ",
    head=r"(?:Machine|Name:Size|Size|files:max|files )[^\n]*? (?P<unit>K?/sec) %CP",
    latency=r"Latency +(?P<latency>\d[^\n]*)$",
    row=r"(?P<row>[^\n]*[\d+][^\n]*)$",
)
# The index of the first result in ``fields``, by format.
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
    runs: list[Draft] = []
    version = ""
    for line in LINES(output):
        if line.kind == "version":
            # The head of the second table has no version.
            version = line["version"] or version
        elif line.kind in {"csv", "old"}:
            append_limited(runs, _csv_run(line, version))
    if not runs:
        runs = _table_runs(LINES(output))
        for run in runs:
            if run:
                run.add_warning(
                    "table_only",
                    "The CSV line below the table is missing, so the numbers are "
                    "rounded and tests may be missing.",
                )
    return runs


def _csv_run(line: MatchedLine, version: str) -> Draft:
    if line.kind == "old":
        fields = line["old"].strip().split(",")
        if line.may_be_truncated("old") and fields[-1]:
            raise line.parse_error(
                "the text ends in the middle of this line. Upload the complete line."
            )
        size, _, chunk = fields[1].partition(":")
        concurrency, first = "", 2
        files, created = fields[14], fields[15:]
        latencies = [""] * 12
    else:
        fields = line["fields"].rstrip().split(",")
        first = CSV_HEADS.get(line["format"], 0)
        # The fields are 12 results of the large file, 5 settings and 12 results of the
        # small files, and 12 latencies.
        if not first or len(fields) != first + 41:
            raise line.parse_error(
                "the fields do not match CSV format {format}.", format=line["format"]
            )
        version, concurrency = line["bonnie"], fields[1]
        size, chunk = fields[3:5]
        files = "/".join(filter(None, fields[first + 12 : first + 17]))
        created, latencies = fields[first + 17 : first + 29], fields[first + 29 :]
    run = Draft(tool_version=version)
    if fields[0].strip():
        run.facts["machine"] = fields[0].strip()
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
    line: MatchedLine, cells: list[str], tests: Tests, run: Draft, unit: str = "K/sec"
) -> None:
    _forget_sizes(run, tests)
    for (metric, case), rate, cpu in zip(tests, cells[::2], cells[1::2], strict=True):
        if rate.startswith("+"):
            run.add_warning("too_fast", "A test was too fast to measure (+++++).")
        elif rate and metric != "throughput":
            run.add(metric, line.parse_amount(rate), "1/s", **case)
        elif rate:
            suffix = rate[-1] if rate[-1] in UNITS else ""
            if not suffix and unit != "K/sec":
                raise line.parse_error(
                    '"{text}" has no unit (KiB/s or MiB/s).', text=rate
                )
            value = line.parse_amount(rate.removesuffix(suffix))
            run.add(metric, value, UNITS[suffix or "k"], **case)
        if cpu and not cpu.startswith("+"):
            run.add("CPU utilization", line.parse_amount(cpu), "%", **case)


def _read_latencies(
    line: MatchedLine, cells: list[str], tests: Tests, run: Draft
) -> None:
    _forget_sizes(run, tests)
    for (_, case), cell in zip(tests, cells, strict=True):
        if cell:
            if not (latency := _LATENCY.fullmatch(cell)):
                raise line.parse_error('"{cell}" is not a latency.', cell=cell)
            run.add("latency max", float(latency[1]), latency[2], **case)


def _forget_sizes(run: Draft, tests: Tests) -> None:
    # Results of small files do not depend on the size of the large file.
    if tests is FILES:
        run.parameters.pop("size", None)
        run.parameters.pop("chunk", None)


@dataclass(slots=True)
class BonnieTable:
    tests: Tests = IO
    unit: str = ""
    start: int = 0
    first: int = 0
    row: int = -1

    def begin(self, line: MatchedLine) -> None:
        self.unit = line["unit"]
        self.start = line.text.find("/sec") - 2
        self.row = self.first - 1

    def is_row(self, line: MatchedLine) -> bool:
        cells = line["row"].split()[-12:]
        is_whole = len(cells) == 12 and all(map(_CELL.fullmatch, cells))
        return self.row < self.first or is_whole

    def next_run(self, runs: list[Draft]) -> Draft:
        """Return the run of the next row; bon_csv2txt prints rows of several runs."""
        self.row += 1
        if self.row == len(runs) and self.tests is IO:
            append_limited(runs, Draft(tool_version=runs[-1].tool_version))
        return runs[min(self.row, len(runs) - 1)]

    def read_row(self, line: MatchedLine, run: Draft) -> None:
        cells = _cells(line, self.start, "row", 2)
        is_whole = len(line["row"].split()) >= 13
        name = line["row"] if is_whole else line.text[: self.start]
        head = name.split()[: -12 if is_whole else None]
        if self.tests is IO:
            size, _, chunk = (head or [""])[-1].partition(":")
            _read_sizes(run, size, chunk)
            if head[:-1]:
                run.facts["machine"] = " ".join(head[:-1])
        elif head:
            run.parameters["files"] = run.facts["files"] = head[-1]
        _read_rates(line, cells, self.tests, run, self.unit)


def _table_runs(lines: Iterator[MatchedLine]) -> list[Draft]:
    runs = [Draft()]
    table = BonnieTable()
    for line in lines:
        if line.kind == "version":
            table = BonnieTable(
                IO if line["what"] == "Output" else FILES, first=table.first
            )
            if table.tests is IO:
                append_limited(runs, Draft())
                table.first = len(runs) - 1
            runs[-1].tool_version = line["version"] or runs[-1].tool_version
        elif line.kind == "concurrency":
            runs[-1].parameters["concurrency"] = line.integer("concurrency")
        elif line.kind == "head":
            table.begin(line)
        elif line.kind == "latency" and table.unit and table.row >= 0:
            # Latencies begin two columns further left than rates.
            cells = _cells(line, table.start - 2, "latency", 1)
            _read_latencies(line, cells, table.tests, runs[table.row])
        elif line.kind == "row" and table.unit and table.is_row(line):
            table.read_row(line, table.next_run(runs))
    return runs


def _cells(line: MatchedLine, start: int, group: str, per_test: int) -> list[str]:
    """Return the cells of six tests, by position if some were not done."""
    if line.may_be_truncated(group):
        raise line.parse_error(
            "the text ends in the middle of this line. Upload the complete line."
        )
    words = line[group].split()
    if len(words) >= 6 * per_test:
        return words[-6 * per_test :]

    # Cells end at every tenth column, or later if a number is too wide.
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
            raise line.parse_error("the columns are not aligned with their headings.")
        cells[(column - 1) * per_test : column * per_test] = group_of_test
        shift += over
    return cells


TOOL = Tool(
    slug="bonnie",
    title="Bonnie++",
    homepage="https://www.coker.com.au/bonnie++/",
    metrics=(
        Metric("throughput", "KiB/s", "higher", "disk", work_class=DISK),
        Metric(
            "seek rate", "1/s", "higher", "disk", work_class=always("disk: random read")
        ),
        Metric("file rate", "1/s", "higher", "disk", work_class=NO_WORK_CLASS),
        Metric("CPU utilization", "%", "lower", "disk", allows_zero=True),
        Metric("latency max", "us", "lower", "disk"),
        cost_metric("CPU time per data", "disk", ("CPU utilization",), "throughput"),
    ),
    aliases=("bonnie",),
    labels=("by {by}", "{size}", "{files} files"),
    version=2,
    parse=parse,
    targets=("machine",),
    signatures=(
        r"Version +\d\S* +-+Sequential (?:Output|Create)-",
        r"1\.9\d,[12]\.\d\d\w?,[^\n,]*,\d+,",
        _OLD,
    ),
    programs=("bonnie++", "bonnie"),
    is_localized=False,
)
