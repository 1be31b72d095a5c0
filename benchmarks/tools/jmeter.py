"""JMeter: the summary that its command line prints.

"summary +" is an interval, "summary =" the total so far; the last total counts::

    summary =    759 in 00:00:46 =   16.6/s Avg:     2 Min:     0 Max:    35 Err: ...
"""

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import WEB, Metric, Tool

LINES = LineScanner(
    begin=r"(?:Starting the test @|Creating summariser <|Starting standalone test @)",
    total=r"(?:[^\n]{0,60}: )?summary = +(?P<count>\d+) in +(?P<time>[\d:.]+s?) = +"
    r"(?P<rate>[\d.]+)/(?P<per>s|m|h) Avg: +(?P<mean>\d+) Min: +(?P<min>\d+) "
    r"Max: +(?P<max>\d+) Err: +(?P<errors>\d+) \([\d.]+%\)",
    end=r"\.\.\. end of run",
)
UNITS = {"s": ("1/s", 1.0), "m": ("1/min", 1.0), "h": ("1/min", 1 / 60)}


def _read(run: Draft, line: MatchedLine) -> None:
    unit, factor = UNITS[line["per"]]
    run.add("request rate", line.number("rate") * factor, unit)
    for which in ("mean", "min", "max"):
        run.add(f"response time {which}", line.integer(which), "ms")
    errors, count = line.integer("errors"), line.integer("count")
    run.add("requests", count, "")
    run.facts["duration"] = line["time"]
    run.count_errors(errors, count)
    if errors:
        run.add_warning("errors", "{errors} requests failed.", errors=errors)


@parser("JMeter printed no total.")
def parse(output: str) -> list[Draft]:
    runs = [Draft()]
    last: MatchedLine | None = None
    for line in LINES(output):
        if line.kind == "total":
            last = line
        elif last:
            runs[-1].read_line(_read, runs[-1], last)
            append_limited(runs, Draft())
            last = None
    if last:
        runs[-1].add_warning("cut", "The end of the run was not printed.")
        runs[-1].read_line(_read, runs[-1], last)
    return runs


TOOL = Tool(
    slug="jmeter",
    title="JMeter",
    homepage="https://jmeter.apache.org/",
    metrics=(
        Metric("request rate", "1/s", "higher", "application", work_class=WEB),
        Metric(
            "response time mean",
            "ms",
            "lower",
            "application",
            implied_by=("request rate",),
        ),
        Metric("response time min", "ms", "lower", "application"),
        Metric("response time max", "ms", "lower", "application"),
        Metric("requests", "", "neither", "application", allows_zero=True),
    ),
    version=1,
    parse=parse,
    signatures=(
        r"Creating summariser <",
        r"summary [+=] +\d+ in ",
        r"Starting (?:the|standalone) test @",
    ),
    programs=("jmeter", "jmeter.sh"),
    is_localized=False,
)
