"""lmbench: latency of system calls, processes and memory, and bandwidth of memory.

Lines of single programs, ``lat_ctx``, ``lat_mem_rd``, ``bw_mem`` below its command, and
complete rows of the summary are read. MB are 10^6 B::

    Simple syscall: 0.2804 microseconds
"""

import re
from dataclasses import dataclass, field

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import (
    NO_WORK_CLASS,
    Metric,
    Parameter,
    Tool,
    always,
    first_match,
    when,
)

_TESTS = (
    r"Simple \w+|Process \S+(?: \S+){0,4}|Signal handler \w+|Protection fault|"
    r"Select on \d+ (?:tcp )?fd's|Pipe|AF_UNIX sock stream|Fifo|UDP|TCP|TCP/IP "
    r"connection cost to \S+|Pagefaults on \S+|Semaphore|Fcntl lock|File \S+ \S+|"
    r"Socket bandwidth using \S+|(?:integer|int64|float|double) \w+(?: \w+)?"
)
LINES = LineScanner(
    command=r"[^\n$#%>+]*+[$#%>+]{1,4} [^\n]*?\bbw_mem (?P<words>[^\n]*)$",
    test=rf"(?P<test>{_TESTS})(?: (?P<what>latency|bandwidth)(?: using \S+)?)?: "
    r"(?P<value>[\d.]+) (?P<unit>microseconds|nanoseconds|milliseconds|MB/sec|KB/sec)"
    r"[ \t]*+$",
    size=r'"size=(?P<size>\d+)k ovr=[\d.]+[ \t]*+$',
    stride=r'"stride=(?P<stride>\d+)[ \t]*+$',
    pair=r"(?P<first>\d+(?:\.\d+)?) (?P<second>\d+\.\d+)[ \t]*+(?=\n)",
    title=r"(?P<title>Processor, Processes|Context switching|Memory latencies|"
    r"Basic (?:integer|float|double|uint64) operations|\*Local\* Communication "
    r"(?:latencies|bandwidths)|\*Remote\* Communication|File & VM) [^\n]*$",
    row=r"(?P<host>[^\s\n]{1,20}) +(?P<os>Linux|FreeBSD|SunOS|Darwin) (?P<cells>[^\n]*)"
    r"(?=\n)",
)
UNITS = {
    "microseconds": "us",
    "nanoseconds": "ns",
    "milliseconds": "ms",
    "MB/sec": "MB/s",
    "KB/sec": "kB/s",
}
# Columns of the tables of the summary whose rows have a cell in each column.
TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "Processor, Processes": (
        "us",
        (
            *("", "null call", "null I/O", "stat", "open clos", "slct TCP"),
            *("sig inst", "sig hndl", "fork proc", "exec proc", "sh proc"),
        ),
    ),
    "Context switching": (
        "us",
        ("2p/0K", "2p/16K", "2p/64K", "8p/16K", "8p/64K", "16p/16K", "16p/64K"),
    ),
}
CONTEXT = "context switch"
SYSTEM = first_match(
    when("system: system call", test="Simple syscall|null call"),
    when("system: process creation", test="Process fork.*|fork proc|exec proc|sh proc"),
    when("system: context switch", test="context switch|2p/0K"),
)
MEMORY = first_match(
    when("memory: read", operation="rd|frd"),
    when("memory: write", operation="wr|fwr|bzero"),
    when("memory: copy", operation="cp|fcp|bcopy"),
)
_BW_MEM = re.compile(r"(\d+)([kmKM]?) (\w+)[ \t]*$")
_CELL = re.compile(r"\d+\.?\d*", re.ASCII)
_PREFIXES = {"": "B", "k": "KiB", "m": "MiB"}


@dataclass
class LmbenchRun(Draft):
    mode: str = ""
    case: dict[str, Parameter] = field(default_factory=dict)
    table: str = ""

    def read(self, line: MatchedLine) -> None:
        if line.kind == "test":
            self._read_test(line)
        elif line.kind == "pair":
            self._read_pair(line)
        elif line.kind == "row":
            self._read_row(line)
        elif line.kind == "title":
            self.mode, self.table = "", line["title"]
        else:
            self._begin(line)

    def _begin(self, line: MatchedLine) -> None:
        self.mode, self.table = line.kind, ""
        if line.kind == "size":
            self.case = {"test": CONTEXT, "size": f"{line.integer('size')} KiB"}
        elif line.kind == "stride":
            self.case = {"stride": f"{line.integer('stride')} B"}
        elif words := _BW_MEM.search(line["words"]):
            size = f"{words[1]} {_PREFIXES[words[2].lower()]}"
            self.case = {"operation": words[3], "size": size}
        else:
            self.mode = ""

    def _read_test(self, line: MatchedLine) -> None:
        self.mode = self.table = ""
        value, unit = line.number("value"), UNITS[line["unit"]]
        metric = "bandwidth" if unit.endswith("B/s") else "latency"
        self.add(metric, value, unit, test=line["test"])

    def _read_pair(self, line: MatchedLine) -> None:
        value = line.number("second")
        if self.mode == "size":
            processes = line.integer("first")
            self.add("latency", value, "us", processes=processes, **self.case)
        elif self.mode == "stride":
            area = line.number("first")
            self.add("memory latency", value, "ns", area=f"{area} MiB", **self.case)
        elif self.mode == "command":
            self.add("memory bandwidth", value, "MB/s", **self.case)
            self.mode = ""

    def _read_row(self, line: MatchedLine) -> None:
        self.facts["host"] = line["host"]
        unit, columns = TABLES.get(self.table, ("", ()))
        cells = line["cells"].split()
        # The first cell is the version of the operating system.
        if not columns or len(cells) != len(columns) + 1:
            self.add_warning("not_read", "Some tables of the summary are not read.")
            return
        for test, cell in zip(columns, cells[1:], strict=True):
            if test and _CELL.fullmatch(cell):
                self.add("latency", line.parse_amount(cell), unit, test=test)


@parser("lmbench printed no result.")
def parse(output: str) -> list[LmbenchRun]:
    runs = [LmbenchRun()]
    seen: set[str] = set()
    for line in LINES(output):
        key = line["test"] or (
            line["title"] + line["size"] + line["stride"] + line["words"]
        )
        if key and key in seen:
            append_limited(runs, LmbenchRun())
            seen.clear()
        seen.add(key)
        runs[-1].read_line(runs[-1].read, line)
    return runs


TOOL = Tool(
    slug="lmbench",
    title="lmbench",
    homepage="https://lmbench.sourceforge.net/",
    metrics=(
        Metric("latency", "us", "lower", "CPU", work_class=SYSTEM),
        Metric("bandwidth", "MB/s", "higher", "memory", work_class=NO_WORK_CLASS),
        Metric(
            "memory latency",
            "ns",
            "lower",
            "memory",
            work_class=always("memory: latency"),
        ),
        Metric("memory bandwidth", "MB/s", "higher", "memory", work_class=MEMORY),
    ),
    aliases=("lat_syscall", "lat_ctx", "lat_mem_rd", "bw_mem"),
    labels=("{test}", "{processes} processes", "{size}", "{area}"),
    version=1,
    parse=parse,
    signatures=(
        r"L M B E N C H  ",
        r"[^\n$#%>+]*+[$#%>+]{1,4} [^\n]*?\bbw_mem ",
        rf"(?:{_TESTS})(?: (?:latency|bandwidth)(?: using \S+)?)?: [\d.]+ "
        r"(?:microseconds|nanoseconds|milliseconds|[MK]B/sec)[ \t]*+$",
        r'"size=\d+k ovr=',
        r'"stride=\d+[ \t]*+$',
    ),
    programs=("bw_mem", "lat_mem_rd", "lat_syscall", "lat_ctx", "lat_proc", "lat_pipe"),
    needs_command=True,
    is_localized=False,
)
