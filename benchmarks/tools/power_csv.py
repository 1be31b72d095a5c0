"""Power as plain CSV from any meter: a column of times and a column of watts.

One row, after an optional header such as ``time,watts``::

    2026-11-20T21:44:36.120Z,97.2

Times are ISO 8601, a time of day (21:44:36), seconds, or milliseconds (if the header
says so, or the times are Unix times in ms); watts are W unless the header says mW or
kW.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    check_row_width,
    parser,
)
from benchmarks.parsing.sampled_logs import (
    ENERGY_METRICS,
    FACTORS,
    TRUNCATED_ROW,
    count_lines,
    read_chunks,
    summarize,
)
from benchmarks.parsing.tool import Tool
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
LINES = LineScanner(row=r"(?P<cells>[^#\n][^\n]*)$")
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
    """Return whether a text begins with rows of times and watts, without a header."""
    head = [line for line in text[:2000].split("\n")[:8] if line.strip()][:5]
    cells = [_ROW.fullmatch(line) for line in head]
    # A single row may be of any other table.
    if len(cells) < 2 or not all(cells):
        return False
    times = [cell[1].strip('" ') for cell in cells if cell]
    if all(map(_DATE.fullmatch, times)) or all(map(_CLOCK.fullmatch, times)):
        return True
    if not all(map(_NUMBER.fullmatch, times)):
        return False
    seconds = [float(time.replace(",", ".")) for time in times]
    # Two plain numbers may increase by chance.
    return (
        all(earlier < later for earlier, later in pairwise(seconds)) and len(times) > 2
    )


@dataclass
class PowerRows(Draft):
    names: list[str]
    times: array[int] = field(default_factory=lambda: array("q"))
    watts: array[float] = field(default_factory=lambda: array("d"))
    has_holes: bool = False

    @property
    def is_ms(self) -> bool:
        return bool(re.search(r"[ _(\[]ms[)\]]?$", self.names[0].casefold()))

    def read(self, chunk: str) -> None:
        if self._read_uniform_chunk(chunk):
            return
        rows = list(LINES(chunk))
        for row in rows:
            if row.may_be_truncated("cells") and self._is_cut(row, rows):
                self.add_warning("cut", TRUNCATED_ROW)
                continue
            is_row = any(separator in row["cells"] for separator in ",;\t")
            if is_row or self.times or self.has_holes:
                self._read_row(row)

    def _is_cut(self, last: MatchedLine, rows: list[MatchedLine]) -> bool:
        # A row without a line end is complete if it has the decimals of the others.
        cells = split(last["cells"])
        decimals = {len(split(row["cells"])[-1].partition(".")[2]) for row in rows[-9:]}
        is_narrow = len(cells) != len(self.names)
        return is_narrow or "." not in cells[-1] or len(decimals) > 1

    def _read_uniform_chunk(self, chunk: str) -> bool:
        columns = len(self.names)
        first = chunk[: chunk.find("\n")]
        separator = next((candidate for candidate in ";\t" if candidate in first), ",")
        cell = first.partition(separator)[0].strip(' "')
        is_number = bool(_NUMBER.fullmatch(cell))
        rows = _row(separator, columns, is_number).findall(chunk)
        if len(rows) != count_lines(chunk):
            return False
        cells, powers = zip(*rows, strict=True)
        watts = list(map(float, powers))
        times = _all_microseconds(cells, self.is_ms)
        last = self.times[-1:].tolist()
        if not times or min(watts) <= 0 or [*last, *times] != sorted([*last, *times]):
            return False
        self.times.extend(times)
        self.watts.extend(watts)
        return True

    def _read_row(self, row: MatchedLine) -> None:
        cells = split(row["cells"])
        check_row_width(row, cells, len(self.names))
        watts = row.parse_number(cells[1]) if cells[1] else 0
        if watts < 0:
            raise row.parse_error(
                "{watts} W is not a valid power reading of a running machine.",
                watts=cells[1],
            )
        time = microseconds(row, cells[0], self.is_ms)
        if self.times and time < self.times[-1]:
            raise row.parse_error("its time is earlier than the time of the row above.")
        if watts:
            self.times.append(time)
            self.watts.append(watts)
        else:
            what = "0 W" if cells[1] else Sentence("no power value")
            self.add_warning(
                "not_measured",
                "Rows with {what} were excluded.",
                what=what,
            )
            self.has_holes = True

    def close(self) -> None:
        unit = _unit(self.names[1])
        summarize(self, self.times, self.watts, unit, self.has_holes)

    @property
    def factor(self) -> float:
        return FACTORS[_unit(self.names[1])]


def read_tables(output: str) -> list[PowerRows]:
    tables = [PowerRows(["time", "watts"])]
    line = position = 0
    for header in [*_HEADER.finditer(output), None]:
        end = header.start() if header else len(output)
        line = read_chunks(output[position:end], tables[-1].read, line)
        if header:
            line += 1
            position = header.end() + 1
            append_limited(tables, PowerRows(split(header["names"])))
    return tables


parse = parser("No rows with a time and a power value found.")(read_tables)


def split(text: str) -> list[str]:
    separator = next((candidate for candidate in ";\t" if candidate in text), ",")
    return [cell.strip(' "\t') for cell in text.split(separator)]


@cache
def _row(separator: str, columns: int, is_number: bool) -> re.Pattern[str]:
    time = r"\d{1,13}(?:\.\d{1,9})?" if is_number else _DATE_PATTERN
    other_columns = rf"(?:{separator}[^,;\t\n]*){{{columns - 2}}}"
    watts = r"\d{1,15}(?:\.\d{1,15})?"
    return re.compile(
        rf'^ *"?({time})"? *{separator} *"?({watts})"? *{other_columns}\n',
        re.ASCII | re.MULTILINE,
    )


def _all_microseconds(cells: tuple[str, ...], is_ms: bool) -> list[int]:
    """Return the times of a column, or [] if its cells have different forms."""
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


def microseconds(row: MatchedLine, cell: str, is_ms: bool) -> int:
    if _DATE.fullmatch(cell):
        try:
            time = datetime.fromisoformat(cell.replace("/", "-"))
        except ValueError:
            raise row.parse_error('"{cell}" is not a time.', cell=cell) from None
        aware = time if time.tzinfo else time.replace(tzinfo=UTC)
        return (aware - _EPOCH) // _MICROSECOND
    if clock := _CLOCK.fullmatch(cell):
        minutes = int(clock[1]) * 60 + int(clock[2])
        return minutes * 60 * _SECOND + round(float(clock[3]) * _SECOND)
    number = row.parse_number(cell)
    if not 0 <= number < _LARGEST:
        raise row.parse_error("{cell} is not a time.", cell=cell)
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
    recognizes=is_rows,
)
