"""dbench and tbench: the load of an office server, replayed by many clients.

tbench sends the load of dbench over the network; its output differs only in the
command.

Since version 2.0, MB are 10^6 B. Version 1, recognized by ``(NB=``, uses the nominal
132 MB of its load file, so its rate gets a warning.
"""

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import (
    NO_WORK_CLASS,
    Component,
    Metric,
    RateOption,
    Tool,
)

_COMMAND = (
    r"(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\S* )?(?:sudo )?(?:[\w.-]{0,40}/){0,9}"
    r"tbench(?= |:|$)"
)
LINES = LineScanner(
    banner=r"(?P<program>[dt])bench version (?P<version>\d[\w.]*+)",
    load=r"Running for (?P<seconds>\d+) seconds with load '(?P<load>[^'\n]*)' and "
    r"minimum warmup (?P<warmup>\d+) secs",
    operation=r"(?P<name>[A-Z]\w{2,30}) +(?P<count>\d+) +(?P<mean>\d\S*+) +"
    r"(?P<max>\d\S*+)[ \t]*+$",
    client=r"(?P<client>Client \d+ did|Per client results:)",
    result=r"Throughput (?P<rate>\S+) MB/sec(?P<nominal> +\(NB=[^)\n]*\))?"
    r"(?P<sync>(?: +\(sync \w+\)){0,9})(?: +(?P<clients>\d+) clients)?"
    r"(?: +(?P<procs>\d+) procs)?(?: +max_latency=(?P<latency>\S+) (?P<unit>ms))?"
    r"(?P<rest>[^\n]*)$",
    failed=r"(?:Child (?:\d+ )?failed|FAILED TO START|\[\d+\] [^\n]{1,80} failed|"
    r"\(\d+\) ERROR|ERROR|No space left)",
    network=r"[^\n]{0,200}?\btbench(?:_srv)?\b",
)


def parse_log(output: str) -> list[Draft]:
    runs = [Draft()]
    is_over = per_client = False
    for line in LINES(output):
        if is_over and line.kind in {"banner", "load", "result"}:
            append_limited(runs, Draft())
            is_over = False
        run = runs[-1]
        if line.kind in {"banner", "load", "client"}:
            # The lines below repeat the operations for each client.
            per_client = line.kind == "client"
        if line.kind == "banner":
            run.tool_version = line["version"]
        elif line.kind == "load":
            run.facts["load"] = line["load"]
            run.facts["seconds"] = line.integer("seconds")
            run.facts["warmup seconds"] = line.integer("warmup")
        elif line.kind == "operation" and not per_client:
            run.facts[f"{line['name']} mean ms"] = line.number("mean")
            run.facts[f"{line['name']} max ms"] = line.number("max", decimals=3)
        elif line.kind == "failed":
            run.add_failure(
                "failed", 'dbench printed "{text}".', text=line.text.strip()
            )
        elif line.kind == "result":
            _read_result(line, run)
            is_over = True
    return runs


@parser("dbench printed no throughput, so it did not finish.")
def parse(output: str) -> list[Draft]:
    for line in LINES(output):
        if line.kind == "network" or line["program"] == "t":
            raise line.parse_error(
                "tbench measures the network, but this is read as dbench. Upload the "
                "output with the command line of tbench above it."
            )
    return parse_log(output)


@parser("tbench printed no throughput, so it did not finish.")
def parse_tbench(output: str) -> list[Draft]:
    return parse_log(output)


def _read_result(line: MatchedLine, run: Draft) -> None:
    # The last field is the latency since version 4, and the processes before.
    is_whole = line["unit"] or (line["procs"] and not line["clients"])
    if line["rest"].strip() or not (is_whole or line["nominal"]):
        raise line.parse_error("this line is truncated.")
    if line["procs"]:
        # Version 3 had one client in each process.
        run.parameters["clients"] = int(line["clients"] or line["procs"])
        run.parameters["procs"] = int(line["procs"])
    if sync := line["sync"].replace("(", "").replace(")", "").split():
        run.parameters["sync"] = " and ".join(word for word in sync if word != "sync")
    if line["nominal"]:
        run.add_warning(
            "nominal", "This version of dbench calculates its MB from the time alone."
        )
    run.add("throughput", line.number("rate"), "MB/s")
    if line["unit"]:
        run.add("latency max", line.number("latency"), "ms")


def _metrics(component: Component) -> tuple[Metric, ...]:
    return (
        Metric(
            "throughput",
            "MB/s",
            "higher",
            component,
            rate_options=(RateOption("target_rate", "MB/s"), RateOption("R", "MB/s")),
            work_class=NO_WORK_CLASS,
        ),
        Metric("latency max", "ms", "lower", component),
    )


TOOL = Tool(
    slug="dbench",
    title="dbench",
    homepage="https://dbench.samba.org/",
    metrics=_metrics("disk"),
    labels=("{clients} clients", "sync {sync}"),
    version=3,
    parse=parse,
    signatures=(
        r"dbench version \d",
        r"Throughput \S+ MB/sec ",
    ),
    programs=("dbench",),
    is_localized=False,
)
TBENCH = Tool(
    slug="tbench",
    title="tbench",
    homepage="https://dbench.samba.org/",
    metrics=_metrics("network"),
    labels=("{clients} clients",),
    version=1,
    parse=parse_tbench,
    signatures=(_COMMAND, r"tbench version \d"),
    programs=("tbench",),
    is_localized=False,
    enclosed_tools=("dbench",),
    last_line="\nThroughput ",
)
