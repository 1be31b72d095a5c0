"""iozone: reads and writes of a file in records of many sizes.

One result row, as printed by iozone 3.471 with ``-a``::

            4096       4  1295830  4244242  4315676  5083093  5475122  2758132

kB (KB, Kbytes in older versions) are 2^10 B. Tests that were not run leave blanks, so
a number belongs to the heading above its last digit. Without ``-I`` and with a file
smaller than the memory these are figures of the page cache.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from benchmarks.parsing.contract import DISK, Metric, Options, Parameter, Tool, metrics
from benchmarks.parsing.scanning import Draft, Found, Scanner, keep, parser
from benchmarks.sentences import Sentence

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
Case = dict[str, Parameter]


def _case(operation: str, access: str = "") -> Case:
    return {"operation": operation, **({"access": access} if access else {})}


# In the order of the headings, then as throughput mode and spreadsheets call each.
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
class Log(Draft):
    """One start; ``sheet`` is the spreadsheet of -R, with the same numbers again."""

    unit: str = ""
    head: Found | None = None
    seen: Case = field(default_factory=dict)
    report: str = ""
    records: list[str] = field(default_factory=list)
    sheet: list[tuple[Found, str, list[str]]] = field(default_factory=list)
    complete: bool = False

    def read(self, line: Found) -> None:
        if line.kind == "row":
            self._read_row(line)
        elif line.kind == "seen":
            self._read_sum(line)
        elif line.kind == "share" and self.seen:
            # What the slowest, fastest and mean process did.
            metric = f"process throughput {_SHARES[line['which']]}"
            self._add_rate("share", line, metric)
        elif line.kind == "report":
            self.report = line["report"]
        elif line.kind == "records":
            self.records = line["records"].replace('"', "").split()
        elif line.kind == "sheet":
            keep(self.sheet, (line, self.report, self.records))
        elif line.kind == "complete":
            self.complete = True
        elif line.kind == "unit":
            self.unit = line["unit"]
        elif line.kind == "head":
            self.head = line
        else:
            self._read_about(line)

    def _read_about(self, line: Found) -> None:
        if line.kind == "version":
            self.tool_version = line["version"]
        elif line.kind == "option":
            word = next(option for option in _OPTIONS if option in line["option"])
            self.parameters[_OPTIONS[word]] = True
        elif line.kind == "each":
            self.parameters.update(_sizes(line["file"], line["each_record"]))
        elif line.kind == "doubt":
            printed = Sentence("iozone printed: {doubt}.", doubt=line["doubt"])
            self.mark("too_short", printed)
        elif line.kind == "trouble":
            trouble = line["trouble"].strip()[:200]
            printed = Sentence("iozone printed: {trouble}", trouble=trouble)
            self.mark("failed", printed)

    def _read_row(self, line: Found) -> None:
        # Each number of a table belongs to the nearest heading above it.
        if self.head is None or not (meaning := _meaning(self.unit)):
            raise line.refused(
                Sentence("no heading above it says what its columns are.")
                if self.head is None
                else Sentence('"{unit}" is not a known unit of iozone.', unit=self.unit)
            )
        metric, symbol = meaning
        file = _sizes(line["size"], line["record"])
        for case, cell in _placed(self.head, line):
            self.add(metric, line.number_of(cell), symbol, **case, **file)
        line.refuse_open("cells")

    def _read_sum(self, line: Found) -> None:
        # What all processes did together: also the case of the lines below.
        what = line["what"].strip()
        self.seen = {
            "processes": line.whole("count"),
            **_WORKERS.get(what, _case(what.removesuffix("s"))),
        }
        self._add_rate("rate", line, _SEEN[line["who"]])

    def _add_rate(self, group: str, line: Found, metric: str) -> None:
        # With -O all are operations: only what the children see is kept of them.
        unit = line[f"{group}_unit"].casefold()
        if unit in _KIB:
            self.add(metric, line.number(group), "KiB/s", **self.seen)
        elif unit != "ops":
            raise line.refused(
                '"{unit}/sec" is not a unit of iozone.', unit=line[f"{group}_unit"]
            )
        elif metric == "throughput":
            self.add("operation rate", line.number(group), "1/s", **self.seen)

    def close(self) -> None:
        """Read the spreadsheet where the text above it was not read."""
        if not self:
            for line, report, records in self.sheet:
                self._read_sheet(line, report, records)
        if not self:
            return
        if not self.unit and not self.seen:
            self.mark(
                "unit_assumed",
                'The line "Output is in ..." is missing: kBytes/sec are assumed.',
            )
        if not self.complete:
            self.mark("unfinished", '"iozone test complete" is missing: cut?')

    def _read_sheet(self, line: Found, report: str, records: list[str]) -> None:
        # A row is one file size, with a column for each record size.
        meaning, case = _meaning(self.unit), _REPORTS.get(report.casefold())
        values = line["sheet"].split()
        if meaning is None or case is None:
            return
        if len(values) > len(records):
            raise line.refused("it has more numbers than the record sizes above it.")
        line.refuse_open("sheet")
        metric, symbol = meaning
        for record, value in zip(records, values, strict=False):
            file = _sizes(line["sheet_size"], record)
            self.add(metric, line.number_of(value), symbol, **case, **file)


@parser("iozone printed no result.")
def parse(output: str) -> list[Log]:
    """Return one run for each start of the program."""
    logs = [Log()]
    for line in LINES(output):
        if line.kind == "banner":
            keep(logs, Log())
        else:
            logs[-1].attempt(logs[-1].read, line)
    return logs


def _sizes(file: str, record: str) -> Case:
    return {"file_size": f"{file} KiB", "record": f"{record} KiB"}


def _meaning(unit: str) -> tuple[str, str] | None:
    word = unit.casefold().removesuffix("/sec")
    if word in {"", *_KIB}:
        return "throughput", "KiB/s"
    if word == "ops" or word.startswith("operations per sec"):
        return "operation rate", "1/s"
    if word.startswith("microseconds per op"):
        return "operation time", "us"
    return None


def _placed(head: Found, line: Found) -> list[tuple[Case, str]]:
    """Return case and text of each number; too wide ones shift those behind."""
    heads, cells = _ends(head, "reclen"), _ends(line, line["record"])
    placed: list[tuple[Case, str]] = []
    first = 0
    for end, text in cells:
        free = range(first, len(heads))
        if not free:
            raise line.refused(
                "it has more numbers than the {heads} headings.", heads=len(heads)
            )
        column = min(free, key=lambda column: abs(heads[column][0] - end))
        placed.append((_TESTS[column][0], text))
        first = column + 1
    return placed


def _ends(line: Found, anchor: str) -> list[tuple[int, str]]:
    """Return where each word ends, counted from the end of the second."""
    words = list(re.finditer(r"\S+", line.text.expandtabs()))
    # The first word may be the same number: a file of one record.
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
        # In throughput mode (-t): the sum over all processes.
        Metric("throughput", "MB/s", "higher", "disk", work=DISK),
        # The same over the time from the first start to the last end.
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
    version=2,
    parse=parse,
    signatures=(
        r"Iozone: Performance Test of File I/O",
        r"[kK]B +reclen +write +rewrite",
        r"Children see throughput for +\d",
        r"\"(?:Re-)?[Ww]riter report\"",
    ),
    programs=("iozone", "iozone3"),
)
