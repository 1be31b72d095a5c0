"""qperf: bandwidth and latency of TCP, UDP and RDMA.

KB, MB and GB of rates are decimal. Latency is half of the round trip. The client sends,
and ``recv_bw`` is what arrived::

    tcp_bw:
        bw  =  368 MB/sec
"""

import re
from dataclasses import dataclass, field

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import Metric, Parameter, Tool, always

LINES = LineScanner(
    test=r"(?P<test>(?:tcp|udp|sctp|sdp|rds|rc|uc|ud|ver|xrc)_[a-z_]{1,40}):[ \t]*+$",
    value=r"(?P<name>[a-z_]+)(?P<gap> +)=  *(?P<value>[\d.,]+)"
    r"(?: (?P<unit>[A-Za-z/]+))?"
    r"(?: \([\d,]+\))? *(?=\n)",
    failed=r"(?P<failed>(?:[a-z_]+: )?(?:failed to|unable to|cannot|server: )[^\n]*)$",
)
UNITS = {
    "bytes/sec": "B/s",
    "KB/sec": "kB/s",
    "MB/sec": "MB/s",
    "GB/sec": "GB/s",
    "TB/sec": "TB/s",
    "bits/sec": "bit/s",
    "Kb/sec": "kbit/s",
    "Mb/sec": "Mbit/s",
    "Gb/sec": "Gbit/s",
    "Tb/sec": "Tbit/s",
    "ns": "ns",
    "us": "us",
    "ms": "ms",
    "sec": "s",
}
GAP = 2
METRICS = {
    "bw": "throughput",
    "recv_bw": "throughput",
    "send_bw": "sent throughput",
    "latency": "latency",
}
_SIZE = re.compile(r"bytes|[KMG]iB")


@dataclass
class QperfRun(Draft):
    test: str = ""
    lines: list[MatchedLine] = field(default_factory=list)

    def finish_test(self) -> None:
        # Names are padded to the longest one, which two blanks follow.
        if self.lines and all(len(line["gap"]) > GAP for line in self.lines):
            raise self.lines[-1].parse_error("the lines below it are missing.")
        case: dict[str, Parameter] = {"test": self.test}
        for line in self.lines:
            if line["name"] == "msg_size" and _SIZE.fullmatch(line["unit"]):
                unit = "B" if line["unit"] == "bytes" else line["unit"]
                case["size"] = f"{self._number(line):g} {unit}"
        for line in self.lines:
            self._add(line, case)
        self.lines = []

    @staticmethod
    def _number(line: MatchedLine) -> float:
        return line.parse_amount(line["value"].replace(",", ""))

    def _add(self, line: MatchedLine, case: dict[str, Parameter]) -> None:
        name, unit = line["name"], line["unit"]
        if metric := METRICS.get(name):
            if unit not in UNITS:
                raise line.parse_error('the unit "{unit}" is not known.', unit=unit)
            self.add(metric, line.parse_amount(line["value"]), UNITS[unit], **case)


@parser("qperf printed no result.")
def parse(output: str) -> list[QperfRun]:
    runs = [QperfRun()]
    for line in LINES(output):
        run = runs[-1]
        if line.kind == "test":
            run.read_line(run.finish_test)
            run.test = line["test"]
        elif line.kind == "failed":
            run.add_failure("failed", 'qperf printed "{text}".', text=line["failed"])
        elif run.test:
            run.lines.append(line)
    runs[-1].read_line(runs[-1].finish_test)
    return _split(runs[-1])


def _split(run: QperfRun) -> list[QperfRun]:
    """Return the run, or one run per repetition if a test was repeated."""
    count = max((reading.repetition for reading in run.readings), default=1)
    if count == 1:
        return [run]
    runs: list[QperfRun] = []
    for number in range(1, count + 1):
        part = QperfRun()
        for reading in run.readings:
            if reading.repetition == number:
                part.add(
                    reading.metric, reading.value, reading.unit, **reading.parameters
                )
        append_limited(runs, part)
    return runs


TOOL = Tool(
    slug="qperf",
    title="qperf",
    homepage="https://github.com/linux-rdma/qperf",
    metrics=(
        Metric(
            "throughput",
            "MB/s",
            "higher",
            "network",
            work_class=always("network: throughput out"),
        ),
        Metric(
            "sent throughput", "MB/s", "higher", "network", implied_by=("throughput",)
        ),
        Metric(
            "latency",
            "us",
            "lower",
            "network",
            work_class=always("network: round trip"),
        ),
    ),
    labels=("{test}", "{size}"),
    version=1,
    parse=parse,
    signatures=(
        r"(?:tcp|udp|sctp|sdp|rds|rc|uc|ud|ver|xrc)_[a-z_]{1,40}:[ \t]*+\n +[a-z_]+ +=",
    ),
    programs=("qperf",),
    is_localized=False,
)
