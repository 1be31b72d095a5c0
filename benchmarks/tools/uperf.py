"""uperf: throughput and operations of a network profile.

Mb/s are 10^6 bit/s. The total over all transactions of the profile is read, which
includes connecting, so short runs have lower numbers::

    Total      5.41MB /   4.32(s) =    10.51Mb/s       14594op/s
"""

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import NO_WORK_CLASS, Metric, Tool

LINES = LineScanner(
    begin=r"Starting (?P<threads>\d+) (?:threads|processes) running "
    r"profile:(?P<profile>\S+) \.\.\.",
    total=r"Total +\S+ */ +(?P<time>[\d.]+)\(s\) = +(?:0|(?P<rate>[\d.]+)"
    r"(?P<unit>[KMG]?b/s)) +(?P<operations>[\d.]+)op/s[ \t]*+$",
    errors=r"master +[\d.]+s +\S+ +\S+ +\d+ +(?P<errors>[\d.]+)[ \t]*+(?=\n)",
    failed=r"(?P<failed>\*\* (?:Error|ERROR)[^\n]*|Error [^\n]*)$",
)
UNITS = {"b/s": "bit/s", "Kb/s": "kbit/s", "Mb/s": "Mbit/s", "Gb/s": "Gbit/s"}


def _read(run: Draft, line: MatchedLine) -> None:
    if line.kind == "total":
        if line["rate"]:
            run.add("throughput", line.number("rate"), UNITS[line["unit"]])
        run.add("operation rate", line.number("operations"), "1/s")
        run.facts["duration"] = f"{line['time']} s"
    elif line.kind == "failed":
        run.add_failure("failed", 'uperf printed "{text}".', text=line["failed"])
    elif line.number("errors"):
        run.add_warning("errors", "{errors} % of errors.", errors=line["errors"])


@parser("uperf printed no total.")
def parse(output: str) -> list[Draft]:
    runs = [Draft()]
    for line in LINES(output):
        if line.kind == "begin":
            append_limited(runs, Draft(parameters={"profile": line["profile"]}))
            runs[-1].parameters["threads"] = line.integer("threads")
        else:
            runs[-1].read_line(_read, runs[-1], line)
    return runs


TOOL = Tool(
    slug="uperf",
    title="uperf",
    homepage="https://github.com/uperf/uperf",
    metrics=(
        Metric("throughput", "Mbit/s", "higher", "network", work_class=NO_WORK_CLASS),
        Metric("operation rate", "1/s", "higher", "network", work_class=NO_WORK_CLASS),
    ),
    labels=("{profile}", "{threads} threads"),
    version=1,
    parse=parse,
    signatures=(r"Starting \d+ (?:threads|processes) running profile:",),
    programs=("uperf",),
    is_localized=False,
)
