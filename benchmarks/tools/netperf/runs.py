"""From the lines of netperf to its runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from benchmarks.parsing.drafts import Draft, ParsedRun, finished, keep
from benchmarks.parsing.scanning import Found, Scanner
from benchmarks.sentences import Sentence
from benchmarks.tools.netperf import classic, omni

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
_TESTS: Final = {
    "TCP REQUEST/RESPONSE": "TCP_RR",
    "UDP REQUEST/RESPONSE": "UDP_RR",
    "SCTP REQUEST/RESPONSE": "SCTP_RR",
    "TCP CONNECT/REQUEST/RESPONSE": "TCP_CRR",
    "TCP CONNECT/CLOSE": "TCP_CC",
    "UDP UNIDIRECTIONAL SEND": "UDP_STREAM",
}
_DEFAULT_UNIT: Final = "Mbit/s"


@dataclass
class Table:
    """One test. ``wanted``: how many rows may still be its result."""

    test: str = ""
    draft: Draft = field(default_factory=Draft)
    unit: str = ""
    cpu: bool = False
    wanted: int = 0
    rows: list[Found] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    last_key: Found | None = None


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each test."""
    if classic.is_bare(output):
        return _parse_bare(output)
    tables = [Table()]
    for line in LINES(output):
        if line.kind == "banner":
            keep(tables, _opened(line))
        elif line.kind == "key" and line["key"].casefold() in tables[-1].keys:
            keep(tables, Table(test=tables[-1].test))
        tables[-1].draft.attempt(_take, line, tables[-1])
    for table in tables:
        table.draft.attempt(_close, table)
    return finished(
        [table.draft for table in tables], Sentence("netperf printed no result.")
    )


def _opened(line: Found) -> Table:
    test = line["test"].upper()
    name = _TESTS.get(test, test.replace(" ", "_"))
    table = Table(test=name)
    table.draft.parameters["test"] = name
    if line["to"]:
        table.draft.facts["to"] = line["to"]
    if name.endswith(("STREAM", "SENDFILE")):
        table.draft.parameters["operation"] = "send"
    elif name.endswith("MAERTS"):
        table.draft.parameters["operation"] = "receive"
    return table


def _take(line: Found, table: Table) -> None:
    if line.kind == "units":
        table.unit = classic.UNITS.get(line["unit"], "")
        table.cpu = bool(line["cpu"])
        table.wanted = 0 if table.rows else 2
    elif line.kind == "row" and table.wanted:
        table.rows.append(line)
        table.wanted -= 1
    elif line.kind == "csv":
        omni.read(table.draft, omni.from_csv(line))
    elif line.kind == "banner" and line["cells"]:
        omni.read(table.draft, omni.from_columns(line))
    elif line.kind == "key":
        table.keys[line["key"].casefold()] = line["value"].strip()
        table.last_key = line
    elif line.kind == "doubt":
        table.draft.mark(
            "confidence", Sentence("netperf printed: {doubt}.", doubt=line["doubt"])
        )
    elif line.kind == "trouble":
        table.draft.mark(
            "failed",
            Sentence(
                "netperf printed: {trouble}", trouble=line["trouble"].strip()[:200]
            ),
        )


def _close(table: Table) -> None:
    if table.rows:
        kind = classic.kind_of(table.test, table.rows)
        rows = table.rows[:1] if kind == "stream" else table.rows
        classic.read(table.draft, kind, table.unit, rows, cpu=table.cpu)
    if (last := table.last_key) is not None:
        if last.is_open("value") and last["value"][-1:].isdigit():
            raise last.refused(Sentence("the text ends within this line."))
        omni.read(table.draft, omni.Values(last, table.keys))


def _parse_bare(output: str) -> tuple[ParsedRun, ...]:
    """Rows without headers: their unit is the one that netperf uses if not told."""
    rows = [line for line in LINES(output) if line.kind == "row"]
    runs: list[Draft] = []
    while rows:
        kind = classic.kind_of("", rows)
        used = 1 if kind == "stream" else 2
        run = Draft()
        columns = len(rows[0]["row"].split())
        cpu = columns >= {"stream": 9, "rr": 10, "udp": 8}[kind]
        classic.read(run, kind, _DEFAULT_UNIT, rows[:used], cpu=cpu)
        run.mark(
            "no_header",
            Sentence(
                "Printed without headers (-P 0): the unit is taken to be 10^6 "
                "bits/s, and the test is not known."
            ),
        )
        keep(runs, run)
        del rows[:used]
    return finished(runs, Sentence("netperf printed no result."))
