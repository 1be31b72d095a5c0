"""netperf: throughput of a network path, and its CPU time at both ends.

KBytes, MBytes and GBytes (``-f``) are powers of 1024 bytes; 10^6bits are not. Service
demand is in microseconds of CPU per KB (1024 B) or per transaction. The second row of a
UDP stream is what arrived.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import (
    NETWORK,
    NETWORK_TAIL,
    Metric,
    Tool,
    first_match,
    metrics,
    when,
)
from benchmarks.sentences import Sentence

LINES: Final = LineScanner(
    banner=r"(?:MIGRATED )?(?P<test>(?:TCP|UDP|SCTP|DCCP|UDPLITE|OMNI)[ \w/|-]{0,50}) "
    r"T(?:EST|est) (?:from\b|(?=to\b))(?:[^\n]*?\bto (?P<to>\S+))?"
    # With -O, column names of several lines precede the values.
    r"(?:[^\n]*+(?P<heads>(?:\n[ \t]*+[A-Z][^\n,=]*+){1,8}?)\n"
    r"(?P<cells>[ \t]*+\d[^\n]*+)$)?",
    doubt=r"!!! (?P<doubt>Desired confidence was not achieved|"
    r"Confidence intervals: Throughput *: *\S+)",
    units=r"bytes +[bB]ytes +[^\n]*?(?:(?P<unit>10\^[369]bits|[KMG]Bytes) *+/s|per sec)"
    r"(?P<cpu>[^\n]*us/(?:KB|Tr))?",
    csv=r"(?P<names>[A-Z][A-Za-z0-9 %()/|]{2,60},[^\n]*)\n(?P<values>[^\n]*,[^\n]*)$",
    key=r"(?P<key>[A-Z][A-Z0-9_]{2,60})=(?P<value>[^\n]*)$",
    row=r"(?P<row>\d+ [ \S]*\S)[ \t]*+$",
    trouble=r"(?P<trouble>(?:establish[_ ]control|netperf:|send_data|recv_data|"
    r"shutdown_control|send_omni|recv_response|remote error|getaddrinfo)[^\n]*)",
)
UNITS: Final = {
    "10^3bits": "kbit/s",
    "10^6bits": "Mbit/s",
    "10^9bits": "Gbit/s",
    "KBytes": "KiB/s",
    "MBytes": "MiB/s",
    "GBytes": "GiB/s",
}
ENDS: Final = ("local", "remote")
_TESTS: Final = {
    "TCP REQUEST/RESPONSE": "TCP_RR",
    "UDP REQUEST/RESPONSE": "UDP_RR",
    "SCTP REQUEST/RESPONSE": "SCTP_RR",
    "TCP CONNECT/REQUEST/RESPONSE": "TCP_CRR",
    "TCP CONNECT/CLOSE": "TCP_CC",
    "UDP UNIDIRECTIONAL SEND": "UDP_STREAM",
    "SCTP 1-TO-MANY STREAM": "SCTP_STREAM_MANY",
    "SCTP 1-TO-MANY REQUEST/RESPONSE": "SCTP_RR_MANY",
}
_DEFAULT_UNIT: Final = "Mbit/s"
# Names of the sizes, the rate and the cost in rows with fixed columns.
_CLASSIC: Final = {
    "stream": (
        ("recv_socket", "send_socket", "message"),
        "throughput",
        ("service demand", "us/KB"),
    ),
    "rr": (
        ("send_socket", "recv_socket", "request", "response"),
        "transaction rate",
        ("CPU time per transaction", "us"),
    ),
}
# Rows without headers (-P 0) have sockets, sizes, seconds, rate and CPU at both ends.
_CPU: Final = r"(?: +-?\d+\.\d\d +-?\d+\.\d\d +-?\d+\.\d{3} +-?\d+\.\d{3})?"
_CPU_OF_ONE: Final = r"(?: +-?\d+\.\d\d +-?\d+\.\d{3})?"
_BARE: Final = re.compile(
    r"(?:[ \t]*+(?:"
    rf"(?:\d+ +){{3}}\d+\.\d\d +\d+\.\d\d{_CPU}"  # stream
    rf"|(?:\d+ +){{4}}\d+\.\d\d +\d+\.\d\d{_CPU}[ \t]*\n[ \t]*\d+ +\d+"  # RR
    rf"|\d+ +\d+ +\d+\.\d\d +\d+ +\d+ +\d+\.\d\d?{_CPU_OF_ONE}[ \t]*\n"
    rf"[ \t]*\d+ +\d+\.\d\d +\d+ +\d+\.\d\d?{_CPU_OF_ONE}"  # UDP
    r")?[ \t]*(?:\n|\Z))+",
    re.ASCII,
)
_LONGEST_BARE: Final = 20_000
# Column names of -o and -O that differ from the key of -k.
_KEYS: Final = {
    "local_service_demand": "local_sd",
    "remote_service_demand": "remote_sd",
    "service_demand_units": "sd_units",
    "elapsed_time_sec": "elapsed_time",
    "request_size_bytes": "request_size",
    "response_size_bytes": "response_size",
    "minimum_latency_microseconds": "min_latency",
    "mean_latency_microseconds": "mean_latency",
    "maximum_latency_microseconds": "max_latency",
    "50th_percentile_latency_microseconds": "p50_latency",
    "90th_percentile_latency_microseconds": "p90_latency",
    "99th_percentile_latency_microseconds": "p99_latency",
}
_SIZES: Final = {
    "local_send_size": "message",
    "request_size": "request",
    "response_size": "response",
}
_LATENCIES: Final = ("min", "mean", "max", "p50", "p90", "p99")
_TRUNCATED_VALUES: Final = Sentence(
    "the output is truncated within the values below this line."
)


@parser("netperf printed no result.")
def parse(output: str) -> Sequence[Draft]:
    if has_bare_rows(output) or has_bare_rows(output.partition("\n")[2]):
        rows = [line for line in LINES(output) if line.kind == "row"]
        runs: list[Draft] = []
        while rows:
            kind = _test_kind("", rows)
            used = 1 if kind == "stream" else 2
            cpu = len(rows[0]["row"].split()) >= {"stream": 9, "rr": 10, "udp": 8}[kind]
            run = Draft()
            _read_classic(run, kind, _DEFAULT_UNIT, rows[:used], cpu)
            run.add_warning(
                "no_header",
                "The output has no headers (-P 0), so the unit is assumed to be "
                "10^6 bits/s and the test is unknown.",
            )
            append_limited(runs, run)
            del rows[:used]
        return runs

    tables = [NetperfTable()]
    for line in LINES(output):
        if line.kind == "banner":
            append_limited(tables, NetperfTable())
            tables[-1].open(line)
        elif line.kind == "key" and line["key"].casefold() in tables[-1].keys:
            # -k prints no banner, so a repeated key begins another test.
            append_limited(tables, NetperfTable(test=tables[-1].test))
        tables[-1].read_line(tables[-1].read, line)
    return tables


@dataclass
class NetperfTable(Draft):
    test: str = ""
    unit: str = ""
    cpu: bool = False
    rows_left: int = 0
    rows: list[MatchedLine] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    last_key: MatchedLine | None = None

    def open(self, line: MatchedLine) -> None:
        test = line["test"].upper()
        self.test = _TESTS.get(test, test.replace(" ", "_"))
        self.parameters["test"] = self.test
        if line["to"]:
            self.facts["to"] = line["to"]
        if self.test.removesuffix("_MANY").endswith(("STREAM", "SENDFILE")):
            self.parameters["operation"] = "send"
        elif self.test.endswith("MAERTS"):
            self.parameters["operation"] = "receive"

    def read(self, line: MatchedLine) -> None:
        if line.kind == "units":
            self.unit = UNITS.get(line["unit"], "")
            self.cpu = bool(line["cpu"])
            self.rows_left = 0 if self.rows else 2
        elif line.kind == "row" and self.rows_left:
            self.rows.append(line)
            self.rows_left -= 1
        elif line.kind == "csv":
            OmniResult.from_csv(line).add_to(self)
        elif line.kind == "banner" and line["cells"]:
            OmniResult.from_columns(line).add_to(self)
        elif line.kind == "key":
            self.keys[line["key"].casefold()] = line["value"].strip()
            self.last_key = line
        elif line.kind == "doubt":
            printed = Sentence("netperf printed: {doubt}.", doubt=line["doubt"])
            self.add_warning("confidence", printed)
        elif line.kind == "trouble":
            trouble = line["trouble"].strip()[:200]
            printed = Sentence("netperf printed: {trouble}", trouble=trouble)
            self.add_failure("failed", printed)

    def close(self) -> None:
        if self.rows:
            kind = _test_kind(self.test, self.rows)
            rows = self.rows[:1] if kind == "stream" else self.rows
            _read_classic(self, kind, self.unit, rows, self.cpu)
        if (last := self.last_key) is not None:
            # Only a number can be truncated without notice.
            if last["value"][-1:].isdigit():
                last.reject_if_truncated("value")
            OmniResult(last, self.keys).add_to(self)


def has_bare_rows(output: str) -> bool:
    if len(output) > _LONGEST_BARE or not output.strip():
        return False
    return _BARE.fullmatch(output) is not None


def _test_kind(test: str, rows: list[MatchedLine]) -> str:
    """Return ``stream``, ``rr`` or ``udp``, by the test's name or else by its rows."""
    if test.removesuffix("_MANY").endswith("RR"):
        return "rr"
    if test:
        return "udp" if test.startswith("UDP") else "stream"
    # The second row of RR has two sizes; that of UDP has 4 cells or, with CPU, 6.
    following = len(rows[1]["row"].split()) if len(rows) > 1 else 0
    return {2: "rr", 4: "udp", 6: "udp"}.get(following, "stream")


def _read_classic(
    run: Draft, kind: str, unit: str, rows: list[MatchedLine], cpu: bool
) -> None:
    if kind == "udp":
        _read_udp(run, unit, rows, cpu)
        return
    names, metric, demand = _CLASSIC[kind]
    width = len(names) + 2
    cells = _cells(rows[0], width + 4 * cpu, cpu)
    run.parameters.update(zip(names, map(int, cells), strict=False))
    run.facts["elapsed_s"] = cells[width - 2]
    run.add(metric, cells[width - 1], "1/s" if kind == "rr" else unit)
    _add_cpu(run, cells[width : width + 2], cells[width + 2 :], demand)


def _read_udp(run: Draft, unit: str, rows: list[MatchedLine], cpu: bool) -> None:
    sent = _cells(rows[0], 8 if cpu else 6, cpu)
    run.parameters.update(send_socket=int(sent[0]), message=int(sent[1]))
    run.facts["elapsed_s"] = sent[2]
    run.add("sent throughput", sent[5], unit)
    if sent[4]:
        run.add_warning(
            "send_errors", "Send errors counted by netperf: {n:g}.", n=sent[4]
        )
    if len(rows) < 2:
        run.add_warning(
            "no_receiver", "The receiver's row is missing. The output may be truncated."
        )
        return
    received = _cells(rows[1], 6 if cpu else 4, cpu)
    run.add("throughput", received[3], unit)
    if cpu:
        demand = ("service demand", "us/KB")
        _add_cpu(run, [sent[6], received[4]], [sent[7], received[5]], demand)


def _cells(row: MatchedLine, columns: int, cpu: bool) -> list[float]:
    cells = row["row"].split()
    if len(cells) > columns and not re.match(r"[-+.\d]", cells[columns]):
        return [row.parse_number(cell) for cell in cells[:columns]]
    if len(cells) != columns:
        raise row.parse_error(
            "this row has {cells} columns instead of {columns}.",
            cells=len(cells),
            columns=columns,
        )
    return row.numbers("row", 3 if cpu else 2)


def _add_cpu(
    run: Draft, utilizations: list[float], costs: list[float], demand: tuple[str, str]
) -> None:
    name, unit = demand
    for end, utilization, cost in zip(ENDS, utilizations, costs, strict=False):
        if utilization >= 0 and cost >= 0:
            run.add(f"CPU utilization {end}", utilization, "%")
            run.add(f"{name} {end}", cost, unit)


@dataclass(frozen=True, slots=True)
class OmniResult:
    """One result of an omni test; ``texts`` has the lower-case keys of ``-k``."""

    line: MatchedLine
    texts: Mapping[str, str]

    @classmethod
    def from_csv(cls, line: MatchedLine) -> OmniResult:
        """Parse a line below a line of names (``-o``)."""
        names, values = csv.reader([line["names"], line["values"]])
        if len(names) != len(values):
            raise line.parse_error(
                "there are {names} names but {values} values.",
                names=len(names),
                values=len(values),
            )
        if line.may_be_truncated("values") and values[-1][-1:].isdigit():
            raise line.parse_error(_TRUNCATED_VALUES)
        pairs = zip(names, values, strict=True)
        return cls(line, {_key(name): value for name, value in pairs})

    @classmethod
    def from_columns(cls, line: MatchedLine) -> OmniResult:
        """Parse values below names of several lines (``-O``)."""
        if line.may_be_truncated("cells"):
            raise line.parse_error(_TRUNCATED_VALUES)
        heads = line["heads"].split("\n")[1:]
        cells = list(re.finditer(r"\S+", line["cells"]))
        ends = [*(cell.start() for cell in cells[1:]), None]
        texts = {}
        for cell, end in zip(cells, ends, strict=True):
            parts = (head[cell.start() : end].strip() for head in heads)
            texts[_key(" ".join(parts))] = cell[0]
        return cls(line, texts)

    def number(self, key: str) -> float | None:
        """Return None if the value is absent or negative (not measured)."""
        text = self.texts.get(key, "")
        if text in {"", "(null)"}:
            return None
        number = self.line.parse_number(text)
        return number if number >= 0 else None

    def add_to(self, run: Draft) -> None:
        for key, name in _SIZES.items():
            if (size := self.number(key)) and size > 0:
                run.parameters[name] = int(size)
        if elapsed := self.number("elapsed_time"):
            run.facts["elapsed_s"] = elapsed
        if (rate := self.number("throughput")) is not None:
            metric, unit = self._rate_metric()
            run.add(metric, rate, unit)

        per_transaction = "tran" in self.texts.get("sd_units", "").casefold()
        demand, unit = _CLASSIC["rr" if per_transaction else "stream"][2]
        for end in ENDS:
            if (utilization := self.number(f"{end}_cpu_util")) is not None:
                run.add(f"CPU utilization {end}", utilization, "%")
            if (cost := self.number(f"{end}_sd")) is not None:
                run.add(f"{demand} {end}", cost, unit)
        for which in _LATENCIES:
            if (latency := self.number(f"{which}_latency")) is not None:
                run.add(f"latency {which}", latency, "us")

    def _rate_metric(self) -> tuple[str, str]:
        unit = self.texts.get("throughput_units", "").strip()
        if unit == "Trans/s":
            return "transaction rate", "1/s"
        if known_unit := UNITS.get(unit.partition("/")[0].strip()):
            return "throughput", known_unit
        raise self.line.parse_error(
            "the unit of the throughput is missing. Add THROUGHPUT_UNITS to the "
            "netperf output selection."
        )


def _key(name: str) -> str:
    key = re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")
    return _KEYS.get(key, key)


TRANSACTIONS: Final = first_match(
    when("network: requests", test=".*_CRR"), when("network: round trip")
)
TOOL = Tool(
    slug="netperf",
    title="netperf",
    homepage="https://github.com/HewlettPackard/netperf",
    metrics=(
        Metric("throughput", "MB/s", "higher", "network", work_class=NETWORK),
        # Sent throughput includes lost datagrams.
        Metric(
            "sent throughput", "MB/s", "higher", "network", implied_by=("throughput",)
        ),
        *metrics(
            (f"CPU utilization {end}" for end in ENDS),
            "%",
            "lower",
            "network",
            allows_zero=True,
        ),
        *metrics(
            (f"service demand {end}" for end in ENDS),
            "us/KB",
            "lower",
            "network",
            kind="cost",
        ),
        *metrics(
            (f"CPU time per transaction {end}" for end in ENDS),
            "us",
            "lower",
            "network",
            kind="cost",
        ),
        Metric("transaction rate", "1/s", "higher", "network", work_class=TRANSACTIONS),
        *metrics(
            (f"latency {which}" for which in _LATENCIES),
            "us",
            "lower",
            "network",
            work_class={
                "latency p90": NETWORK_TAIL,
                "latency p99": NETWORK_TAIL,
            },
            implied_by={
                "latency mean": ("transaction rate",),
                "latency p50": ("transaction rate", "latency mean"),
            },
        ),
    ),
    labels=("{test}", "{from} → {to}"),
    version=4,
    parse=parse,
    targets=("to",),
    signatures=(
        r"(?:MIGRATED )?(?:TCP|UDP|SCTP|DCCP|UDPLITE|OMNI)[ \w/|-]{0,50} "
        r"T(?:EST|est) (?:from|to)\b",
        r"(?:THROUGHPUT|THROUGHPUT_UNITS|ELAPSED_TIME|LOCAL_SEND_SIZE|PROTOCOL)=",
        r"establish[ _]control\b",
    ),
    recognizes=has_bare_rows,
    programs=("netperf",),
)
