"""A power log that something else wrote: CSV with a time and watts in each row.

Times are seconds since 1970 or moments as in 2026-03-14T09:26:53+01:00 (UTC where no
zone is written), by a clock that this machine's is compared with; or seconds since the
log began, if it is said when that was. Rows without watts are gaps.
"""

import calendar
import re
import uuid
from typing import Iterator, List, NamedTuple, Optional, Tuple

from agents.errors import UsageError
from agents.power.journal import Log, log_of
from agents.power.meters import Source

MOST_SAMPLES = 2000
_FIRST_DATE_S = 1e9  # the year 2001: no log counts so many seconds from its own start
_DATE = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)([.,]\d{1,9})?"
    r"(Z|[+-]\d\d:?\d\d)?$"
)


class Row(NamedTuple):
    """A moment in microseconds and the power; None where the meter said nothing."""

    moment_us: int
    watts: Optional[float]


class CsvLog(Source):
    """The meter that somebody else read."""

    kind = "csv"
    channels = ["power"]
    total = ["power"]


def rows_of(text: str, started_at: str = "", ahead_s: float = 0.0) -> List[Row]:
    """Return the rows of a log on this machine's wall clock, in order.

    ``ahead_s`` is how far the log's clock was ahead of this machine's.
    """
    lines = list(_rows(text))
    if not lines:
        raise UsageError("There is no row of a time and watts.")
    since_us = 0
    if lines[0][1] < _FIRST_DATE_S * 1e6:
        if not started_at:
            raise UsageError(
                "The times count from the log's own start: say when that was with "
                "--started-at 2026-03-14T09:26:53+01:00"
            )
        since_us = moment_us(started_at) - lines[0][1]
    rows: List[Row] = []
    for line, moment, watts in lines:
        row = Row(moment + since_us - round(ahead_s * 1e6), watts)
        if rows and row.moment_us <= rows[-1].moment_us:
            raise UsageError("Line %d: its time is not after the row before." % line)
        rows.append(row)
    return rows


def moment_us(text: str) -> int:
    """Return a written moment as microseconds since 1970."""
    match = _DATE.match(text)
    if match is None:
        raise UsageError('"%s" is no moment such as 2026-03-14T09:26:53+01:00' % text)
    seconds = calendar.timegm((*map(int, match.group(1, 2, 3, 4, 5, 6)), 0, 0, 0))
    zone = (match.group(8) or "Z").replace(":", "")
    if zone != "Z":
        ahead_s = int(zone[1:3]) * 3600 + int(zone[3:5]) * 60
        seconds -= ahead_s if zone[0] == "+" else -ahead_s
    part = (match.group(7) or ".0").replace(",", ".")
    return seconds * 1000000 + round(float("0" + part) * 1e6)


def pieces_of(rows: List[Row]) -> Iterator[List[List[float]]]:
    """Return the samples in pieces that the server takes."""
    samples = [[row.moment_us, row.watts] for row in rows if row.watts]
    for start in range(0, len(samples), MOST_SAMPLES):
        yield samples[start : start + MOST_SAMPLES]


def log_of_text(source: Source, host: str, text: str) -> Log:
    """Return the log of a text: the same text at the same meter is the same log."""
    named = "%s %s\n%s" % (host, source.name, text)
    log = str(uuid.uuid5(uuid.NAMESPACE_OID, named))
    return log_of(source, host, "wall", log)


class _Units(NamedTuple):
    """What a number of each column is, as the header says it."""

    microseconds: float = 1e6
    watts: float = 1.0


def _rows(text: str) -> Iterator[Tuple[int, int, Optional[float]]]:
    """Yield line, moment and watts; a first line without a moment is the header."""
    units = _Units()
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        # A comma separates only where nothing else does: it may be in the decimals.
        separator = next((sign for sign in ";\t" if sign in line), ",")
        cells = [cell.strip(' "\t') for cell in line.split(separator)]
        if _DATE.match(cells[0]):
            moment: Optional[int] = moment_us(cells[0])
        else:
            count = _number(cells[0])
            moment = None if count is None else round(count * units.microseconds)
        if moment is None and number == 1:
            is_ms = re.search(r"ms\W?$", cells[0].lower())
            prefix = re.search(r"milli|kilo|m(?=w)|k(?=w)", "".join(cells[1:2]).lower())
            scale = {"m": 1e-3, "k": 1e3}[prefix.group()[0]] if prefix else 1.0
            units = _Units(1e3 if is_ms else 1e6, scale)
            continue
        if moment is None or len(cells) < 2:
            raise UsageError("Line %d is no row of a time and watts." % number)
        power = _number(cells[1])
        if power is None and cells[1]:
            raise UsageError('Line %d: "%s" are no watts.' % (number, cells[1][:40]))
        # 0 W of a machine that runs is no reading.
        yield number, moment, (power or 0.0) * units.watts or None


def _number(cell: str) -> Optional[float]:
    if not re.match(r"\d{1,15}(?:[.,]\d{1,9})?$", cell):
        return None
    return float(cell.replace(",", "."))
