"""rtla: latency of timers and noise of the operating system, measured by Linux.

Tables are repeated until the end, and the last one counts. Times are in us unless
--nano is given::

    0 #1008      |       10         3        10        18 | ...
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
from benchmarks.parsing.tool import NO_WORK_CLASS, Metric, Parameter, Tool

LINES = LineScanner(
    title=r"(?P<title>Timer Latency|Operating System Noise)[ \t]*+$",
    unit=r"(?:\d+ )?[\d:]+ +\| +IRQ Timer Latency \((?P<unit>us|ns)\)",
    noise_unit=r"duration: [^\n|]*\| time is in (?P<noise_unit>us|ns)",
    row=r"(?P<cpu>\d+) #(?P<count>\d+) +\|(?P<cells>[\d |-]+)(?=\n)",
    noise=r"(?P<noise_cpu>\d+) #(?P<periods>\d+) +(?P<numbers>\d[\d. ]*)(?=\n)",
)
PARTS = ("IRQ", "thread", "return to user")
_BARS = re.compile(r" *\| *")
COLUMNS = 4


@dataclass
class RtlaRun(Draft):
    unit: str = "us"
    rows: dict[str, MatchedLine] = field(default_factory=dict)

    def close(self) -> None:
        for row in self.rows.values():
            self.read_line(self._read_row, row)

    def _read_row(self, row: MatchedLine) -> None:
        if row.kind == "noise":
            self._read_noise(row)
            return
        parts = _BARS.split(row["cells"].strip())
        for name, part in zip(PARTS, parts, strict=False):
            cells = part.split()
            check_row_width(row, cells, COLUMNS)
            case: dict[str, Parameter] = {"part": name, "cpu": row.integer("cpu")}
            for which, cell in zip(("min", "mean", "max"), cells[1:], strict=True):
                if cell != "-":
                    value = row.parse_amount(cell)
                    self.add(f"latency {which}", value, self.unit, **case)

    def _read_noise(self, row: MatchedLine) -> None:
        cells = row["numbers"].split()
        if len(cells) < COLUMNS:
            raise row.parse_error("this row has other columns than its header.")
        _runtime, _noise, available, largest = map(row.parse_amount, cells[:COLUMNS])
        if not available:
            raise row.parse_error("no time was available.")
        cpu = row.integer("noise_cpu")
        self.add("noise share", max(round(100 - available, 5), 0.0), "%", cpu=cpu)
        self.add("noise max", largest, self.unit, cpu=cpu)


@parser("rtla printed no row of a CPU.")
def parse(output: str) -> list[RtlaRun]:
    runs = [RtlaRun()]
    title = ""
    for line in LINES(output):
        if line.kind == "title":
            if title and line["title"] != title:
                append_limited(runs, RtlaRun())
            title = line["title"]
        elif line.kind in ("unit", "noise_unit"):
            runs[-1].unit = line[line.kind]
        else:
            runs[-1].rows[line["cpu"] or line["noise_cpu"]] = line
    return runs


TOOL = Tool(
    slug="rtla",
    title="rtla",
    homepage="https://docs.kernel.org/tools/rtla/",
    metrics=(
        Metric("latency max", "us", "lower", "CPU", work_class=NO_WORK_CLASS),
        Metric("latency mean", "us", "lower", "CPU", work_class=NO_WORK_CLASS),
        Metric("latency min", "us", "lower", "CPU"),
        Metric("noise max", "us", "lower", "CPU", work_class=NO_WORK_CLASS),
        Metric("noise share", "%", "lower", "CPU", allows_zero=True),
    ),
    aliases=("rtla timerlat", "rtla osnoise"),
    labels=("{part}", "CPU {cpu}"),
    version=1,
    parse=parse,
    signatures=(
        r"(?:Timer Latency|Operating System Noise)[ \t]*+$",
        r"CPU COUNT +\| +cur +min +avg +max \|",
    ),
    programs=("rtla", "timerlat", "osnoise"),
    is_localized=False,
)
