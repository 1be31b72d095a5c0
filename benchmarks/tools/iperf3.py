"""iperf3: throughput of a network path.

One result row, as printed by iperf 3.12::

    [  5]   0.00-4.00   sec  11.9 GBytes  25.6 Gbits/sec                  receiver

Gbits are 10^9 bit, the GBytes beside them 2^30 B. What the receiver counts is the
throughput; with several streams it is the row (or object) of their sum.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.parsing.contract import (
    Metric,
    ParsedRun,
    Tool,
    cost_metric,
    metrics,
)
from benchmarks.parsing.scanning import (
    Draft,
    Found,
    Pairs,
    Scanner,
    documents,
    finished,
    keep,
    number,
    section,
)
from benchmarks.tools.iperf import LOSSES, OPTIONS, THROUGHPUTS, UNITS

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
# TX of the client and RX of the server are the way forward.
ROLES: Final = {
    "TX-C": "forward",
    "RX-S": "forward",
    "RX-C": "reverse",
    "TX-S": "reverse",
}
# The JSON of -J, and of --json-stream (3.17 and later).
_REPORT: Final = r"\{\s*\"(?:start\"\s*:\s*\{|event\"\s*:)"


@dataclass
class Test(Draft):
    """One test; ``is_echo``: the server's report, repeated by its client."""

    operation: str = "forward"
    is_server: bool = False
    is_done: bool = False
    is_echo: bool = False
    is_ruled: bool = False
    is_summary: bool = False
    ids: dict[str, set[str]] = field(default_factory=dict)
    totals: list[Found] = field(default_factory=list)
    cpu: Found | None = None

    def begin(self, line: Found) -> None:
        # Only a client names a host: the one that it connects to.
        self.is_server = not line["host"]
        if line["host"]:
            self.facts["to"] = line["host"]

    def take(self, line: Found) -> None:
        if line.kind == "done":
            self.is_done = True
        elif line.kind == "reverse":
            self.operation = "reverse"
        elif line.kind == "head":
            self.is_summary = self.is_ruled
            self.totals.clear()
        elif line.kind == "connected":
            self.ids.setdefault("", set()).add(line["stream"])
        elif line.kind == "rule":
            self.is_ruled = True
        elif line.kind == "cpu":
            self.cpu = line
        else:
            self.ids.setdefault(line["role"], set()).add(line["id"])
            self.is_ruled = False
            is_named = line["rest"].strip() in {"sender", "receiver"}
            if not is_named:
                line.refuse_open("rest")
            if is_named or self.is_summary:
                keep(self.totals, line)

    def close(self) -> None:
        if self.is_server:
            # It knows its own end only; where it sent, the way was back.
            received = [row for row in self.totals if row["rest"].strip() != "sender"]
            if self.totals and not received:
                self.operation = "reverse"
            elif not any(row["role"] for row in self.totals):
                self.totals = received
        roles = {line["role"] for line in self.totals}
        streams = max((len(self.ids[role] - {"SUM"}) for role in roles), default=1)
        is_udp = any(line["jitter"] for line in self.totals)
        self.parameters["protocol"] = "UDP" if is_udp else "TCP"
        if streams > 1:
            self.parameters["streams"] = streams
        rows = [row for row in self.totals if streams == 1 or row["id"] == "SUM"]
        if self.totals and not rows:
            self.mark("no_sum", "The sum of its parallel streams is missing.")
        for row in rows:
            self._add(row, is_udp)
        for end in ("local", "remote"):
            # 0.0 is what the other end did not send.
            if rows and self.cpu and (share := self.cpu.number(end)):
                self.add(f"CPU utilization {end}", share, "%")

    def _add(self, row: Found, is_udp: bool) -> None:
        way = ROLES.get(row["role"], self.operation)
        end = row["rest"].strip()
        name = "throughput" if end == "receiver" else "sent throughput"
        self.add(name, row.number("rate"), UNITS[row["unit"]], operation=way)
        if row["retransmits"]:
            count = row.number("retransmits")
            self.add("retransmits", count, "", operation=way)
        # The sender's own row shows neither; before 3.2 the only row shows both.
        if is_udp and row["jitter"] and end != "sender":
            self.add("jitter", row.number("jitter"), "ms", operation=way)
            if row["share"] == "nan" or row["share"].startswith("-"):
                self.mark(
                    "not_measured",
                    "iperf3 printed a packet loss of {share}%.",
                    share=row["share"],
                )
            else:
                self.add("packet loss", row.number("share"), "%", operation=way)


def parse(output: str) -> tuple[ParsedRun, ...]:
    """Return one run for each test, from its JSON if there is any."""
    if reported := [_of_report(report) for report in _reports(output)]:
        return finished(reported, "iperf3 reports no total.")
    tests = [Test()]
    version = ""
    for line in LINES(output):
        if line.kind == "version":
            version = line["version"]
        elif line.kind == "begin":
            # What is said before it belongs to it: errors are not buffered.
            if tests[-1].is_done or tests[-1].ids:
                keep(tests, Test())
            tests[-1].begin(line)
        elif line.kind == "trouble":
            # One before any connection is a run of its own.
            is_alone = "unable to connect" in line["trouble"]
            if tests[-1].is_done or (is_alone and tests[-1].is_told):
                keep(tests, Test())
            trouble = line["trouble"].strip()[:200]
            tests[-1].mark("failed", "iperf3 printed: {told}.", told=trouble)
            tests[-1].is_done = is_alone
        elif line["echo"]:
            keep(tests, Test(is_echo=True))
        else:
            tests[-1].attempt(tests[-1].take, line)
    own = [test for test in tests if not test.is_echo]
    for test in own:
        test.tool_version = version
    return finished(own, "iperf3 printed no total.")


def _reports(output: str) -> Iterator[dict[str, Any]]:
    def without_intervals(pairs: Pairs) -> dict[str, Any]:
        # Only the rows of intervals say whether they were omitted from the total.
        row = dict(pairs)
        return {} if "omitted" in row else row

    events: dict[str, Any] = {}
    for document in documents(output, _REPORT, without_intervals):
        if "event" not in document:
            yield document
            continue
        if document["event"] == "start" and events:
            yield events
            events = {}
        if document["event"] in {"start", "end", "error"}:
            events[document["event"]] = document.get("data")
    if events:
        yield events


def _of_report(report: Mapping[str, Any]) -> Draft:
    start, end = section(report, "start"), section(report, "end")
    test = section(start, "test_start")
    version = str(start.get("version", "")).removeprefix("iperf ")
    run = Draft(tool_version=version[:40])
    run.parameters["protocol"] = str(test.get("protocol", "TCP"))[:20]
    if (streams := test.get("num_streams")) and streams != 1:
        run.parameters["streams"] = int(number(streams, "num_streams"))
    if rate := number(test.get("target_bitrate", 0), "target_bitrate"):
        run.parameters["bitrate"] = f"{rate / 1e6:.12g} Mbit/s"
    if peer := section(start, "connecting_to").get("host"):
        run.facts["to"] = str(peer)
    if error := report.get("error"):
        run.mark("failed", "iperf3 reports: {error}.", error=str(error)[:200])
    _add_sums(run, end, "reverse" if test.get("reverse") else "forward")
    if "sum_sent_bidir_reverse" in end:
        suffix = "_bidir_reverse"
        other = {key.removesuffix(suffix): end[key] for key in end if suffix in key}
        _add_sums(run, other, "reverse")
    shares = section(end, "cpu_utilization_percent")
    for which, key in (("local", "host_total"), ("remote", "remote_total")):
        # A share of exactly 0 is one that the other end never sent.
        if run and (share := number(shares.get(key, 0), key)):
            run.add(f"CPU utilization {which}", share, "%")
    return run


def _add_sums(run: Draft, end: Mapping[str, Any], way: str) -> None:
    sent, received = section(end, "sum_sent"), section(end, "sum_received")
    whole = section(end, "sum")
    for metric, total in (("throughput", received), ("sent throughput", sent or whole)):
        # A total of nothing is one that the other end never sent.
        if rate := number(total.get("bits_per_second", 0), "bits_per_second"):
            run.add(metric, rate, "bit/s", operation=way)
    if "retransmits" in sent:
        count = number(sent["retransmits"], "retransmits")
        run.add("retransmits", count, "", operation=way)
    # A sender whom the receiver told nothing prints 0 for both.
    is_told = not received or received.get("bits_per_second", 0) != 0
    has_packets = number(whole.get("packets", 0), "packets") > 0
    if "jitter_ms" in whole and has_packets and is_told:
        run.add("jitter", number(whole["jitter_ms"], "jitter_ms"), "ms", operation=way)
        share = number(whole["lost_percent"], "lost_percent")
        run.add("packet loss", share, "%", operation=way)


TOOL = Tool(
    slug="iperf3",
    title="iperf3",
    homepage="https://software.es.net/iperf/",
    options=OPTIONS,
    metrics=(
        *THROUGHPUTS,
        Metric("retransmits", "", "neither", "network", zero_allowed=True),
        *LOSSES,
        *metrics(
            (f"CPU utilization {end}" for end in ("local", "remote")),
            "%",
            "lower",
            "network",
            zero_allowed=True,
        ),
        cost_metric(
            "CPU time per data local",
            "network",
            ("CPU utilization local",),
            "throughput",
        ),
        cost_metric(
            "CPU time per data remote",
            "network",
            ("CPU utilization remote",),
            "throughput",
        ),
    ),
    aliases=("iperf 3",),
    labels=("{protocol}",),
    version=3,
    parse=parse,
    signatures=(
        r"Connecting to host [^\n]{1,200}, port \d",
        r"Server listening on \d+(?: \(test|[ \t]*+$)",
        r"Accepted connection from [^\n]{1,200}, port \d",
        r"iperf3: (?:error|interrupt)",
        r"\{\s*\"start\"\s*:\s*\{",
        r"\{\s*\"event\"\s*:\s*\"start\"",
    ),
    programs=("iperf3",),
    localized=False,
)
