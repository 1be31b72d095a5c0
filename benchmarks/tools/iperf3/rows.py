"""The text of iperf3: rows of intervals, and of the whole test below a second head."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from benchmarks.parsing.drafts import Draft, ParsedRun, finished, keep
from benchmarks.parsing.scanning import Found, Scanner
from benchmarks.sentences import Sentence
from benchmarks.tools.iperf.rows import UNITS

LINES: Final = Scanner(
    begin=r"(?:Connecting to host (?P<host>[^\n]{1,200}), port|"
    r"Accepted connection from)",
    version=r"iperf (?P<version>3\.\S+)",
    reverse=r"Reverse mode, remote host",
    done=r"iperf Done\.|(?P<echo>Server output:)",
    rule=r"- - - - ",
    head=r"\[ *ID\](?:\[Role\])? Interval",
    connected=r"\[ *(?P<stream>\d+)\] local \S+ port \d+ connected to",
    row=r"\[ *(?P<id>\d+|SUM)\](?:\[(?P<role>[TR]X-[CS])\])? +0\.0+-\d+\.\d+ +sec +"
    r"\S+ +[KMGT]?Bytes +(?P<rate>\S+) +"
    r"(?P<unit>[KMGT]?(?:bits|Bytes)/sec)(?: +(?P<retransmits>\d+)(?= ))?"
    r"(?: +(?P<jitter>\S+) ms +-?\d+/-?\d+ \((?P<share>[^%\s]+)%\))?"
    r"(?P<rest>[^\n]*)$",
    cpu=r"CPU Utilization: local/\w+ (?P<local>\S+)% \([^)\n]*\), remote/\w+ "
    r"(?P<remote>\S+)%",
    trouble=r"iperf3: (?P<trouble>(?:error|interrupt|the \w+ has)[^\n]*)",
)


@dataclass
class Test:
    """One test. ``totals`` are the rows below the columns' names below a rule.

    ``ids`` are the streams by their role, which only tests of both ways print.
    ``is_echo``: what the server said of the same test, printed by its client.
    """

    draft: Draft = field(default_factory=Draft)
    operation: str = "forward"
    is_server: bool = False
    is_done: bool = False
    is_echo: bool = False
    is_ruled: bool = False
    is_summary: bool = False
    ids: dict[str, set[str]] = field(default_factory=dict)
    totals: list[Found] = field(default_factory=list)
    cpu: Found | None = None


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each test; servers print many."""
    tests = [Test()]
    version = ""
    for line in LINES(output):
        if line.kind == "version":
            version = line["version"]
        elif line.kind == "begin":
            _begin(line, tests)
        elif line.kind == "trouble":
            _trouble(line, tests)
        elif line["echo"]:
            keep(tests, Test(is_echo=True))
        else:
            tests[-1].draft.attempt(_take, line, tests[-1])
    told = [test for test in tests if not test.is_echo]
    for test in told:
        test.draft.tool_version = version
        test.draft.attempt(_close, test)
    return finished([test.draft for test in told], Sentence("iperf3 printed no total."))


def _begin(line: Found, tests: list[Test]) -> None:
    """A test; what is said before it belongs to it: errors are not buffered."""
    last = tests[-1]
    if last.is_done or last.ids:
        keep(tests, Test())
    tests[-1].is_server = not line["host"]
    if line["host"]:
        tests[-1].draft.facts["to"] = line["host"]


def _trouble(line: Found, tests: list[Test]) -> None:
    """An error; one before any connection is a run of its own."""
    is_alone = "unable to connect" in line["trouble"]
    if tests[-1].is_done or (is_alone and tests[-1].draft.is_told):
        keep(tests, Test())
    told = line["trouble"].strip()[:200]
    tests[-1].draft.mark("failed", Sentence("iperf3 printed: {told}.", told=told))
    tests[-1].is_done = is_alone


def _take(line: Found, test: Test) -> None:
    if line.kind == "done":
        test.is_done = True
    elif line.kind == "reverse":
        test.operation = "reverse"
    elif line.kind == "head":
        test.is_summary = test.is_ruled
        test.totals.clear()
    elif line.kind == "connected":
        test.ids.setdefault("", set()).add(line["stream"])
    elif line.kind == "rule":
        test.is_ruled = True
    elif line.kind == "cpu":
        test.cpu = line
    else:
        _take_row(line, test)


def _take_row(line: Found, test: Test) -> None:
    test.ids.setdefault(line["role"], set()).add(line["id"])
    test.is_ruled = False
    is_named = line["rest"].strip() in {"sender", "receiver"}
    if line.is_open("rest") and not is_named:
        raise line.refused(Sentence("the text ends within this line."))
    if is_named or test.is_summary:
        keep(test.totals, line)


def _close(test: Test) -> None:
    if test.is_server:
        _take_its_side(test)
    roles = {line["role"] for line in test.totals}
    streams = max((len(test.ids[role] - {"SUM"}) for role in roles), default=1)
    many = streams > 1
    is_udp = any(line["jitter"] for line in test.totals)
    test.draft.parameters["protocol"] = "UDP" if is_udp else "TCP"
    if many:
        test.draft.parameters["streams"] = streams
    rows = [line for line in test.totals if not many or line["id"] == "SUM"]
    if test.totals and not rows:
        test.draft.mark(
            "no_sum", Sentence("The sum of its parallel streams is missing.")
        )
    for line in rows:
        _add(line, test, is_udp=is_udp)
    for end in ("local", "remote"):
        # 0.0 is what the other end did not send.
        if rows and test.cpu and (share := test.cpu.number(end)):
            test.draft.add(f"CPU utilization {end}", share, "%")


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
        if line["share"] == "nan" or line["share"].startswith("-"):
            told = Sentence(
                "iperf3 printed a packet loss of {share}%.", share=line["share"]
            )
            test.draft.mark("not_measured", told)
        else:
            share = line.number("share")
            test.draft.add("packet loss", share, "%", operation=operation)
