"""Formatting of numbers and dates, and the shade of a ratio.

Numbers and dates are in the format of the active language, but English in files
(``number_format_for_files``). English dates are in ISO 8601.

See docs/method.md, How many digits a number has.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from math import floor, isfinite, log2, log10
from typing import Final

from django.conf import settings
from django.utils import translation
from django.utils.formats import date_format, get_format
from django.utils.translation import get_language

# Upper limits of the shades for slower, from the strongest. The shades for faster start
# at the reciprocals, so that a ratio and its inverse have equally strong shades.
SHADE_LIMITS: Final = (0.25, 0.5, 0.75, 0.9, 0.98)
SHADE_COUNT: Final = len(SHADE_LIMITS)
NEUTRAL_SHADE: Final = "even"
GROUP_DIGITS_FROM: Final = 1_000
DECIMAL_FROM: Final = 1e-9
DECIMAL_TO: Final = 1e21
TABLE_DIGITS: Final = 4
"""Significant digits of a number without an interval."""
CHECK_DIGITS: Final = 6
"""Significant digits of values for checks, and the maximum with an interval."""
INTERVAL_DIGITS: Final = 2
"""Significant digits of half the interval's width."""
RATIO_DECIMALS: Final = 3
# If the ends differ by a larger factor, each number is rounded by its own size.
WIDE_INTERVAL_FACTOR: Final = 10.0

SPACED_PERCENT: Final = "\N{NO-BREAK SPACE}%"
SPACED_PERCENT_LANGUAGES: Final = {"de", "es", "fr"}

ISO_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
ISO_PATTERNS: Final = ("%Y-%m-%d", "%Y-%m")
DATE_PATTERNS: Final = {"de": ("%d.%m.%Y", "%m.%Y"), "es": ("%d/%m/%Y", "%m/%Y")}
"""Short forms of days and months; other languages use ISO 8601."""

Interval = tuple[float, float]

TIME_UNITS: Final = ("s", "ms", "us", "ns")
"""Each unit is a thousandth of the previous one."""
MAX_TIME_VALUE: Final = 1e5
"""A finer unit is used only if all values stay below this."""
UNIT_NAMES: Final = {"us": "µs", "us/KB": "µs/KB", "us/KiB": "µs/KiB"}


@dataclass(frozen=True)
class NumberFormat:
    decimal: str = "."
    thousands: str = ","
    percent_sign: str = "%"

    @property
    def separators(self) -> str:
        """Decimal and thousands separator, in the order that Plotly expects."""
        return self.decimal + self.thousands


FILE_FORMAT: Final = NumberFormat()
_is_for_files: ContextVar[bool] = ContextVar("is_for_files", default=False)
_digits_setting: ContextVar[int | None] = ContextVar("digits", default=None)


@contextmanager
def number_format_for_files() -> Iterator[None]:
    """Use the numbers and the language of files, which are English."""
    token = _is_for_files.set(True)
    try:
        with translation.override(settings.LANGUAGE_CODE):
            yield
    finally:
        _is_for_files.reset(token)


@contextmanager
def significant_digits(count: int | None) -> Iterator[None]:
    """Show ``count`` digits of measured numbers; None lets the interval decide."""
    token = _digits_setting.set(count)
    try:
        yield
    finally:
        _digits_setting.reset(token)


_cached_format: ContextVar[NumberFormat | None] = ContextVar(
    "cached_format", default=None
)


@contextmanager
def cached_number_format() -> Iterator[None]:
    """Look up the number format only once within the context, for large tables."""
    token = _cached_format.set(current_number_format())
    try:
        yield
    finally:
        _cached_format.reset(token)


def current_number_format() -> NumberFormat:
    if _is_for_files.get():
        return FILE_FORMAT
    if cached_format := _cached_format.get():
        return cached_format
    language = get_language()
    return language_number_format(language) if language else FILE_FORMAT


@lru_cache
def language_number_format(language: str) -> NumberFormat:
    decimal = str(get_format("DECIMAL_SEPARATOR", language))
    thousands = str(get_format("THOUSAND_SEPARATOR", language))
    if thousands in ("", decimal):  # some languages define only one separator
        thousands = "\N{NO-BREAK SPACE}"
    has_space = language.partition("-")[0] in SPACED_PERCENT_LANGUAGES
    return NumberFormat(decimal, thousands, SPACED_PERCENT if has_space else "%")


def localize_number(text: str) -> str:
    active_format = current_number_format()
    if active_format.separators == FILE_FORMAT.separators:
        return text
    # Replace both separators in one pass, because some languages swap them.
    return text.translate(
        {ord("."): active_format.decimal, ord(","): active_format.thousands}
    )


def with_percent_sign(text: str) -> str:
    return f"{text}{current_number_format().percent_sign}"


def number(value: float, spec: str = "g") -> str:
    return localize_number(format(value, spec))


def exact(value: float) -> str:
    """Return the shortest text that represents exactly this number."""
    if not isfinite(value):
        return str(value)
    text = repr(float(value))
    if "e" in text and DECIMAL_FROM <= abs(value) < DECIMAL_TO:
        # format() of the float would round to six decimals.
        text = format(Decimal(text), "f")
    if "e" in text:
        return localize_number(text)
    integer, _, fraction = text.partition(".")
    if abs(value) >= GROUP_DIGITS_FROM:
        integer = f"{int(integer):,}"
    return localize_number(
        integer if fraction in ("", "0") else f"{integer}.{fraction}"
    )


def measurement(
    value: float,
    interval: Interval | None = None,
    *,
    decimals: int | None = None,
    digits: int = TABLE_DIGITS,
) -> str:
    """Format a measured number with the precision that its interval allows.

    Without an interval, show ``digits`` significant digits; ``decimals`` limits the
    decimals.
    """
    if value == 0 or not isfinite(value):
        return exact(value)
    if (fixed_digits := _digits_setting.get()) is not None:
        return _format_rounded(value, _decimals(value, fixed_digits))
    max_decimals = _decimals(value, digits)
    if (
        interval is not None
        and (interval_decimals := _decimals_within(value, interval)) is not None
    ):
        return _format_rounded(value, interval_decimals)
    if decimals is not None:
        return _format_rounded(value, min(decimals, max_decimals))
    return exact(round(value, max_decimals))


def readable_unit(unit: str, values: Iterable[float | None]) -> tuple[float, str]:
    """Return the factor to a readable unit, and its name.

    For times, the smallest value is at least 1, unless the largest would then have too
    many digits. In files, units are unchanged.
    """
    if _is_for_files.get():
        return 1.0, unit
    factor = 1.0
    if unit in TIME_UNITS:
        finite = [abs(value) for value in values if value and isfinite(value)]
        minimum, maximum = min(finite, default=1.0), max(finite, default=1.0)
        for finer in TIME_UNITS[TIME_UNITS.index(unit) + 1 :]:
            if minimum * factor >= 1 or maximum * factor * 1000 >= MAX_TIME_VALUE:
                break
            unit, factor = finer, factor * 1000
    return factor, UNIT_NAMES.get(unit, unit)


def scaled(value: float, factor: float) -> float:
    return value if factor == 1 else float(f"{value * factor:.15g}")


def shared_decimals(values: Iterable[float | None]) -> int:
    finite = [value for value in values if value and isfinite(value)]
    rounded = (round(value, _decimals(value, TABLE_DIGITS)) for value in finite)
    exponents = (
        Decimal(repr(number)).normalize().as_tuple().exponent for number in rounded
    )
    return max([0, *(-int(exponent) for exponent in exponents)])


def ratio(value: float, within: Interval | None = None) -> str:
    """Format a ratio with the precision that its interval allows.

    Without an interval, show three decimals, but at most four significant digits.
    """
    decimals = _ratio_decimals(value, within)
    if decimals is not None:
        return _format_rounded(value, decimals)
    return number(value, ".2g") if 0 < value < 0.01 else exact(value)


def ratio_percent(value: float, within: Interval | None = None) -> str:
    decimals = _ratio_decimals(value, within)
    if decimals is not None:
        return with_percent_sign(_format_rounded(100 * value, decimals - 2))
    if 0 < value < 0.01:
        return with_percent_sign(number(100 * value, ".2g"))
    return with_percent_sign(exact(100 * value))


def percent_change(ratio: float) -> str:
    """Format a ratio as a change: ``+50.0%`` for 1.5."""
    if not isfinite(ratio):
        return exact(ratio)
    ratio_decimals = _ratio_decimals(ratio, None)
    decimals = max(
        (RATIO_DECIMALS if ratio_decimals is None else ratio_decimals) - 2, 0
    )
    percent = round(100 * (ratio - 1), decimals)
    sign = "" if not percent else "+" if percent > 0 else "\N{MINUS SIGN}"
    return with_percent_sign(f"{sign}{number(abs(percent), f',.{decimals}f')}")


def percent_difference(ratio: float, within: Interval | None = None) -> str:
    """Format the distance of a ratio from 1: ``2.5%`` for 0.975 and 1.025."""
    of_interval = None if within is None else _decimals_within(ratio, within)
    decimals = 1 if of_interval is None else max(of_interval - 2, 0)
    return with_percent_sign(number(abs(100 * (ratio - 1)), f",.{decimals}f"))


def _ratio_decimals(value: float, within: Interval | None) -> int | None:
    fixed_digits = _digits_setting.get()
    if fixed_digits is not None and value and isfinite(value):
        return _decimals(value, fixed_digits)
    if (
        within is not None
        and (interval_decimals := _decimals_within(value, within)) is not None
    ):
        return interval_decimals
    if 0 < value < 0.01 or not isfinite(value):
        return None
    return min(RATIO_DECIMALS, _decimals(value, TABLE_DIGITS))


def quoted_ratio(value: float) -> str:
    """Format a ratio for published sentences, whose format must never change."""
    return number(value, ".2g" if 0 < value < 0.01 else f",.{RATIO_DECIMALS}f")


def ratio_ends(interval: Interval) -> tuple[str, str]:
    low, high = (ratio(end, interval) for end in interval)
    return low, high


def with_unit(text: str, unit: str) -> str:
    """Append a unit: ``9.5 MB/s``, but ``9.5%``."""
    if unit == "%":
        return with_percent_sign(text)
    return f"{text}\N{NO-BREAK SPACE}{unit}" if unit else text


def last_digit_value(text: str) -> str:
    """Return the value of a number's last digit: 0.01 for 1.23."""
    _whole, point, decimals = text.partition(current_number_format().decimal)
    return number(10.0 ** -len(decimals), f".{len(decimals)}f") if point else "1"


def overhead(ratio: float, within: Interval | None = None) -> str:
    """Format the overhead of a ratio in percent; ``within`` is the ratio's interval."""
    decimals = None if within is None else _decimals_within(ratio, within)
    if (fixed_digits := _digits_setting.get()) is not None:
        decimals = _decimals(ratio, fixed_digits)
    return _format_overhead(ratio, 1 if decimals is None else max(decimals - 2, 0))


def _decimals(value: float, digits: int) -> int:
    """Return the decimals for significant digits; negative if tens are rounded."""
    # Use the exponent after rounding: 9.996 with three digits is 10.0.
    return digits - 1 - int(f"{value:.{digits - 1}e}".partition("e")[2])


def _decimals_within(value: float, within: Interval) -> int | None:
    low, high = within
    half = (high - low) / 2
    if not (isfinite(half) and half > 0):
        return None
    max_decimals, min_decimals = (
        _decimals(value, n) for n in (CHECK_DIGITS, INTERVAL_DIGITS)
    )
    if low > 0 and high > WIDE_INTERVAL_FACTOR * low:
        return min_decimals
    return min(max(_decimals(half, INTERVAL_DIGITS), min_decimals), max_decimals)


def _format_rounded(value: float, decimals: int) -> str:
    return number(round(value, decimals), f",.{max(decimals, 0)}f")


def percent(fraction: float, spec: str = ".0f") -> str:
    return with_percent_sign(number(100 * fraction, spec))


def rounded_overhead(ratio: float) -> str:
    return _format_overhead(ratio, 0)


def _format_overhead(ratio: float, decimals: int) -> str:
    loss = round(100 * (1 - ratio), decimals)
    sign = "\N{MINUS SIGN}" if loss < 0 else ""
    return with_percent_sign(f"{sign}{number(abs(loss), f',.{decimals}f')}")


def ratio_shade(value: float) -> str:
    if value <= 0:
        return f"slow-{SHADE_COUNT}"
    direction, slowness = ("slow", value) if value < 1 else ("fast", 1 / value)
    step = bisect_left(SHADE_LIMITS, slowness)
    return NEUTRAL_SHADE if step == SHADE_COUNT else f"{direction}-{SHADE_COUNT - step}"


def shade_steps() -> list[tuple[str, float]]:
    """Return each shade and the ratio at which it starts, slowest first."""
    slow = [
        (f"slow-{SHADE_COUNT - step}", edge) for step, edge in enumerate(SHADE_LIMITS)
    ]
    fast = [
        (f"fast-{step}", 1 / edge)
        for step, edge in enumerate(SHADE_LIMITS[::-1], start=1)
    ]
    return [*slow, (NEUTRAL_SHADE, 1.0), *fast]


def axis_position(value: float, low: float, high: float) -> float:
    """Return the position on a log axis, from 0 at ``low`` to 1 at ``high``."""
    if value <= 0:
        return 0.0
    position = (log2(value) - log2(low)) / (log2(high) - log2(low))
    return min(max(position, 0.0), 1.0)


def memory_size(count: int) -> str:
    """Format bytes in the largest unit that gives a whole number."""
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count and count % 1024**power == 0:
            return f"{count // 1024**power} {unit}"
    return f"{localize_number(f'{count:,}')} B"


def file_size(count: int) -> str:
    units = ((1024**4, "TiB"), (1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB"))
    for factor, unit in units:
        if count >= factor:
            text = f"{count / factor:,.1f}".removesuffix(".0")
            return f"{localize_number(text)}\N{NO-BREAK SPACE}{unit}"
    return f"{count}\N{NO-BREAK SPACE}B"


def round_to_difference(low: float, high: float) -> tuple[float, float]:
    """Round both values to two significant digits of their difference."""
    digits = 1 - floor(log10(high - low))
    return round(low, digits), round(high, digits)


def day_text(day: date) -> str:
    """Format a day: "28. November 2026", but ISO 8601 in English and in files."""
    return date_format(day) if _date_patterns() else f"{day:%Y-%m-%d}"


def month_text(month: date) -> str:
    is_long = bool(_date_patterns())
    return date_format(month, "YEAR_MONTH_FORMAT") if is_long else f"{month:%Y-%m}"


def moment_text(moment: datetime | None, time: str = "%H:%M %Z") -> str:
    """Format a time, to the minute with its time zone; return "" for None."""
    return moment.strftime(f"{day_pattern()} {time}") if moment else ""


def day_pattern() -> str:
    """Return the short form of days for strftime and Plotly."""
    return (_date_patterns() or ISO_PATTERNS)[0]


def month_pattern() -> str:
    return (_date_patterns() or ISO_PATTERNS)[1]


def localize_day(text: str) -> str:
    """Format a text that is a day in ISO 8601; return others unchanged."""
    if ISO_DAY.fullmatch(text):
        with suppress(ValueError):
            return day_text(date.fromisoformat(text))
    return text


def _date_patterns() -> tuple[str, str] | None:
    language = None if _is_for_files.get() else get_language()
    return DATE_PATTERNS.get((language or "").partition("-")[0])
