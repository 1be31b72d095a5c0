"""The three forms of iozone's results: table, throughput test, spreadsheet."""

from __future__ import annotations

import re
from typing import Final

from benchmarks.parsing.drafts import Draft, Parameter
from benchmarks.parsing.scanning import Found
from benchmarks.sentences import Sentence

Value = Parameter
Case = dict[str, Parameter]


def _case(operation: str, access: str = "") -> Case:
    return {"operation": operation, **({"access": access} if access else {})}


_COLUMNS: Final = (
    _case("write", "sequential"),
    _case("rewrite", "sequential"),
    _case("read", "sequential"),
    _case("reread", "sequential"),
    _case("read", "random"),
    _case("write", "random"),
    _case("backward read"),
    _case("record rewrite"),
    _case("stride read"),
    _case("fwrite"),
    _case("frewrite"),
    _case("fread"),
    _case("freread"),
    _case("pwrite"),
    _case("pread"),
)
_WORKERS: Final = {
    "initial writers": _COLUMNS[0],
    "rewriters": _COLUMNS[1],
    "readers": _COLUMNS[2],
    "initial readers": _COLUMNS[2],
    "re-readers": _COLUMNS[3],
    "random readers": _COLUMNS[4],
    "random writers": _COLUMNS[5],
    "reverse readers": _COLUMNS[6],
    "stride readers": _COLUMNS[8],
    "fwriters": _COLUMNS[9],
    "freaders": _COLUMNS[11],
    "pwrite writers": _COLUMNS[13],
    "pread readers": _COLUMNS[14],
    "mixed workload": _case("mixed"),
}
_REPORTS: Final = {
    "writer": _COLUMNS[0],
    "re-writer": _COLUMNS[1],
    "reader": _COLUMNS[2],
    "re-reader": _COLUMNS[3],
    "random read": _COLUMNS[4],
    "random write": _COLUMNS[5],
    "backward read": _COLUMNS[6],
    "record rewrite": _COLUMNS[7],
    "stride read": _COLUMNS[8],
    "fwrite": _COLUMNS[9],
    "re-fwrite": _COLUMNS[10],
    "fread": _COLUMNS[11],
    "re-fread": _COLUMNS[12],
}
_KIB: Final = {"kb", "kbytes"}
_SEEN: Final = {"Children see": "throughput", "Parent sees": "parent throughput"}
_SHARES: Final = {"Min": "min", "Avg": "mean", "Max": "max"}


def sizes(file: str, record: str) -> Case:
    """The parameters of two numbers that iozone prints in kB."""
    return {"file_size": f"{file} KiB", "record": f"{record} KiB"}


def _meaning(unit: str) -> tuple[str, str] | None:
    """Metric and unit of what "Output is in ..." names."""
    word = unit.casefold().removesuffix("/sec")
    if word in {"", *_KIB}:
        return "throughput", "KiB/s"
    if word == "ops" or word.startswith("operations per sec"):
        return "operation rate", "1/s"
    if word.startswith("microseconds per op"):
        return "operation time", "us"
    return None


def read_row(run: Draft, unit: str, head: Found | None, line: Found) -> None:
    """A row of the table: each number belongs to the nearest heading above it."""
    if head is None or not (meaning := _meaning(unit)):
        raise line.refused(
            Sentence("no heading above it says what its columns are.")
            if head is None
            else Sentence('"{unit}" is no unit of iozone that is known.', unit=unit)
        )
    metric, symbol = meaning
    file = sizes(line["size"], line["record"])
    for column, cell in _placed(head, line):
        run.add(metric, line.number_of(cell), symbol, **_COLUMNS[column], **file)
    if line.is_open("cells"):
        raise line.refused(Sentence("the text ends within this line."))


def _placed(head: Found, line: Found) -> list[tuple[int, str]]:
    """Column and text of each number. Numbers that are too wide shift all behind."""
    heads, cells = _ends(head, "reclen"), _ends(line, line["record"])
    placed: list[tuple[int, str]] = []
    for end, text in cells:
        free = range(placed[-1][0] + 1 if placed else 0, len(heads))
        if not free:
            raise line.refused(
                Sentence(
                    "it has more numbers than the {heads} headings.", heads=len(heads)
                )
            )
        column = min(free, key=lambda each: abs(heads[each][0] - end))
        placed.append((column, text))
    return placed


def _ends(line: Found, anchor: str) -> list[tuple[int, str]]:
    """Where each word behind the second one ends, counted from the second one's end."""
    words = list(re.finditer(r"\S+", line.text.expandtabs()))
    at = next(
        number for number, word in enumerate(words) if number and word[0] == anchor
    )
    origin = words[at].end()
    return [(word.end() - origin, word[0]) for word in words[at + 1 :]]


def read_sum(run: Draft, line: Found) -> Case:
    """What all processes did together; returns the case for the lines below."""
    what = line["what"].strip()
    case = {
        "processes": line.whole("count"),
        **_WORKERS.get(what, _case(what.removesuffix("s"))),
    }
    _add_rate(run, "rate", line, _SEEN[line["who"]], case)
    return case


def read_share(run: Draft, case: Case, line: Found) -> None:
    """What the slowest, fastest and mean process did."""
    if case:
        metric = f"process throughput {_SHARES[line['which']]}"
        _add_rate(run, "share", line, metric, case)


def _add_rate(run: Draft, group: str, line: Found, metric: str, case: Case) -> None:
    """With -O all are operations: only what the children see is kept of them."""
    unit = line[f"{group}_unit"].casefold()
    if unit == "ops":
        if metric == "throughput":
            run.add("operation rate", line.number(group), "1/s", **case)
    elif unit in _KIB:
        run.add(metric, line.number(group), "KiB/s", **case)
    else:
        raise line.refused(
            Sentence('"{unit}/sec" is no unit of iozone.', unit=line[f"{group}_unit"])
        )


def read_sheet(
    run: Draft, unit: str, report: str, records: list[str], line: Found
) -> None:
    """A row of the spreadsheet: one file size, a column for each record size."""
    meaning, case = _meaning(unit), _REPORTS.get(report.casefold())
    values = line["sheet"].split()
    if meaning is None or case is None:
        return
    if len(values) > len(records):
        raise line.refused(
            Sentence("it has more numbers than the record sizes above it.")
        )
    if line.is_open("sheet"):
        raise line.refused(Sentence("the text ends within this line."))
    metric, symbol = meaning
    for record, value in zip(records, values, strict=False):
        file = sizes(line["sheet_size"], record)
        run.add(metric, line.number_of(value), symbol, **case, **file)
