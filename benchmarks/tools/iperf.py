"""iperf 2: throughput of a network path.

Mbits are 10^6 bit, GBytes are 2^30 B. The last row of a stream that begins at 0.0 is
its total. With UDP, the client's own row is what was sent, and the server's report what
arrived. A star before the stream marks the reverse direction.
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
    NETWORK,
    UNKNOWN_RATE,
    Metric,
    Options,
    Parameter,
    RateOption,
    Tool,
    metrics,
)
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
BITRATE = tuple(
    RateOption(option, "bit/s", multipliers=("streams",))
    for option in ("bitrate", "bandwidth", "b")
)
# The rate of UDP without -b: 2^20 bit/s per stream.
DEFAULT_UDP_RATE = 1.048576
OPTIONS = Options(
    {
        **dict.fromkeys(("-P", "--parallel"), "streams"),
        **dict.fromkeys(("-b", "--bandwidth", "--bitrate"), "bitrate"),
    },
    bit_rates=frozenset({"bitrate"}),
)
THROUGHPUTS = metrics(
    # Sent throughput includes lost datagrams.
    ("throughput", "sent throughput"),
    "Mbit/s",
    "higher",
    "network",
    rate_options=BITRATE,
    work_class={"throughput": NETWORK},
    implied_by={"sent throughput": ("throughput",)},
)
LOSSES = (
    Metric("jitter", "ms", "lower", "network", allows_zero=True),
    Metric("packet loss", "%", "lower", "network", allows_zero=True),
)
LINES = LineScanner(
    role=r"(?P<role>Client connecting to|Server listening on) (?:(?P<host>[^,\n]*), )?"
    r"(?P<protocol>TCP|UDP) port (?P<port>\d+)",
    size=r"Sending (?P<size>\d+) byte datagrams(?:, IPG target: (?P<gap>\d+\.\d+) us)?",
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
INTERVALS = {
    "row": r"\[ *{stream}\] +(?!0\.0+ *-)\d+\.\d+ *-",
    "csv": r"\d{{14}}[\d.+-]*,(?:[^,\n]*,){{4}}{stream},(?!0\.0+-)\d+\.\d+-",
}
DEFAULT_PORT = "5001"
SUM = "SUM"
FORWARD, REVERSE = "forward", "reverse"


def offered_rate(mbits: float, default: str) -> str:
    """Return the requested rate of a UDP stream that did not print it."""
    is_default = abs(mbits / DEFAULT_UDP_RATE - 1) < 0.05
    return default if is_default else UNKNOWN_RATE


@dataclass
class IperfTest(Draft):
    """One execution of the client, or simultaneous connections of a server.

    ``totals`` has each stream's last row from 0.0, by the result of ``_total_of``;
    ``until`` is the first line of the next test.
    """

    is_client: bool = False
    is_duplex: bool = False
    ports: set[str] = field(default_factory=lambda: {DEFAULT_PORT})
    streams: set[str] = field(default_factory=set)
    reverse: set[str] = field(default_factory=set)
    totals: dict[tuple[str, bool], MatchedLine] = field(default_factory=dict)
    until: MatchedLine | None = None

    def ends_before(self, line: MatchedLine) -> bool:
        if line.kind == "connected":
            return not self.is_client
        # CSV has no headings: a second total without intervals in between begins
        # another test.
        if line.kind == "csv":
            return not self._is_interval(*_total_of(line), line)
        return line.kind == "role" and line["role"].startswith("Client")

    def read(self, line: MatchedLine) -> None:
        if line.kind == "role":
            self.is_client |= line["role"].startswith("Client")
            self.ports.add(line["port"])
            self.parameters["protocol"] = line["protocol"]
            if line["host"] and line["role"].startswith("Client"):
                self.facts["to"] = line["host"]
        elif line.kind == "size":
            self.parameters["datagram"] = line.integer("size")
            if line["gap"] and (gap_us := line.number("gap")):
                rate = 8 * line.number("size") / gap_us
                self.parameters["bitrate"] = f"{rate:.3g} Mbit/s"
        elif line.kind == "window":
            self.facts["window"] = line["window"]
        elif line.kind == "version":
            self.tool_version = line["version"]
        elif line.kind == "connected":
            self._connect(line)
        elif line.kind == "doubt":
            self.add_warning(
                "trouble", "iperf printed: {doubt}.", doubt=line["doubt"].strip()
            )
        else:
            self._read_row(line)

    def _connect(self, line: MatchedLine) -> None:
        stream = line["stream"].removeprefix("*")
        self.streams.add(stream)
        self.is_duplex |= "(full-duplex)" in line["flags"]
        # With -d, the other end connects to the client's port and sends.
        is_back = self.is_client and line["here"] in self.ports
        is_back = is_back and line["there"] not in self.ports
        if "(reverse)" in line["flags"] or is_back:
            self.reverse.add(stream)
        if "(bb " in line["flags"]:
            self.parameters["test"] = "bounce-back"

    def _read_row(self, line: MatchedLine) -> None:
        stream, reported = _total_of(line)
        self.totals[stream, reported] = line
        if stream.startswith("*") and stream.removeprefix("*") not in self.streams:
            self.reverse.add(stream.removeprefix("*"))
        if line.kind == "csv" and line["csv_jitter"]:
            self.parameters["protocol"] = "UDP"
        elif line.kind == "csv" and line["from_port"] == DEFAULT_PORT:
            self.reverse.add(stream)

    def _is_interval(
        self, stream: str, reported: bool, until: MatchedLine | None
    ) -> bool:
        if (line := self.totals.get((stream, reported))) is None:
            return True
        name = "-1" if line.kind == "csv" and stream == SUM else re.escape(stream)
        return line.is_followed_by(INTERVALS[line.kind].format(stream=name), until)

    def close(self) -> None:
        for stream, reported in list(self.totals):
            if self._is_interval(stream, reported, self.until):
                del self.totals[stream, reported]
        if self.parameters.get("protocol") == "UDP":
            self._add_offered_rate()
        directions = self._rows_by_direction()
        for reported in (False, True):
            sums = [
                key for key in self.totals if key[0][:3] == SUM and key[1] == reported
            ]
            if sums and not any(directions.values()):
                # With --sum-only no stream is listed: SUM-3 is the sum of three.
                streams = int(count) if (count := sums[0][0][4:]).isdigit() else 1
                self._add([self.totals[sums[0]]], FORWARD, streams)
            else:
                self._close_directions(directions, reported)

    def _add_offered_rate(self) -> None:
        rows = [row for (stream, _), row in self.totals.items() if stream[:3] != SUM]
        sent = [row for row in rows if not _total_of(row)[1]]
        for row in (sent or rows)[:1] if "bitrate" not in self.parameters else ():
            is_csv = row.kind == "csv"
            rate = row.number("bits") if is_csv else row.number("rate")
            mbits = convert(rate, "bit/s" if is_csv else UNITS[row["unit"]], "Mbit/s")
            self.parameters["bitrate"] = offered_rate(mbits, "1.05 Mbit/s")

    def _rows_by_direction(self) -> dict[str, set[str]]:
        rows = {stream for stream, _ in self.totals if stream[:2] not in {"SU", "FD"}}
        names = self.streams | {row.removeprefix("*") for row in rows}
        if self.is_duplex:
            return {FORWARD: names, REVERSE: {f"*{name}" for name in names}}
        reverse_rows = {
            f"*{name}" if f"*{name}" in rows else name for name in self.reverse & names
        }
        return {FORWARD: names - self.reverse, REVERSE: reverse_rows}

    def _close_directions(
        self, directions: dict[str, set[str]], reported: bool
    ) -> None:
        # If both directions are loaded, SUM includes both.
        has_both = all(directions.values())
        is_csv = any(row.kind == "csv" for row in self.totals.values())
        is_never_summed = not is_csv and (has_both or (reported and self.is_client))
        for direction, ids in directions.items():
            sums = self.totals.get((SUM, reported))
            keys = [(stream, reported) for stream in sorted(ids)]
            rows = [self.totals[key] for key in keys if key in self.totals]
            if len(ids) > 1 and sums and not has_both:
                self._add([sums], direction, len(ids))
            elif len(rows) == len(ids) > 0 and (len(ids) == 1 or is_never_summed):
                self._add(rows, direction, len(ids))
            elif rows:
                self.add_warning(
                    "no_sum", "The sum of the parallel streams is missing."
                )

    def _add(self, lines: list[MatchedLine], direction: str, streams: int) -> None:
        case: dict[str, Parameter] = {"operation": direction}
        if streams > 1:
            case["streams"] = streams
        line = lines[0]
        is_csv = line.kind == "csv"
        rate = line.number("bits") if is_csv else line.number("rate")
        unit = "bit/s" if is_csv else UNITS[line["unit"]]
        _, reported = _total_of(line)
        is_sent = self.parameters.get("protocol") == "UDP" and not reported
        if len(lines) > 1:
            rates = [
                convert(row.number("rate"), UNITS[row["unit"]], unit) for row in lines
            ]
            # Sums of binary fractions have digits that were never printed.
            rate = round(sum(rates), 9)
            self.add_warning(
                "summed",
                "iperf printed no sum, so {lines} streams were added up.",
                lines=len(lines),
            )
        name = "sent throughput" if is_sent else "throughput"
        self.add(name, rate, unit, **case)
        if reported and len(lines) == 1:
            jitter, loss = (
                ("csv_jitter", "csv_share") if is_csv else ("jitter", "share")
            )
            if line[jitter]:
                self.add("jitter", line.number(jitter), "ms", **case)
            if line[loss].strip("+-") == "nan":
                self.add_warning("not_measured", "iperf counted no datagrams.")
            else:
                self.add("packet loss", line.number(loss), "%", **case)


@parser("iperf printed no total.")
def parse(output: str) -> list[IperfTest]:
    tests = [IperfTest()]
    for line in LINES(output):
        last = tests[-1]
        if last.totals and last.ends_before(line):
            last.until = line
            next_test = IperfTest()
            if line.kind != "role":
                parameters = dict(last.parameters)
                next_test = IperfTest(parameters=parameters, ports=last.ports)
            append_limited(tests, next_test)
        tests[-1].read(line)
    return tests


def _total_of(line: MatchedLine) -> tuple[str, bool]:
    """Return the stream of a row, and whether it is the receiver's."""
    if line.kind == "csv":
        stream = SUM if line["csv_id"] == "-1" else line["csv_id"]
        return stream, bool(line["csv_jitter"]) and line["csv_total"] != "-1"
    return line["id"], bool(line["share"])


TOOL = Tool(
    slug="iperf",
    title="iperf",
    homepage="https://sourceforge.net/projects/iperf2/",
    options=OPTIONS,
    metrics=(*THROUGHPUTS, *LOSSES),
    aliases=("iperf2", "iperf 2"),
    labels=("{protocol}", "{link}"),
    version=4,
    parse=parse,
    targets=("to",),
    signatures=(
        r"Client connecting to [^\n]{1,200}, (?:TCP|UDP) port \d",
        r"Server listening on (?:TCP|UDP) port \d",
        r"\d{14}[\d.+-]*,[\d.]+,\d+,[\d.]+,\d+,-?\d+,\d+\.\d+-\d",
    ),
    programs=("iperf", "iperf2"),
)
