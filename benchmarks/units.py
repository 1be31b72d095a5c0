"""The table of all known units, and conversion between them.

Ambiguous spellings (``KB``, ``Mb``, ``MBps``) are rejected, except netperf's ``us/KB``,
whose KB is documented as 1024 B.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from benchmarks.errors import InvalidError, closest_names, did_you_mean, shorten
from benchmarks.sentences import Sentence, join_sentences

_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_MICRO = Fraction(1, 10**6)
# A double has at most 17 digits, and a factor far fewer than 80.
_EXACT: Final = Context(prec=100, Emin=-9999, Emax=9999, traps=[Inexact])
_QUANTITY = re.compile(r"([+-]?[\d.]+(?:E[+-]?\d+)?)(?: (\S+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit; ``factor`` converts to the base unit of its dimension."""

    symbol: str
    dimension: str
    factor: Fraction


@dataclass(frozen=True, order=True)
class Quantity:
    """A number with its unit, which is "" for a plain number."""

    amount: float
    unit: str = ""


def _amounts_of_data() -> Iterator[tuple[str, Fraction]]:
    for prefix, size in (_DECIMAL | _BINARY).items():
        yield f"{prefix}B", Fraction(size)
    for prefix, size in _DECIMAL.items():
        yield f"{prefix}bit", Fraction(size, 8)


def _table() -> Iterator[Unit]:
    for symbol, factor in _amounts_of_data():
        yield Unit(symbol, Sentence("data"), factor)
        yield Unit(f"{symbol}/s", Sentence("data rate"), factor)
    for prefix, size in _DECIMAL.items():
        yield Unit(f"{prefix}flop/s", Sentence("floating-point rate"), Fraction(size))
    for dimension, factors in _SINGLE.items():
        for symbol, fraction in factors.items():
            yield Unit(symbol, dimension, Fraction(fraction))


BASE_UNITS: Final = {
    "data": "B",
    "data rate": "B/s",
    "floating-point rate": "flop/s",
    "time": "s",
    "energy": "J",
    "power": "W",
    "rate": "1/s",
}
# Sentences mark names for translation; as keys they are equal to strings.
_SINGLE: Final[dict[str, dict[str, int | Fraction]]] = {
    Sentence("time"): {
        "s": 1,
        "ms": Fraction(1, 1000),
        "us": _MICRO,
        "ns": Fraction(1, 10**9),
        "min": 60,
        "h": 3600,
    },
    Sentence("energy"): {"J": 1, "kJ": 1000, "MJ": 10**6, "Wh": 3600, "kWh": 3_600_000},
    Sentence("power"): {"W": 1, "mW": Fraction(1, 1000), "kW": 1000},
    Sentence("ratio"): {"1": 1, "%": Fraction(1, 100)},
    Sentence("count"): {"": 1},
    # MIPS and MWIPS are millions of instructions per second.
    Sentence("rate"): {
        "1/s": 1,
        "1/min": Fraction(1, 60),
        "MIPS": 10**6,
        "MWIPS": 10**6,
        "GUP/s": 10**9,
    },
    Sentence("CPU time per data"): {
        "us/KiB": _MICRO / 1024,
        "us/KB": _MICRO / 1024,
    },
    Sentence("frequency"): {"Hz": 1, "kHz": 1000, "MHz": 10**6, "GHz": 10**9},
}

UNITS: Final[Mapping[str, Unit]] = MappingProxyType(
    {unit.symbol: unit for unit in _table()}
)

ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
        **dict.fromkeys(("msec", "millisecond", "milliseconds"), "ms"),
        "\u00b5s": "us",  # micro sign
        "\u03bcs": "us",  # Greek mu
        **dict.fromkeys(("usec", "microsecond", "microseconds"), "us"),
        **dict.fromkeys(("nsec", "nanosecond", "nanoseconds"), "ns"),
        **dict.fromkeys(("minute", "minutes"), "min"),
        **dict.fromkeys(("hour", "hours"), "h"),
        **dict.fromkeys(("byte", "bytes"), "B"),
        "bits": "bit",
        **{f"{unit}/sec": f"{unit}/s" for unit, _ in _amounts_of_data()},
        **{f"{p}bits/s": f"{p}bit/s" for p in _DECIMAL},
        **{f"{p}bits/sec": f"{p}bit/s" for p in _DECIMAL},
        **{f"{p}bps": f"{p}bit/s" for p in _DECIMAL},
        "10^6bits/s": "Mbit/s",
        "10^6bits/sec": "Mbit/s",
        **{f"{p}FLOPS": f"{p}flop/s" for p in ("M", "G", "T")},
        **{f"{p}flops": f"{p}flop/s" for p in ("k", "M", "G", "T")},
        "KFLOPS": "kflop/s",
        "Ws": "J",
        "joule": "J",
        "joules": "J",
        "watt": "W",
        "watts": "W",
        "Watts": "W",
        "percent": "%",
        "count": "",
        **dict.fromkeys(("/s", "IOps", "IOPS", "req/s", "ops/s"), "1/s"),
        **dict.fromkeys(("Trans/s", "trans/s", "tps"), "1/s"),
        **dict.fromkeys(("bogo ops/s", "events/s", "frames/s"), "1/s"),
        "GUPS": "GUP/s",
        "usec/KB": "us/KB",
        "\u00b5s/KB": "us/KB",
        "\u00b5s/KiB": "us/KiB",
    }
)

# Spellings with several meanings, and the units that they may mean.
AMBIGUOUS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("KB", "kb", "Kb", "K", "k"), "kB (1000 B) or KiB (1024 B)"),
        **dict.fromkeys(("Mb", "mb", "M", "m", "MByte", "MBytes"), "MB, MiB or Mbit"),
        **dict.fromkeys(("Gb", "gb", "G", "g", "GByte", "GBytes"), "GB, GiB or Gbit"),
        **dict.fromkeys(("KB/s", "KB/sec", "kb/s", "Kb/s"), "kB/s, KiB/s or kbit/s"),
        **dict.fromkeys(("KBps", "Kbps", "kBps"), "kB/s, KiB/s or kbit/s"),
        **dict.fromkeys(("Mb/s", "Mb/sec", "mb/s", "MBps"), "MB/s, MiB/s or Mbit/s"),
        **dict.fromkeys(("MBytes/s", "MBytes/sec", "Mbytes/sec"), "MB/s or MiB/s"),
        **dict.fromkeys(("Gb/s", "Gb/sec", "gb/s", "GBps"), "GB/s, GiB/s or Gbit/s"),
    }
)


def find_unit(symbol: str) -> Unit | None:
    """Case matters: mW is not MW."""
    return UNITS.get(symbol) or UNITS.get(ALIASES.get(symbol, symbol))


def get_unit(symbol: str) -> Unit:
    """Raise InvalidError if the symbol is unknown or ambiguous."""
    if unit := find_unit(symbol):
        return unit
    if meanings := AMBIGUOUS.get(symbol):
        raise InvalidError(
            "invalid_unit",
            'The unit "{symbol}" is ambiguous. Use {meanings}.',
            symbol=symbol,
            meanings=meanings,
        )
    unknown = Sentence('The unit "{symbol}" is unknown.', symbol=shorten(symbol))
    suggestion = did_you_mean(
        closest_names(symbol, [unit_symbol for unit_symbol in UNITS if unit_symbol])
    )
    rule = Sentence("Units are case-sensitive. Use an empty unit for counts.")
    raise InvalidError("invalid_unit", join_sentences([unknown, suggestion, rule]))


def convert(value: float, from_unit: str, to_unit: str) -> float:
    """Convert a value to another unit.

    The shortest decimal form of ``value`` is converted exactly and rounded once. Raises
    InvalidError for different dimensions, and if the value is not finite or becomes too
    large.
    """
    source, target = get_unit(from_unit), get_unit(to_unit)
    if source.dimension != target.dimension:
        raise InvalidError(
            "invalid_unit",
            "{source} cannot be converted to {target}.",
            source=_described(source),
            target=_described(target),
        )
    if source.factor == target.factor:
        return value
    if not math.isfinite(value):
        raise InvalidError(
            "invalid_unit",
            "{value} {symbol} is not a finite number.",
            value=str(value),
            symbol=source.symbol,
        )
    try:
        factor, decimal = _factors(source.symbol, target.symbol)
        # The repr of numpy numbers is not a number.
        digits = repr(float(value))
        if decimal is None:
            converted = float(Fraction(digits) * factor)
        else:
            converted = float(_EXACT.multiply(Decimal(digits), decimal))
    except OverflowError:
        converted = math.inf
    if math.isfinite(converted):
        return converted
    raise InvalidError(
        "invalid_unit",
        "{value:g} {symbol} is too large to convert to {other}.",
        value=value,
        symbol=source.symbol,
        other=target.symbol,
    )


@lru_cache(maxsize=1024)
def _factors(source: str, target: str) -> tuple[Fraction, Decimal | None]:
    """Return the factor between units, also as a decimal (faster) if that is exact."""
    factor = UNITS[source].factor / UNITS[target].factor
    try:
        decimal = _EXACT.divide(Decimal(factor.numerator), Decimal(factor.denominator))
    except Inexact:
        decimal = None
    return factor, decimal


def format_whole_size(size: int, prefixes: str = "GMK") -> str:
    """Return bytes in the largest binary unit that gives a whole number: "4 KiB"."""
    for prefix in prefixes:
        factor = _BINARY[f"{prefix}i"]
        if size >= factor and size % factor == 0:
            return f"{size // factor} {prefix}iB"
    return f"{size} B"


def _described(unit: Unit) -> str:
    name = f'"{unit.symbol}"' if unit.symbol else Sentence("no unit")
    return Sentence("{name} ({dimension})", name=name, dimension=unit.dimension)


def parse_quantity(canonical: str) -> Quantity | None:
    """Parse a parameter in canonical spelling; None if it is a name, such as ``4k``.

    In canonical spelling (`fingerprints`), ``4 KiB`` and ``4096 B`` are the same.
    """
    match = _QUANTITY.fullmatch(canonical)
    if match is None or (match[2] and find_unit(match[2]) is None):
        return None
    try:
        amount = float(match[1])
    except ValueError:  # 1.2.3
        return None
    return Quantity(amount, match[2] or "") if math.isfinite(amount) else None
