"""How numbers and days are written and which shade a ratio gets.

Every number of a page is written here, as the language of the page writes numbers;
what leaves the site as a file keeps the decimal point (``for_files``). Of Django only
the language and its formats are used. Days are written in one form everywhere, on
pages and in files, in every language: 2010-07-29.

One rule says how many digits a measured number has, on pages and in files for people:
where there is an interval, as many as show two digits of half of it (``within``);
where there is none, four significant digits at most. Zeros at the end are kept where
they say how sure a number is, or beside a number that has more: 13.80 beside 13.82.
A time is told in the unit in which it is read, 548 µs and not 0.000548 s (``legible``).
Who writes a paper may want another number of them (``with_digits``).
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from math import floor, isfinite, log2, log10
from typing import Final

from django.utils.formats import get_format
from django.utils.translation import get_language

# Upper ends of the shades of "slower"; those of "faster" are their reciprocals, so
# that a ratio and its inverse are as far from the middle.
EDGES: Final = (0.25, 0.5, 0.75, 0.9, 0.98)
SHADES: Final = len(EDGES)
EVEN: Final = "even"
GROUPED_FROM: Final = 1_000
PLAIN_FROM: Final = 1e-9
PLAIN_TO: Final = 1e21
TABLE_DIGITS: Final = 4
"""Significant digits of a number of which no interval is known."""
CHECK_DIGITS: Final = 6
"""Of numbers that are checked against each other; no interval justifies more."""
SURE_DIGITS: Final = 2
"""Of half an interval, and the least of any number."""
RATIO_DECIMALS: Final = 3
# Of an interval that reaches farther than this factor each end has digits of its own.
FAR: Final = 10.0

Interval = tuple[float, float]
BREAKABLE: Final = re.compile(r"(?<=\d) %")

TIMES: Final = ("s", "ms", "us", "ns")
"""Each a thousandth of the one before."""
MOST_TIMES: Final = 1e5
"""A number of more digits is none that is read."""
UNIT_NAMES: Final = {"us": "µs", "us/KB": "µs/KB", "us/KiB": "µs/KiB"}
"""What files for programs write with letters of ASCII."""


@dataclass(frozen=True)
class Locale:
    decimal: str = "."
    thousands: str = ","

    @property
    def separators(self) -> str:
        """Decimal sign and thousands sign, as Plotly takes them."""
        return self.decimal + self.thousands


OF_FILES: Final = Locale()
_is_for_files: ContextVar[bool] = ContextVar("is_for_files", default=False)
_digits: ContextVar[int | None] = ContextVar("digits", default=None)


@contextmanager
def for_files() -> Iterator[None]:
    """Write numbers as programs read them, as long as this lasts."""
    before = _is_for_files.set(True)
    try:
        yield
    finally:
        _is_for_files.reset(before)


@contextmanager
def with_digits(count: int | None) -> Iterator[None]:
    """Write measured numbers with ``count`` significant digits; None: by intervals."""
    before = _digits.set(count)
    try:
        yield
    finally:
        _digits.reset(before)


_asked_once: ContextVar[Locale | None] = ContextVar("asked_once", default=None)


@contextmanager
def asked_once() -> Iterator[None]:
    """Look up the language's number format once, for pages of a thousand cells."""
    before = _asked_once.set(locale())
    try:
        yield
    finally:
        _asked_once.reset(before)


def locale() -> Locale:
    if _is_for_files.get():
        return OF_FILES
    if known := _asked_once.get():
        return known
    language = get_language()
    return locale_of(language) if language else OF_FILES


@lru_cache
def locale_of(language: str) -> Locale:
    decimal = str(get_format("DECIMAL_SEPARATOR", language))
    thousands = str(get_format("THOUSAND_SEPARATOR", language))
    if thousands in ("", decimal):  # of some languages only one of both is known
        thousands = "\N{NO-BREAK SPACE}"
    return Locale(decimal, thousands)


def localized(written: str) -> str:
    """Return a number that was written with a decimal point as the page writes it."""
    chosen = locale()
    if chosen.separators == OF_FILES.separators:
        return written
    # Both signs in one pass, for they may change places: 1,234.5 is 1.234,5 elsewhere.
    return written.translate({ord("."): chosen.decimal, ord(","): chosen.thousands})


def number(value: float, spec: str = "g") -> str:
    """Write a number by a format of Python's, as the page writes it."""
    return localized(format(value, spec))


def exact(value: float) -> str:
    """Write a stored number with all its digits and none it does not have."""
    if not isfinite(value):
        return str(value)
    # The fewest digits that read back as the same number.
    text = repr(float(value))
    if "e" in text and PLAIN_FROM <= abs(value) < PLAIN_TO:
        # As a decimal: format() of the float would cut it after six decimals.
        text = format(Decimal(text), "f")
    if "e" in text:
        return localized(text)
    whole, _, fraction = text.partition(".")
    if abs(value) >= GROUPED_FROM:
        whole = f"{int(whole):,}"
    return localized(whole if fraction in ("", "0") else f"{whole}.{fraction}")


def brief(
    value: float,
    within: Interval | None = None,
    *,
    decimals: int | None = None,
    digits: int = TABLE_DIGITS,
) -> str:
    """Write a measured number with the digits that its interval justifies.

    Without one: exact when short, else ``digits`` significant digits and at most
    ``decimals``.
    """
    if value == 0 or not isfinite(value):
        return exact(value)
    if (wanted := _digits.get()) is not None:
        return _rounded(value, _decimals(value, wanted))
    most = _decimals(value, digits)
    if within is not None and (sure := _decimals_within(value, within)) is not None:
        return _rounded(value, sure)
    if decimals is not None:
        return _rounded(value, min(decimals, most))
    return exact(round(value, most))


def legible(unit: str, values: Iterable[float | None]) -> tuple[float, str]:
    """Return by what numbers of a unit are multiplied to be read, and in what unit.

    Times that stand together share it: the least of them is not below 1, if the
    greatest has no more digits than are read.

    >>> legible("s", [0.000548])
    (1000000.0, 'µs')
    >>> legible("s", [0.0144, 0.703]), legible("MB/s", [0.5])
    ((1000.0, 'ms'), (1.0, 'MB/s'))
    """
    if _is_for_files.get():
        return 1.0, unit
    factor = 1.0
    if unit in TIMES:
        known = [abs(value) for value in values if value and isfinite(value)]
        least, greatest = min(known, default=1.0), max(known, default=1.0)
        for finer in TIMES[TIMES.index(unit) + 1 :]:
            if least * factor >= 1 or greatest * factor * 1000 >= MOST_TIMES:
                break
            unit, factor = finer, factor * 1000
    return factor, UNIT_NAMES.get(unit, unit)


def times(value: float, factor: float) -> float:
    """Return a number in a finer unit, without the digits that binary adds."""
    return value if factor == 1 else float(f"{value * factor:.15g}")


def decimals_beside(values: Iterable[float | None]) -> int:
    """Return the decimals with which numbers of no known interval stand in a row."""
    known = [value for value in values if value and isfinite(value)]
    rounded = (round(value, _decimals(value, TABLE_DIGITS)) for value in known)
    exponents = (
        Decimal(repr(number)).normalize().as_tuple().exponent for number in rounded
    )
    return max([0, *(-int(exponent) for exponent in exponents)])


def ratio(value: float, within: Interval | None = None) -> str:
    """Write a ratio or an end of its interval with the digits that this justifies.

    Without an interval: three decimals, at most four significant digits.
    """
    wanted = _digits.get()
    if wanted is not None and value and isfinite(value):
        return _rounded(value, _decimals(value, wanted))
    if within is not None and (sure := _decimals_within(value, within)) is not None:
        return _rounded(value, sure)
    if 0 < value < 0.01:
        return number(value, ".2g")
    if not isfinite(value):
        return exact(value)
    return _rounded(value, min(RATIO_DECIMALS, _decimals(value, TABLE_DIGITS)))


def quoted_ratio(value: float) -> str:
    """Write a ratio for published sentences, which never change: three decimals."""
    return number(value, ".2g" if 0 < value < 0.01 else f",.{RATIO_DECIMALS}f")


def ends(interval: Interval) -> tuple[str, str]:
    """Write both ends of the interval of a ratio."""
    low, high = (ratio(end, interval) for end in interval)
    return low, high


def unbroken(text: str) -> str:
    """Return a text whose percentages stand in one line, but in a file as it is."""
    if _is_for_files.get() or "%" not in text:
        return text
    return BREAKABLE.sub("\N{NO-BREAK SPACE}%", text)


def last_place(text: str) -> str:
    """Return what the last digit of a written number is worth: 0.01 of 1.23."""
    _whole, point, decimals = text.partition(locale().decimal)
    return number(10.0 ** -len(decimals), f".{len(decimals)}f") if point else "1"


def overhead(ratio: float, within: Interval | None = None) -> str:
    """Return the overhead of a ratio in percent; ``within`` is the ratio's interval."""
    sure = None if within is None else _decimals_within(ratio, within)
    if (wanted := _digits.get()) is not None:
        sure = _decimals(ratio, wanted)
    return _percent_lost(ratio, 1 if sure is None else max(sure - 2, 0))


def _decimals(value: float, digits: int) -> int:
    """Return the decimals of so many significant digits; below 0: tens, hundreds."""
    # As rounded: 9.996 has one decimal of three digits.
    return digits - 1 - int(f"{value:.{digits - 1}e}".partition("e")[2])


def _decimals_within(value: float, within: Interval) -> int | None:
    """Return the decimals that an interval justifies; None where it has no width."""
    low, high = within
    half = (high - low) / 2
    if not (isfinite(half) and half > 0):
        return None
    most, least = (_decimals(value, n) for n in (CHECK_DIGITS, SURE_DIGITS))
    if low > 0 and high > FAR * low:
        return least
    return min(max(_decimals(half, SURE_DIGITS), least), most)


def _rounded(value: float, decimals: int) -> str:
    return number(round(value, decimals), f",.{max(decimals, 0)}f")


def percent(share: float, spec: str = ".0f") -> str:
    """Write a share of 1 in percent."""
    return f"{number(100 * share, spec)}\N{NO-BREAK SPACE}%"


def whole_overhead(ratio: float) -> str:
    """Write the same in whole percent, where there is little room."""
    return _percent_lost(ratio, 0)


def _percent_lost(ratio: float, decimals: int) -> str:
    lost = round(100 * (1 - ratio), decimals)
    sign = "\N{MINUS SIGN}" if lost < 0 else ""
    return f"{sign}{number(abs(lost), f',.{decimals}f')}\N{NO-BREAK SPACE}%"


def heat(value: float) -> str:
    """Return the shade of a ratio: ``slow-5`` to ``slow-1``, ``even``, ``fast-1``..."""
    if value <= 0:
        return f"slow-{SHADES}"
    side, slow = ("slow", value) if value < 1 else ("fast", 1 / value)
    passed = bisect_left(EDGES, slow)
    return EVEN if passed == SHADES else f"{side}-{SHADES - passed}"


def steps() -> list[tuple[str, float]]:
    """Return each shade and the ratio from which on it is given, slowest first."""
    slow = [(f"slow-{SHADES - step}", edge) for step, edge in enumerate(EDGES)]
    fast = [
        (f"fast-{step}", 1 / edge) for step, edge in enumerate(EDGES[::-1], start=1)
    ]
    return [*slow, (EVEN, 1.0), *fast]


def place(value: float, low: float, high: float) -> float:
    """Return where a ratio lies between two others on a log axis, 0 to 1, clamped."""
    if value <= 0:
        return 0.0
    share = (log2(value) - log2(low)) / (log2(high) - log2(low))
    return min(max(share, 0.0), 1.0)


def amount_of_memory(count: int) -> str:
    """Write bytes in the largest binary unit that leaves a whole number."""
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count and count % 1024**power == 0:
            return f"{count // 1024**power} {unit}"
    return f"{localized(f'{count:,}')} B"


def size(count: int) -> str:
    """Write an amount of bytes: ``1.5 KiB``, ``23.5 GiB``."""
    units = ((1024**4, "TiB"), (1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB"))
    for factor, unit in units:
        if count >= factor:
            text = f"{count / factor:,.1f}".removesuffix(".0")
            return f"{localized(text)}\N{NO-BREAK SPACE}{unit}"
    return f"{count}\N{NO-BREAK SPACE}B"


def told_apart(low: float, high: float) -> tuple[float, float]:
    """Round both to two digits of what lies between them, as a shape's words do."""
    digits = 1 - floor(log10(high - low))
    return round(low, digits), round(high, digits)


def day_text(day: date) -> str:
    return f"{day:%Y-%m-%d}"


def moment_text(moment: datetime | None) -> str:
    """Return a day and its time, to the minute, with the zone; nothing for None."""
    return f"{moment:%Y-%m-%d %H:%M %Z}" if moment else ""
