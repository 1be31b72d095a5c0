"""How numbers and days are written and which shade a ratio gets.

Every number of a page is written here, as the language of the page writes numbers;
what leaves the site as a file keeps the decimal point (``for_files``). Of Django only
the language and its formats are used.
"""

from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from math import floor, isfinite, log2, log10
from typing import Final

from django.utils import dateformat
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
TABLE_DIGITS: Final = 6
RATIO_DECIMALS: Final = 3


@dataclass(frozen=True)
class Locale:
    """How numbers and days are written; ``day`` and ``month`` are Django's formats."""

    decimal: str = "."
    thousands: str = ","
    day: str = "Y-m-d"
    month: str = "Y-m"

    @property
    def separators(self) -> str:
        """Decimal sign and thousands sign, as Plotly takes them."""
        return self.decimal + self.thousands


OF_FILES: Final = Locale()
_is_for_files: ContextVar[bool] = ContextVar("is_for_files", default=False)


@contextmanager
def for_files() -> Iterator[None]:
    """Write numbers and days as programs read them, as long as this lasts."""
    before = _is_for_files.set(True)
    try:
        yield
    finally:
        _is_for_files.reset(before)


def locale() -> Locale:
    """Return how numbers and days are written now."""
    language = get_language()
    return OF_FILES if _is_for_files.get() or not language else locale_of(language)


@lru_cache
def locale_of(language: str) -> Locale:
    """Return how a language writes numbers and days."""
    decimal = str(get_format("DECIMAL_SEPARATOR", language))
    thousands = str(get_format("THOUSAND_SEPARATOR", language))
    if thousands in ("", decimal):  # of some languages only one of both is known
        thousands = "\N{NO-BREAK SPACE}"
    day, month = get_format("DATE_FORMAT", language), "YEAR_MONTH_FORMAT"
    return Locale(decimal, thousands, str(day), str(get_format(month, language)))


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


def brief(value: float) -> str:
    """Write a number for a table: exact when short, else six significant digits."""
    if value == 0 or not isfinite(value):
        return exact(value)
    digits = TABLE_DIGITS - 1 - floor(log10(abs(value)))
    return exact(round(value, max(digits, 0)))


def ratio(value: float) -> str:
    """Write a ratio with three decimals; a tiny one with two significant digits."""
    if 0 < value < 0.01:
        return number(value, ".2g")
    return number(value, f",.{RATIO_DECIMALS}f")


def overhead(ratio: float) -> str:
    """Write what is lost of 1 in percent; it is below 0 where something is gained."""
    return _percent_lost(ratio, 1)


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
    """Write the bytes of a file: ``1.5 KiB``."""
    for factor, unit in ((1024**2, "MiB"), (1024, "KiB")):
        if count >= factor:
            text = f"{count / factor:,.1f}".removesuffix(".0")
            return f"{localized(text)}\N{NO-BREAK SPACE}{unit}"
    return f"{count}\N{NO-BREAK SPACE}B"


def told_apart(low: float, high: float) -> tuple[float, float]:
    """Round both to two digits of what lies between them, as a shape's words do."""
    digits = digits_between(low, high)
    return round(low, digits), round(high, digits)


def digits_between(low: float, high: float) -> int:
    """Return how many decimals show two digits of what lies between two numbers."""
    return 1 - floor(log10(high - low))


def day_text(day: date) -> str:
    return dateformat.format(day, locale().day)


def moment_text(moment: datetime | None) -> str:
    """Return a day and its time, to the minute, with the zone; nothing for None."""
    return dateformat.format(moment, f"{locale().day} H:i e") if moment else ""


def published_text(published: str) -> str:
    """Return when a study was published: a day or a month; any other text as it is."""
    for stated, written in (("%Y-%m-%d", locale().day), ("%Y-%m", locale().month)):
        try:
            day = datetime.strptime(published, stated)  # noqa: DTZ007 (no zone in it)
        except ValueError:
            continue
        return dateformat.format(day.date(), written)
    return published
