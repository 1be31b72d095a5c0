"""mbw: how fast memory is copied, by three methods.

MB, which old versions print, are MiB. ``AVG`` rows are the size divided by the
mean time, and are read if there are no other rows. ``TOT`` rows (version 3.0) sum
the threads.
"""

from dataclasses import dataclass, field

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import COPY, Metric, Parameter, Tool

LINES = LineScanner(
    header=r"Long uses \d+ bytes\.(?: Will start (?P<threads>\d+) threads\.)?",
    block=r"Using (?P<block>\d+) bytes as blocks for memcpy block copy test",
    count=r"Getting down to business\.\.\. Doing (?P<count>\d+) runs per test",
    row=r"(?P<number>\d+|AVG)\s+Method: (?P<method>\S+)\s+Elapsed: *+(?P<time>\S+)\s+"
    r"Mi?B: *+(?P<size>\S+)\s+Copy: *+(?P<rate>\S+) Mi?B/s",
    total=r"TOT\s+Method: (?P<total_method>\S+)\s+Elapsed min/max/avg/tot: \S+\s+"
    r"Size: *+(?P<total_size>\S+)\s+BW: *+(?P<total>\S+) Mi?B/s",
    cut=r"(?:\d+|AVG|TOT)\s+Method:",
)
BLOCKS = "MCBLOCK"


@dataclass
class MbwRun(Draft):
    averages: list[tuple[float, dict[str, Parameter]]] = field(default_factory=list)

    def close(self) -> None:
        copied = {
            reading.parameters["method"]
            for reading in self.readings
            if reading.metric == "copy rate"
        }
        for rate, case in self.averages:
            if case["method"] not in copied:
                self.add("copy rate", rate, "MiB/s", **case)
                self.add_warning(
                    "averages_only",
                    "Only the average of several copies was printed, so it counts as "
                    "one.",
                )


@parser("mbw printed no copy result.")
def parse(output: str) -> list[MbwRun]:
    runs = [MbwRun()]
    header: dict[str, int] = {}
    seen: set[tuple[str, str]] = set()
    for line in LINES(output):
        if line.kind == "cut":
            raise line.parse_error("this row is incomplete.")
        row = line["number"], line["method"] or line["total_method"]
        if line.kind == "header" or row in seen:
            # With -q there is no header, so a repeated row begins another run.
            append_limited(runs, MbwRun())
            seen.clear()
        if line.kind == "header":
            header.clear()
        if line.kind in {"row", "total"}:
            seen.add(row)
            _read(line, runs[-1], header)
        else:
            names = ("threads", "block", "count")
            header.update({name: line.integer(name) for name in names if line[name]})
    return runs


def _read(line: MatchedLine, run: MbwRun, header: dict[str, int]) -> None:
    if count := header.get("count"):
        run.facts["runs"] = count
    total = "total_" if line.kind == "total" else ""
    method = line[f"{total}method"]
    size = f"{line.number(f'{total}size'):.15g} MiB"
    case: dict[str, Parameter] = {"method": method, "size": size}
    if (block := header.get("block")) and method == BLOCKS:
        case["block"] = f"{block} B"
    if threads := header.get("threads"):
        case["threads"] = threads
    if total:
        run.add("total copy rate", line.number("total"), "MiB/s", **case)
    elif line["number"] == "AVG":
        rate = run.facts[f"mean {method} MiB/s"] = line.number("rate")
        run.averages.append((rate, case))
    else:
        run.add("copy rate", line.number("rate"), "MiB/s", **case)


TOOL = Tool(
    slug="mbw",
    title="mbw",
    homepage="https://github.com/raas/mbw",
    metrics=(
        Metric("copy rate", "MiB/s", "higher", "memory", work_class=COPY),
        Metric(
            "total copy rate", "MiB/s", "higher", "memory", implied_by=("copy rate",)
        ),
    ),
    labels=("{method}", "{size}"),
    version=2,
    parse=parse,
    signatures=(
        r"Long uses \d+ bytes\.",
        r"(?:\d{1,9}|AVG|TOT)[ \t]++Method: \w+[ \t]++Elapsed",
    ),
    programs=("mbw",),
    is_localized=False,
)
