"""OSU micro-benchmarks: latency and bandwidth of MPI.

MB are 10^6 B. Each size of messages is a case::

    # OSU MPI Latency Test v5.6.2
    # Size          Latency (us)
    0                       0.21
"""

import re

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import Metric, Parameter, Tool, first_match, when

LINES = LineScanner(
    begin=r"# OSU MPI(?:-\S+)? ?(?P<test>[^\n]{1,60}?) Test(?: v(?P<version>[\d.]+))?"
    r"[ \t]*+$",
    columns=r"# Size (?P<columns>[^\n]*)$",
    row=r"(?P<size>\d+) +(?P<cells>\d[\d. ]*)(?=\n)",
)
_COLUMN = re.compile(r"(Bandwidth|Avg Latency|Min Latency|Max Latency|Latency)")
BANDWIDTH = "bandwidth"
METRICS = {
    "Bandwidth": (BANDWIDTH, "MB/s"),
    "Latency": ("latency", "us"),
    "Avg Latency": ("latency", "us"),
    "Min Latency": ("latency min", "us"),
    "Max Latency": ("latency max", "us"),
}
ROUND_TRIP = first_match(when("network: round trip", test="latency"))
OUT = first_match(when("network: throughput out", test="bandwidth"))


class OsuRun(Draft):
    columns: tuple[str, ...] = ()

    def read(self, line: MatchedLine) -> None:
        if line.kind == "columns":
            self.columns = tuple(_COLUMN.findall(line["columns"]))
            return
        cells = line["cells"].split()
        if not self.columns or len(cells) < len(self.columns):
            raise line.parse_error("this row has other columns than its header.")
        case: dict[str, Parameter] = {"size": f"{line.integer('size')} B"}
        for column, cell in zip(self.columns, cells, strict=False):
            metric, unit = METRICS[column]
            self.add(metric, line.parse_amount(cell), unit, **case)


@parser("No row of an OSU micro-benchmark was printed.")
def parse(output: str) -> list[OsuRun]:
    runs: list[OsuRun] = []
    for line in LINES(output):
        if line.kind == "begin":
            test = line["test"].strip().lower()
            run = OsuRun(tool_version=line["version"], parameters={"test": test})
            append_limited(runs, run)
        elif runs:
            runs[-1].read_line(runs[-1].read, line)
    return runs


TOOL = Tool(
    slug="osu",
    title="OSU micro-benchmarks",
    homepage="https://mvapich.cse.ohio-state.edu/benchmarks/",
    metrics=(
        Metric(BANDWIDTH, "MB/s", "higher", "network", work_class=OUT),
        Metric("latency", "us", "lower", "network", work_class=ROUND_TRIP),
        Metric("latency min", "us", "lower", "network"),
        Metric("latency max", "us", "lower", "network"),
    ),
    labels=("{test}", "{size}"),
    version=1,
    parse=parse,
    signatures=(r"# OSU MPI[^\n]* Test(?: v[\d.]+)?[ \t]*+$",),
    programs=("osu_latency", "osu_bw", "osu_bibw", "osu_allreduce"),
    is_localized=False,
)
