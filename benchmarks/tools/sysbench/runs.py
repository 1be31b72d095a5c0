"""From the lines of sysbench to its runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from benchmarks.parsing.drafts import Draft, Parameter, ParsedRun, finished, keep
from benchmarks.parsing.scanning import Found
from benchmarks.sentences import Sentence
from benchmarks.tools.sysbench.lines import LINES

# Nothing in the output of 1.0 tells its tests "threads" and "mutex" apart: only the
# command does, where a log holds it.
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
_DOUBTS: Final = {"ignored errors", "reconnects"}


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each start of the program."""
    named = _named(output[:_LONGEST_COMMAND].lstrip().partition("\n")[0])
    runs = [Draft(parameters={**named})]
    for line in LINES(output):
        if line.kind in {"banner", "start"} and runs[-1]:
            version = runs[-1].tool_version
            keep(runs, Draft(tool_version=version, parameters={**named}))
        if read := _READERS.get(line.kind):
            read(line, runs[-1])
    for run in runs:
        if run and "test" not in run.parameters:
            run.mark(
                "unknown_test",
                Sentence(
                    "sysbench does not print whether this was its threads or its "
                    "mutex test: put the command above its output."
                ),
            )
    return finished(runs, Sentence("sysbench printed no result."))


def _named(command: str) -> dict[str, Parameter]:
    """What only the command tells: the test, its script, a random access."""
    found = _COMMAND.search(command)
    if found is None:
        return {}
    if found["script"]:
        return {"test": "oltp", "script": found["script"]}
    is_random = found["test"] == "memory" and _RANDOM.search(command)
    return {"test": found["test"]} | ({"access": "random"} if is_random else {})


def _checkpoint(line: Found, run: Draft) -> None:
    run.facts["checkpoints"] = True
    run.mark(
        "checkpoints",
        Sentence(
            "Its counters were reset at checkpoints: each report is of its "
            "own interval."
        ),
    )


def _target(line: Found, run: Draft) -> None:
    run.parameters["target rate"] = line.whole("target")


def _flags(line: Found, run: Draft) -> None:
    if line["flags"] not in {"(none)", "none", "0"}:
        run.parameters["flags"] = line["flags"]


def _each_write(line: Found, run: Draft) -> None:
    run.parameters["fsync"] = "each write"


def _banner(line: Found, run: Draft) -> None:
    run.tool_version = line["version"].rstrip(":")


def _threads(line: Found, run: Draft) -> None:
    run.parameters["threads"] = line.whole("threads")


def _limit(line: Found, run: Draft) -> None:
    run.parameters.update(test="cpu", max_prime=line.whole("limit"))


def _doing(line: Found, run: Draft) -> None:
    mode, _, name = line["doing"].casefold().rpartition(" ")
    run.parameters["test"] = _NAMES.get(name, name)
    # A simple transaction of 0.4 is one query, where the usual one is twenty.
    if mode not in {"", "mixed"}:
        run.parameters["mode"] = mode


def _files(line: Found, run: Draft) -> None:
    operation = {"r/w": "read and write"}.get(line["operation"], line["operation"])
    run.parameters.update(test="fileio", access=line["access"], operation=operation)


def _option(line: Found, run: Draft) -> None:
    name = _OPTIONS[line["option"]]
    setting = line["setting"]
    run.parameters[name] = _size(setting) if name in {"block", "total"} else setting
    run.parameters["test"] = "memory"


def _file_option(line: Found, run: Draft) -> None:
    run.parameters[line.kind] = _size(line[line.kind])


def _io(line: Found, run: Draft) -> None:
    run.parameters["io"] = line["io"]


def _size(text: str) -> str:
    """``16Kb``, ``16KiB`` and ``16K`` are all 16 KiB here."""
    if not (size := _SIZE.fullmatch(text)):
        return text
    return f"{size[1]} {size[2]}iB" if size[2] else f"{size[1]} B"


def _event_rate(line: Found, run: Draft) -> None:
    is_cpu = "per second" in line.text
    run.add("CPU event rate" if is_cpu else "event rate", line.number("eps", 2), "1/s")


def _time(line: Found, run: Draft) -> None:
    # It runs since the start, also where the counters do not.
    if "checkpoints" not in run.facts:
        run.add("total time", line.number("time"), "s")


def _events(line: Found, run: Draft) -> None:
    run.add("events", line.number("events"), "")


def _latency(line: Found, run: Draft) -> None:
    which, value = line["which"], line.number("latency", 2)
    unit = line["latency_unit"] or "ms"
    percentile = re.search(r"\d+", which)
    if percentile is None:
        name = {"avg": "mean"}.get(which, which)
        run.add(f"request latency {name}", value, unit)
    elif percentile[0] == "95":
        run.add("request latency p95", value, unit)
    else:
        rank = int(percentile[0])
        run.add("request latency percentile", value, unit, percentile=rank)


def _queries(line: Found, run: Draft) -> None:
    run.parameters.setdefault("test", "oltp")
    if line.whole("count") == 0:
        run.parameters["workload"] = {"read": "write only", "write": "read only"}[
            line["kind"]
        ]


def _rate(line: Found, run: Draft) -> None:
    what, count = line["what"], line.number("n")
    run.add(what, count, "")
    if what in _RATES:
        run.add(_RATES[what], line.number("rate"), "1/s")
    if what in _DOUBTS and count:
        run.mark(
            what.replace(" ", "_"),
            Sentence("sysbench counted {count:g} {what}.", count=count, what=what),
        )


def _operations(line: Found, run: Draft) -> None:
    run.add("memory operation rate", line.number("per_s"), "1/s")


def _transferred(line: Found, run: Draft) -> None:
    run.add("memory throughput", line.number("mib"), "MiB/s")


def _each(line: Found, run: Draft) -> None:
    if rate := line.number("each_rate", 2):
        run.add(f"{line['each']} rate", rate, "1/s")


def _moved(line: Found, run: Draft) -> None:
    if rate := line.number("moved_rate", 2):
        way = {"written": "write"}.get(line["moved"], line["moved"])
        run.add(f"{way} throughput", rate, "MiB/s")


def _both(line: Found, run: Draft) -> None:
    if rate := line.number("both_rate", 2):
        run.add(f"{line['both']} rate", rate, "1/s")
    if line["both_moved"] and (moved := line.number("both_moved")):
        run.add(f"{line['both']} throughput", moved, "MiB/s")


def _sum(line: Found, run: Draft) -> None:
    unit = f"{line['sum_unit']}iB/s" if line["sum_unit"] else "B/s"
    run.add("file throughput", line.number("sum"), unit)


def _requests(line: Found, run: Draft) -> None:
    run.add("file request rate", line.number("requests"), "1/s")


def _trouble(line: Found, run: Draft) -> None:
    run.mark(
        "failed",
        Sentence(
            'sysbench printed "{trouble}".', trouble=line["trouble"].strip()[:200]
        ),
    )


_READERS: Final[dict[str, Callable[[Found, Draft], None]]] = {
    "banner": _banner,
    "checkpoint": _checkpoint,
    "target": _target,
    "flags": _flags,
    "each_write": _each_write,
    "threads": _threads,
    "limit": _limit,
    "doing": _doing,
    "files": _files,
    "option": _option,
    "block": _file_option,
    "total": _file_option,
    "io": _io,
    "eps": _event_rate,
    "time": _time,
    "events": _events,
    "latency": _latency,
    "queries": _queries,
    "rate": _rate,
    "operations": _operations,
    "transferred": _transferred,
    "each": _each,
    "moved": _moved,
    "both": _both,
    "sum": _sum,
    "requests": _requests,
    "trouble": _trouble,
}
