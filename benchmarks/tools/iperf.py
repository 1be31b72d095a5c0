"""iperf 2: throughput of a network path.

One result row, as printed by iperf 2.0.13::

    [  3]  0.0-10.0 sec  1.10 GBytes   941 Mbits/sec

Mbits are 10^6 bit, the GBytes beside them 2^30 B. The row of a stream that begins at
0.0 and ends last is its total; a UDP client's own row is what it sent, the server's
report what arrived.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from benchmarks.tools.base import Metric, Tool
from benchmarks.tools.parser import Draft, ParsedRun, Parser, finished, keep
from benchmarks.tools.scan import Found, Scanner

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
    r"with \S+ port (?P<there>\d+)",
    row=r"\[ *(?P<id>[^\]\n]{1,8})\] +0\.0+ *- *\d+\.\d+ +sec +\S+ +[KMGT]?Bytes +"
    r"(?P<rate>\S+) +(?P<unit>[KMGT]?(?:bits|Bytes)/sec)(?: +(?P<jitter>\S+) ms +"
    r"-?\d+/ *-?\d+ +\((?P<share>[^%\s]+)%\))?",
    csv=r"\d{14}[\d.+-]*,[^,\n]*,(?P<from_port>\d+),[^,\n]*,\d+,(?P<csv_id>-?\d+),"
    r"0\.0+-\d+\.\d+,\d+,(?P<bits>\d+)(?:,(?P<csv_jitter>[\d.]+),-?\d+,-?\d+,"
    r"(?P<csv_share>[\d.]+),-?\d+)?[ \t]*+(?=\n)",
    doubt=r"(?P<doubt>WARNING: did not receive ack[^\n]*|"
    r"(?:connect|write|read|bind|recv) failed:?[^\n]*|"
    r"\[ *\S+\] \d+(?:\.\d+)? datagrams received out-of-order)",
)
# A row of the same stream that does not begin at 0.0.
INTERVALS = {
    "row": r"\[ *{stream}\] +(?!0\.0+ *-)\d+\.\d+ *-",
    "csv": r"\d{{14}}[\d.+-]*,(?:[^,\n]*,){{4}}{stream},(?!0\.0+-)\d+\.\d+-",
}
DEFAULT_PORT = "5001"
SUM = "SUM"


@dataclass
class Test:
    """One start of the client, or the connections of a server that ran together.

    ``totals`` holds the last row from 0.0 on of each stream, apart for the rows that
    tell what the receiver of datagrams saw. ``until`` is the next test's first line.
    """

    draft: Draft = field(default_factory=Draft)
    is_client: bool = False
    port: str = DEFAULT_PORT
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
        _close(test)
    return finished([test.draft for test in tests], "iperf printed no total.")


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
    return Test(draft=Draft(parameters=dict(test.draft.parameters)), port=test.port)


def _take(line: Found, test: Test) -> None:
    if line.kind == "role":
        test.is_client |= line["role"].startswith("Client")
        test.port = line["port"]
        test.draft.parameters["protocol"] = line["protocol"]
    elif line.kind == "size":
        test.draft.parameters["datagram"] = line.whole("size")
    elif line.kind == "window":
        test.draft.facts["window"] = line["window"]
    elif line.kind == "connected":
        test.streams.add(line["stream"])
        if test.is_client and line["here"] == test.port != line["there"]:
            test.reverse.add(line["stream"])
    elif line.kind == "doubt":
        test.draft.mark("trouble", f"iperf printed: {line['doubt'].strip()}.")
    else:
        _take_row(line, test)


def _take_row(line: Found, test: Test) -> None:
    stream, reported = _total_of(line)
    test.totals[stream, reported] = line
    if line.kind == "csv" and reported:
        test.draft.parameters["protocol"] = "UDP"
    elif line.kind == "csv" and line["from_port"] == DEFAULT_PORT:
        test.reverse.add(stream)


def _total_of(line: Found) -> tuple[str, bool]:
    """The stream of a row, and whether it is the receiver's."""
    if line.kind == "csv":
        stream = SUM if line["csv_id"] == "-1" else line["csv_id"]
        return stream, bool(line["csv_jitter"])
    return line["id"], bool(line["jitter"])


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
    streams = (test.streams | {stream for stream, _ in test.totals}) - {SUM}
    reverse = streams & test.reverse
    for way, ids in (("forward", streams - reverse), ("reverse", reverse)):
        wanted = ids if len(ids) == 1 else {SUM}
        rows = [line for (each, _), line in test.totals.items() if each in wanted]
        if ids and not rows:
            test.draft.mark("no_sum", "The sum of its parallel streams is missing.")
        elif ids or (way == "forward" and not reverse):
            for line in rows:
                streamed = {"streams": len(ids)} if len(ids) > 1 else {}
                _add(line, test.draft, operation=way, **streamed)


def _add(line: Found, run: Draft, **parameters: str | int) -> None:
    is_csv = line.kind == "csv"
    jitter, share = ("csv_jitter", "csv_share") if is_csv else ("jitter", "share")
    rate = line.number("bits") if is_csv else line.number("rate")
    unit = "bit/s" if is_csv else UNITS[line["unit"]]
    if line[jitter]:
        run.add("throughput", rate, unit, **parameters)
        run.add("jitter", line.number(jitter), "ms", **parameters)
        run.add("packet loss", line.number(share), "%", **parameters)
    elif run.parameters.get("protocol") == "UDP":
        run.add("sent throughput", rate, unit, **parameters)
    else:
        run.add("throughput", rate, unit, **parameters)


TOOL = Tool(
    slug="iperf",
    title="iperf",
    homepage="https://sourceforge.net/projects/iperf2/",
    metrics=(
        Metric(name="throughput", unit="Mbit/s", better="higher", component="network"),
        # What left the sender of datagrams, whether it arrived or not.
        Metric(
            name="sent throughput",
            unit="Mbit/s",
            better="higher",
            component="network",
        ),
        Metric(
            name="jitter",
            unit="ms",
            better="lower",
            component="network",
            zero_allowed=True,
        ),
        Metric(
            name="packet loss",
            unit="%",
            better="lower",
            component="network",
            zero_allowed=True,
        ),
    ),
    aliases=("iperf2", "iperf 2"),
    labels=("{protocol}", "{link}"),
    parser=Parser(
        version=1,
        parse=parse,
        signatures=(
            r"Client connecting to [^\n]{1,200}, (?:TCP|UDP) port \d",
            r"Server listening on (?:TCP|UDP) port \d",
            r"\d{14}[\d.+-]*,[\d.]+,\d+,[\d.]+,\d+,-?\d+,\d+\.\d+-\d",
        ),
        programs=("iperf", "iperf2"),
    ),
)
