"""Canonical parameters, options and systems, and their fingerprints.

See docs/method.md, From samples to a result.
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
from benchmarks.hypervisor_names import canonical_platform
from benchmarks.sentences import Sentence
from benchmarks.text_validation import clean_text, normalize_whitespace

MAX_PARAMETERS: Final = 64
MAX_KEY: Final = 64
MAX_VALUE: Final = 1000

WORD_SYNONYMS: Final = {
    "seq": "sequential",
    "rand": "random",
    "rnd": "random",
    "reads": "read",
    "writes": "write",
    **dict.fromkeys(("true", "yes", "on"), "on"),
    **dict.fromkeys(("false", "no", "off"), "off"),
}

# Parameters whose values are names or commands: 4.10 is not 4.1, and -T is not -t.
_VERBATIM_KEY = re.compile(
    r"(?:.*_)?(?:version|release|build|kernel|args|arguments|flags|command|path|file)"
)
# A number has no leading zeros: 007 is a name.
_NUMBER = re.compile(
    r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII
)
_QUANTITY = re.compile(rf"({_NUMBER.pattern}) ?([^\d\s.,;+-][^\s,;]*)", re.ASCII)
_WORD = re.compile(r"[^\W\d_](?:[\w -]*\w)?")
_EXACT = Context(prec=4 * MAX_VALUE)

# Canonical units by dimension. Numbers without a unit stay plain numbers.
_SPELLED_IN: Final = {**units.BASE_UNITS, "ratio": "%", "frequency": "Hz"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemDescription:
    """The properties that identify a system; empty or None if not stated."""

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
    """Return parameters in canonical spelling, sorted by key; raise InvalidError."""
    canonical = {}
    for key, value in _by_normalized_key(parameters):
        # Only short texts are cached: True, 1 and 1.0 would be the same cache key.
        is_usual = isinstance(value, str) and len(value) <= MAX_VALUE
        canonical[key] = (_cached_canonical_text if is_usual else _canonical_text)(
            key, value
        )
    return canonical


def display_parameters(parameters: Mapping[str, object]) -> dict[str, str]:
    """Return parameters as text, with values as they were written.

    Raises InvalidError.
    """
    return {key: _text_of(key, value) for key, value in _by_normalized_key(parameters)}


def case_fingerprint(tool: str, metric: str, parameters: Mapping[str, object]) -> str:
    return _digest("case", [tool, metric, canonical_parameters(parameters)])


def system_fingerprint(system: SystemDescription) -> str:
    """Return a digest that does not depend on spelling, or raise InvalidError."""
    if system.guest_bits not in (None, 32, 64):
        raise InvalidError(
            "invalid_parameter",
            "guest_bits is {guest_bits}. Send 32, 64 or null.",
            guest_bits=system.guest_bits,
        )
    platform = canonical_platform(
        system.hypervisor, system.hypervisor_version, system.virtualization
    )
    canonical = {
        "host": _fold_text(system.host, what=Sentence("host")),
        "hypervisor": platform.hypervisor.casefold(),
        "hypervisor_version": _fold_text(
            platform.version, what=Sentence("hypervisor version")
        ),
        "virtualization": platform.virtualization,
        "guest_os": _fold_text(system.guest_os, what=Sentence("guest OS")),
        "guest_bits": system.guest_bits,
        "vcpus": _checked_size(system.vcpus, what="vcpus"),
        "memory_bytes": _checked_size(system.memory_bytes, what="memory_bytes"),
        "options": canonical_parameters(system.options),
    }
    return _digest("system", canonical)


def _by_normalized_key(parameters: Mapping[str, object]) -> list[tuple[str, object]]:
    if len(parameters) > MAX_PARAMETERS:
        raise InvalidError(
            "invalid_parameter",
            "There are {n} parameters; at most {most} are allowed.",
            n=len(parameters),
            most=MAX_PARAMETERS,
        )
    spellings: dict[str, str] = {}
    for raw_key in parameters:
        key = _normalized_key(raw_key)
        if key in spellings:
            raise InvalidError(
                "invalid_parameter",
                'The parameters "{one}" and "{other}" are the same '
                '("{key}"). Send only one of them.',
                one=spellings[key],
                other=shorten(raw_key),
                key=key,
            )
        spellings[key] = raw_key
    return [(key, parameters[spellings[key]]) for key in sorted(spellings)]


@lru_cache(maxsize=1024)
def _normalized_key(raw_key: str) -> str:
    tidy = normalize_whitespace(
        clean_text(raw_key, label=Sentence("parameter name"))
    ).casefold()
    key = re.sub(r"[ -]+", "_", tidy)
    if not key or len(key) > MAX_KEY:
        raise InvalidError(
            "invalid_parameter",
            'The parameter name "{name}" must have between 1 and {most} characters.',
            name=shorten(raw_key),
            most=MAX_KEY,
        )
    return key


def _text_of(key: str, value: object) -> str:
    label = _key_label(key)
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float):
        # Not beyond the range of float; repr() of 4,300 digits raises a ValueError.
        if isinstance(value, int) and value.bit_length() > 1024:
            raise InvalidError(
                "invalid_parameter", "The {named} has too many digits.", named=label
            )
        # repr(): the exact binary value of a float has dozens of digits.
        number = Decimal(repr(value))
        if not number.is_finite():
            raise InvalidError(
                "invalid_parameter",
                "The {named} is {value}, which is not a number.",
                named=label,
                value=str(value),
            )
        return _format_number(number)
    if not isinstance(value, str):
        kind: str = type(value).__name__
        if isinstance(value, list | dict):
            is_list = isinstance(value, list)
            kind = Sentence("a list") if is_list else Sentence("an object")
        raise InvalidError(
            "invalid_parameter",
            "The {named} must be text, a number, true or false, not {kind}. Leave it "
            "out if it is not known.",
            named=label,
            kind="null" if value is None else kind,
        )
    text = normalize_whitespace(clean_text(value, label=label))
    if not text or len(text) > MAX_VALUE:
        raise InvalidError(
            "invalid_parameter",
            "The {named} has {n} characters; between 1 and {most} are allowed. "
            "Leave it out if it is not known.",
            named=label,
            n=len(text),
            most=MAX_VALUE,
        )
    return text


@lru_cache(maxsize=1024)
def _key_label(key: str) -> Sentence:
    return Sentence('parameter "{name}"', name=shorten(key))


def _canonical_text(key: str, value: object) -> str:
    text = _text_of(key, value)
    if isinstance(value, str) and _VERBATIM_KEY.fullmatch(key):
        return text
    if _NUMBER.fullmatch(text):
        return _format_number(Decimal(text))
    quantity = _QUANTITY.fullmatch(text)
    unit = units.find_unit(quantity[2]) if quantity else None
    if quantity and unit and unit.dimension in _SPELLED_IN:
        base = _SPELLED_IN[unit.dimension]
        ratio = unit.factor / units.get_unit(base).factor
        number = _EXACT.multiply(Decimal(quantity[1]), Decimal(ratio.numerator))
        number = _EXACT.divide(number, Decimal(ratio.denominator))
        return f"{_format_number(number)} {base}"
    # Case is ignored only in words: 4k is not 4K.
    if _WORD.fullmatch(text):
        word = text.casefold()
        return WORD_SYNONYMS.get(word, word)
    return text


_cached_canonical_text = lru_cache(maxsize=4096)(_canonical_text)


def _format_number(number: Decimal) -> str:
    """Return a number in decimal notation: 1024, 0.5; 1E+40 if that is too long."""
    if not number:
        return "0"
    tidy = number.normalize(_EXACT)
    # With an exponent outside this range: 1e9999 would have ten thousand digits.
    return f"{tidy:f}" if -20 <= tidy.adjusted() <= 30 else str(tidy)


def _fold_text(text: str, *, what: str) -> str:
    return normalize_whitespace(clean_text(text, label=what)).casefold()


def _checked_size(value: int | None, *, what: str) -> int | None:
    if value is not None and (isinstance(value, bool) or value < 1):
        raise InvalidError(
            "invalid_parameter",
            "{what} is {value}. Send a whole number above 0, or null.",
            what=what,
            value=value,
        )
    return value


def _digest(kind: str, content: object) -> str:
    # With ``kind``, cases and systems never have the same digest.
    text = json.dumps([kind, content], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
