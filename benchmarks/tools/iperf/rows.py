"""From the lines of iperf 2 to its runs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from benchmarks.parsing.drafts import Draft, Parameter, ParsedRun, finished, keep
from benchmarks.parsing.scanning import Found, Scanner
from benchmarks.sentences import Sentence
from benchmarks.units import convert

UNITS = {
    "bits/sec": "bit/s",
    "Kbits/sec": "kbit/s",
    "Mbits/sec": "Mbit/s",
    "Gbits/sec": "Gbit/s",
    "Tbits/sec": "Tbit/s",
    "Bytes/sec": "B/s",
    "KBytes/sec": "KiB/s",
    "MBytes/sec": "MiB/s",
    "GBytes/sec": "GiB/s",
    "TBytes/sec": "TiB/s",
}
LINES = Scanner(
    role=r"(?P<role>Client connecting to|Server listening on) (?:(?P<host>[^,\n]*), )?"
    r"(?P<protocol>TCP|UDP) port (?P<port>\d+)",
    size=r"Sending (?P<size>\d+) byte datagrams",
    window=r"TCP window size: *+(?P<window>\S+ \S+)",
    connected=r"\[ *(?P<stream>[^\]\n]{1,8})\] local \S+ port (?P<here>\d+) connected "
    r"with \S+ port (?P<there>\d+)(?P<flags>[^\n]*)",
    row=r"\[ *(?P<id>[^\]\n]{1,8})\] +0\.0+ *- *\d+\.\d+ +sec +\S+ +[KMGT]?Bytes +"
    r"(?P<rate>\S+) +(?P<unit>[KMGT]?(?:bits|Bytes)/sec)(?: +(?:(?P<jitter>\S+) ms +)?"
    r"-?\d+/ *-?\d+ +\((?P<share>[^%\s]+)%\))?",
    csv=r"\d{14}[\d.+-]*,[^,\n]*,(?P<from_port>\d+),[^,\n]*,\d+,(?P<csv_id>-?\d+),"
    r"0\.0+-\d+\.\d+,\d+,(?P<bits>\d+)(?:,(?P<csv_jitter>[\d.]+),-?\d+,"
    r"(?P<csv_total>-?\d+),(?P<csv_share>-?[\d.]+),-?\d+)?[ \t]*+(?=\n)",
    doubt=r"(?P<doubt>(?:\[ *\S+\] +)?WARNING: (?:did not receive ack|ack of )[^\n]*|"
    r"(?:\[ *\S+\] +)?[A-Za-z][\w .:/-]{0,100}? failed\b[^\n]*|"
    r"\[ *\S+\](?: +0\.0+- *\d+\.\d+ +sec)? +\d+(?:\.\d+)? datagrams received "
    r"out-of-order)",
    version=r"iperf version (?P<version>2\.\S+)",
)
# A row of the same stream that does not begin at 0.0.
INTERVALS = {
    "row": r"\[ *{stream}\] +(?!0\.0+ *-)\d+\.\d+ *-",
    "csv": r"\d{{14}}[\d.+-]*,(?:[^,\n]*,){{4}}{stream},(?!0\.0+-)\d+\.\d+-",
}
DEFAULT_PORT = "5001"
SUM = "SUM"
FORWARD, REVERSE = "forward", "reverse"


@dataclass
class Test:
    """One start of the client, or the connections of a server that ran together.

    ``totals`` holds the last row from 0.0 on of each stream, apart for the rows that
    tell what the receiver of datagrams saw. ``until`` is the next test's first line.
    """

    draft: Draft = field(default_factory=Draft)
    is_client: bool = False
    is_duplex: bool = False
    ports: set[str] = field(default_factory=lambda: {DEFAULT_PORT})
    streams: set[str] = field(default_factory=set)
    reverse: set[str] = field(default_factory=set)
    totals: dict[tuple[str, bool], Found] = field(default_factory=dict)
    until: Found | None = None


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each test."""
    tests = [Test()]
    for line in LINES(output):
        if tests[-1].totals and _begins_test(line, tests[-1]):
            tests[-1].until = line
            keep(tests, _following(line, tests[-1]))
        _take(line, tests[-1])
    for test in tests:
        test.draft.attempt(_close, test)
    return finished([test.draft for test in tests], Sentence("iperf printed no total."))


def _begins_test(line: Found, test: Test) -> bool:
    if line.kind == "connected":
        return not test.is_client
    if line.kind == "csv":
        return not _is_interval(test, *_total_of(line), line)
    return line.kind == "role" and line["role"].startswith("Client")


def _following(line: Found, test: Test) -> Test:
    """A connection of the same server, or a new start."""
    if line.kind == "role":
        return Test()
    return Test(draft=Draft(parameters=dict(test.draft.parameters)), ports=test.ports)


def _take(line: Found, test: Test) -> None:
    if line.kind == "role":
        test.is_client |= line["role"].startswith("Client")
        test.ports.add(line["port"])
        test.draft.parameters["protocol"] = line["protocol"]
    elif line.kind == "size":
        test.draft.parameters["datagram"] = line.whole("size")
    elif line.kind == "window":
        test.draft.facts["window"] = line["window"]
    elif line.kind == "version":
        test.draft.tool_version = line["version"]
    elif line.kind == "connected":
        _connect(line, test)
    elif line.kind == "doubt":
        test.draft.mark(
            "trouble", Sentence("iperf printed: {doubt}.", doubt=line["doubt"].strip())
        )
    else:
        _take_row(line, test)


def _connect(line: Found, test: Test) -> None:
    """A stream, and which way its data go."""
    stream = line["stream"]
    test.streams.add(stream.removeprefix("*"))
    test.is_duplex |= "(full-duplex)" in line["flags"]
    is_back = test.is_client and line["here"] in test.ports
    if "(reverse)" in line["flags"] or (is_back and line["there"] not in test.ports):
        test.reverse.add(stream.removeprefix("*"))
    if "(bb " in line["flags"]:
        test.draft.parameters["test"] = "bounce-back"


def _take_row(line: Found, test: Test) -> None:
    stream, reported = _total_of(line)
    test.totals[stream, reported] = line
    if stream.startswith("*") and stream.removeprefix("*") not in test.streams:
        test.reverse.add(stream.removeprefix("*"))
    if line.kind == "csv" and line["csv_jitter"]:
        test.draft.parameters["protocol"] = "UDP"
    elif line.kind == "csv" and line["from_port"] == DEFAULT_PORT:
        test.reverse.add(stream)


def _total_of(line: Found) -> tuple[str, bool]:
    """The stream of a row, and whether it is the receiver's."""
    if line.kind == "csv":
        stream = SUM if line["csv_id"] == "-1" else line["csv_id"]
        return stream, bool(line["csv_jitter"]) and line["csv_total"] != "-1"
    return line["id"], bool(line["share"])


def _is_interval(test: Test, stream: str, reported: bool, until: Found | None) -> bool:
    """Whether the row from 0.0 on was but the first of several."""
    if (line := test.totals.get((stream, reported))) is None:
        return True
    name = "-1" if line.kind == "csv" and stream == SUM else re.escape(stream)
    return line.precedes(INTERVALS[line.kind].format(stream=name), until)


def _close(test: Test) -> None:
    for stream, reported in list(test.totals):
        if _is_interval(test, stream, reported, test.until):
            del test.totals[stream, reported]
    ways = _ways(test)
    for reported in (False, True):
        sums = [key for key in test.totals if key[0][:3] == SUM and key[1] == reported]
        if sums and not any(ways.values()):
            # With --sum-only no stream is told apart: SUM-3 is the sum of three.
            streams = int(count) if (count := sums[0][0][4:]).isdigit() else 1
            _add([test.totals[sums[0]]], test.draft, FORWARD, streams)
        else:
            _close_ways(test, ways, reported)


def _ways(test: Test) -> dict[str, set[str]]:
    """The names of the rows of each way."""
    rows = {stream for stream, _ in test.totals if stream[:2] not in {"SU", "FD"}}
    names = test.streams | {row.removeprefix("*") for row in rows}
    if test.is_duplex:
        return {FORWARD: names, REVERSE: {f"*{name}" for name in names}}
    back = {f"*{name}" if f"*{name}" in rows else name for name in test.reverse & names}
    return {FORWARD: names - test.reverse, REVERSE: back}


def _close_ways(test: Test, ways: dict[str, set[str]], reported: bool) -> None:
    """The total of each way; where both are loaded, SUM is that of both."""
    has_both = all(ways.values())
    is_csv = any(row.kind == "csv" for row in test.totals.values())
    is_never_summed = not is_csv and (has_both or (reported and test.is_client))
    for way, ids in ways.items():
        sums = test.totals.get((SUM, reported))
        keys = [(each, reported) for each in sorted(ids)]
        rows = [test.totals[key] for key in keys if key in test.totals]
        if len(ids) > 1 and sums and not has_both:
            _add([sums], test.draft, way, len(ids))
        elif len(rows) == len(ids) > 0 and (len(ids) == 1 or is_never_summed):
            _add(rows, test.draft, way, len(ids))
        elif rows:
            test.draft.mark(
                "no_sum", Sentence("The sum of its parallel streams is missing.")
            )


def _add(lines: list[Found], run: Draft, way: str, streams: int) -> None:
    """A total: of one stream, of a printed sum, or of streams that no one summed."""
    case: dict[str, Parameter] = {"operation": way}
    if streams > 1:
        case["streams"] = streams
    line = lines[0]
    is_csv = line.kind == "csv"
    rate = line.number("bits") if is_csv else line.number("rate")
    unit = "bit/s" if is_csv else UNITS[line["unit"]]
    jitter, share = ("csv_jitter", "csv_share") if is_csv else ("jitter", "share")
    _, reported = _total_of(line)
    is_sent = run.parameters.get("protocol") == "UDP" and not reported
    name = "sent throughput" if is_sent else "throughput"
    if len(lines) > 1:
        rate = _summed(lines, unit)
        run.mark(
            "summed",
            Sentence(
                "iperf printed no sum: {lines} streams were added up.", lines=len(lines)
            ),
        )
    run.add(name, rate, unit, **case)
    if reported and len(lines) == 1:
        if line[jitter]:
            run.add("jitter", line.number(jitter), "ms", **case)
        if line[share].strip("+-") == "nan":
            run.mark("not_measured", Sentence("iperf counted no datagrams."))
        else:
            run.add("packet loss", line.number(share), "%", **case)


def _summed(lines: list[Found], unit: str) -> float:
    """Rates of several streams, in the unit of the first."""
    rates = (convert(each.number("rate"), UNITS[each["unit"]], unit) for each in lines)
    return round(sum(rates), 9)
