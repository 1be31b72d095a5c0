"""STREAM: bandwidth of memory, in four kernels.

The rate is that of the best of several passes, in MB/s of 10^6 B. A run whose results
fail validation is rejected.
"""

from benchmarks.errors import ParseError
from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import MEMORY, Metric, Tool

KERNELS = ("copy", "scale", "add", "triad")
DOUBLE = 8  # B per element
TIMES = 3
LINES = LineScanner(
    version=r"STREAM version \$Revision: (?P<version>[\d.]+)",
    element=r"This system uses (?P<element>\d+) bytes per (?:array element|"
    r"DOUBLE PRECISION word)",
    elements=r"Array size = (?P<elements>\d+)",
    passes=r"(?:Each kernel will be executed|Each test is run) (?P<passes>\d+) times",
    threads=r"Number of Threads (?:counted|requested) = (?P<threads>\d+)",
    variant=r"Function[ \t]++Best Rate MB/s[ \t]*+$",
    row=r"(?P<kernel>Copy|Scale|Add|Triad):\s++(?P<rate>\S+)\s++(?P<times>\S.*)",
    failed=r"(?P<failed>Failed Validation on array \w)",
    cut=r"(?:Copy|Scale|Add|Triad):",
)


@parser("STREAM printed no bandwidth.")
def parse(output: str) -> list[Draft]:
    runs = [Draft()]
    rows: list[str] = []
    for line in LINES(output):
        if line.kind in ("version", "element") and rows:
            runs[-1].read_line(_refuse_missing, rows)
            append_limited(runs, Draft())
            rows = []
        if line.kind in {"row", "variant"}:
            rows.append(line["kernel"].casefold())
        runs[-1].read_line(_read, line, runs[-1])
    if rows:
        runs[-1].read_line(_refuse_missing, rows)
    return runs


def _read(line: MatchedLine, run: Draft) -> None:
    if line.kind == "cut":
        raise line.parse_error("this row is incomplete.")
    if line.kind == "variant" or len(line["times"].split()) > TIMES:
        raise line.parse_error(
            "this is a variant of STREAM with other columns, which cannot be read."
        )
    if line.kind == "failed":
        raise line.parse_error("the results failed validation.")
    if line.kind == "version":
        run.tool_version = line["version"]
    elif line.kind == "element":
        if (size := line.integer("element")) != DOUBLE:
            run.parameters["element"] = f"{size} B"
    elif line.kind == "passes":
        run.facts["passes"] = line.integer("passes")
    elif line.kind == "row":
        line.numbers("times", 6)
        run.add(
            "bandwidth",
            line.number("rate"),
            "MB/s",
            operation=line["kernel"].casefold(),
        )
    else:
        run.parameters[line.kind] = line.integer(line.kind)


def _refuse_missing(rows: list[str]) -> None:
    missing = [kernel for kernel in KERNELS if kernel not in rows]
    if missing:
        raise ParseError(
            "STREAM printed no row for {kernels}.", kernels=", ".join(missing)
        )


TOOL = Tool(
    slug="stream",
    title="STREAM",
    homepage="https://www.cs.virginia.edu/stream/",
    metrics=(Metric("bandwidth", "MB/s", "higher", "memory", work_class=MEMORY),),
    labels=("{threads} threads", "{sockets} sockets"),
    version=2,
    parse=parse,
    signatures=(
        r"STREAM version \$Revision",
        r"Function[ \t]++(?:Best )?Rate (?:MB/s|\(MB/s\))",
    ),
    programs=("stream", "stream_c.exe", "stream_omp"),
    is_localized=False,
)
