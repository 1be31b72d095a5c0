"""From the lines of iozone to its runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from benchmarks.parsing.drafts import Draft, ParsedRun, finished, keep
from benchmarks.parsing.scanning import Found, Scanner
from benchmarks.sentences import Sentence
from benchmarks.tools.iozone import tables

LINES: Final = Scanner(
    banner=r"Iozone: Performance Test of File I/O",
    version=r"Version \$Revision: (?P<version>\S+) \$",
    option=r"(?P<option>O_DIRECT feature enabled|SYNC Mode|Using mmap|"
    r"Include (?:fsync|close|flush) in write timing)",
    unit=r"(?:Microseconds/op Mode\. )?Output is in (?P<unit>[^\n]+?)\.?[ \t]*+$",
    head=r"[kK]B +reclen(?P<heads>(?: +[a-z]+)+)[ \t]*+$",
    row=r"(?P<size>\d+) +(?P<record>\d+)(?P<cells> [ \S]*\S)[ \t]*+$",
    each=r"Each (?:process|thread) writes a +(?P<file>\d+) [kK][Bb]yte file in +"
    r"(?P<each_record>\d+) [kK][Bb]yte records",
    seen=r"(?P<who>Children see|Parent sees) throughput for +(?P<count>\d+) "
    r"(?P<what>[\w -]+?)[ \t]*+= *+(?P<rate>\S+) +(?P<rate_unit>\S+)/sec",
    share=r"(?P<which>Min|Max|Avg) throughput per (?:process|thread)(?:e?s)?[ \t]*+= "
    r"*+(?P<share>\S+) +(?P<share_unit>\S+)/sec",
    report=r"\"(?P<report>[A-Za-z -]+) report\"[ \t]*+$",
    records=r"(?P<records>\"\d+\"(?: +\"\d+\")*)[ \t]*+$",
    sheet=r"\"(?P<sheet_size>\d+)\"(?P<sheet> [ \S]*\S)[ \t]*+$",
    complete=r"iozone test complete",
    trouble=r"(?P<trouble>(?:Error|Can not|Unable to|open: |write: |read: |fsync: |"
    r"iozone: interrupted|I/O error)[^\n]*)",
    doubt=r"(?P<doubt>The test completed too quickly|Timer resolution is poor)",
)
_OPTIONS: Final = {
    "O_DIRECT": "direct",
    "SYNC": "sync",
    "fsync": "fsync",
    "close": "close",
    "flush": "flush",
    "mmap": "mmap",
}


@dataclass
class Log:
    """One start of iozone. ``sheet`` is what -R adds: the same numbers again."""

    draft: Draft = field(default_factory=Draft)
    unit: str = ""
    head: Found | None = None
    seen: dict[str, tables.Value] = field(default_factory=dict)
    report: str = ""
    records: list[str] = field(default_factory=list)
    sheet: list[tuple[Found, str, list[str]]] = field(default_factory=list)
    complete: bool = False


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each start of the program."""
    logs = [Log()]
    for line in LINES(output):
        if line.kind == "banner":
            keep(logs, Log())
        else:
            logs[-1].draft.attempt(_take, line, logs[-1])
    for log in logs:
        log.draft.attempt(_close, log)
    return finished([log.draft for log in logs], Sentence("iozone printed no result."))


def _take(line: Found, log: Log) -> None:
    if line.kind == "row":
        tables.read_row(log.draft, log.unit, log.head, line)
    elif line.kind == "seen":
        log.seen = tables.read_sum(log.draft, line)
    elif line.kind == "share":
        tables.read_share(log.draft, log.seen, line)
    elif line.kind == "sheet":
        keep(log.sheet, (line, log.report, log.records))
    elif line.kind == "complete":
        log.complete = True
    elif line.kind == "records":
        log.records = line["records"].replace('"', "").split()
    else:
        _take_about(line, log)


def _take_about(line: Found, log: Log) -> None:
    if line.kind == "version":
        log.draft.tool_version = line["version"]
    elif line.kind == "option":
        word = next(each for each in _OPTIONS if each in line["option"])
        log.draft.parameters[_OPTIONS[word]] = True
    elif line.kind == "unit":
        log.unit = line["unit"]
    elif line.kind == "head":
        log.head = line
    elif line.kind == "each":
        sizes = tables.sizes(line["file"], line["each_record"])
        log.draft.parameters.update(sizes)
    elif line.kind == "report":
        log.report = line["report"]
    elif line.kind == "doubt":
        log.draft.mark(
            "too_short", Sentence("iozone printed: {doubt}.", doubt=line["doubt"])
        )
    else:
        log.draft.mark(
            "failed",
            Sentence(
                "iozone printed: {trouble}", trouble=line["trouble"].strip()[:200]
            ),
        )


def _close(log: Log) -> None:
    if not log.draft:
        for line, report, records in log.sheet:
            tables.read_sheet(log.draft, log.unit, report, records, line)
    if not log.draft:
        return
    if not log.unit and not log.seen:
        log.draft.mark(
            "unit_assumed",
            Sentence('The line "Output is in ..." is missing: kBytes/sec are assumed.'),
        )
    if not log.complete:
        log.draft.mark(
            "unfinished", Sentence('"iozone test complete" is missing: cut?')
        )
