"""Sentences that keep their template and parameters, for translation.

A Sentence is a str in English; pages render it in the reader's language.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from string import Formatter
from typing import Any, Final, NewType, Protocol

Parameter = str | int | float
Template = NewType("Template", str)
"""A text marked by `template()`, so that translators find it."""

# json.dumps keeps the order of keys, so every stored sentence begins like this.
_MARK: Final = '{"template": '
_TOO_LONG: Final = 1e15  # from here on nobody reads all digits of a number
_REMEMBERED: Final = 8_192  # sentences that are read again and again: reasons of cells


class Sentence(str):
    """``template`` with its ``parameters`` put in; they may be sentences themselves.

    ``plural`` is the template for all numbers but 1 of the parameter ``n``.
    """

    template: str
    plural: str
    parameters: Mapping[str, Parameter]

    def __new__(cls, template: str, /, **parameters: Parameter) -> Sentence:
        return _made(template, "", parameters)

    # By default pickle would pass the finished text to __new__ as a template.
    def __reduce__(self) -> tuple[Any, ...]:
        return (_made, (self.template, self.plural, dict(self.parameters)))


def sentence_of(text: str, values: Mapping[str, Parameter]) -> Sentence:
    """Return a template with its values, or any other text, as a sentence."""
    if isinstance(text, Sentence):
        return text
    if not values and {"{", "}"} & set(text):
        return _made("{text}", "", {"text": text})
    return _made(text, "", values)


def template(text: str) -> Template:
    """Mark a template that stands apart from the sentences made with it."""
    return Template(text)


def counted(singular: str, plural: str, /, **parameters: Parameter) -> Sentence:
    """Return a sentence about ``n`` things."""
    return _made(singular, plural, parameters)


def joined(parts: Sequence[str], between: str = " ") -> Sentence:
    """Return several texts as one that still knows its parts; empty ones are none."""
    # As parameters: their braces mean nothing, and each is translated by itself.
    named = {f"part{at}": part for at, part in enumerate(filter(None, parts))}
    return _made(between.join(f"{{{name}}}" for name in named), "", named)


def either(parts: Sequence[str]) -> str:
    """Return texts of which one is meant: "a or b"."""
    return reduce(
        lambda one, other: Sentence("{one} or {other}", one=one, other=other), parts
    )


def every(parts: Sequence[str]) -> str:
    """Return texts that are all meant: "a and b"."""
    return reduce(
        lambda one, other: Sentence("{one} and {other}", one=one, other=other), parts
    )


def _made(template: str, plural: str, parameters: Mapping[str, Parameter]) -> Sentence:
    chosen = plural if plural and parameters["n"] != 1 else template
    sentence = str.__new__(Sentence, chosen.format(**parameters))
    sentence.template, sentence.plural = template, plural
    sentence.parameters = parameters
    return sentence


def in_unit(text: str, unit: str) -> str:
    """Return a sentence with a unit behind its speeds: "59 MB/s (64 %)"."""
    if not unit or not isinstance(text, Sentence):
        return text
    # Only the sentence about a shape's speeds has a centre (`analysis.shape`).
    if "centre" in text.parameters:
        template = text.template.replace("} (", "} {unit} (")
        return _made(template, text.plural, {**text.parameters, "unit": unit})
    parts = {
        name: in_unit(part, unit) if isinstance(part, str) else part
        for name, part in text.parameters.items()
    }
    return _made(text.template, text.plural, parts)


class Teller(Protocol):
    """Another language: its templates, and how it writes a number."""

    def template(self, sentence: Sentence) -> str:
        """Return the template to say a sentence with."""

    def number(self, written: str) -> str:
        """Return a number that was written with a decimal point."""


def translated(text: str, teller: Teller) -> str:
    """Return a sentence as a teller says it; any other text as it is."""
    if not isinstance(text, Sentence):
        return text
    return _Telling(teller).vformat(teller.template(text), (), text.parameters)


class _Telling(Formatter):
    """Puts parameters in as a teller writes them."""

    def __init__(self, teller: Teller) -> None:
        self._teller = teller

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, str):
            return translated(value, self._teller)
        written = format(value, format_spec)
        # The format "g" turns to exponents at a million already.
        if "e+" in written and abs(value) < _TOO_LONG:
            written = format(value, ",.0f")
        return self._teller.number(written)


def stored(text: str) -> str:
    """Return a sentence as a text that ``restored`` makes a sentence of again."""
    if text.startswith(_MARK):  # somebody's own text, and no sentence of ours
        text = Sentence("{text}", text=text)
    return json.dumps(_parts(text)) if isinstance(text, Sentence) else text


@lru_cache(_REMEMBERED)
def restored(text: str) -> str:
    """Return what ``stored`` kept; a text that was no sentence as it is."""
    if not text.startswith(_MARK):
        return text
    try:
        whole: str = _whole(json.loads(text))
    except (ValueError, LookupError, TypeError):
        return text  # somebody's own text that looks like one of ours
    return whole


def kept_words(kept: Mapping[str, str]) -> str:
    """Return the sentence of a document that keeps its ``words`` beside its English."""
    return restored(kept.get("words") or kept.get("sentence", ""))


def _parts(part: Parameter) -> Any:
    if isinstance(part, Sentence):
        parts = {name: _parts(value) for name, value in part.parameters.items()}
        return {"template": part.template, "plural": part.plural, "parameters": parts}
    plain = getattr(part, "item", None)  # numpy's numbers are none of JSON's
    return plain() if plain else part


def _whole(kept: Any) -> Any:
    if not isinstance(kept, dict):
        return kept
    parts = {name: _whole(value) for name, value in kept["parameters"].items()}
    return _made(kept["template"], kept["plural"], parts)
