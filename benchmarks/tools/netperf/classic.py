"""The classic tables of netperf: fixed columns, told by the test and by ``-c -C``."""

from __future__ import annotations

import re
from typing import Final

from benchmarks.parsing.drafts import Draft
from benchmarks.parsing.scanning import Found
from benchmarks.sentences import Sentence

UNITS: Final = {
    "10^3bits": "kbit/s",
    "10^6bits": "Mbit/s",
    "10^9bits": "Gbit/s",
    "KBytes": "KiB/s",
    "MBytes": "MiB/s",
    "GBytes": "GiB/s",
}
ENDS: Final = ("local", "remote")

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
_LONGEST_BARE: Final = 20_000


def has_bare_rows(output: str) -> bool:
    """Whether a text is nothing but such rows."""
    if len(output) > _LONGEST_BARE or not output.strip():
        return False
    return _BARE.fullmatch(output) is not None


def is_bare(output: str) -> bool:
    """The same, below the line of the command."""
    below = output.partition("\n")[2]
    return has_bare_rows(output) or has_bare_rows(below)


def kind_of(test: str, rows: list[Found]) -> str:
    """``stream``, ``rr`` or ``udp``; without a name the rows themselves say."""
    if test.endswith("RR"):
        return "rr"
    if test:
        return "udp" if test.startswith("UDP") else "stream"
    following = len(rows[1]["row"].split()) if len(rows) > 1 else 0
    return {2: "rr", 4: "udp", 6: "udp"}.get(following, "stream")


def read(run: Draft, kind: str, unit: str, rows: list[Found], *, cpu: bool) -> None:
    """The readings of one table."""
    {"stream": _stream, "rr": _rr, "udp": _udp}[kind](run, unit, rows, cpu)


def _stream(run: Draft, unit: str, rows: list[Found], cpu: bool) -> None:
    cells = _cells(rows[0], 9 if cpu else 5, decimals=3 if cpu else 2)
    names = ("recv_socket", "send_socket", "message")
    run.parameters.update(zip(names, map(int, cells), strict=False))
    run.facts["elapsed_s"] = cells[3]
    run.add("throughput", cells[4], unit)
    _add_cpu(run, cells[5:7], cells[7:9], "service demand", "us/KB")


def _rr(run: Draft, unit: str, rows: list[Found], cpu: bool) -> None:
    cells = _cells(rows[0], 10 if cpu else 6, decimals=3 if cpu else 2)
    names = ("send_socket", "recv_socket", "request", "response")
    run.parameters.update(zip(names, map(int, cells), strict=False))
    run.facts["elapsed_s"] = cells[4]
    run.add("transaction rate", cells[5], "1/s")
    _add_cpu(run, cells[6:8], cells[8:10], "CPU time per transaction", "us")


def _udp(run: Draft, unit: str, rows: list[Found], cpu: bool) -> None:
    sent = _cells(rows[0], 8 if cpu else 6, decimals=3 if cpu else 2)
    run.parameters.update(send_socket=int(sent[0]), message=int(sent[1]))
    run.facts["elapsed_s"] = sent[2]
    run.add("sent throughput", sent[5], unit)
    if sent[4]:
        run.mark(
            "send_errors",
            Sentence("netperf counted {n:g} errors of sending.", n=sent[4]),
        )
    if len(rows) < 2:
        run.mark(
            "no_receiver", Sentence("The receiver's row is missing: is the output cut?")
        )
        return
    got = _cells(rows[1], 6 if cpu else 4, decimals=3 if cpu else 2)
    run.add("throughput", got[3], unit)
    if cpu:
        _add_cpu(run, [sent[6], got[4]], [sent[7], got[5]], "service demand", "us/KB")


def _cells(row: Found, columns: int, *, decimals: int) -> list[float]:
    """The numbers of a row. What ``-B`` adds behind them is left out."""
    cells = row["row"].split()
    if len(cells) > columns and not re.match(r"[-+.\d]", cells[columns]):
        return [row.number_of(cell) for cell in cells[:columns]]
    if len(cells) != columns:
        raise row.refused(
            Sentence(
                "it has {cells} columns instead of {columns}.",
                cells=len(cells),
                columns=columns,
            )
        )
    return row.numbers("row", decimals)


def _add_cpu(
    run: Draft, shares: list[float], demands: list[float], demand: str, unit: str
) -> None:
    """A negative number says that netperf could not measure it."""
    for end, share, cost in zip(ENDS, shares, demands, strict=False):
        if share >= 0 and cost >= 0:
            run.add(f"CPU utilization {end}", share, "%")
            run.add(f"{demand} {end}", cost, unit)
