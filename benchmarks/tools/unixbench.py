"""UnixBench (byte-unixbench): loops of system calls, processes, files and arithmetic.

KBps are KiB/s, and files stay in the page cache. MWIPS are 10^6 Whetstone instructions
per second. The indexes of single tests follow from their rates, so only the overall
score is read. A report has one part per number of parallel copies::

    Execl Throughput                              10847.7 lps   (30.0 s, 2 samples)
"""

import re
from dataclasses import dataclass

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import (
    FLOATING_POINT,
    NO_WORK_CLASS,
    Metric,
    Tool,
    always,
    first_match,
    when,
)

LINES = LineScanner(
    version=r"BYTE UNIX Benchmarks \(Version (?P<version>[^)\s]+)\)",
    copies=r"\S+ CPUs? in system; running (?P<copies>\d+) parallel cop(?:y|ies) of "
    r"tests[ \t]*+$",
    score=r"System Benchmarks Index Score(?P<partial> \(Partial Only\))? +"
    r"(?P<score>\d+\.\d)[ \t]*+$",
    row=r"(?P<test>[A-Z0-9](?:[^\s\n]| (?! )){1,45}) +(?P<rate>\S+) (?P<unit>lps|lpm"
    r"|KBps|MWIPS|fps) *\([\d.]+ s, \d+ samples?\)[ \t]*+$",
    cut=r"(?P<cut>\S[^\n]* (?:lps|lpm|KBps|MWIPS)[ \t]*\([^\n]*)",
)
UNITS = {"lps": "1/s", "lpm": "1/min", "KBps": "KiB/s", "MWIPS": "MWIPS", "fps": "1/s"}
METRICS = {
    "MWIPS": "Whetstone rate",
    "KBps": "file throughput",
    "lpm": "script rate",
    "lps": "loop rate",
    "fps": "frame rate",
}
_FILES = re.compile(r"File (Copy|Read|Write) (\d+) bufsize (\d+) maxblocks")
SYSTEM = first_match(
    when("system: process creation", test="(Execl|Process Creation|Exec System).*"),
    when("system: context switch", test="Pipe-based Context Switching"),
    when("system: system call", test="(System Call Overhead|Pipe Throughput)"),
)


@dataclass
class UnixBenchRun(Draft):
    def read(self, line: MatchedLine) -> None:
        test, unit = line["test"].strip(), line["unit"]
        rate = line.number("rate")
        if test.startswith("Dhrystone"):
            self.add("Dhrystone rate", rate, UNITS[unit])
        elif unit == "MWIPS":
            self.add("Whetstone rate", rate, unit)
        elif files := _FILES.fullmatch(test):
            self.add(
                "file throughput",
                rate,
                UNITS[unit],
                operation=files[1].lower(),
                block=f"{files[2]} B",
                blocks=int(files[3]),
            )
        else:
            self.add(METRICS[unit], rate, UNITS[unit], test=test)


@parser("UnixBench printed no result of a test.")
def parse(output: str) -> list[UnixBenchRun]:
    runs: list[UnixBenchRun] = []
    version = ""
    for line in LINES(output):
        if line.kind == "version":
            version = line["version"]
        elif line.kind == "copies":
            parameters = {"copies": line.integer("copies")}
            append_limited(
                runs, UnixBenchRun(tool_version=version, parameters={**parameters})
            )
        elif not runs:
            raise line.parse_error(
                "the line above it that states the number of copies is missing."
            )
        elif line.kind == "row":
            runs[-1].read_line(runs[-1].read, line)
        elif line.kind == "score":
            case = {"tests": "some"} if line["partial"] else {}
            runs[-1].add("index score", line.number("score", 1), "", **case)
    return runs


TOOL = Tool(
    slug="unixbench",
    title="UnixBench",
    homepage="https://github.com/kdlucas/byte-unixbench",
    metrics=(
        Metric(
            "Dhrystone rate", "1/s", "higher", "CPU", work_class=always("CPU: integer")
        ),
        Metric("Whetstone rate", "MWIPS", "higher", "CPU", work_class=FLOATING_POINT),
        Metric("loop rate", "1/s", "higher", "CPU", work_class=SYSTEM),
        Metric("script rate", "1/min", "higher", "CPU", work_class=NO_WORK_CLASS),
        Metric(
            "file throughput", "KiB/s", "higher", "memory", work_class=NO_WORK_CLASS
        ),
        Metric("frame rate", "1/s", "higher", "application"),
        Metric("index score", "", "higher", "application"),
    ),
    aliases=("byte-unixbench", "BYTE UNIX Benchmarks"),
    labels=("{test}", "{block}", "{copies} copies"),
    version=1,
    parse=parse,
    signatures=(
        r"BYTE UNIX Benchmarks \(Version ",
        r"\S+ CPUs? in system; running \d+ parallel cop",
        r"Benchmark Run: \w{3} ",
    ),
    programs=("Run",),
    is_localized=False,
)
