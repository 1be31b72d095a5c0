"""vmstat: processor time, swapping and block input and output of a Linux machine.

Each metric is the mean, minimum and maximum of all intervals. The first row counts
since the start of the machine and is excluded. bi and bo are KiB/s::

     r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
    17  0      0 15854572 105804 4273688  0   0   120  1248  953 1992 84 13  0  0  3
"""

from dataclasses import dataclass, field

from benchmarks.errors import ParseError
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
    summary_metrics,
)
from benchmarks.parsing.tool import Tool

LINES = LineScanner(
    title=r"-*procs\b[ -]",
    columns=r"(?P<columns>r +b +swpd +free +[^\n]*)$",
    row=r"(?P<cells>\d+ +\d+ +\d+ +\d+ +\d[^\n]*)$",
)
METRICS = {
    "us": ("CPU user", "%"),
    "sy": ("CPU system", "%"),
    "id": ("CPU idle", "%"),
    "wa": ("CPU I/O wait", "%"),
    "st": ("CPU steal", "%"),
    "in": ("interrupts", "1/s"),
    "cs": ("context switches", "1/s"),
    "bi": ("disk read rate", "KiB/s"),
    "bo": ("disk write rate", "KiB/s"),
}


@dataclass
class VmstatLog(Draft):
    columns: list[str] = field(default_factory=list)
    has_timestamp: bool = False
    rows: int = 0
    summaries: dict[str, SampleSummary] = field(default_factory=dict)

    def begin(self, line: MatchedLine) -> None:
        columns = line["columns"].split()
        last = [*METRICS, "gu"]
        # With -t, the last column is named by the time zone and has two words.
        self.has_timestamp = columns[-1] not in last
        self.columns = columns[:-1] if self.has_timestamp else columns

    def read(self, line: MatchedLine) -> None:
        if not self.columns:
            raise line.parse_error("the names of the columns above it are missing.")
        if line.may_be_truncated("cells"):
            self.add_warning("cut", TRUNCATED_ROW)
            return
        cells = line["cells"].split()
        if self.has_timestamp:
            cells = cells[:-2]
        check_row_width(line, cells, len(self.columns))
        self.rows += 1
        for name, cell in zip(self.columns, cells, strict=True):
            if name in METRICS and self.rows > 1:
                summary = self.summaries.setdefault(name, SampleSummary())
                summary.append(line.parse_amount(cell))

    def close(self) -> None:
        if self.rows == 1:
            raise ParseError(
                "The only row of vmstat counts since the start of the machine. Give "
                "vmstat an interval and a count."
            )
        for name, summary in self.summaries.items():
            summary.add_to(self, *METRICS[name])


@parser("vmstat printed no row.")
def parse(output: str) -> list[VmstatLog]:
    logs: list[VmstatLog] = [VmstatLog()]
    columns = ""
    for line in LINES(output):
        if line.kind == "title":
            columns = ""
        elif line.kind == "columns":
            # vmstat repeats its header in a long log.
            if line["columns"] != columns or not logs[-1].rows:
                append_limited(logs, VmstatLog())
                logs[-1].begin(line)
            columns = line["columns"]
        else:
            logs[-1].read_line(logs[-1].read, line)
    return logs


TOOL = Tool(
    slug="vmstat",
    title="vmstat",
    homepage="https://gitlab.com/procps-ng/procps",
    metrics=(
        *(
            metric
            for name, unit in METRICS.values()
            for metric in summary_metrics(
                name,
                unit,
                "disk" if name.startswith("disk") else "CPU",
                "lower" if unit == "%" else "higher",
                allows_zero=True,
            )
        ),
    ),
    version=1,
    parse=parse,
    signatures=(r"-*procs[ -]++-*memory-", r"r ++b ++swpd ++free "),
    programs=("vmstat",),
    is_localized=False,
)
