"""ioping: latency of single requests to a disk.

Only requests after the warm-up count. Requests are random unless -L is given, which is
known from the command only. k of requests are 1000::

    min/avg/max/mdev = 161.2 us / 5.87 ms / 22.9 ms / 9.85 ms
"""

import re

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import Metric, Tool, first_match, when

_TIME = r"(?P<{0}>[\d.]+) (?P<{0}_unit>ns|us|ms|s|min|hour)"
LINES = LineScanner(
    command=r"(?:[^\n$#%>+]*+[$#%>+]++ )?(?:sudo )?ioping(?P<words> [^\n]*)$",
    request=r"(?P<size>\d+) (?P<size_unit>KiB|MiB|B|KB|bytes) (?P<way><<<|>>>|from|to) "
    r"[^\n]*(?:request|seq)=\d+ time=",
    begin=r"--- (?P<target>[^\n]*) ioping statistics ---[ \t]*+$",
    total=r"(?P<count>[\d.]+)(?: (?P<count_prefix>[kMG]))? requests completed in "
    r"[^\n,]*, (?:(?P<amount>[\d.]+ (?:[KMGT]i)?B) (?P<moved>read|written), )?"
    r"(?P<rate>[\d.]+)(?: (?P<prefix>[kMG]))? iops, (?P<speed>[\d.]+) "
    r"(?P<speed_unit>[KMGT]?i?B/s)[ \t]*+$",
    times=r"min/avg/max/mdev = "
    + " / ".join(_TIME.format(name) for name in ("min", "mean", "max"))
    + r" / [\d.]+ (?:ns|us|ms|s|min|hour)[ \t]*+(?=\n)",
)
TIMES = {"ns": "ns", "us": "us", "ms": "ms", "s": "s", "min": "min", "hour": "h"}
FACTORS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}
SIZES = {"KiB": "KiB", "MiB": "MiB", "B": "B", "bytes": "B", "KB": "KiB"}
OPERATIONS = {"<<<": "read", ">>>": "write", "from": "read", "to": "write"}
ACCESS = first_match(
    when("disk: random read", access="random", operation="read"),
    when("disk: random write", access="random", operation="write"),
    when("disk: sequential read", access="sequential", operation="read"),
    when("disk: sequential write", access="sequential", operation="write"),
)
_SEQUENTIAL = re.compile(r" -[A-Za-z]*L")


def _read(run: Draft, line: MatchedLine) -> None:
    if line.kind == "request":
        run.parameters["block"] = f"{line.integer('size')} {SIZES[line['size_unit']]}"
        run.parameters["operation"] = OPERATIONS[line["way"]]
    elif line.kind == "begin":
        run.facts["target"] = line["target"]
    elif line.kind == "total":
        if line["moved"]:
            is_read = line["moved"] == "read"
            run.parameters["operation"] = "read" if is_read else "write"
        run.add("IOPS", line.number("rate") * FACTORS[line["prefix"]], "1/s")
        run.add("throughput", line.number("speed"), line["speed_unit"])
    else:
        for name in ("min", "mean", "max"):
            unit = TIMES[line[f"{name}_unit"]]
            run.add(f"latency {name}", line.number(name), unit)


@parser("ioping printed no statistics.")
def parse(output: str) -> list[Draft]:
    runs = [Draft()]
    for line in LINES(output):
        if line.kind == "command":
            is_sequential = _SEQUENTIAL.search(line["words"])
            access = "sequential" if is_sequential else "random"
            append_limited(runs, Draft(parameters={"access": access}))
            continue
        if line.kind in ("request", "begin") and runs[-1]:
            append_limited(runs, Draft())
        runs[-1].read_line(_read, runs[-1], line)
    return runs


TOOL = Tool(
    slug="ioping",
    title="ioping",
    homepage="https://github.com/koct9i/ioping",
    metrics=(
        Metric("latency mean", "us", "lower", "disk", work_class=ACCESS),
        Metric("latency min", "us", "lower", "disk"),
        Metric("latency max", "us", "lower", "disk"),
        Metric("IOPS", "1/s", "higher", "disk", implied_by=("latency mean",)),
        Metric("throughput", "MiB/s", "higher", "disk", implied_by=("latency mean",)),
    ),
    labels=("{block}",),
    version=1,
    parse=parse,
    signatures=(
        r"--- [^\n]* ioping statistics ---",
        r"\d+ \S+ (?:<<<|>>>|from|to) [^\n]*(?:request|seq)=\d+ time=",
    ),
    programs=("ioping",),
    needs_command=True,
    targets=("target",),
    is_localized=False,
)
