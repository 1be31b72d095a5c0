"""nench.sh: time of hashing and compressing, ioping, dd and downloads.

The script reformats the outputs of its tools. The three runs of dd are repetitions.
Downloads are not read, because their speeds depend on the remote server::

    CPU: SHA256-hashing 500 MB
        5.491 seconds
"""

from dataclasses import dataclass

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import (
    NO_WORK_CLASS,
    Metric,
    Tool,
    always,
)

LINES = LineScanner(
    version=r"nench\.sh (?P<version>v[\d.]+) ",
    cpu=r"CPU: (?P<cpu>[\w-]{1,40}) (?P<size>\d+) MB[ \t]*+$",
    seconds=r"(?P<seconds>[\d.]+) seconds[ \t]*+$",
    seek=r"ioping: (?P<seek>seek rate|sequential read speed)[ \t]*+$",
    times=r"min/avg/max/mdev = (?P<min>[\d.]+) (?P<min_unit>ns|us|ms|s) / "
    r"(?P<mean>[\d.]+) (?P<mean_unit>ns|us|ms|s) / (?P<max>[\d.]+) "
    r"(?P<max_unit>ns|us|ms|s) / [\d.]+ (?:ns|us|ms|s)[ \t]*+$",
    generated=r"generated [\d.]+ ?k? requests in [^\n]*, (?P<speed>[\d.]+) "
    r"(?P<speed_unit>[KMG]iB/s)[ \t]*+$",
    dd=r"dd: sequential write speed[ \t]*+$",
    write=r"(?P<number>\d)(?:st|nd|rd) run: +(?P<write>[\d.]+) MiB/s[ \t]*+$",
)


@dataclass
class NenchRun(Draft):
    work: str = ""

    def read(self, line: MatchedLine) -> None:
        if line.kind == "cpu":
            self.work = line["cpu"]
            self.parameters = {"size": f"{line.integer('size')} MB"}
        elif line.kind == "seconds":
            if self.work:
                self.add("time", line.number("seconds"), "s", work=self.work)
                self.work = ""
        elif line.kind in ("seek", "dd"):
            self.parameters = {}
        elif line.kind == "times":
            for which in ("min", "mean", "max"):
                unit = line[f"{which}_unit"]
                self.add(f"seek latency {which}", line.number(which), unit)
        elif line.kind == "generated":
            self.add("sequential read", line.number("speed"), line["speed_unit"])
        else:
            self.add("sequential write", line.number("write"), "MiB/s")


@parser("nench printed no result.")
def parse(output: str) -> list[NenchRun]:
    runs = [NenchRun()]
    for line in LINES(output):
        if line.kind == "version":
            append_limited(runs, NenchRun(tool_version=line["version"]))
        else:
            runs[-1].read_line(runs[-1].read, line)
    return runs


TOOL = Tool(
    slug="nench",
    title="nench",
    homepage="https://github.com/n-st/nench",
    metrics=(
        Metric("time", "s", "lower", "CPU", work_class=NO_WORK_CLASS),
        Metric(
            "seek latency mean",
            "us",
            "lower",
            "disk",
            work_class=always("disk: random read"),
        ),
        Metric("seek latency min", "us", "lower", "disk"),
        Metric("seek latency max", "us", "lower", "disk"),
        Metric(
            "sequential read",
            "MiB/s",
            "higher",
            "disk",
            work_class=always("disk: sequential read"),
        ),
        Metric(
            "sequential write",
            "MiB/s",
            "higher",
            "disk",
            work_class=always("disk: sequential write"),
        ),
    ),
    aliases=("nench.sh",),
    labels=("{work}", "{size}"),
    version=1,
    parse=parse,
    signatures=(r"nench\.sh v\d",),
    programs=("nench.sh",),
    is_localized=False,
)
