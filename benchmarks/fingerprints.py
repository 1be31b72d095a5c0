"""Canonical parameters, options and systems, and their fingerprints.

Order, unit prefix and spelling do not matter (``100MiB`` is ``102400 KiB``), the size
does (``100MB`` is not ``100MiB``). Nothing is guessed: ``4k`` stays ``4k``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal
from functools import lru_cache
from typing import Final

from benchmarks import units
from benchmarks.errors import InvalidError, shorten
from benchmarks.platforms import canonical_platform
from benchmarks.sentences import Sentence
from benchmarks.text import clean_text, collapse

MAX_PARAMETERS: Final = 64
MAX_KEY: Final = 64
MAX_VALUE: Final = 1000

WORDS: Final = {
    "seq": "sequential",
    "rand": "random",
    "rnd": "random",
    "reads": "read",
    "writes": "write",
    **dict.fromkeys(("true", "yes", "on"), "on"),
    **dict.fromkeys(("false", "no", "off"), "off"),
}

# Texts under these keys are names or commands: 4.10 is not 4.1, and -T is not -t.
_VERBATIM_KEY = re.compile(
    r"(?:.*_)?(?:version|release|build|kernel|args|arguments|flags|command|path|file)"
)
# No leading zeros: 007 is a name.
_NUMBER = re.compile(
    r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII
)
_QUANTITY = re.compile(rf"({_NUMBER.pattern}) ?([^\d\s.,;+-][^\s,;]*)", re.ASCII)
_WORD = re.compile(r"[^\W\d_](?:[\w -]*\w)?")
# Wide enough that no number of MAX_VALUE digits is ever rounded.
_EXACT = Context(prec=4 * MAX_VALUE)

# The unit of each dimension; counts and plain ratios are numbers.
_SPELLED_IN: Final = {**units.BASE_UNITS, "ratio": "%", "frequency": "Hz"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemDescription:
    """What identifies a system under test. Empty texts and None: not stated."""

    host: str
    hypervisor: str
    hypervisor_version: str = ""
    virtualization: str = ""
    guest_os: str = ""
    guest_bits: int | None = None
    vcpus: int | None = None
    memory_bytes: int | None = None
    options: Mapping[str, object] = field(default_factory=dict)


def canonical_parameters(parameters: Mapping[str, object]) -> dict[str, str]:
    """The parameters in their one spelling, sorted by key; what a case is known by."""
    canonical = {}
    for key, value in _by_normalized_key(parameters):
        # Texts only: True, 1 and 1.0 are one key of a cache. Short ones, to bound it.
        # A log says the same block sizes and threads over and over.
        is_usual = isinstance(value, str) and len(value) <= MAX_VALUE
        canonical[key] = (_remembered if is_usual else _spelled)(key, value)
    return canonical


def display_parameters(parameters: Mapping[str, object]) -> dict[str, str]:
    """The parameters under their normalized keys, the values as people wrote them."""
    return {key: _text_of(key, value) for key, value in _by_normalized_key(parameters)}


def case_fingerprint(tool: str, metric: str, parameters: Mapping[str, object]) -> str:
    """Equal for the same case. ``tool`` is the slug, ``metric`` the metric's name."""
    return _digest("case", [tool, metric, canonical_parameters(parameters)])


def system_fingerprint(system: SystemDescription) -> str:
    """Equal for the same system, however it was spelled."""
    if system.guest_bits not in (None, 32, 64):
        raise InvalidError(
            "parameter",
            "guest_bits is {guest_bits}: send 32, 64 or null.",
            guest_bits=system.guest_bits,
        )
    platform = canonical_platform(
        system.hypervisor, system.hypervisor_version, system.virtualization
    )
    canonical = {
        "host": _folded(system.host, what=Sentence("host")),
        "hypervisor": platform.hypervisor.casefold(),
        "hypervisor_version": _folded(
            platform.version, what=Sentence("hypervisor version")
        ),
        "virtualization": platform.virtualization,
        "guest_os": _folded(system.guest_os, what=Sentence("guest OS")),
        "guest_bits": system.guest_bits,
        "vcpus": _checked_size(system.vcpus, what="vcpus"),
        "memory_bytes": _checked_size(system.memory_bytes, what="memory_bytes"),
        "options": canonical_parameters(system.options),
    }
    return _digest("system", canonical)


def _by_normalized_key(parameters: Mapping[str, object]) -> list[tuple[str, object]]:
    if len(parameters) > MAX_PARAMETERS:
        raise InvalidError(
            "parameter",
            "There are {n} parameters: at most {most} fit.",
            n=len(parameters),
            most=MAX_PARAMETERS,
        )
    spellings: dict[str, str] = {}
    for given in parameters:
        key = _normalized_key(given)
        if key in spellings:
            raise InvalidError(
                "parameter",
                'The parameters "{one}" and "{other}" are the same one '
                '("{key}"). Send it once.',
                one=spellings[key],
                other=shorten(given),
                key=key,
            )
        spellings[key] = given
    return [(key, parameters[spellings[key]]) for key in sorted(spellings)]


@lru_cache(maxsize=1024)
def _normalized_key(given: str) -> str:
    tidy = collapse(clean_text(given, what=Sentence("name of a parameter"))).casefold()
    key = re.sub(r"[ -]+", "_", tidy)
    if not key or len(key) > MAX_KEY:
        raise InvalidError(
            "parameter",
            'A parameter is called "{name}": its name needs between 1 and '
            "{most} characters.",
            name=shorten(given),
            most=MAX_KEY,
        )
    return key


def _text_of(key: str, value: object) -> str:
    named = _named(key)
    # Before numbers, for Python counts a bool among the integers.
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float):
        # As large as a float can be; repr() of 4,300 digits raises a ValueError.
        if isinstance(value, int) and value.bit_length() > 1024:
            raise InvalidError(
                "parameter", "The {named} is a number of too many digits.", named=named
            )
        # By its shortest text: the float's binary value has dozens of digits.
        number = Decimal(repr(value))
        if not number.is_finite():
            raise InvalidError(
                "parameter",
                "The {named} is {value}, which is not a number.",
                named=named,
                value=str(value),
            )
        return _plain(number)
    if not isinstance(value, str):
        kind: str = type(value).__name__
        if isinstance(value, list | dict):
            is_list = isinstance(value, list)
            kind = Sentence("a list") if is_list else Sentence("an object")
        raise InvalidError(
            "parameter",
            "The {named} must be a text, a number or true/false, not "
            "{kind}. Leave it out if it is not known.",
            named=named,
            kind="null" if value is None else kind,
        )
    text = collapse(clean_text(value, what=named))
    if not text or len(text) > MAX_VALUE:
        raise InvalidError(
            "parameter",
            "The {named} has {n} characters; it needs between 1 and "
            "{most}. Leave it out if it is not known.",
            named=named,
            n=len(text),
            most=MAX_VALUE,
        )
    return text


@lru_cache(maxsize=1024)
def _named(key: str) -> Sentence:
    return Sentence('parameter "{name}"', name=shorten(key))


def _spelled(key: str, value: object) -> str:
    text = _text_of(key, value)
    if isinstance(value, str) and _VERBATIM_KEY.fullmatch(key):
        return text
    if _NUMBER.fullmatch(text):
        return _plain(Decimal(text))
    quantity = _QUANTITY.fullmatch(text)
    unit = units.find(quantity[2]) if quantity else None
    if quantity and unit and unit.dimension in _SPELLED_IN:
        # 102400 KiB is 104857600 B.
        base = _SPELLED_IN[unit.dimension]
        ratio = unit.factor / units.unit(base).factor
        number = _EXACT.multiply(Decimal(quantity[1]), Decimal(ratio.numerator))
        return f"{_plain(_EXACT.divide(number, Decimal(ratio.denominator)))} {base}"
    # Case means nothing in plain words; beside digits or signs it may (4k, 4K).
    if _WORD.fullmatch(text):
        word = text.casefold()
        return WORDS.get(word, word)
    return text


_remembered = lru_cache(maxsize=4096)(_spelled)


def _plain(number: Decimal) -> str:
    """The shortest spelling of a number: 1024, 0.5, 1E+40."""
    if not number:
        return "0"
    tidy = number.normalize(_EXACT)
    # Written out, 1e9999 would have ten thousand digits.
    return f"{tidy:f}" if -20 <= tidy.adjusted() <= 30 else str(tidy)


def _folded(text: str, *, what: str) -> str:
    return collapse(clean_text(text, what=what)).casefold()


def _checked_size(value: int | None, *, what: str) -> int | None:
    if value is not None and (isinstance(value, bool) or value < 1):
        raise InvalidError(
            "parameter",
            "{what} is {value}: send a whole number above 0 or null.",
            what=what,
            value=value,
        )
    return value


def _digest(kind: str, content: object) -> str:
    # The kind stands in the text: a case never has the fingerprint of a system.
    text = json.dumps([kind, content], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
