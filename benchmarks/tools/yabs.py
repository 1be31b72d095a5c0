"""YABS (yabs.sh): disk, network and Geekbench scores of a server.

The script prints tables instead of the outputs of fio, iperf3 and Geekbench. Disk tests
are random reads and writes, half each; MB are 1000 KiB. Speeds of networks depend on
the remote server, so each location is a case::

    Read       | 5.28 MB/s     (1.3k) | 63.83 MB/s     (997)
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
from benchmarks.parsing.tool import DISK, NO_WORK_CLASS, Metric, Parameter, Tool

LINES = LineScanner(
    version=r"# +(?P<version>v\d{4}-\d\d-\d\d) +#[ \t]*+$",
    blocks=r"Block Size \|(?P<blocks>[^\n]*IOPS[^\n]*)$",
    disk=r"(?P<operation>Read|Write) +\|(?P<disk>[^\n]*B/s[^\n]*)(?=\n)",
    network=r"iperf3 Network Speed Tests \((?P<network>IPv[46])\):",
    speed=r"(?P<provider>[^|\n]{1,60})\|(?P<location>[^|\n]{1,80})\|(?P<send>[^|\n]*)"
    r"\|(?P<receive>[^|\n]*)(?P<rest>\|[^\n]*)?(?=\n)",
    geekbench=r"Geekbench (?P<geekbench>\d) Benchmark Test:",
    score=r"(?P<part>Single|Multi) Core +\| (?P<score>\d+)[ \t]*+(?=\n)",
)
_BLOCK = re.compile(r"(\d+)([km])")
_DISK = re.compile(r" *([\d.]+) ([KMG]B/s) +\([\d.]+k?\) *")
_SPEED = re.compile(r" *([\d.]+) ([KMG]bits/sec) *")
# fio states KiB/s, which the script divides by powers of 1000.
_KIBIBYTES = {"KB/s": 1, "MB/s": 1000, "GB/s": 1_000_000}
_BITS = {"Kbits/sec": "kbit/s", "Mbits/sec": "Mbit/s", "Gbits/sec": "Gbit/s"}
_SIZES = {"k": "KiB", "m": "MiB"}


@dataclass
class YabsRun(Draft):
    blocks: list[str] = field(default_factory=list)
    network: str = ""

    def read(self, line: MatchedLine) -> None:
        if line.kind == "blocks":
            pairs = _BLOCK.findall(line["blocks"])
            self.blocks = [f"{size} {_SIZES[prefix]}" for size, prefix in pairs]
        elif line.kind == "network":
            self.network = line["network"]
        elif line.kind == "geekbench":
            self.network = ""
            self.parameters["Geekbench"] = line.integer("geekbench")
        elif line.kind == "score":
            part = f"{line['part'].lower()}-core"
            self.add("Geekbench score", line.integer("score"), "", section=part)
        elif line.kind == "disk":
            self._read_disk(line)
        elif self.network and line.kind == "speed":
            self._read_speed(line)

    def _read_disk(self, line: MatchedLine) -> None:
        cells = [_DISK.fullmatch(cell) for cell in line["disk"].split("|")]
        check_row_width(line, cells, len(self.blocks))
        for block, cell in zip(self.blocks, cells, strict=True):
            if cell is None:
                raise line.parse_error("a cell of this row is not a rate.")
            case: dict[str, Parameter] = {
                "operation": line["operation"].lower(),
                "access": "random",
                "block": block,
                "share": "50 %",
            }
            rate = round(line.parse_amount(cell[1]) * _KIBIBYTES[cell[2]], 2)
            self.add("disk throughput", rate, "KiB/s", **case)

    def _read_speed(self, line: MatchedLine) -> None:
        case: dict[str, Parameter] = {
            "provider": line["provider"].strip(),
            "location": line["location"].strip(),
            "protocol": self.network,
        }
        for operation in ("send", "receive"):
            # Busy servers have words instead of a speed.
            if cell := _SPEED.fullmatch(line[operation]):
                rate, unit = line.parse_amount(cell[1]), _BITS[cell[2]]
                self.add("network throughput", rate, unit, operation=operation, **case)


@parser("YABS printed no result.")
def parse(output: str) -> list[YabsRun]:
    runs = [YabsRun()]
    for line in LINES(output):
        if line.kind == "version":
            append_limited(runs, YabsRun(tool_version=line["version"]))
        else:
            runs[-1].read_line(runs[-1].read, line)
    return runs


TOOL = Tool(
    slug="yabs",
    title="YABS",
    homepage="https://github.com/masonr/yet-another-bench-script",
    metrics=(
        Metric("disk throughput", "MB/s", "higher", "disk", work_class=DISK),
        Metric(
            "network throughput",
            "Mbit/s",
            "higher",
            "network",
            work_class=NO_WORK_CLASS,
        ),
        Metric("Geekbench score", "", "higher", "CPU", work_class=NO_WORK_CLASS),
    ),
    aliases=("yabs.sh",),
    labels=("{block}", "{location}", "{section}"),
    version=2,
    parse=parse,
    signatures=(
        r"# +Yet-Another-Bench-Script +#",
        r"# +v\d{4}-\d\d-\d\d +#",
        r"fio Disk Speed Tests \(Mixed R/W 50/50\)",
    ),
    is_localized=False,
)
