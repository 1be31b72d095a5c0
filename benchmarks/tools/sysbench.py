"""sysbench: database transactions (OLTP), and loops for CPU, memory, threads and files.

Versions 0.4 and 0.5 use KB, MB, Kb, Mb and Gb for powers of 1024 bytes.
"""

import re
from collections.abc import Callable
from typing import Final

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import (
    AMOUNT_OPTIONS,
    DURATION_OPTIONS,
    NO_WORK_CLASS,
    Metric,
    Options,
    Parameter,
    RateOption,
    Tool,
    first_match,
    metrics,
    when,
)

COUNTS = (
    "transactions",
    "deadlocks",
    "read/write requests",
    "queries",
    "other operations",
    "ignored errors",
    "reconnects",
    "events",
)
RATES = ("transaction rate", "event rate")
QUERY_RATES = ("read/write request rate", "query rate")
LATENCIES = ("min", "mean", "max", "p95", "percentile")
FILE_RATES = ("read rate", "write rate", "fsync rate", "file request rate")
FILE_THROUGHPUTS = ("read throughput", "write throughput", "file throughput")
# Requests and data per event follow from the requested rate of events.
RATE_OPTIONS = (RateOption("target_rate"), RateOption("rate"))
DERIVED_RATE_OPTIONS = (RateOption("target_rate", ""), RateOption("rate", ""))

# Each of these gives the same information as the time of a set amount of work.
SPEEDS = (
    *RATES,
    *QUERY_RATES,
    "CPU event rate",
    "memory throughput",
    "memory operation rate",
    *FILE_THROUGHPUTS,
    "file request rate",
)
# A test that reads and writes files counts for both.
FILE_READ_WORK = first_match(
    when("disk: random read", test="fileio", access="random"),
    when("disk: sequential read", test="fileio", access="sequential"),
)
FILE_WRITE_WORK = first_match(
    when("disk: random write", test="fileio", access="random"),
    when("disk: sequential write", test="fileio", access="sequential"),
)
# Several tests share these metrics, so the work class depends on the test.
DATABASE_WORK = first_match(when("application: database", test="|oltp"))
TAIL_WORK = first_match(
    when("application: tail latency", test="|oltp"),
    when("disk: tail latency", test="fileio"),
)
CPU_WORK = first_match(when("CPU: integer", test="|cpu"))
MEMORY_WORK = first_match(
    when("memory: read", test="memory", operation="read"),
    when("memory: write", test="memory", operation="write"),
)

_END: Final = r"[ \t]*+$"

LINES: Final = LineScanner(
    banner=rf"(?:[\w:.-]{{1,30}} ){{0,4}}sysbench v?(?P<version>\d[\w.-]*+)"
    rf"(?:: | \(|{_END})",
    start=r"Running the test with following options:",
    checkpoint=r"\[ *\d+s *\] Checkpoint report:",
    target=r"Target transaction rate: *+(?P<target>\d+)/sec",
    flags=rf"Extra file open flags: *+(?P<flags>\S+){_END}",
    each_write=r"Calling fsync\(\) after each write operation",
    threads=r"Number of threads: *+(?P<threads>\S+)",
    limit=r"(?:Prime numbers limit|Maximum prime number checked in CPU test): *+"
    r"(?P<limit>\S+)",
    doing=r"(?:Doing|Running) (?P<doing>CPU|thread|mutex|memory|(?:\S+ )?OLTP)\b"
    r"[^\n]{0,60}(?:test|benchmark)",
    files=r"Doing (?:combined )?(?P<access>random|sequential) "
    r"(?P<operation>read|write|rewrite|r/w)(?: \(creation\))? test",
    option=r"(?:Memory )?(?P<option>block size|total size|transfer size|operation|"
    rf"operations type|scope|scope type): *+(?P<setting>\S+){_END}",
    block=rf"Block size (?P<block>\d\S*+){_END}",
    total=r"(?P<total>\d\S*+) total file size",
    io=r"Using (?P<io>[^\n]{1,20}) I/O mode",
    cpu_eps=r"events per second: *+(?P<cpu_eps>\S+)",
    eps=r"events/s \(eps\): *+(?P<eps>\S+)",
    time=rf"(?:total time|time elapsed): *+(?P<time>\S+?)s{_END}",
    events=rf"total number of events: *+(?P<events>\S+){_END}",
    latency=r"(?P<which>min|avg|max|(?:approx\. +)?\d+(?:st|nd|rd|th)? percentile): *+"
    rf"(?P<latency>[^\s:]+?)(?P<latency_unit>ms|s)?{_END}",
    queries=rf"(?P<kind>read|write): *+(?P<count>\d+){_END}",
    rate=r"(?P<what>transactions|queries|deadlocks|read/write requests|"
    r"other operations|ignored errors|reconnects): *+(?P<n>\S+) +\((?P<rate>\S+) "
    r"per sec\.\)",
    operations=r"(?:Total operations|Operations performed): *+\d+ +"
    r"\( *+(?P<per_s>\S+) (?:ops/sec|per second)\)",
    transferred=r"\S+ Mi?B transferred \((?P<mib>\S+) Mi?B/sec\)",
    each=rf"(?P<each>read|write|fsync)s/s: *+(?P<each_rate>\S+){_END}",
    moved=rf"(?P<moved>read|written), Mi?B/s: *+(?P<moved_rate>\S+){_END}",
    both=r"(?P<both>read|write|fsync): +IOPS=(?P<both_rate>\S+)"
    r"(?: +(?P<both_moved>\S+) MiB/s [^\n]*)?$",
    sum=r"Read \S+ +Written \S+ +Total transferred \S+ +\( *+(?P<sum>\S+?)"
    r"(?P<sum_unit>[KMG]?)i?b/sec\)",
    requests=r"(?P<requests>\S+) Requests/sec executed",
    trouble=r"(?P<trouble>(?:FATAL|ALERT|ERROR|invalid option|Unknown option)\b.*+)",
)
# Only the command distinguishes the tests "threads" and "mutex" of 1.0.
_COMMAND: Final = re.compile(
    r"\bsysbench\b[^\n]*?[ =/]"
    r"(?:(?P<test>cpu|memory|threads|mutex|fileio|oltp)\b"
    r"|(?P<script>(?:oltp|select|bulk|tpcc)_?\w{0,40})(?:\.lua)?(?: |$))",
    re.ASCII,
)
_RANDOM: Final = re.compile(r"--memory-access-mode=rnd\b", re.ASCII)
_LONGEST_COMMAND: Final = 1000
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?[Bb])?", re.ASCII)
_OPTIONS: Final = {
    "block size": "block",
    "total size": "total",
    "transfer size": "total",
    "operation": "operation",
    "operations type": "operation",
    "scope": "scope",
    "scope type": "scope",
}
_NAMES: Final = {"cpu": "cpu", "thread": "threads", "mutex": "mutex"}
_RATES: Final = {
    "transactions": "transaction rate",
    "read/write requests": "read/write request rate",
    "queries": "query rate",
}
_LATENCIES: Final = {"min": "min", "avg": "mean", "max": "max", "95": "p95"}
_PROBLEM_COUNTS: Final = {"ignored errors", "reconnects"}


def _size(text: str) -> str:
    if not (size := _SIZE.fullmatch(text)):
        return text
    return f"{size[1]} {size[2]}iB" if size[2] else f"{size[1]} B"


SETTINGS: Final[dict[str, tuple[str, Callable[[MatchedLine], Parameter]]]] = {
    "target": ("target rate", lambda line: line.integer("target")),
    "threads": ("threads", lambda line: line.integer("threads")),
    "each_write": ("fsync", lambda line: "each write"),
    "block": ("block", lambda line: _size(line["block"])),
    "total": ("total", lambda line: _size(line["total"])),
    "io": ("io", lambda line: line["io"]),
}
NUMBERS: Final[dict[str, tuple[str, int | None, str, str]]] = {
    "events": ("events", None, "events", ""),
    "cpu_eps": ("cpu_eps", 2, "CPU event rate", "1/s"),
    "eps": ("eps", 2, "event rate", "1/s"),
    "operations": ("per_s", None, "memory operation rate", "1/s"),
    "transferred": ("mib", None, "memory throughput", "MiB/s"),
    "requests": ("requests", None, "file request rate", "1/s"),
}
# For files, 0 means that the operation was not tested.
FILE_NUMBERS: Final[dict[str, tuple[tuple[str, int | None, str, str], ...]]] = {
    "each": (("each_rate", 2, "{each} rate", "1/s"),),
    "moved": (("moved_rate", 2, "{moved} throughput", "MiB/s"),),
    "both": (
        ("both_rate", 2, "{both} rate", "1/s"),
        ("both_moved", None, "{both} throughput", "MiB/s"),
    ),
}


@parser("sysbench printed no result.")
def parse(output: str) -> list[Draft]:
    command_parameters = _command_parameters(
        output[:_LONGEST_COMMAND].lstrip().partition("\n")[0]
    )
    runs = [Draft(parameters={**command_parameters})]
    for line in LINES(output):
        if line.kind in {"banner", "start"} and runs[-1]:
            version = runs[-1].tool_version
            append_limited(
                runs, Draft(tool_version=version, parameters={**command_parameters})
            )
        run = runs[-1]
        if line.kind == "banner":
            run.tool_version = line["version"].rstrip(":")
        elif line.kind == "checkpoint":
            run.facts["checkpoints"] = True
            run.add_warning(
                "checkpoints",
                "The counters were reset at checkpoints, so each report covers "
                "only its own interval.",
            )
        elif line.kind == "trouble":
            trouble = line["trouble"].strip()[:200]
            run.add_failure("failed", 'sysbench printed "{trouble}".', trouble=trouble)
        else:
            _read_setting(line, run)
            _read_result(line, run)
    for run in runs:
        _derive_cpu_rate(run)
        if run and "test" not in run.parameters:
            run.add_warning(
                "unknown_test",
                "sysbench does not print whether this was the threads test or the "
                "mutex test. Put the command above the output.",
            )
    return runs


def _derive_cpu_rate(run: Draft) -> None:
    """Add the rate that some versions 1.0 do not print (1.0.5 and 1.0.7)."""
    if run.parameters.get("test") != "cpu" or not run.tool_version.startswith("1."):
        return
    values = {reading.metric: reading.value for reading in run.readings}
    events, seconds = values.get("events"), values.get("total time")
    if events and seconds and "CPU event rate" not in values:
        run.add("CPU event rate", round(events / seconds, 2), "1/s")
        run.add_warning(
            "derived",
            "sysbench printed no rate of events, so it was derived from the number "
            "of events and the total time.",
        )


def _command_parameters(command: str) -> dict[str, Parameter]:
    match = _COMMAND.search(command)
    if match is None:
        return {}
    if match["script"]:
        return {"test": "oltp", "script": match["script"]}
    is_random = match["test"] == "memory" and _RANDOM.search(command)
    return {"test": match["test"]} | ({"access": "random"} if is_random else {})


def _read_setting(line: MatchedLine, run: Draft) -> None:
    case = run.parameters
    if line.kind in SETTINGS:
        name, read = SETTINGS[line.kind]
        case[name] = read(line)
    elif line.kind == "flags" and line["flags"] not in {"(none)", "none", "0"}:
        case["flags"] = line["flags"]
    elif line.kind == "limit":
        case.update(test="cpu", max_prime=line.integer("limit"))
    elif line.kind == "doing":
        mode, _, name = line["doing"].casefold().rpartition(" ")
        case["test"] = _NAMES.get(name, name)
        # In 0.4 a simple transaction is one query, and the usual one is twenty.
        if mode not in {"", "mixed"}:
            case["mode"] = mode
    elif line.kind == "files":
        operation = {"r/w": "read and write"}.get(line["operation"], line["operation"])
        case.update(test="fileio", access=line["access"], operation=operation)
    elif line.kind == "option":
        name, setting = _OPTIONS[line["option"]], line["setting"]
        case[name] = _size(setting) if name in {"block", "total"} else setting
        case["test"] = "memory"
    elif line.kind == "queries":
        case.setdefault("test", "oltp")
        if line.integer("count") == 0:
            missing = {"read": "write only", "write": "read only"}
            case["workload"] = missing[line["kind"]]


def _read_result(line: MatchedLine, run: Draft) -> None:
    for group, decimals, pattern, unit in FILE_NUMBERS.get(line.kind, ()):
        if line[group] and (value := line.number(group, decimals)):
            metric = pattern.format_map(line).replace("written", "write")
            run.add(metric, value, unit)
    if line.kind in NUMBERS:
        group, decimals, metric, unit = NUMBERS[line.kind]
        run.add(metric, line.number(group, decimals), unit)
    elif line.kind == "time" and "checkpoints" not in run.facts:
        # The total time runs from the start, even if counters are reset.
        run.add("total time", line.number("time"), "s")
    elif line.kind == "latency":
        # Options can request another percentile.
        percentile = re.search(r"\d+", line["which"])
        rank = percentile[0] if percentile else line["which"]
        name = _LATENCIES.get(rank, "percentile")
        case = {"percentile": int(rank)} if name == "percentile" else {}
        unit = line["latency_unit"] or "ms"
        run.add(f"request latency {name}", line.number("latency", 2), unit, **case)
    elif line.kind == "rate":
        what, count = line["what"], line.number("n")
        run.add(what, count, "")
        if what in _RATES:
            run.add(_RATES[what], line.number("rate"), "1/s")
        if what in _PROBLEM_COUNTS and count:
            run.add_warning(
                what.replace(" ", "_"),
                "sysbench counted {count:g} {what}.",
                count=count,
                what=what,
            )
    elif line.kind == "sum":
        unit = f"{line['sum_unit']}iB/s" if line["sum_unit"] else "B/s"
        run.add("file throughput", line.number("sum"), unit)


TOOL = Tool(
    slug="sysbench",
    title="sysbench",
    homepage="https://github.com/akopytov/sysbench",
    options=Options(
        {
            **dict.fromkeys(("--threads", "--num-threads"), "threads"),
            "--cpu-max-prime": "max_prime",
            **dict.fromkeys(("--memory-block-size", "--file-block-size"), "block"),
            "--memory-total-size": "total",
        },
        sizes=frozenset({"block", "total"}),
    ),
    metrics=(
        Metric(
            "total time",
            "s",
            "lower",
            "application",
            fixed_by_parameters=DURATION_OPTIONS,
            amount_options=AMOUNT_OPTIONS,
            implied_by=SPEEDS,
        ),
        *metrics(COUNTS, "", "neither", "application", allows_zero=True),
        *metrics(
            RATES,
            "1/s",
            "higher",
            "application",
            rate_options=RATE_OPTIONS,
            work_class={"transaction rate": DATABASE_WORK, "event rate": NO_WORK_CLASS},
        ),
        *metrics(
            QUERY_RATES,
            "1/s",
            "higher",
            "application",
            rate_options=DERIVED_RATE_OPTIONS,
            implied_by={
                "query rate": ("transaction rate",),
                "read/write request rate": ("transaction rate", "query rate"),
            },
        ),
        *metrics(
            (f"request latency {which}" for which in LATENCIES),
            "ms",
            "lower",
            "application",
            work_class={
                "request latency p95": TAIL_WORK,
                "request latency percentile": TAIL_WORK,
            },
            implied_by={"request latency mean": (*SPEEDS, "total time")},
        ),
        Metric(
            "CPU event rate",
            "1/s",
            "higher",
            "CPU",
            rate_options=RATE_OPTIONS,
            work_class=CPU_WORK,
        ),
        Metric(
            "memory throughput",
            "MiB/s",
            "higher",
            "memory",
            rate_options=DERIVED_RATE_OPTIONS,
            work_class=MEMORY_WORK,
        ),
        Metric(
            "memory operation rate",
            "1/s",
            "higher",
            "memory",
            rate_options=DERIVED_RATE_OPTIONS,
            implied_by=("memory throughput",),
        ),
        *metrics(
            FILE_RATES,
            "1/s",
            "higher",
            "disk",
            rate_options=DERIVED_RATE_OPTIONS,
            implied_by={
                "read rate": ("read throughput",),
                "write rate": ("write throughput",),
                "file request rate": (*FILE_THROUGHPUTS, *FILE_RATES[:2]),
                "fsync rate": (
                    *FILE_THROUGHPUTS[1:],
                    "write rate",
                    "file request rate",
                ),
            },
        ),
        *metrics(
            FILE_THROUGHPUTS,
            "MiB/s",
            "higher",
            "disk",
            rate_options=DERIVED_RATE_OPTIONS,
            work_class={
                "read throughput": FILE_READ_WORK,
                "write throughput": FILE_WRITE_WORK,
            },
            implied_by={"file throughput": FILE_THROUGHPUTS[:2]},
        ),
    ),
    labels=("{test}", "{threads} threads"),
    version=5,
    parse=parse,
    signatures=(
        r"sysbench v?\d[\w.-]*+(?:: | \()",
        r"Running the test with following options:",
    ),
    programs=("sysbench",),
    is_localized=False,
    needs_command=True,
)
