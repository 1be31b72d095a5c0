"""Virtual machines measured from their host by the agent's command ``vm``.

Seconds are from the start of the monitor until the console showed anything, the kernel,
init, and the text of a ready machine (``-``: not shown). Memory is the monitor's PSS in
KiB, and the PSS without its largest mapping, which is the guest's memory. ``wait`` is
the share of the wanted processor time that the monitor's threads waited (steal). The
last columns of a migration are the longest gap between lines of the console, the
longest usual gap, and the bytes sent; ``ping`` and ``write`` have the longest gap
between answered pings or finished writes, and the usual one. With QEMU's software
emulation, the parameter ``processor`` says so. Each repetition is a run::

    boot 1 1  0.214032  0.801245  5.220318  6.933012
    migration 1  0.032000  1.204000  0.114032  0.052101  88201734
    write 1  0.131204  0.052400
"""

from dataclasses import dataclass

from benchmarks.errors import ParseError
from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import NO_WORK_CLASS, Metric, Tool

LINES = LineScanner(
    title=r"Virtlab VM (?P<version>1\.\d+)[ \t]*+$",
    machines=r"machines: (?P<machines>\d+)[ \t]*+$",
    fact=r"(?P<what>command|processor|host processors|ready): *+(?P<fact>\S[^\n]*+)",
    boot=r"boot \d+ \d+ +(?P<output>\S+) +(?P<kernel>\S+) +(?P<init>\S+) +"
    r"(?P<ready>\S+)[ \t]*+$",
    memory=r"memory \d+ \d+ +(?P<all>\d+) +(?P<monitor>\d+)[ \t]*+$",
    wait=r"wait \d+ \d+ +(?P<share>[\d.]+)[ \t]*+$",
    migration=r"migration \d+ +(?P<downtime>[\d.]+) +(?P<total>[\d.]+) +"
    r"(?P<gap>[\d.]+) +(?P<usual>[\d.]+) +(?P<sent>\d+)[ \t]*+$",
    gap=r"(?P<event>ping|write) \d+ +(?P<longest>[\d.]+) +(?P<often>[\d.]+)[ \t]*+$",
    failed=r"failed: (?P<failed>[^\n]*\S)",
    end=r"end[ \t]*+$",
)
STAGES = (
    ("time to the kernel", "output", "kernel"),
    ("time to init", "kernel", "init"),
    ("time from init", "init", "ready"),
)


EMULATED = "software emulation"
# Metric, column, factor and unit of the other rows.
COLUMNS = {
    "memory": (
        ("memory per VM", "all", 1, "KiB"),
        ("memory of the monitor", "monitor", 1, "KiB"),
    ),
    "wait": (("waiting for a processor", "share", 100, "%"),),
    "migration": (
        ("migration downtime", "downtime", 1000, "ms"),
        ("migration time", "total", 1, "s"),
        ("console gap", "gap", 1000, "ms"),
        ("usual console gap", "usual", 1000, "ms"),
        ("migrated data", "sent", 1, "B"),
    ),
}


@dataclass
class MachineRun(Draft):
    is_complete: bool = False

    def close(self) -> None:
        if not self.is_complete:
            raise ParseError(
                "The output is incomplete: its last line, end, is missing."
            )


def _read(run: MachineRun, line: MatchedLine) -> None:
    if line.kind == "end":
        run.is_complete = True
    elif line.kind == "fact":
        run.facts[line["what"]] = line["fact"].strip()
        if line["fact"].strip() == EMULATED:
            run.parameters["processor"] = EMULATED
    elif line.kind == "machines":
        run.facts["machines"] = line.integer("machines")
    elif line.kind == "boot":
        _read_boot(run, line)
    elif line.kind == "gap":
        event = line["event"]
        run.add(f"{event} gap", 1000 * line.number("longest"), "ms")
        run.add(f"usual {event} gap", 1000 * line.number("often"), "ms")
    elif line.kind == "failed":
        run.is_complete = True
        run.add_failure("failed", 'It printed "{text}".', text=line["failed"])
    for metric, column, factor, unit in COLUMNS.get(line.kind, ()):
        run.add(metric, factor * line.number(column), unit)


def _read_boot(run: MachineRun, line: MatchedLine) -> None:
    run.add("boot time", line.number("ready"), "s")
    for metric, begin, end in STAGES:
        if line[begin] != "-" and line[end] != "-":
            seconds = line.number(end) - line.number(begin)
            if seconds > 0:
                run.add(metric, seconds, "s")


@parser("No machine was measured.")
def parse(output: str) -> list[MachineRun]:
    runs: list[MachineRun] = []
    for line in LINES(output):
        if line.kind == "title":
            append_limited(runs, MachineRun(tool_version=line["version"]))
        elif runs:
            runs[-1].read_line(_read, runs[-1], line)
    return runs


TOOL = Tool(
    slug="virtlab-vm",
    title="Virtlab VM",
    homepage="https://www.qemu.org/",
    metrics=(
        Metric("boot time", "s", "lower", "application", work_class=NO_WORK_CLASS),
        Metric("time to the kernel", "s", "lower", "application"),
        Metric("time to init", "s", "lower", "application"),
        Metric("time from init", "s", "lower", "application"),
        Metric("memory of the monitor", "KiB", "lower", "memory"),
        Metric("memory per VM", "KiB", "lower", "memory"),
        Metric("waiting for a processor", "%", "lower", "CPU", allows_zero=True),
        Metric(
            *("migration downtime", "ms", "lower", "application"),
            work_class=NO_WORK_CLASS,
        ),
        Metric("console gap", "ms", "lower", "application"),
        Metric("usual console gap", "ms", "lower", "application", kind="setting"),
        Metric("ping gap", "ms", "lower", "application"),
        Metric("usual ping gap", "ms", "lower", "application", kind="setting"),
        Metric("write gap", "ms", "lower", "application"),
        Metric("usual write gap", "ms", "lower", "application", kind="setting"),
        Metric("migration time", "s", "lower", "application"),
        Metric("migrated data", "B", "lower", "application", kind="amount"),
    ),
    labels=("{processor}",),
    version=2,
    parse=parse,
    signatures=(r"Virtlab VM 1\.\d+",),
)
