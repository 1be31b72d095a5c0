"""Columns of numbers in a table of no known tool, for declaring it as a tool. PURE."""

import csv
import re
from dataclasses import dataclass
from typing import Any, Final

import orjson

from benchmarks.custom_tools.sample_tables import SEPARATORS
from benchmarks.errors import BenchmarksError
from benchmarks.parsing.decoding import decode
from benchmarks.units import find_unit

RESERVED: Final = {"run", "repetition"}
MAX_ROWS: Final = 1000
MAX_NUMBERS: Final = 20
_UNIT: Final = re.compile(r"(?:.*[_ ]|.*[(\[])(?P<unit>[^_ ()\[\]]{1,10})[)\]]?")
_NUMBER: Final = re.compile(r"\d{1,30}(?:\.\d{0,30})?(?:[eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A column of numbers; ``unit`` is "" unless its name ends with one."""

    name: str
    unit: str


def number_columns(text: bytes | str) -> tuple[NumberColumn, ...]:
    """Return the columns of a CSV or JSON table whose values are all numbers above 0.

    Return () for any other text.
    """
    try:
        content = decode(text).strip()
    except BenchmarksError:
        return ()
    rows = _json_rows(content) if content[:1] in ("[", "{") else _csv_rows(content)
    if not rows:
        return ()
    names = [name for name in rows[0] if name.casefold() not in RESERVED]
    numbers = [name for name in names if all(_is_number(row[name]) for row in rows)]
    return tuple(NumberColumn(name, _unit_of(name)) for name in numbers[:MAX_NUMBERS])


def _json_rows(content: str) -> list[dict[str, Any]]:
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError:
        return []
    rows = document if isinstance(document, list) else [document]
    if not all(isinstance(row, dict) for row in rows):
        return []
    keys = {frozenset(row) for row in rows}
    return rows[:MAX_ROWS] if len(keys) == 1 and "metric" not in rows[0] else []


def _csv_rows(content: str) -> list[dict[str, Any]]:
    lines = content.split("\n")[: MAX_ROWS + 1]
    separator = max(SEPARATORS, key=lines[0].count)
    try:
        head, *rows = csv.reader(lines, delimiter=separator, strict=True)
    except (csv.Error, ValueError):
        return []
    names = [name.strip() for name in head]
    rows = [row for row in rows if row]
    is_table = len(names) > 1 and all(len(row) == len(names) for row in rows)
    # A first row of numbers is not a header.
    is_named = all(names) and not any(map(_NUMBER.fullmatch, names))
    if not is_table or not is_named or len(set(names)) < len(names):
        return []
    return [dict(zip(names, row, strict=True)) for row in rows]


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return value > 0
    text = value.strip() if isinstance(value, str) else ""
    return _NUMBER.fullmatch(text) is not None and float(text) > 0


def _unit_of(name: str) -> str:
    match = _UNIT.fullmatch(name)
    unit = find_unit(match["unit"]) if match else None
    return unit.symbol if unit else ""
