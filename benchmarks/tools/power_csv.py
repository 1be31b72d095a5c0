"""Power as plain CSV: a column of times, a column of watts, from any meter.

One row, after an optional header such as ``time,watts``::

    2026-11-20T21:44:36.120Z,97.2

Times are ISO 8601, a clock, seconds, or milliseconds (named so in the header, or since
1970); watts are W unless the header says mW or kW. Power between two rows is taken as a
straight line: energy is the area below it, and the mean is energy by time.
"""

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import fsum
from statistics import median

from benchmarks.tools.base import Metric, Tool
from benchmarks.tools.parser import Draft, ParsedRun, Parser, finished, keep
from benchmarks.tools.scan import Found, Scanner

_TIME = r"(?:time|timestamp|date|datetime|date_time|seconds|secs?|elapsed|epoch|t)"
_UNIT = r"[ _]?[(\[]?(?:m?s|sec|seconds|utc|iso)?[)\]]?"
_POWER = (
    r"(?:[a-z]{1,12}[ _.]){0,2}"
    r"(?:power(?:[ _.]?draw)?[ _]?[(\[]?(?:[mk]?w|watts?)?[)\]]?"
    r"|(?:milli|kilo)?watts?(?: ?[(\[][mk]?w[)\]])?|[mk]?w)"
)
HEADER = rf'(?i:"?{_TIME}{_UNIT}"?[ \t]*+[,;\t][ \t]*+"?{_POWER}"?[ \t]*+(?:[,;\t]|$))'
LINES = Scanner(header=rf"(?P<names>(?={HEADER})[^\n]+)$", row=r"(?P<cells>[^#\n]+)$")
_CELL = r'"?[^\s,;"][^,;\t\n"]{0,38}"?'
_ROW = re.compile(
    rf"[ \t]*+({_CELL})(?: *[;\t] *\"?[\d.]++(?:,\d++)?\"?| *, *\"?[\d.]++\"?)[ \t]*+"
)
_NUMBER = re.compile(r"\d{1,15}(?:[.,]\d{1,9})?", re.ASCII)
_CLOCK = re.compile(r"(\d{1,2}):(\d\d):(\d\d(?:\.\d{1,9})?)", re.ASCII)
_DATE = re.compile(r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d[^\s]{0,24}", re.ASCII)
# Seconds since 1970 have ten digits for the next 250 years, milliseconds thirteen.
_FIRST_MILLISECOND = 1e11
_LARGEST = 1e13
_GAP = 10
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000
FACTORS = {"W": 1.0, "mW": 1e-3, "kW": 1e3}


def is_rows(text: str) -> bool:
    """Whether a text without a header is rows of a time and a number, in order."""
    head = [line for line in text[:2000].split("\n")[:8] if line.strip()][:5]
    cells = [_ROW.fullmatch(line) for line in head]
    if len(cells) < 2 or not all(cells):
        return False
    times = [cell[1].strip('" ') for cell in cells if cell]
    if all(map(_DATE.fullmatch, times)) or all(map(_CLOCK.fullmatch, times)):
        return True
    if not all(map(_NUMBER.fullmatch, times)):
        return False
    seconds = [float(time.replace(",", ".")) for time in times]
    return all(one < other for one, other in pairwise(seconds)) and len(times) > 2


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each header, or for all rows if there is none."""
    runs: list[Draft] = []
    names, rows = ["time", "watts"], list[Found]()
    for line in LINES(output):
        if line.kind == "header":
            keep(runs, _run(names, rows))
            names, rows = _cells(line, "names"), []
        elif not (not rows and _is_around(line)):
            rows.append(line)
    keep(runs, _run(names, rows))
    return finished(runs, "There are no rows of a time and watts.")


def _is_around(line: Found) -> bool:
    """Whether a line before the first row is a prompt or a word, not a row."""
    return not any(separator in line["cells"] for separator in ",;\t")


def _cells(line: Found, group: str) -> list[str]:
    text = line[group]
    separator = next((each for each in ";\t" if each in text), ",")
    return [cell.strip(' "\t') for cell in text.split(separator)]


def _run(names: list[str], rows: list[Found]) -> Draft:
    run = Draft()
    # The header's pattern has both columns in front.
    is_ms = bool(re.search(r"[ _(\[]ms[)\]]?$", names[0].casefold()))
    samples: list[tuple[int, float]] = []
    for row in rows:
        cells = _cells(row, "cells")
        if len(cells) != len(names):
            raise row.refused(f"it has {len(cells)} columns, not {len(names)}.")
        if not cells[1]:
            run.mark("not_measured", "There are rows without watts: left out.")
            continue
        samples.append((_microseconds(row, cells[0], is_ms), _watts(row, cells)))
        if len(samples) > 1 and samples[-1][0] < samples[-2][0]:
            raise row.refused("its time is before that of the row above.")
    if rows:
        _refuse_cut(rows)
    summarize(run, samples, _unit(names[1]))
    return run


def _refuse_cut(rows: list[Found]) -> None:
    """A last row without line end is whole if it has the decimals of the others."""
    last = _cells(rows[-1], "cells")[-1]
    decimals = {len(_cells(row, "cells")[-1].partition(".")[2]) for row in rows[-9:]}
    if rows[-1].is_open("cells") and ("." not in last or len(decimals) > 1):
        raise rows[-1].refused("the text ends within this line: end it, or cut it off.")


def _watts(row: Found, cells: list[str]) -> float:
    watts = row.number_of(cells[1])
    if watts <= 0:
        raise row.refused(f"{cells[1]} W is no power of a machine that runs.")
    return watts


def _unit(name: str) -> str:
    found = re.search(r"(milli|kilo|(?<![a-z])[mk](?=w))", name.casefold())
    return {"m": "mW", "k": "kW"}[found[1][0]] if found else "W"


def _microseconds(row: Found, cell: str, is_ms: bool) -> int:
    if _DATE.fullmatch(cell):
        try:
            time = datetime.fromisoformat(cell.replace("/", "-"))
        except ValueError:
            raise row.refused(f'"{cell}" is no time.') from None
        aware = time if time.tzinfo else time.replace(tzinfo=UTC)
        return (aware - _EPOCH) // timedelta(microseconds=1)
    if clock := _CLOCK.fullmatch(cell):
        minutes = int(clock[1]) * 60 + int(clock[2])
        return minutes * 60 * _SECOND + round(float(clock[3]) * _SECOND)
    number = row.number_of(cell)
    if not 0 <= number < _LARGEST:
        raise row.refused(f"{cell} is no time.")
    return round(number * (1000 if is_ms or number > _FIRST_MILLISECOND else _SECOND))


def summarize(run: Draft, samples: list[tuple[int, float]], unit: str = "W") -> None:
    """Add mean and maximum of (microseconds, power), and energy if time has passed."""
    if not samples:
        return
    watts = [power for _, power in samples]
    steps = [later[0] - sooner[0] for sooner, later in pairwise(samples)]
    seconds = sum(steps) / _SECOND
    mean = fsum(watts) / len(watts)
    run.facts["samples"] = len(samples)
    if seconds > 0:
        pairs = zip(pairwise(watts), steps, strict=True)
        area = fsum((a + b) / 2 * step for (a, b), step in pairs) / _SECOND
        mean = area / seconds
        run.add("energy", area * FACTORS[unit], "J")
        run.add("meter time", seconds, "s")
        if max(steps) > _GAP * median(steps):
            gap = max(steps) / _SECOND
            run.mark("gap", f"Nothing was measured for {gap:g} s.")
    run.add("power mean", mean, unit)
    run.add("power max", max(watts), unit)


TOOL = Tool(
    slug="power-csv",
    title="Power CSV",
    homepage="https://www.rfc-editor.org/rfc/rfc4180",
    metrics=(
        Metric(name="energy", unit="J", better="lower", component="power"),
        # The window in which the meter ran, not the duration of the work.
        Metric(name="meter time", unit="s", better="neither", component="power"),
        Metric(name="power mean", unit="W", better="lower", component="power"),
        Metric(name="power max", unit="W", better="lower", component="power"),
    ),
    aliases=("power csv log", "watts csv"),
    parser=Parser(version=1, parse=parse, signatures=(HEADER,), shape=is_rows),
)
