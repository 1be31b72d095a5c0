"""The text of iperf3: rows of intervals, and of the whole test below a second head."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from benchmarks.tools.iperf.rows import UNITS
from benchmarks.tools.parser import Draft, ParsedRun, finished, keep
from benchmarks.tools.scan import Found, Scanner

LINES: Final = Scanner(
    begin=r"(?:Connecting to host (?P<host>[^\n]{1,200}), port|"
    r"Accepted connection from)",
    version=r"iperf (?P<version>3\.\S+)",
    reverse=r"Reverse mode, remote host",
    head=r"\[ *ID\](?:\[Role\])? Interval",
    connected=r"\[ *(?P<stream>\d+)\] local \S+ port \d+ connected to",
    row=r"\[ *(?P<id>\d+|SUM)\](?:\[(?P<role>[TR]X-[CS])\])? +0\.0+-\d+\.\d+ +sec +"
    r"\S+ +[KMGT]?Bytes +(?P<rate>\S+) +"
    r"(?P<unit>[KMGT]?(?:bits|Bytes)/sec)(?: +(?P<retransmits>\d+)(?= ))?"
    r"(?: +(?P<jitter>\S+) ms +(?P<lost>\d+)/(?P<total>\d+) \((?P<share>[^%\s]+)%\))?"
    r"(?P<rest>[^\n]*)$",
    trouble=r"iperf3: (?P<trouble>(?:error|interrupt|the \w+ has)[^\n]*)",
)


@dataclass
class Test:
    """One test; ``heads`` counts the lines that name the columns."""

    draft: Draft = field(default_factory=Draft)
    operation: str = "forward"
    is_server: bool = False
    heads: int = 0
    ids: set[str] = field(default_factory=set)
    totals: list[Found] = field(default_factory=list)


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each test; servers print many."""
    tests = [Test()]
    version = ""
    for line in LINES(output):
        if line.kind == "version":
            version = line["version"]
        elif line.kind == "begin":
            keep(tests, Test(is_server=not line["host"]))
            if line["host"]:
                tests[-1].draft.facts["to"] = line["host"]
        else:
            _take(line, tests[-1])
    for test in tests:
        test.draft.tool_version = version
        _close(test)
    return finished([test.draft for test in tests], "iperf3 printed no total.")


def _take(line: Found, test: Test) -> None:
    if line.kind == "reverse":
        test.operation = "reverse"
    elif line.kind == "head":
        test.heads += 1
    elif line.kind == "trouble":
        test.draft.mark("failed", f"iperf3 printed: {line['trouble'].strip()[:200]}.")
    elif line.kind == "connected":
        test.ids.add(line["stream"])
    else:
        test.ids.add(line["id"])
        is_named = line["rest"].strip() in {"sender", "receiver"}
        if line.is_open("rest") and not is_named:
            raise line.refused("the text ends within this line.")
        if is_named or test.heads > 1:
            keep(test.totals, line)


def _close(test: Test) -> None:
    if test.is_server:
        _take_its_side(test)
    ids = test.ids - {"SUM"}
    roles = {line["role"] for line in test.totals}
    many = len(ids) > len(roles)
    is_udp = any(line["jitter"] for line in test.totals)
    test.draft.parameters["protocol"] = "UDP" if is_udp else "TCP"
    if many:
        test.draft.parameters["streams"] = len(ids) // max(1, len(roles))
    rows = [line for line in test.totals if not many or line["id"] == "SUM"]
    if test.totals and not rows:
        test.draft.mark("no_sum", "The sum of its parallel streams is missing.")
    for line in rows:
        _add(line, test, is_udp=is_udp)


def _take_its_side(test: Test) -> None:
    """A server knows its own end only; where it sent, the way was back."""
    received = [row for row in test.totals if row["rest"].strip() != "sender"]
    if test.totals and not received:
        test.operation = "reverse"
    elif not any(row["role"] for row in test.totals):
        test.totals = received


def _add(line: Found, test: Test, *, is_udp: bool) -> None:
    """TX of the client and RX of the server are the way forward."""
    way = {"TX-C": "forward", "RX-S": "forward", "RX-C": "reverse", "TX-S": "reverse"}
    operation = way.get(line["role"], test.operation)
    received = line["rest"].strip() == "receiver"
    rate = line.number("rate")
    name = "throughput" if received else "sent throughput"
    test.draft.add(name, rate, UNITS[line["unit"]], operation=operation)
    if line["retransmits"]:
        test.draft.add(
            "retransmits", line.number("retransmits"), "", operation=operation
        )
    # The sender's own row shows neither; before 3.2 the only row shows both.
    if is_udp and line["jitter"] and line["rest"].strip() != "sender":
        test.draft.add("jitter", line.number("jitter"), "ms", operation=operation)
        test.draft.add("packet loss", line.number("share"), "%", operation=operation)
