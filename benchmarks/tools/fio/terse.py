"""The terse form of fio (``--minimal``), versions 3 to 5: one line for each job.

A way (reads, writes, trims) is KiB, KiB/s, IOPS and ms, eight latencies, twenty
percentiles as ``95.000000%=203``, min, max, mean and deviation of the whole latency,
and samples, whose number differs between the versions. Times are in us.
"""

from __future__ import annotations

from typing import Final

from benchmarks.parsing.drafts import Draft, Parameter, ParsedRun, finished, keep
from benchmarks.parsing.scanning import Found, Scanner
from benchmarks.sentences import Sentence
from benchmarks.tools.fio.options import mark_short

LINES: Final = Scanner(
    job=r"[345];fio-(?P<version>[^;\n]+);(?P<name>[^;\n]*);\d+;(?P<error>-?\d+);"
    r"(?P<rest>[^\n]+)$"
)
_WAYS: Final = ("read", "write", "trim")
_BEFORE_PERCENTILES: Final = 12
_PERCENTILES: Final = 20
_RANKS: Final = {
    "50.000000": "p50",
    "90.000000": "p90",
    "95.000000": "p95",
    "99.000000": "p99",
    "99.900000": "p99.9",
}


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run of all lines; none if there is no line."""
    run = Draft()
    lines: list[Found] = []
    for line in LINES(output):
        keep(lines, line)
        run.tool_version = line["version"]
        if line["error"] != "0":
            run.mark(
                "failed",
                Sentence(
                    "{name} ended with error {error}.",
                    name=line["name"],
                    error=line["error"],
                ),
            )
        else:
            _read_job(line, run)
    if not lines:
        return ()
    return finished([run], Sentence("fio printed nothing that was read or written."))


def _read_job(line: Found, run: Draft) -> None:
    fields = line["rest"].split(";")
    firsts = [
        at
        for at, each in enumerate(fields)
        if "%=" in each and "%=" not in fields[at - 1]
    ]
    if len(firsts) < len(_WAYS) - 1 or not all(_is_way(fields, at) for at in firsts):
        raise line.refused(Sentence("its fields are not those of a whole line."))
    for operation, first in zip(_WAYS, firsts, strict=False):
        way = fields[first - _BEFORE_PERCENTILES :]
        if line.number_of(way[0]):
            _read_way(line, run, way, operation)


def _is_way(fields: list[str], first: int) -> bool:
    """Whether enough fields stand before and behind the percentiles."""
    percentiles = fields[first : first + _PERCENTILES]
    return (
        first >= _BEFORE_PERCENTILES
        and len(fields) > first + _PERCENTILES + 5
        and all("%=" in each for each in percentiles)
    )


def _read_way(line: Found, run: Draft, way: list[str], operation: str) -> None:
    case: dict[str, Parameter] = {"job": line["name"], "operation": operation}
    run.add("throughput", line.number_of(way[1]), "KiB/s", **case)
    run.add("IOPS", line.number_of(way[2]), "1/s", **case)
    mark_short(run, line["name"], line.number_of(way[3]) / 1000)
    run.add("completion latency mean", line.number_of(way[10]), "us", **case)
    end = _BEFORE_PERCENTILES + _PERCENTILES
    for each in way[_BEFORE_PERCENTILES:end]:
        rank, _, value = each.partition("%=")
        if name := _RANKS.get(rank):
            run.add(f"completion latency {name}", line.number_of(value), "us", **case)
    for which, value in zip(("min", "max", "mean"), way[end:], strict=False):
        run.add(f"latency {which}", line.number_of(value), "us", **case)
