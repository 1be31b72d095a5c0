"""perf bench: scheduler, system calls, futexes and memory functions of Linux.

GB and MB of memory functions are 2^30 and 2^20 B. ``sched/messaging`` is hackbench; its
work, 100 messages of each sender to each receiver, is fixed::

    # Running 'sched/messaging' benchmark:
         Total time: 6.903 [sec]
"""

from dataclasses import dataclass, field

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import (
    Metric,
    Parameter,
    Tool,
    always,
    first_match,
    when,
)

LINES = LineScanner(
    begin=r"# Running '?(?P<name>[\w-]{1,30}/[\w-]{1,30})'? benchmark(?::|\.{3})"
    r"[ \t]*+$",
    groups=r"# (?P<groups>\d+) groups == \d+ (?P<kind>processes|threads) run[ \t]*+$",
    executed=r"# Executed (?P<executed>[\d,]+) ",
    function=r"# function '(?P<function>[^'\n]{1,60})'",
    size=r"# (?:Copying|Setting) (?P<size>\S+) bytes",
    threads=r"Run summary \[PID \d+\]: (?P<threads>\d+) threads,",
    total=r"Total time: (?P<total>\S+) \[sec\]",
    micros=r"(?P<micros>\S+) usecs?/op[ \t]*+$",
    rate=r"(?P<rate>\S+) ops/sec[ \t]*+$",
    average=r"Averaged (?P<average>\d+) (?:operations|ops)/sec ",
    memory=r"(?P<memory>\S+) (?P<unit>GB/sec|MB/sec|KB/sec|bytes/sec)[ \t]*+$",
)
UNITS = {"GB/sec": "GiB/s", "MB/sec": "MiB/s", "KB/sec": "KiB/s", "bytes/sec": "B/s"}
OPERATIONS = {"mem/memcpy": "copy", "mem/memset": "write"}
SIZES = {"B": "B", "KB": "KiB", "MB": "MiB", "GB": "GiB"}
MESSAGING = "sched/messaging"
CALLS = first_match(
    when("system: context switch", benchmark="sched/pipe"),
    when("system: system call", benchmark="syscall/(basic|getpgid)"),
    when("system: process creation", benchmark="syscall/(fork|execve)"),
)
MEMORY = first_match(
    when("memory: copy", operation="copy"), when("memory: write", operation="write")
)


@dataclass
class PerfBenchRun(Draft):
    name: str = ""
    case: dict[str, Parameter] = field(default_factory=dict)

    def begin(self, name: str) -> None:
        self.name = name
        self.case = {"benchmark": name}
        if operation := OPERATIONS.get(name):
            self.case["operation"] = operation

    def read(self, line: MatchedLine) -> None:
        if not self.name:
            return
        if line.kind == "groups":
            self.case["groups"] = line.integer("groups")
            self.case["kind"] = line["kind"]
        elif line.kind == "function":
            self.case["function"] = line["function"]
        elif line.kind == "size":
            number = line["size"].rstrip("KMGB")
            unit = SIZES.get(line["size"][len(number) :], "B")
            self.case["size"] = f"{number} {unit}"
        elif line.kind == "threads":
            self.case["threads"] = line.integer("threads")
        elif line.kind == "executed":
            self.facts["operations"] = line["executed"]
        else:
            self._read_result(line)

    def _read_result(self, line: MatchedLine) -> None:
        if line.kind == "total":
            if self.name == MESSAGING:
                self.add("time", line.number("total"), "s", **self.case)
        elif line.kind == "micros":
            self.add("operation time", line.number("micros"), "us", **self.case)
        elif line.kind == "memory":
            rate, unit = line.number("memory"), UNITS[line["unit"]]
            self.add("memory throughput", rate, unit, **self.case)
        else:
            rate = line.number(line.kind)
            self.add("operation rate", rate, "1/s", **self.case)


@parser("perf bench printed no result.")
def parse(output: str) -> list[PerfBenchRun]:
    runs = [PerfBenchRun()]
    seen: set[str] = set()
    for line in LINES(output):
        if line.kind == "begin":
            if line["name"] in seen:
                append_limited(runs, PerfBenchRun())
                seen.clear()
            seen.add(line["name"])
            runs[-1].begin(line["name"])
        else:
            runs[-1].read_line(runs[-1].read, line)
    return runs


TOOL = Tool(
    slug="perf-bench",
    title="perf bench",
    homepage="https://perfwiki.github.io/main/",
    metrics=(
        Metric(
            "time", "s", "lower", "CPU", work_class=always("system: context switch")
        ),
        Metric("operation rate", "1/s", "higher", "CPU", work_class=CALLS),
        Metric("operation time", "us", "lower", "CPU", implied_by=("operation rate",)),
        Metric("memory throughput", "MiB/s", "higher", "memory", work_class=MEMORY),
    ),
    labels=("{benchmark}", "{function}", "{size}", "{groups} groups", "{kind}"),
    version=1,
    parse=parse,
    signatures=(r"# Running '?[\w-]{1,30}/[\w-]{1,30}'? benchmark(?::|\.\.\.)",),
    programs=("perf",),
    is_localized=False,
)
