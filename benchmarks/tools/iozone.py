"""iozone: reads and writes of a file in records of many sizes.

Output of iozone 3.471 with ``-a``::

            4096       4  1295830  4244242  4315676  5083093  5475122  2758132

kB (KB, Kbytes in older versions) are 2^10 B. A number belongs to the heading above its
last digit, because tests that were not run leave blanks.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import DISK, Metric, Options, Parameter, Tool, metrics
from benchmarks.sentences import Sentence

LINES: Final = LineScanner(
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
Case = dict[str, Parameter]


def _case(operation: str, access: str = "") -> Case:
    return {"operation": operation, **({"access": access} if access else {})}


# Case, workers and report of each test, in the order of the headings.
_TESTS: Final = (
    (_case("write", "sequential"), "initial writers", "writer"),
    (_case("rewrite", "sequential"), "rewriters", "re-writer"),
    (_case("read", "sequential"), "readers", "reader"),
    (_case("reread", "sequential"), "re-readers", "re-reader"),
    (_case("read", "random"), "random readers", "random read"),
    (_case("write", "random"), "random writers", "random write"),
    (_case("backward read"), "reverse readers", "backward read"),
    (_case("record rewrite"), "", "record rewrite"),
    (_case("stride read"), "stride readers", "stride read"),
    (_case("fwrite"), "fwriters", "fwrite"),
    (_case("frewrite"), "", "re-fwrite"),
    (_case("fread"), "freaders", "fread"),
    (_case("freread"), "", "re-fread"),
    (_case("pwrite"), "pwrite writers", ""),
    (_case("pread"), "pread readers", ""),
)
_WORKERS: Final = {
    **{workers: case for case, workers, _ in _TESTS},
    "initial readers": _case("read", "sequential"),
    "mixed workload": _case("mixed"),
}
_REPORTS: Final = {report: case for case, _, report in _TESTS if report}
_KIB: Final = {"kb", "kbytes"}
_SEEN: Final = {"Children see": "throughput", "Parent sees": "parent throughput"}
_SHARES: Final = {"Min": "min", "Avg": "mean", "Max": "max"}


@dataclass
class IozoneLog(Draft):
    """Output of iozone; ``sheet`` is the spreadsheet of ``-R`` (the same numbers)."""

    unit: str = ""
    head: MatchedLine | None = None
    seen: Case = field(default_factory=dict)
    report: str = ""
    records: list[str] = field(default_factory=list)
    sheet: list[tuple[MatchedLine, str, list[str]]] = field(default_factory=list)
    complete: bool = False

    def read(self, line: MatchedLine) -> None:
        if line.kind == "row":
            self._read_row(line)
        elif line.kind == "seen":
            self._read_sum(line)
        elif line.kind == "share" and self.seen:
            metric = f"process throughput {_SHARES[line['which']]}"
            self._add_rate("share", line, metric)
        elif line.kind == "report":
            self.report = line["report"]
        elif line.kind == "records":
            self.records = line["records"].replace('"', "").split()
        elif line.kind == "sheet":
            append_limited(self.sheet, (line, self.report, self.records))
        elif line.kind == "complete":
            self.complete = True
        elif line.kind == "unit":
            self.unit = line["unit"]
        elif line.kind == "head":
            self.head = line
        else:
            self._read_about(line)

    def _read_about(self, line: MatchedLine) -> None:
        if line.kind == "version":
            self.tool_version = line["version"]
        elif line.kind == "option":
            word = next(option for option in _OPTIONS if option in line["option"])
            self.parameters[_OPTIONS[word]] = True
        elif line.kind == "each":
            self.parameters.update(_sizes(line["file"], line["each_record"]))
        elif line.kind == "doubt":
            printed = Sentence("iozone printed: {doubt}.", doubt=line["doubt"])
            self.add_warning("too_short", printed)
        elif line.kind == "trouble":
            trouble = line["trouble"].strip()[:200]
            printed = Sentence("iozone printed: {trouble}", trouble=trouble)
            self.add_failure("failed", printed)

    def _read_row(self, line: MatchedLine) -> None:
        if self.head is None or not (metric_and_unit := _metric_and_unit(self.unit)):
            raise line.parse_error(
                Sentence("no heading above this line names its columns.")
                if self.head is None
                else Sentence('"{unit}" is not a known iozone unit.', unit=self.unit)
            )
        metric, symbol = metric_and_unit
        file = _sizes(line["size"], line["record"])
        for case, cell in _cells_by_heading(self.head, line):
            self.add(metric, line.parse_number(cell), symbol, **case, **file)
        line.reject_if_truncated("cells")

    def _read_sum(self, line: MatchedLine) -> None:
        # The lines below this sum of all processes have the same case.
        what = line["what"].strip()
        self.seen = {
            "processes": line.integer("count"),
            **_WORKERS.get(what, _case(what.removesuffix("s"))),
        }
        self._add_rate("rate", line, _SEEN[line["who"]])

    def _add_rate(self, group: str, line: MatchedLine, metric: str) -> None:
        # With -O, rates are operations; only those that the children see are used.
        unit = line[f"{group}_unit"].casefold()
        if unit in _KIB:
            self.add(metric, line.number(group), "KiB/s", **self.seen)
        elif unit != "ops":
            raise line.parse_error(
                '"{unit}/sec" is not a known iozone unit.', unit=line[f"{group}_unit"]
            )
        elif metric == "throughput":
            self.add("operation rate", line.number(group), "1/s", **self.seen)

    def close(self) -> None:
        if not self:
            for line, report, records in self.sheet:
                self._read_sheet(line, report, records)
        if not self:
            return
        if not self.unit and not self.seen:
            self.add_warning(
                "unit_assumed",
                'The line "Output is in ..." is missing, so kBytes/sec is assumed.',
            )
        if not self.complete:
            self.add_warning(
                "unfinished",
                'The line "iozone test complete" is '
                "missing. The output may be truncated.",
            )

    def _read_sheet(self, line: MatchedLine, report: str, records: list[str]) -> None:
        metric_and_unit, case = (
            _metric_and_unit(self.unit),
            _REPORTS.get(report.casefold()),
        )
        values = line["sheet"].split()
        if metric_and_unit is None or case is None:
            return
        if len(values) > len(records):
            raise line.parse_error(
                "the row has more numbers than the record sizes above it."
            )
        line.reject_if_truncated("sheet")
        metric, symbol = metric_and_unit
        for record, value in zip(records, values, strict=False):
            file = _sizes(line["sheet_size"], record)
            self.add(metric, line.parse_number(value), symbol, **case, **file)


@parser("iozone printed no result.")
def parse(output: str) -> list[IozoneLog]:
    logs = [IozoneLog()]
    for line in LINES(output):
        if line.kind == "banner":
            append_limited(logs, IozoneLog())
        else:
            logs[-1].read_line(logs[-1].read, line)
    return logs


def _sizes(file: str, record: str) -> Case:
    return {"file_size": f"{file} KiB", "record": f"{record} KiB"}


def _metric_and_unit(unit: str) -> tuple[str, str] | None:
    word = unit.casefold().removesuffix("/sec")
    if word in {"", *_KIB}:
        return "throughput", "KiB/s"
    if word == "ops" or word.startswith("operations per sec"):
        return "operation rate", "1/s"
    if word.startswith("microseconds per op"):
        return "operation time", "us"
    return None


def _cells_by_heading(head: MatchedLine, line: MatchedLine) -> list[tuple[Case, str]]:
    """Return each number with the case of its heading.

    Wide numbers shift those after them.
    """
    heads, cells = _word_ends(head, "reclen"), _word_ends(line, line["record"])
    placed: list[tuple[Case, str]] = []
    first = 0
    for end, text in cells:
        free = range(first, len(heads))
        if not free:
            raise line.parse_error(
                "the row has more numbers than the {heads} headings.", heads=len(heads)
            )
        column = min(free, key=lambda column: abs(heads[column][0] - end))
        placed.append((_TESTS[column][0], text))
        first = column + 1
    return placed


def _word_ends(line: MatchedLine, anchor: str) -> list[tuple[int, str]]:
    """Return end and text of each word after ``anchor``; ends count from its end."""
    words = list(re.finditer(r"\S+", line.text.expandtabs()))
    # The first word is the same number if the file has one record.
    index = next(
        number for number, word in enumerate(words) if number and word[0] == anchor
    )
    origin = words[index].end()
    return [(word.end() - origin, word[0]) for word in words[index + 1 :]]


TOOL = Tool(
    slug="iozone",
    title="iozone",
    homepage="https://www.iozone.org/",
    options=Options(
        {"-r": "record", "-s": "file_size"},
        sizes=frozenset({"record", "file_size"}),
    ),
    metrics=(
        Metric("throughput", "MB/s", "higher", "disk", work_class=DISK),
        # The sum of all processes over the time from the first start to the last end.
        Metric(
            "parent throughput", "MB/s", "higher", "disk", implied_by=("throughput",)
        ),
        *metrics(
            (f"process throughput {which}" for which in ("min", "mean", "max")),
            "MB/s",
            "higher",
            "disk",
            implied_by={"process throughput mean": ("throughput", "parent throughput")},
        ),
        Metric("operation rate", "1/s", "higher", "disk", implied_by=("throughput",)),
        Metric(
            "operation time",
            "us",
            "lower",
            "disk",
            implied_by=("throughput", "operation rate"),
        ),
    ),
    labels=("{file_size}", "{record}"),
    version=3,
    parse=parse,
    signatures=(
        r"Iozone: Performance Test of File I/O",
        r"[kK]B +reclen +write +rewrite",
        r"Children see throughput for +\d",
        r"\"(?:Re-)?[Ww]riter report\"",
    ),
    programs=("iozone", "iozone3"),
)
