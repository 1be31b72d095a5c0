"""hdparm: sequential reads from a disk, and from its cache.

MB are 2^20 B and kB are 2^10 B.
"""

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import NO_WORK_CLASS, SEQUENTIAL_READ, Metric, Tool, always

LINES = LineScanner(
    device=r"(?P<path>/dev/[^\s:]++):(?P<trouble> [^\n]*)?$",
    row=r"Timing (?P<what>cached|buffer-cache|buffered disk|O_DIRECT disk|"
    r"O_DIRECT cached) reads(?: \(offset (?P<offset>\d+) GB\))?: +(?P<size>\S+) MB in +"
    r"\S+ seconds = *+(?P<rate>\S+) (?P<unit>[kM]B)/s(?:ec)?\b",
    failed=r"(?:read\(\)|lseek\(\)|BLKFLSBUF|BLKGETSIZE|HDIO_\w+)[^\n]{0,20}"
    r" (?:failed|hit EOF)|Timing [^\n:]{1,60} reads[^\n:]{0,40}:",
)
METRICS = {
    "cached": "cached read",
    "buffer-cache": "cached read",
    "buffered disk": "buffered read",
    "O_DIRECT disk": "direct read",
    "O_DIRECT cached": "direct cached read",
}
UNITS = {"kB": "KiB/s", "MB": "MiB/s"}


@parser("hdparm did not time any reads.")
def parse(output: str) -> list[Draft]:
    runs = [Draft()]
    for line in LINES(output):
        if line.kind == "row":
            runs[-1].read_line(_read, line, runs[-1])
        elif line.kind == "failed" or line["trouble"].strip():
            runs[-1].add_warning(
                "failed", 'hdparm printed "{text}".', text=line.text.strip()
            )
        else:
            if runs[-1] or runs[-1].facts:
                append_limited(runs, Draft())
            runs[-1].facts["device"] = line["path"]
    return runs


def _read(line: MatchedLine, run: Draft) -> None:
    # A disk is slower towards its end.
    case = {"offset": f"{line['offset']} GiB"} if line["offset"] else {}
    unit = UNITS[line["unit"]]
    run.add(METRICS[line["what"]], line.number("rate"), unit, operation="read", **case)


TOOL = Tool(
    slug="hdparm",
    title="hdparm",
    homepage="https://sourceforge.net/projects/hdparm/",
    metrics=(
        Metric("buffered read", "MB/s", "higher", "disk", work_class=SEQUENTIAL_READ),
        # These reads are served from RAM.
        Metric(
            "cached read", "MB/s", "higher", "memory", work_class=always("memory: read")
        ),
        Metric("direct read", "MB/s", "higher", "disk", work_class=SEQUENTIAL_READ),
        Metric(
            "direct cached read", "MB/s", "higher", "disk", work_class=NO_WORK_CLASS
        ),
    ),
    version=2,
    parse=parse,
    targets=("device",),
    signatures=(
        r"Timing (?:cached|buffer-cache|buffered disk|O_DIRECT (?:disk|cached)) "
        r"reads\b[^\n:]{0,40}:",
    ),
    programs=("hdparm",),
)
