"""sockperf: latency and throughput of messages over sockets.

Latency is half of the round trip, in us. MBps are MiB/s. The mode, the size of messages
and a requested rate are known from the command only; the size also from a note::

    sockperf: Summary: Latency is 20.780 usec
"""

import re

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import (
    NETWORK_TAIL,
    Metric,
    RateOption,
    Tool,
    always,
)

LINES = LineScanner(
    command=r"(?:[^\n$#%>+]*+[$#%>+]++ )?(?:sudo )?sockperf (?P<mode>pp|ping-pong|ul|"
    r"under-load|tp|throughput)\b(?P<words>[^\n]*)$",
    begin=r"sockperf(?:\[CLIENT\] send on|: == version)",
    protocol=r"\[ *0\] IP = \S+ +PORT = +\d+ # (?P<protocol>TCP|UDP)",
    size=r"sockperf: NOTE: test was performed, using msg-size=(?P<size>\d+)\.",
    lost=r"sockperf: # dropped messages = (?P<lost>\d+); # duplicated messages = \d+; "
    r"# out-of-order messages = \d+[ \t]*+$",
    total=r"sockperf: \[Valid Duration\] RunTime=\S+ sec; SentMessages=(?P<sent>\d+);",
    latency=r"sockperf: Summary: Latency is (?P<latency>\S+) usec",
    rate=r"sockperf: Summary: Message Rate is (?P<rate>\d+) \[msg/sec\]",
    band=r"sockperf: Summary: BandWidth is (?P<band>\S+) MBps ",
    tail=r"sockperf: ---> (?P<rank><MAX>|<MIN>|percentile [\d.]+) (?:observation )?= *"
    r"(?P<value>[\d.]+)[ \t]*+(?=\n)",
    none=r"sockperf: (?P<none>No valid observations found[^\n]*|No messages were "
    r"received[^\n]*|ERROR[^\n]*)$",
)
_SIZE = re.compile(r"(?:-m|--msg-size)[ =]?(\d+)")
_RATE = re.compile(r"--mps[ =](\w+)")
MODES = {"pp": "ping-pong", "ul": "under-load", "tp": "throughput"}
METRICS = {
    "latency": ("latency mean", "us"),
    "rate": ("message rate", "1/s"),
    "band": ("throughput", "MiB/s"),
}
SUMMARIES = {"<MAX>": "latency max", "<MIN>": "latency min"}
RANKS = {"99.990", "99.900", "99.000", "90.000", "50.000"}


def _read(run: Draft, line: MatchedLine) -> None:
    if line.kind == "protocol":
        run.parameters["protocol"] = line["protocol"]
    elif line.kind == "size":
        run.parameters["size"] = f"{line.integer('size')} B"
    elif line.kind == "total":
        run.facts["messages"] = line.integer("sent")
    elif line.kind == "lost":
        if lost := line.integer("lost"):
            run.add_warning("errors", "{lost} messages were dropped.", lost=lost)
            run.count_errors(lost, max(int(run.facts.get("messages", lost)), lost))
    elif line.kind == "tail":
        _read_percentile(run, line)
    elif line.kind == "none":
        run.add_failure("failed", 'sockperf printed "{text}".', text=line["none"])
    else:
        metric, unit = METRICS[line.kind]
        run.add(metric, line.number(line.kind), unit)


def _read_percentile(run: Draft, line: MatchedLine) -> None:
    value = line.number("value")
    if metric := SUMMARIES.get(line["rank"]):
        run.add(metric, value, "us")
    elif (rank := line["rank"].rpartition(" ")[2]) in RANKS:
        run.add("latency percentile", value, "us", percentile=float(rank))


def _options(line: MatchedLine) -> Draft:
    run = Draft(parameters={"mode": MODES.get(line["mode"], line["mode"])})
    if size := _SIZE.search(line["words"]):
        run.parameters["size"] = f"{int(size[1])} B"
    if rate := _RATE.search(line["words"]):
        run.parameters["mps"] = rate[1]
    return run


@parser("sockperf printed no result.")
def parse(output: str) -> list[Draft]:
    runs = [Draft()]
    for line in LINES(output):
        if line.kind == "command":
            append_limited(runs, _options(line))
        elif line.kind == "begin":
            if runs[-1].has_content:
                append_limited(runs, Draft())
        else:
            runs[-1].read_line(_read, runs[-1], line)
    return runs


REQUESTED = (RateOption("mps"),)
TOOL = Tool(
    slug="sockperf",
    title="sockperf",
    homepage="https://github.com/Mellanox/sockperf",
    metrics=(
        Metric(
            "latency mean",
            "us",
            "lower",
            "network",
            work_class=always("network: round trip"),
        ),
        Metric("latency min", "us", "lower", "network"),
        Metric("latency max", "us", "lower", "network"),
        Metric("latency percentile", "us", "lower", "network", work_class=NETWORK_TAIL),
        Metric(
            "message rate",
            "1/s",
            "higher",
            "network",
            rate_options=REQUESTED,
            work_class=always("network: throughput out"),
        ),
        Metric(
            "throughput",
            "MiB/s",
            "higher",
            "network",
            rate_options=(RateOption("mps", ""),),
            implied_by=("message rate",),
        ),
    ),
    labels=("{mode}", "{protocol}", "{size}", "p{percentile}"),
    version=1,
    parse=parse,
    signatures=(r"sockperf: ", r"sockperf\[CLIENT\] send on"),
    programs=("sockperf",),
    needs_command=True,
    is_localized=False,
)
