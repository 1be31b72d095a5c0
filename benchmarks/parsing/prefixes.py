"""Timestamps and other marks that a logger has put before every line."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

_CLOCK = r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?"
_DATE = r"\d{4}[-/.]\d{2}[-/.]\d{2}"
_ZONE = r"(?: ?(?:Z|UTC|[+-]\d{2}:?\d{2}))?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}\d{1,2}"
# One blank belongs to the prefix, the others to the line.
_AFTER = r"(?: |(?=\n|\Z))"

_PREFIXES: Final = tuple(
    re.compile(rf"\n{each}", re.ASCII)
    for each in (
        rf"\[?{_DATE}[T _]{_CLOCK}{_ZONE}\]?:?{_AFTER}",
        # journald and syslog: "Nov 20 21:44:36 host program[123]: "
        rf"{_MONTH} (?:\d{{4}} )?{_CLOCK} [\w.-]++ [^\s:\[]++(?:\[\d++\])?:{_AFTER}",
        rf"\[?(?:[A-Z][a-z]{{2}} )?{_MONTH} (?:\d{{4}} )?{_CLOCK}(?: \d{{4}})?\]?:?"
        rf"{_AFTER}",
        rf"\[?{_CLOCK}\]?:?{_AFTER}",
        rf"\[ *\d++\.\d++\]{_AFTER}",  # seconds since start
        rf"[\w.-]++ *\|{_AFTER}",  # docker compose
        rf">{_AFTER}",  # quoted in a mail
        rf"#{_AFTER}",  # commented out
    )
)
_PROBE: Final = 400
_SHARE: Final = 0.8


def without_prefixes(text: str) -> str:
    """``text`` without the mark that nearly all its lines begin with, if there is one.

    The number of lines stays as it is.
    """
    lines = f"\n{text}"
    heads = [
        line
        for line in islice(
            [f"\n{line}" for line in lines[: 200 * _PROBE].split("\n")], _PROBE
        )
        if line.strip()
    ]
    for prefix in _PREFIXES:
        if heads and sum(map(bool, map(prefix.match, heads))) >= _SHARE * len(heads):
            return prefix.sub("\n", lines)[1:]
    return text
