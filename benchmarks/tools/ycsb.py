"""YCSB and go-ycsb: operations of a key-value store.

The workload and the number of threads are known from the command only. Clean-up and
garbage collection are not read::

    [READ], 99thPercentileLatency(us), 1463
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
    APPLICATION_TAIL,
    Metric,
    Options,
    Parameter,
    RateOption,
    Tool,
    always,
)

LINES = LineScanner(
    command=r"Command line: (?P<command>[^\n]*)$",
    shell=r"(?:[^\n$#%>+]*+[$#%>+]++ )?(?:\S{0,60}/)?(?:go-)?ycsb(?:\.sh)? "
    r"(?P<shell>(?:run|load) [^\n]*)$",
    row=r"\[(?P<operation>[A-Z][A-Za-z_-]{1,40})\], (?P<name>[^,\n]{1,60}), "
    r"(?P<value>[\d.NaE-]+)[ \t]*+(?=\n)",
    go=r"(?P<done>[A-Z_]{3,30}) +- Takes\(s\): [\d.]+, Count: (?P<count>\d+), "
    r"OPS: (?P<ops>[\d.]+), Avg\(us\): (?P<mean>\d+), Min\(us\): (?P<min>\d+), "
    r"Max\(us\): (?P<max>\d+)(?P<tails>(?:, [\d.]{1,6}th\(us\): \d+){0,20})"
    r"[ \t]*+(?=\n)",
)
_PERCENTILE = re.compile(r"([\d.]+)(?:st|nd|rd|th)?PercentileLatency\(us\)")
_GO_PERCENTILE = re.compile(r"([\d.]+)th\(us\): (\d+)")
_WORKLOAD = re.compile(r"-P[ =]?(?:[^ ]*[/\\])?([\w.-]+)")
_THREADS = re.compile(r"(?:-threads|threadcount)[ =](\d+)")
_TARGET = re.compile(r"-target[ =](\d+)")
NOT_OPERATIONS = frozenset({"CLEANUP", "TOTAL"})
SUMMARIES = {
    "AverageLatency(us)": "latency mean",
    "MinLatency(us)": "latency min",
    "MaxLatency(us)": "latency max",
}


def _read(run: Draft, line: MatchedLine) -> None:
    operation, name = line["operation"], line["name"]
    if operation in NOT_OPERATIONS or operation.startswith("TOTAL_"):
        return
    if operation == "OVERALL":
        if name == "Throughput(ops/sec)":
            run.add("operation rate", line.number("value"), "1/s")
        elif name == "RunTime(ms)":
            run.facts["run time ms"] = line.number("value")
    elif metric := SUMMARIES.get(name):
        run.add(metric, line.number("value"), "us", operation=operation.lower())
    elif percentile := _PERCENTILE.fullmatch(name):
        _add_tail(run, operation, percentile[1], line.number("value"))
    elif name.startswith("Return=") and name not in ("Return=OK", "Return=0"):
        run.add_warning(
            "errors",
            "Operations of the kind {operation} ended with {name}.",
            operation=operation,
            name=name,
        )


def _add_tail(run: Draft, operation: str, rank: str, value: float) -> None:
    case: dict[str, Parameter] = {"operation": operation.lower()}
    run.add("latency percentile", value, "us", percentile=float(rank), **case)


def _read_go(run: Draft, line: MatchedLine) -> None:
    operation = line["done"]
    if operation.endswith("_ERROR"):
        count = line.integer("count")
        run.add_warning("errors", "{count} operations failed.", count=count)
        return
    if operation == "TOTAL":
        run.add("operation rate", line.number("ops"), "1/s")
        return
    for which in ("mean", "min", "max"):
        value = line.integer(which)
        run.add(f"latency {which}", value, "us", operation=operation.lower())
    for rank, value in _GO_PERCENTILE.findall(line["tails"]):
        _add_tail(run, operation, rank, float(value))


def _options(words: str) -> Draft:
    run = Draft()
    for name, pattern in (
        ("workload", _WORKLOAD),
        ("threads", _THREADS),
        ("target", _TARGET),
    ):
        if option := pattern.search(words):
            run.parameters[name] = option[1]
    run.parameters["phase"] = "load" if re.search(r"-load\b|^load ", words) else "run"
    return run


@parser("YCSB printed no throughput.")
def parse(output: str) -> list[Draft]:
    runs = [Draft()]
    # go-ycsb repeats its rows; the last one of an operation counts.
    rows: dict[str, MatchedLine] = {}
    for line in LINES(output):
        if line.kind in ("command", "shell"):
            _close_go(runs[-1], rows)
            append_limited(runs, _options(line["command"] or line["shell"]))
        elif line.kind == "go":
            rows[line["done"]] = line
        else:
            if line["name"] == "RunTime(ms)" and runs[-1]:
                append_limited(runs, Draft())
            runs[-1].read_line(_read, runs[-1], line)
    _close_go(runs[-1], rows)
    return runs


def _close_go(run: Draft, rows: dict[str, MatchedLine]) -> None:
    for row in rows.values():
        run.read_line(_read_go, run, row)
    rows.clear()


TOOL = Tool(
    slug="ycsb",
    title="YCSB",
    homepage="https://github.com/brianfrankcooper/YCSB",
    metrics=(
        Metric(
            "operation rate",
            "1/s",
            "higher",
            "application",
            rate_options=(RateOption("target"),),
            work_class=always("application: database"),
        ),
        Metric(
            "latency mean", "us", "lower", "application", implied_by=("operation rate",)
        ),
        Metric("latency min", "us", "lower", "application"),
        Metric("latency max", "us", "lower", "application"),
        Metric(
            "latency percentile",
            "us",
            "lower",
            "application",
            work_class=APPLICATION_TAIL,
        ),
    ),
    aliases=("go-ycsb",),
    options=Options(
        {"-threads": "threads", "-target": "target", "-P": "workload"},
    ),
    labels=("{workload}", "{threads} threads", "p{percentile}"),
    version=1,
    parse=parse,
    signatures=(
        r"\[(?:OVERALL|READ|INSERT|UPDATE|SCAN|CLEANUP|READ-MODIFY-WRITE)\], \w",
        r"YCSB Client \d",
        r"(?:READ|INSERT|UPDATE|SCAN|TOTAL) +- Takes\(s\): ",
    ),
    programs=("ycsb", "ycsb.sh", "go-ycsb"),
    needs_command=True,
    is_localized=False,
)
