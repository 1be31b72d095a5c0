"""memtier_benchmark: operations of Redis, Valkey and memcached servers.

KB are 1024 B. With -x, only the aggregated average of the runs is read::

    Gets        43444.12     43444.12         1.20         2.61979 ...   3724.01
"""

import re
from dataclasses import dataclass, field

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    check_row_width,
    parser,
)
from benchmarks.parsing.tool import (
    APPLICATION_TAIL,
    Metric,
    Options,
    Parameter,
    Tool,
    first_match,
    when,
)

LINES = LineScanner(
    threads=r"(?P<threads>\d+) +Threads[ \t]*+$",
    connections=r"(?P<connections>\d+) +Connections per thread[ \t]*+$",
    title=r"(?P<title>ALL STATS|AGGREGATED AVERAGE RESULTS \(\d+ runs\)|"
    r"(?:BEST|WORST) RUN RESULTS)[ \t]*+$",
    columns=r"(?P<columns>Type +Ops/sec +[^\n]*)$",
    row=r"(?P<name>[A-Z][A-Za-z_.]{1,40}) +(?P<cells>[\d.-][^\n]*)(?=\n)",
    end=r"Request Latency Distribution",
)
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?) Latency")
NOT_MEASURED = frozenset({"---", "-nan", "nan"})
DATABASE = first_match(when("application: database", operation="totals"))


@dataclass
class MemtierRun(Draft):
    columns: list[str] = field(default_factory=list)
    is_read: bool = True

    def read(self, line: MatchedLine) -> None:
        if line.kind in ("threads", "connections"):
            self.parameters[line.kind] = line.integer(line.kind)
        elif line.kind == "title":
            self.is_read = line["title"][0] == "A"
            self.columns = []
        elif line.kind == "columns":
            names = re.split(r" {2,}", line["columns"].strip())
            self.columns = names[1:] if self.is_read else []
        elif line.kind == "end":
            self.columns = []
        elif self.columns:
            self._read_row(line)

    def _read_row(self, line: MatchedLine) -> None:
        cells = line["cells"].split()
        check_row_width(line, cells, len(self.columns))
        case: dict[str, Parameter] = {"operation": line["name"].casefold()}
        for column, cell in zip(self.columns, cells, strict=True):
            if cell not in NOT_MEASURED:
                self._add(column, line.parse_amount(cell), case)

    def _add(self, column: str, value: float, case: dict[str, Parameter]) -> None:
        if percentile := _PERCENTILE.fullmatch(column):
            rank = float(percentile[1])
            self.add("latency percentile", value, "ms", percentile=rank, **case)
        elif column in ("Avg. Latency", "Latency"):
            self.add("latency mean", value, "ms", **case)
        elif column == "Ops/sec":
            self.add("operation rate", value, "1/s", **case)
        elif column == "KB/sec":
            self.add("transfer rate", value, "KiB/s", **case)


@parser("memtier_benchmark printed no table of results.")
def parse(output: str) -> list[MemtierRun]:
    runs = [MemtierRun()]
    for line in LINES(output):
        is_repeated = line.kind in runs[-1].parameters
        is_next = line.kind == "title" and line["title"] == "ALL STATS" and runs[-1]
        if is_repeated or is_next:
            append_limited(runs, MemtierRun())
        runs[-1].read_line(runs[-1].read, line)
    return runs


TOOL = Tool(
    slug="memtier",
    title="memtier_benchmark",
    homepage="https://github.com/RedisLabs/memtier_benchmark",
    metrics=(
        Metric("operation rate", "1/s", "higher", "application", work_class=DATABASE),
        Metric(
            "transfer rate",
            "KiB/s",
            "higher",
            "application",
            implied_by=("operation rate",),
        ),
        Metric(
            "latency mean", "ms", "lower", "application", implied_by=("operation rate",)
        ),
        Metric(
            "latency percentile",
            "ms",
            "lower",
            "application",
            work_class=APPLICATION_TAIL,
        ),
    ),
    options=Options(
        {
            **dict.fromkeys(("-t", "--threads"), "threads"),
            **dict.fromkeys(("-c", "--clients"), "connections"),
            **dict.fromkeys(("-d", "--data-size"), "size"),
            "--pipeline": "pipeline",
            "--ratio": "ratio",
        },
        sizes=frozenset({"size"}),
    ),
    labels=("{threads} threads", "{connections} connections"),
    version=1,
    parse=parse,
    signatures=(
        r"\d+ +Threads[ \t]*+$",
        r"ALL STATS[ \t]*+$",
        r"Type +Ops/sec +",
        r"AGGREGATED AVERAGE RESULTS \(",
    ),
    programs=("memtier_benchmark",),
    is_localized=False,
)
