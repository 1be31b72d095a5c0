"""HPCG: conjugate gradients, rated by memory rather than by arithmetic.

Only a valid result is read. Official results need 30 minutes and tuned code; the fact
"code" says that the reference code ran::

    Final Summary::HPCG result is VALID with a GFLOP/s rating of=3.28908
"""

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import FLOATING_POINT, Metric, Tool

_FINAL = r"(?:Final Summary::|\*{0,10} *)"
LINES = LineScanner(
    begin=r"HPCG-Benchmark[ \t]*+$",
    version=r"(?:HPCG-Benchmark )?version[=:] ?(?P<version>\S+)[ \t]*+$",
    processes=r"(?:Machine Summary::)?Distributed Processes[=:] ?(?P<processes>\d+)"
    r"[ \t]*+$",
    threads=r"(?:Machine Summary::)?Threads per processes[=:] ?(?P<threads>\d+)"
    r"[ \t]*+$",
    size=r"(?:Local Domain Dimensions::)?(?P<axis>n[xyz])[=:] ?(?P<size>\d+)[ \t]*+$",
    valid=_FINAL + r"HPCG result is VALID with a GFLOP/s rating of[=:]? ?"
    r"(?P<valid>[\d.]+(?:e[+-]\d+)?)[ \t]*+(?=\n)",
    invalid=r"(?P<invalid>[^\n]{0,40}HPCG result is INVALID[^\n]*)$",
    reference=r"(?:Final Summary::)?Reference version of Compute\w+ used",
)


def _read(run: Draft, line: MatchedLine) -> None:
    if line.kind in ("processes", "threads"):
        run.parameters[line.kind] = line.integer(line.kind)
    elif line.kind == "size":
        run.parameters[line["axis"]] = line.integer("size")
    elif line.kind == "version":
        run.tool_version = line["version"]
    elif line.kind == "invalid":
        raise line.parse_error("HPCG says that this result is not valid.")
    elif line.kind == "reference":
        run.facts["code"] = "reference"
    else:
        run.add("performance", line.number("valid"), "Gflop/s")


@parser("HPCG printed no valid result.")
def parse(output: str) -> list[Draft]:
    runs = [Draft()]
    for line in LINES(output):
        if line.kind == "begin" or (line.kind == "version" and runs[-1]):
            append_limited(runs, Draft())
        if line.kind != "begin":
            runs[-1].read_line(_read, runs[-1], line)
    return runs


TOOL = Tool(
    slug="hpcg",
    title="HPCG",
    homepage="https://www.hpcg-benchmark.org/",
    metrics=(
        Metric("performance", "Gflop/s", "higher", "CPU", work_class=FLOATING_POINT),
    ),
    labels=("{nx}x{ny}x{nz}", "{processes} processes", "{threads} threads"),
    version=1,
    parse=parse,
    signatures=(
        r"HPCG-Benchmark\b",
        r"(?:Final Summary::)?HPCG result is (?:IN)?VALID",
    ),
    programs=("xhpcg",),
    is_localized=False,
)
