"""Power as plain CSV: a column of times, a column of watts, from any meter.

One row, after an optional header such as ``time,watts``::

    2026-11-20T21:44:36.120Z,97.2

Times are ISO 8601, a clock, seconds, or milliseconds (named so in the header, or since
1970); watts are W unless the header says mW or kW. Power between two rows is taken as a
straight line: energy is the area below it, and the mean is energy by time.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise

from benchmarks.parsing.contract import Tool
from benchmarks.parsing.scanning import Draft, Found, Scanner, keep, parser
from benchmarks.parsing.telemetry import (
    CUT,
    ENERGY_METRICS,
    FACTORS,
    lines_of,
    refuse_other_width,
    summarize,
    take_chunks,
)
from benchmarks.sentences import Sentence

_TIME = r"(?:time|timestamp|date|datetime|date_time|seconds|secs?|elapsed|epoch|t)"
_UNIT = r"[ _]?[(\[]?(?:m?s|sec|seconds|utc|iso)?[)\]]?"
_POWER = (
    r"(?:[a-z]{1,12}[ _.]){0,2}"
    r"(?:power(?:[ _.]?draw)?[ _]?[(\[]?(?:[mk]?w|watts?)?[)\]]?"
    r"|(?:milli|kilo)?watts?(?: ?[(\[][mk]?w[)\]])?|[mk]?w)"
)
HEADER = rf'(?i:"?{_TIME}{_UNIT}"? *+[,;\t] *+"?{_POWER}"? *+(?:[,;\t]|$))'
_HEADER = re.compile(
    rf"^[ \t]*+(?P<names>(?={HEADER})[^\n]+)$", re.ASCII | re.MULTILINE
)
LINES = Scanner(row=r"(?P<cells>[^#\n][^\n]*)$")
_CELL = r'"?[^\s,;"][^,;\t\n"]{0,38}"?'
_ROW = re.compile(
    rf"[ \t]*+({_CELL})(?: *[;\t] *\"?[\d.]++(?:,\d++)?\"?| *, *\"?[\d.]++\"?)[ \t]*+"
)
_NUMBER = re.compile(r"\d{1,15}(?:[.,]\d{1,9})?", re.ASCII)
_CLOCK = re.compile(r"(\d{1,2}):(\d\d):(\d\d(?:\.\d{1,9})?)", re.ASCII)
_DATE_PATTERN = r'\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d[^\s,;"]{0,24}'
_DATE = re.compile(r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d[^\s]{0,24}", re.ASCII)
# Seconds since 1970 have ten digits for the next 250 years, milliseconds thirteen.
_FIRST_MILLISECOND = 1e11
_LARGEST = 1e13
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000
_MICROSECOND = timedelta(microseconds=1)


def is_rows(text: str) -> bool:
    """Whether a text without header is rows of a time and a number, in order."""
    head = [line for line in text[:2000].split("\n")[:8] if line.strip()][:5]
    cells = [_ROW.fullmatch(line) for line in head]
    # A table of anything else would do for one row.
    if len(cells) < 2 or not all(cells):
        return False
    times = [cell[1].strip('" ') for cell in cells if cell]
    if all(map(_DATE.fullmatch, times)) or all(map(_CLOCK.fullmatch, times)):
        return True
    if not all(map(_NUMBER.fullmatch, times)):
        return False
    seconds = [float(time.replace(",", ".")) for time in times]
    # Plain numbers need a third row: two may well rise by chance.
    return all(one < other for one, other in pairwise(seconds)) and len(times) > 2


@dataclass
class Rows(Draft):
    """The rows below one header."""

    names: list[str]
    times: array[int] = field(default_factory=lambda: array("q"))
    watts: array[float] = field(default_factory=lambda: array("d"))
    has_holes: bool = False

    @property
    def is_ms(self) -> bool:
        """Whether times are milliseconds."""
        return bool(re.search(r"[ _(\[]ms[)\]]?$", self.names[0].casefold()))

    def take(self, chunk: str) -> None:
        """Take lines of the log: at once if all are alike, else one by one."""
        if self._take_alike(chunk):
            return
        rows = list(LINES(chunk))
        for row in rows:
            if row.is_open("cells") and self._is_cut(row, rows):
                self.mark("cut", CUT)
                continue
            # Before the first row a line may be a prompt or a word.
            is_row = any(separator in row["cells"] for separator in ",;\t")
            if is_row or self.times or self.has_holes:
                self._take_row(row)

    def _is_cut(self, last: Found, rows: list[Found]) -> bool:
        # Without a line end it is whole if it has the decimals of the others.
        cells = split(last["cells"])
        decimals = {len(split(row["cells"])[-1].partition(".")[2]) for row in rows[-9:]}
        is_narrow = len(cells) != len(self.names)
        return is_narrow or "." not in cells[-1] or len(decimals) > 1

    def _take_alike(self, chunk: str) -> bool:
        # The times and powers of a chunk in which every row looks like its first.
        columns = len(self.names)
        first = chunk[: chunk.find("\n")]
        separator = next((mark for mark in ";\t" if mark in first), ",")
        cell = first.partition(separator)[0].strip(' "')
        is_number = bool(_NUMBER.fullmatch(cell))
        rows = _row(separator, columns, is_number).findall(chunk)
        if len(rows) != lines_of(chunk):
            return False
        cells, powers = zip(*rows, strict=True)
        watts = list(map(float, powers))
        times = _all_microseconds(cells, self.is_ms)
        last = self.times[-1:].tolist()
        # What is wrong with a row is said where each is read by itself.
        if not times or min(watts) <= 0 or [*last, *times] != sorted([*last, *times]):
            return False
        self.times.extend(times)
        self.watts.extend(watts)
        return True

    def _take_row(self, row: Found) -> None:
        cells = split(row["cells"])
        refuse_other_width(row, cells, len(self.names))
        watts = row.number_of(cells[1]) if cells[1] else 0
        if watts < 0:
            raise row.refused(
                "{watts} W is not the power of a running machine.", watts=cells[1]
            )
        time = microseconds(row, cells[0], self.is_ms)
        if self.times and time < self.times[-1]:
            raise row.refused("its time is before that of the row above.")
        if watts:
            self.times.append(time)
            self.watts.append(watts)
        else:
            what = "0 W" if cells[1] else Sentence("no watts")
            self.mark(
                "not_measured",
                "There are rows with {what}: left out.",
                what=what,
            )
            self.has_holes = True

    def close(self) -> None:
        unit = _unit(self.names[1])
        summarize(self, self.times, self.watts, unit, self.has_holes)

    @property
    def factor(self) -> float:
        """Watts per unit of its numbers."""
        return FACTORS[_unit(self.names[1])]


def tables_of(output: str) -> list[Rows]:
    """Return one run for each header, or for all rows if there is none."""
    tables = [Rows(["time", "watts"])]
    line = position = 0
    for header in [*_HEADER.finditer(output), None]:
        end = header.start() if header else len(output)
        line = take_chunks(output[position:end], tables[-1].take, line)
        if header:
            line += 1
            position = header.end() + 1
            keep(tables, Rows(split(header["names"])))
    return tables


parse = parser("There are no rows of a time and watts.")(tables_of)


def split(text: str) -> list[str]:
    separator = next((mark for mark in ";\t" if mark in text), ",")
    return [cell.strip(' "\t') for cell in text.split(separator)]


@cache
def _row(separator: str, columns: int, is_number: bool) -> re.Pattern[str]:
    time = r"\d{1,13}(?:\.\d{1,9})?" if is_number else _DATE_PATTERN
    others = rf"(?:{separator}[^,;\t\n]*){{{columns - 2}}}"
    watts = r"\d{1,15}(?:\.\d{1,15})?"
    return re.compile(
        rf'^ *"?({time})"? *{separator} *"?({watts})"? *{others}\n',
        re.ASCII | re.MULTILINE,
    )


def _all_microseconds(cells: tuple[str, ...], is_ms: bool) -> list[int]:
    """Apply :func:`microseconds` to each cell; [] if they are not alike."""
    if _NUMBER.fullmatch(cells[0]):
        numbers = list(map(float, cells))
        is_milli = is_ms or min(numbers) > _FIRST_MILLISECOND
        if max(numbers) >= _LARGEST or (
            not is_milli and max(numbers) > _FIRST_MILLISECOND
        ):
            return []
        factor = 1000 if is_milli else _SECOND
        return [round(number * factor) for number in numbers]
    try:
        has_slashes = "/" in cells[0]
        texts = [cell.replace("/", "-") for cell in cells] if has_slashes else cells
        dates = list(map(datetime.fromisoformat, texts))
        epoch = _EPOCH if dates[0].tzinfo else _EPOCH.replace(tzinfo=None)
        return [(date - epoch) // _MICROSECOND for date in dates]
    except (ValueError, TypeError):
        return []


def _unit(name: str) -> str:
    prefix = re.search(r"(milli|kilo|(?<![a-z])[mk](?=w))", name.casefold())
    return {"m": "mW", "k": "kW"}[prefix[1][0]] if prefix else "W"


def microseconds(row: Found, cell: str, is_ms: bool) -> int:
    if _DATE.fullmatch(cell):
        try:
            time = datetime.fromisoformat(cell.replace("/", "-"))
        except ValueError:
            raise row.refused('"{cell}" is not a time.', cell=cell) from None
        aware = time if time.tzinfo else time.replace(tzinfo=UTC)
        return (aware - _EPOCH) // _MICROSECOND
    if clock := _CLOCK.fullmatch(cell):
        minutes = int(clock[1]) * 60 + int(clock[2])
        return minutes * 60 * _SECOND + round(float(clock[3]) * _SECOND)
    number = row.number_of(cell)
    if not 0 <= number < _LARGEST:
        raise row.refused("{cell} is not a time.", cell=cell)
    return round(number * (1000 if is_ms or number > _FIRST_MILLISECOND else _SECOND))


TOOL = Tool(
    slug="power-csv",
    title="Power CSV",
    homepage="https://www.rfc-editor.org/rfc/rfc4180",
    metrics=ENERGY_METRICS,
    aliases=("power csv log", "watts csv"),
    version=2,
    parse=parse,
    signatures=(HEADER,),
    shape=is_rows,
)
