"""netperf: throughput of a network path and the CPU time it costs at both ends.

One result row, as printed by netperf 2.7.1 with ``-c -C``::

    131072  16384  16384    2.00       34245.91   71.36    71.36    0.341   0.341

Its KBytes, MBytes and GBytes (``-f``) are powers of 1024 bytes, its 10^6bits are not.
Service demand is in microseconds of CPU per KB, which is 1024 B here, or per
transaction. Of the two rows of a UDP stream the second is what arrived.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.parsing.contract import NETWORK, Metric, Tool, metrics, when, works
from benchmarks.parsing.scanning import Draft, Found, Scanner, keep, parser
from benchmarks.sentences import Sentence

LINES: Final = Scanner(
    banner=r"(?:MIGRATED )?(?P<test>(?:TCP|UDP|SCTP|DCCP|UDPLITE|OMNI)[ \w/|]{0,50}) "
    r"T(?:EST|est) (?:from\b|(?=to\b))(?:[^\n]*?\bto (?P<to>\S+))?"
    # What -O prints: names that are several lines high, and values below them.
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
}
_DEFAULT_UNIT: Final = "Mbit/s"
# The classic tables: sizes, seconds and a rate in fixed columns; with -c -C the CPU of
# both ends and what it cost behind them.
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
# Rows without any header (-P 0): sockets, sizes, seconds, rate; CPU at both ends.
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
# Such rows alone make no long text: the pattern is not tried on one.
_LONGEST_BARE: Final = 20_000
# What -o and -O write above a column, where it does not spell the key of -k.
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
_CUT_VALUES: Final = Sentence("the text ends within the values below it.")


@parser("netperf printed no result.")
def parse(output: str) -> Sequence[Draft]:
    """Return one run for each test."""
    # Rows without headers, also below the line of the command.
    if has_bare_rows(output) or has_bare_rows(output.partition("\n")[2]):
        rows = [line for line in LINES(output) if line.kind == "row"]
        runs: list[Draft] = []
        while rows:
            kind = _kind_of("", rows)
            used = 1 if kind == "stream" else 2
            # A row is so wide only with the columns of -c or -C.
            cpu = len(rows[0]["row"].split()) >= {"stream": 9, "rr": 10, "udp": 8}[kind]
            run = Draft()
            _read_classic(run, kind, _DEFAULT_UNIT, rows[:used], cpu)
            run.mark(
                "no_header",
                "Printed without headers (-P 0): the unit is taken to be 10^6 "
                "bits/s, and the test is not known.",
            )
            keep(runs, run)
            del rows[:used]
        return runs

    tables = [Table()]
    for line in LINES(output):
        if line.kind == "banner":
            keep(tables, Table())
            tables[-1].open(line)
        elif line.kind == "key" and line["key"].casefold() in tables[-1].keys:
            # -k prints no banner in between: a key that returns begins another.
            keep(tables, Table(test=tables[-1].test))
        tables[-1].attempt(tables[-1].take, line)
    return tables


@dataclass
class Table(Draft):
    """One test; ``wanted``: how many rows may still be its result."""

    test: str = ""
    unit: str = ""
    cpu: bool = False
    wanted: int = 0
    rows: list[Found] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    last_key: Found | None = None

    def open(self, line: Found) -> None:
        test = line["test"].upper()
        self.test = _TESTS.get(test, test.replace(" ", "_"))
        self.parameters["test"] = self.test
        if line["to"]:
            self.facts["to"] = line["to"]
        if self.test.endswith(("STREAM", "SENDFILE")):
            self.parameters["operation"] = "send"
        elif self.test.endswith("MAERTS"):
            self.parameters["operation"] = "receive"

    def take(self, line: Found) -> None:
        if line.kind == "units":
            self.unit = UNITS.get(line["unit"], "")
            self.cpu = bool(line["cpu"])
            self.wanted = 0 if self.rows else 2
        elif line.kind == "row" and self.wanted:
            self.rows.append(line)
            self.wanted -= 1
        elif line.kind == "csv":
            Values.from_csv(line).add_to(self)
        elif line.kind == "banner" and line["cells"]:
            Values.from_columns(line).add_to(self)
        elif line.kind == "key":
            self.keys[line["key"].casefold()] = line["value"].strip()
            self.last_key = line
        elif line.kind == "doubt":
            printed = Sentence("netperf printed: {doubt}.", doubt=line["doubt"])
            self.mark("confidence", printed)
        elif line.kind == "trouble":
            trouble = line["trouble"].strip()[:200]
            printed = Sentence("netperf printed: {trouble}", trouble=trouble)
            self.mark("failed", printed)

    def close(self) -> None:
        if self.rows:
            kind = _kind_of(self.test, self.rows)
            rows = self.rows[:1] if kind == "stream" else self.rows
            _read_classic(self, kind, self.unit, rows, self.cpu)
        if (last := self.last_key) is not None:
            # Only a number can have been cut without being seen.
            if last["value"][-1:].isdigit():
                last.refuse_open("value")
            Values(last, self.keys).add_to(self)


def has_bare_rows(output: str) -> bool:
    """Whether a text is nothing but rows without headers."""
    if len(output) > _LONGEST_BARE or not output.strip():
        return False
    return _BARE.fullmatch(output) is not None


def _kind_of(test: str, rows: list[Found]) -> str:
    """Return ``stream``, ``rr`` or ``udp``, by the test's name or else by its rows."""
    if test.endswith("RR"):
        return "rr"
    if test:
        return "udp" if test.startswith("UDP") else "stream"
    # RR repeats two sizes; UDP tells what arrived, in 4 cells or with the CPU in 6.
    following = len(rows[1]["row"].split()) if len(rows) > 1 else 0
    return {2: "rr", 4: "udp", 6: "udp"}.get(following, "stream")


def _read_classic(
    run: Draft, kind: str, unit: str, rows: list[Found], cpu: bool
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


def _read_udp(run: Draft, unit: str, rows: list[Found], cpu: bool) -> None:
    """Add two rows: what was sent, and what arrived."""
    sent = _cells(rows[0], 8 if cpu else 6, cpu)
    run.parameters.update(send_socket=int(sent[0]), message=int(sent[1]))
    run.facts["elapsed_s"] = sent[2]
    run.add("sent throughput", sent[5], unit)
    if sent[4]:
        run.mark("send_errors", "netperf counted {n:g} errors of sending.", n=sent[4])
    if len(rows) < 2:
        run.mark("no_receiver", "The receiver's row is missing: is the output cut?")
        return
    got = _cells(rows[1], 6 if cpu else 4, cpu)
    run.add("throughput", got[3], unit)
    if cpu:
        demand = ("service demand", "us/KB")
        _add_cpu(run, [sent[6], got[4]], [sent[7], got[5]], demand)


def _cells(row: Found, columns: int, cpu: bool) -> list[float]:
    """Return the numbers of a row, without those that ``-B`` adds."""
    cells = row["row"].split()
    if len(cells) > columns and not re.match(r"[-+.\d]", cells[columns]):
        return [row.number_of(cell) for cell in cells[:columns]]
    if len(cells) != columns:
        raise row.refused(
            "it has {cells} columns instead of {columns}.",
            cells=len(cells),
            columns=columns,
        )
    return row.numbers("row", 3 if cpu else 2)


def _add_cpu(
    run: Draft, shares: list[float], costs: list[float], demand: tuple[str, str]
) -> None:
    """Add CPU shares; a negative one was not measured."""
    name, unit = demand
    for end, share, cost in zip(ENDS, shares, costs, strict=False):
        if share >= 0 and cost >= 0:
            run.add(f"CPU utilization {end}", share, "%")
            run.add(f"{name} {end}", cost, unit)


@dataclass(frozen=True, slots=True)
class Values:
    """One result of an omni test, by the keys of ``-k`` in small letters."""

    line: Found
    texts: Mapping[str, str]

    @classmethod
    def from_csv(cls, line: Found) -> Values:
        """Return the values of a line below a line of names (``-o``)."""
        names, values = csv.reader([line["names"], line["values"]])
        if len(names) != len(values):
            raise line.refused(
                "There are {names} names for {values} values.",
                names=len(names),
                values=len(values),
            )
        if line.is_open("values") and values[-1][-1:].isdigit():
            raise line.refused(_CUT_VALUES)
        pairs = zip(names, values, strict=True)
        return cls(line, {_key(name): value for name, value in pairs})

    @classmethod
    def from_columns(cls, line: Found) -> Values:
        """Return values below names that are several lines high (``-O``)."""
        if line.is_open("cells"):
            raise line.refused(_CUT_VALUES)
        heads = line["heads"].split("\n")[1:]
        cells = list(re.finditer(r"\S+", line["cells"]))
        ends = [*(cell.start() for cell in cells[1:]), None]
        texts = {}
        for cell, end in zip(cells, ends, strict=True):
            parts = (head[cell.start() : end].strip() for head in heads)
            texts[_key(" ".join(parts))] = cell[0]
        return cls(line, texts)

    def number(self, key: str) -> float | None:
        """Return a number; None if it is absent or negative (not measured)."""
        text = self.texts.get(key, "")
        if text in {"", "(null)"}:
            return None
        number = self.line.number_of(text)
        return number if number >= 0 else None

    def add_to(self, run: Draft) -> None:
        for key, name in _SIZES.items():
            if (size := self.number(key)) and size > 0:
                run.parameters[name] = int(size)
        if elapsed := self.number("elapsed_time"):
            run.facts["elapsed_s"] = elapsed
        if (rate := self.number("throughput")) is not None:
            metric, unit = self._rate_meant()
            run.add(metric, rate, unit)

        per_transaction = "tran" in self.texts.get("sd_units", "").casefold()
        demand, unit = _CLASSIC["rr" if per_transaction else "stream"][2]
        for end in ENDS:
            if (share := self.number(f"{end}_cpu_util")) is not None:
                run.add(f"CPU utilization {end}", share, "%")
            if (cost := self.number(f"{end}_sd")) is not None:
                run.add(f"{demand} {end}", cost, unit)
        for which in _LATENCIES:
            if (latency := self.number(f"{which}_latency")) is not None:
                run.add(f"latency {which}", latency, "us")

    def _rate_meant(self) -> tuple[str, str]:
        unit = self.texts.get("throughput_units", "").strip()
        if unit == "Trans/s":
            return "transaction rate", "1/s"
        if known := UNITS.get(unit.partition("/")[0].strip()):
            return "throughput", known
        raise self.line.refused(
            "nothing says the unit of its throughput: let netperf print "
            "THROUGHPUT_UNITS too."
        )


def _key(name: str) -> str:
    key = re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")
    return _KEYS.get(key, key)


TRANSACTIONS: Final = works(
    when("network: requests", test=".*_CRR"), when("network: round trip")
)
TOOL = Tool(
    slug="netperf",
    title="netperf",
    homepage="https://github.com/HewlettPackard/netperf",
    metrics=(
        Metric("throughput", "MB/s", "higher", "network", work=NETWORK),
        # What left the sender of datagrams, whether it arrived or not.
        Metric(
            "sent throughput", "MB/s", "higher", "network", implied_by=("throughput",)
        ),
        *metrics(
            (f"CPU utilization {end}" for end in ENDS),
            "%",
            "lower",
            "network",
            zero_allowed=True,
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
        Metric("transaction rate", "1/s", "higher", "network", work=TRANSACTIONS),
        *metrics(
            (f"latency {which}" for which in _LATENCIES),
            "us",
            "lower",
            "network",
            implied_by={
                "latency mean": ("transaction rate",),
                "latency p50": ("transaction rate", "latency mean"),
            },
        ),
    ),
    labels=("{test}", "{from} → {to}"),
    version=2,
    parse=parse,
    signatures=(
        r"(?:MIGRATED )?(?:TCP|UDP|SCTP|DCCP|UDPLITE|OMNI)[ \w/|]{0,50} "
        r"T(?:EST|est) (?:from|to)\b",
        r"(?:THROUGHPUT|THROUGHPUT_UNITS|ELAPSED_TIME|LOCAL_SEND_SIZE|PROTOCOL)=",
        r"establish[ _]control\b",
    ),
    shape=has_bare_rows,
    programs=("netperf",),
)
