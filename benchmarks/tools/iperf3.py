"""iperf3: throughput of a network path.

Gbits are 10^9 bit, GBytes 2^30 B. Throughput is what the receiver counts. With several
streams, only their sum is read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.errors import ParseError
from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    Pairs,
    append_limited,
    finish_drafts,
    json_documents,
    json_number,
    json_section,
    unique_keys,
)
from benchmarks.parsing.tool import (
    Metric,
    ParsedRun,
    Tool,
    cost_metric,
    metrics,
)
from benchmarks.sentences import template
from benchmarks.tools.iperf import (
    LOSSES,
    OPTIONS,
    THROUGHPUTS,
    UNITS,
    offered_rate,
)
from benchmarks.units import convert

LINES: Final = LineScanner(
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
    r"(?P<unit>[A-Za-z]{1,10}/sec)(?: +(?P<retransmits>\d+)(?= ))?"
    r"(?: +(?P<jitter>\S+) ms +-?\d+/-?\d+ \((?P<share>[^%\s]+)%\))?"
    r"(?P<rest>[^\n]*)$",
    cpu=r"CPU Utilization: local/\w+ (?P<local>\S+)% \([^)\n]*\), remote/\w+ "
    r"(?P<remote>\S+)%",
    trouble=r"iperf3: (?P<trouble>(?:error|interrupt|the \w+ has)[^\n]*)",
)
ROLES: Final = {
    "TX-C": "forward",
    "RX-S": "forward",
    "RX-C": "reverse",
    "TX-S": "reverse",
}
_DEFAULT_RATE: Final = "1.048576 Mbit/s"
_RATE: Final = re.compile(
    r"\biperf3\b[^\n]*? (?:-b|--bitrate|--bandwidth)[ =]?(\d\S*)", re.ASCII
)
_LONGEST_COMMAND: Final = 2000
# Sums of the other direction. Versions 3.7 to 3.9 repeat the key without this suffix.
_REVERSE: Final = "_bidir_reverse"
_SUMS: Final = frozenset({"sum", "sum_sent", "sum_received"})
# The output of -J, or of --json-stream (3.17 and later).
_REPORT: Final = r"\{\s*\"(?:start\"\s*:\s*\{|event\"\s*:)"


@dataclass
class Iperf3Test(Draft):
    """A test of iperf3; ``is_echo`` marks a server's report that its client repeats."""

    operation: str = "forward"
    rate: str = ""
    is_server: bool = False
    is_done: bool = False
    is_echo: bool = False
    is_ruled: bool = False
    is_summary: bool = False
    ids: dict[str, set[str]] = field(default_factory=dict)
    totals: list[MatchedLine] = field(default_factory=list)
    cpu: MatchedLine | None = None

    def begin(self, line: MatchedLine) -> None:
        self.is_server = not line["host"]
        if line["host"]:
            self.facts["to"] = line["host"]

    def read(self, line: MatchedLine) -> None:
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
                line.reject_if_truncated("rest")
            if is_named or self.is_summary:
                append_limited(self.totals, line)

    def close(self) -> None:
        if self.is_server:
            # If a server sent, the direction was reverse.
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
        self._add_offered_rate(streams, is_udp)
        rows = [row for row in self.totals if streams == 1 or row["id"] == "SUM"]
        if self.totals and not rows:
            self.add_warning("no_sum", "The sum of the parallel streams is missing.")
        for row in rows:
            self._add(row, is_udp)
        for end in ("local", "remote"):
            # 0.0 means that the other end did not send a value.
            if rows and self.cpu and (utilization := self.cpu.number(end)):
                self.add(f"CPU utilization {end}", utilization, "%")

    def _add_offered_rate(self, streams: int, is_udp: bool) -> None:
        if self.rate:
            self.parameters["bitrate"] = self.rate
            return
        sent = [row for row in self.totals if row["rest"].strip() == "sender"]
        for row in (sent or self.totals)[:1] if is_udp else ():
            if row["unit"] in UNITS:
                rate = convert(row.number("rate"), UNITS[row["unit"]], "Mbit/s")
                each = rate / (streams if row["id"] == "SUM" else 1)
                self.parameters["bitrate"] = offered_rate(each, _DEFAULT_RATE)

    def _add(self, row: MatchedLine, is_udp: bool) -> None:
        if row["unit"] not in UNITS:
            raise row.parse_error(
                '"{unit}" is not a known unit of iperf3.', unit=row["unit"]
            )
        direction = ROLES.get(row["role"], self.operation)
        end = row["rest"].strip()
        name = "throughput" if end == "receiver" else "sent throughput"
        self.add(name, row.number("rate"), UNITS[row["unit"]], operation=direction)
        if row["retransmits"]:
            count = row.number("retransmits")
            self.add("retransmits", count, "", operation=direction)
        # The sender's own row has no jitter or loss. Before 3.2 the only row has both.
        if is_udp and row["jitter"] and end != "sender":
            self.add("jitter", row.number("jitter"), "ms", operation=direction)
            if row["share"] == "nan" or row["share"].startswith("-"):
                self.add_warning(
                    "not_measured",
                    "iperf3 printed a packet loss of {share}%.",
                    share=row["share"],
                )
            else:
                self.add("packet loss", row.number("share"), "%", operation=direction)


def parse(output: str) -> tuple[ParsedRun, ...]:
    if reported := [_run_of_report(report) for report in _reports(output)]:
        return finish_drafts(reported, "iperf3 reports no total.")
    tests = [Iperf3Test()]
    version = ""
    for line in LINES(output):
        if line.kind == "version":
            version = line["version"]
        elif line.kind == "begin":
            # Errors are not buffered, so messages before a test belong to it.
            if tests[-1].is_done or tests[-1].ids:
                append_limited(tests, Iperf3Test())
            tests[-1].begin(line)
        elif line.kind == "trouble":
            is_alone = "unable to connect" in line["trouble"]
            if tests[-1].is_done or (is_alone and tests[-1].has_content):
                append_limited(tests, Iperf3Test())
            trouble = line["trouble"].strip()[:200]
            # A server is stopped after its last test.
            is_stopped = "server has terminated" in trouble
            add = tests[-1].add_warning if is_stopped else tests[-1].add_failure
            add("failed", template("iperf3 printed: {text}."), text=trouble)
            tests[-1].is_done = is_alone
        elif line["echo"]:
            append_limited(tests, Iperf3Test(is_echo=True))
        else:
            tests[-1].read_line(tests[-1].read, line)
    command = _RATE.search(output[:_LONGEST_COMMAND])
    rate = OPTIONS.normalize({"bitrate": command[1]})["bitrate"] if command else ""
    own_tests = [test for test in tests if not test.is_echo]
    for test in own_tests:
        test.tool_version = version
        test.rate = str(rate)
    return finish_drafts(own_tests, "iperf3 printed no total.")


def _reports(output: str) -> Iterator[dict[str, Any]]:
    events: dict[str, Any] = {}
    for document in json_documents(output, _REPORT, _json_object):
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


def _json_object(pairs: Pairs) -> dict[str, Any]:
    # Only rows of intervals contain "omitted".
    if any(key == "omitted" for key, _ in pairs):
        return {}
    first: dict[str, Any] = {}
    renamed: Pairs = []
    for key, value in pairs:
        is_reverse = key in _SUMS and first.setdefault(key, value) != value
        renamed.append((f"{key}{_REVERSE}" if is_reverse else key, value))
    return unique_keys(renamed)


def _has_both_directions(end: Mapping[str, Any]) -> bool:
    """Return whether the client sent some streams, and the server others."""
    streams = end.get("streams")
    ends = [
        part.get("sender")
        for stream in (streams if isinstance(streams, list) else ())
        for part in (json_section(stream, "sender"), json_section(stream, "udp"))
        if part
    ]
    return True in ends and False in ends


def _run_of_report(report: Mapping[str, Any]) -> Draft:
    start, end = json_section(report, "start"), json_section(report, "end")
    test = json_section(start, "test_start")
    version = str(start.get("version", "")).removeprefix("iperf ")
    run = Draft(tool_version=version[:40])
    run.parameters["protocol"] = str(test.get("protocol", "TCP"))[:20]
    if (streams := test.get("num_streams")) and streams != 1:
        run.parameters["streams"] = int(json_number(streams, "num_streams"))
    if rate := json_number(test.get("target_bitrate", 0), "target_bitrate"):
        run.parameters["bitrate"] = f"{rate / 1e6:.12g} Mbit/s"
    elif "target_bitrate" not in test and run.parameters["protocol"] == "UDP":
        # Versions before 3.10 do not print the requested rate.
        total = json_section(end, "sum_sent") or json_section(end, "sum")
        sent = json_number(total.get("bits_per_second", 0), "bits_per_second") / 1e6
        each = sent / float(run.parameters.get("streams", 1))
        run.parameters["bitrate"] = offered_rate(each, _DEFAULT_RATE)
    if peer := json_section(start, "connecting_to").get("host"):
        run.facts["to"] = str(peer)
    if error := report.get("error"):
        run.add_failure("failed", "iperf3 reports: {error}.", error=str(error)[:200])
    reverse_sums = {
        key.removesuffix(_REVERSE): end[key] for key in end if _REVERSE in key
    }
    if not reverse_sums and _has_both_directions(end):
        raise ParseError(
            "The test had two directions, but the sums of one are missing. iperf3 3.7 "
            "to 3.9 repeat their keys, which other programs drop. Upload what iperf3 "
            "printed."
        )
    _add_sums(run, end, "reverse" if test.get("reverse") else "forward")
    _add_sums(run, reverse_sums, "reverse")
    utilizations = json_section(end, "cpu_utilization_percent")
    for end_name, key in (("local", "host_total"), ("remote", "remote_total")):
        if run and (utilization := json_number(utilizations.get(key, 0), key)):
            run.add(f"CPU utilization {end_name}", utilization, "%")
    return run


def _add_sums(run: Draft, end: Mapping[str, Any], direction: str) -> None:
    sent, received = json_section(end, "sum_sent"), json_section(end, "sum_received")
    combined = json_section(end, "sum")
    for metric, total in (
        ("throughput", received),
        ("sent throughput", sent or combined),
    ):
        if rate := json_number(total.get("bits_per_second", 0), "bits_per_second"):
            run.add(metric, rate, "bit/s", operation=direction)
    if "retransmits" in sent:
        count = json_number(sent["retransmits"], "retransmits")
        run.add("retransmits", count, "", operation=direction)
    # Without a report from the receiver, a sender prints 0 for jitter and loss.
    has_report = not received or received.get("bits_per_second", 0) != 0
    has_packets = json_number(combined.get("packets", 0), "packets") > 0
    if "jitter_ms" in combined and has_packets and has_report:
        run.add(
            "jitter",
            json_number(combined["jitter_ms"], "jitter_ms"),
            "ms",
            operation=direction,
        )
        loss = json_number(combined["lost_percent"], "lost_percent")
        run.add("packet loss", loss, "%", operation=direction)


TOOL = Tool(
    slug="iperf3",
    title="iperf3",
    homepage="https://software.es.net/iperf/",
    options=OPTIONS,
    metrics=(
        *THROUGHPUTS,
        Metric("retransmits", "", "neither", "network", allows_zero=True),
        *LOSSES,
        *metrics(
            (f"CPU utilization {end}" for end in ("local", "remote")),
            "%",
            "lower",
            "network",
            allows_zero=True,
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
    version=5,
    parse=parse,
    targets=("to",),
    signatures=(
        r"Connecting to host [^\n]{1,200}, port \d",
        r"Server listening on \d+(?: \(test|[ \t]*+$)",
        r"Accepted connection from [^\n]{1,200}, port \d",
        r"iperf3: (?:error|interrupt)",
        r"\{\s*\"start\"\s*:\s*\{",
        r"\{\s*\"event\"\s*:\s*\"start\"",
    ),
    programs=("iperf3",),
    needs_command=True,
    is_localized=False,
)
