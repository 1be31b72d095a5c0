"""CSV by RFC 4180, and safe to open in a spreadsheet. PURE.

UTF-8 without a byte order mark, because programs read it as part of the first column's
name; lines end in CR LF. Texts that a spreadsheet would take for a formula begin with
an apostrophe (OWASP, "CSV injection"); numbers are left as they are.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_text(fields: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str:
    """Write records as lines under a head of ``fields``."""
    return "".join(csv_lines(fields, records))


def csv_lines(
    fields: Sequence[str], records: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield the head, then each record as its line."""
    yield _line(fields)
    for record in records:
        yield _line([_field(record[name]) for name in fields])


def _line(fields: Sequence[Any]) -> str:
    file = io.StringIO()
    csv.writer(file).writerow(fields)
    return file.getvalue()


def _field(value: Any) -> Any:
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, Mapping):
        value = "; ".join(f"{name}={each}" for name, each in value.items())
    elif isinstance(value, list | tuple):
        value = "; ".join(map(str, value))
    return harmless(str(value))


def harmless(text: str) -> str:
    """Return a text that no spreadsheet computes."""
    return f"'{text}" if text.startswith(FORMULAS) else text
