"""rt-tests: how late timers wake threads (cyclictest), and how long the kernel or a
hypervisor stops a busy thread (oslat).

Times are in us unless -N is given. Without -q, cyclictest prints its rows again and
again, and the last one counts::

    T: 0 ( 7547) P: 0 I:1000 C:    697 Min:     54 Act:  159 Avg: 2034 Max:   76389
"""

from dataclasses import dataclass, field
from typing import Any

from benchmarks.errors import ParseError
from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    check_row_width,
    json_documents,
    json_number,
    json_section,
    parser,
)
from benchmarks.parsing.tool import NO_WORK_CLASS, Metric, Tool

CYCLIC_LINES = LineScanner(
    begin=r"# /dev/cpu_dma_latency set to",
    row=r"T: *(?P<thread>\d+) \( *\d+\) P: *(?P<priority>\d+) I: *(?P<interval>\d+) "
    r"C: *(?P<cycles>\d+) Min: *(?P<min>\d+) Act: *\d+ Avg: *(?P<mean>\d+) "
    r"Max: *(?P<max>\d+)[ \t]*+(?=\n)",
    summary=r"# (?P<which>Min|Avg|Max) Latencies:(?P<values>(?: \d+){1,4096})[ \t]*+"
    r"(?=\n)",
)
SUMMARIES = {"Min": "latency min", "Avg": "latency mean", "Max": "latency max"}


@dataclass
class CyclictestRun(Draft):
    rows: dict[int, MatchedLine] = field(default_factory=dict)

    def close(self) -> None:
        for thread, row in self.rows.items():
            self.read_line(self._read_row, thread, row)

    def _read_row(self, thread: int, row: MatchedLine) -> None:
        case = {"thread": thread, "priority": row.integer("priority")}
        interval = f"{row.integer('interval')} us"
        if not row.integer("cycles"):
            raise row.parse_error("this thread was never woken.")
        for which in ("min", "mean", "max"):
            value = row.integer(which)
            self.add(f"latency {which}", value, "us", interval=interval, **case)


def _read_summary(run: CyclictestRun, line: MatchedLine) -> None:
    for thread, value in enumerate(line["values"].split()):
        run.add(SUMMARIES[line["which"]], int(value), "us", thread=thread)


def _read_json(run: CyclictestRun, document: dict[str, Any]) -> None:
    command = str(document.get("cmdline:", ""))
    if not command.startswith("cyclictest"):
        raise ParseError('"{command}" is not cyclictest.', command=command[:50])
    for name, thread in json_section(document, "thread").items():
        for which, key in (("min", "min"), ("mean", "avg"), ("max", "max")):
            value = json_number(json_section(thread).get(key), key)
            run.add(f"latency {which}", value, "us", thread=name)


_JSON = r'\{[ \t]*+\n[ \t]*+"file_version": \d'


@parser("cyclictest printed no latency of a thread.")
def parse_cyclictest(output: str) -> list[CyclictestRun]:
    runs = [CyclictestRun()]
    for line in CYCLIC_LINES(output):
        if line.kind == "begin":
            append_limited(runs, CyclictestRun())
        elif line.kind == "summary":
            runs[-1].read_line(_read_summary, runs[-1], line)
        else:
            runs[-1].rows[line.integer("thread")] = line
    for document in json_documents(output, _JSON):
        append_limited(runs, CyclictestRun())
        runs[-1].tool_version = str(document.get("rt_test_version:", ""))
        runs[-1].read_line(_read_json, runs[-1], document)
    return runs


def _latencies() -> tuple[Metric, ...]:
    return (
        Metric("latency max", "us", "lower", "CPU", work_class=NO_WORK_CLASS),
        Metric("latency mean", "us", "lower", "CPU", work_class=NO_WORK_CLASS),
        Metric("latency min", "us", "lower", "CPU"),
    )


CYCLICTEST = Tool(
    slug="cyclictest",
    title="cyclictest",
    homepage="https://wiki.linuxfoundation.org/realtime/documentation/howto/tools/"
    "cyclictest",
    metrics=_latencies(),
    labels=("thread {thread}", "{interval}"),
    version=1,
    parse=parse_cyclictest,
    signatures=(
        r"# /dev/cpu_dma_latency set to",
        r"policy: \S+ loadavg: ",
        r"T: *\d+ \( *\d+\) P: *\d+ I: *\d+ C:",
        r"# (?:Min|Avg|Max) Latencies: \d",
        _JSON,
    ),
    programs=("cyclictest",),
    is_localized=False,
)

OSLAT_LINES = LineScanner(
    begin=r"oslat V (?P<version>\S+)",
    cores=r"Core:[ \t]++(?P<cores>\d+(?: \d+){0,4096})[ \t]*+$",
    workload=r"Workload:[ \t]++(?P<workload>\S+)[ \t]*+$",
    row=r"(?P<which>Minimum|Average|Maximum):[ \t]++"
    r"(?P<values>[\d.]+(?: [\d.]+){0,4096}) \(us\)",
)
OSLAT_METRICS = {
    "Minimum": "latency min",
    "Average": "latency mean",
    "Maximum": "latency max",
}


@dataclass
class OslatRun(Draft):
    cores: list[str] = field(default_factory=list)

    def read(self, line: MatchedLine) -> None:
        if line.kind == "cores":
            self.cores = line["cores"].split()
        elif line.kind == "workload":
            self.parameters["workload"] = line["workload"]
        else:
            values = line["values"].split()
            check_row_width(line, values, len(self.cores))
            for core, value in zip(self.cores, values, strict=True):
                amount = line.parse_amount(value)
                self.add(OSLAT_METRICS[line["which"]], amount, "us", core=int(core))


@parser("oslat printed no latency of a core.")
def parse_oslat(output: str) -> list[OslatRun]:
    runs = [OslatRun()]
    for line in OSLAT_LINES(output):
        if line.kind == "begin":
            append_limited(runs, OslatRun(tool_version=line["version"]))
        else:
            runs[-1].read_line(runs[-1].read, line)
    return runs


OSLAT = Tool(
    slug="oslat",
    title="oslat",
    homepage="https://wiki.linuxfoundation.org/realtime/documentation/howto/tools/"
    "rt-tests",
    metrics=_latencies(),
    labels=("core {core}", "{workload}"),
    version=1,
    parse=parse_oslat,
    signatures=(r"oslat V \d", r"Core:[ \t]++\d+(?: \d+)*[ \t]*+\n *+Counter Freq:"),
    programs=("oslat",),
    is_localized=False,
)
