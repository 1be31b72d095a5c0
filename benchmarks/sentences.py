"""Sentences that keep their template and parameters, so that they can be translated.

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
"""The result of `template()`, by which messages for translation are found."""

# Serialized sentences begin like this; json.dumps keeps the order of keys.
_MARK: Final = '{"template": '
_MAX_PLAIN_NUMBER: Final = 1e15  # from here on, numbers have an exponent
_DESERIALIZE_CACHE_SIZE: Final = 8_192  # reasons of cells are read repeatedly


class Sentence(str):
    """A text made from ``template`` and ``parameters``, which may be sentences, too.

    If there is a ``plural``, it replaces the template unless the parameter ``n`` is 1.
    """

    template: str
    plural: str
    parameters: Mapping[str, Parameter]

    def __new__(cls, template: str, /, **parameters: Parameter) -> Sentence:
        return _build(template, "", parameters)

    # By default, pickle would pass the rendered text as the template.
    def __reduce__(self) -> tuple[Any, ...]:
        return (_build, (self.template, self.plural, dict(self.parameters)))


def to_sentence(text: str, values: Mapping[str, Parameter]) -> Sentence:
    """Return a template with values, or any other text, as a Sentence."""
    if isinstance(text, Sentence):
        return text
    if not values and {"{", "}"} & set(text):
        return _build("{text}", "", {"text": text})
    return _build(text, "", values)


def template(text: str) -> Template:
    """Mark a text for translation that is not an argument of Sentence itself."""
    return Template(text)


def pluralized(singular: str, plural: str, /, **parameters: Parameter) -> Sentence:
    return _build(singular, plural, parameters)


def join_sentences(parts: Sequence[str], separator: str = " ") -> Sentence:
    """Join the non-empty texts to one Sentence; each is still translated by itself."""
    # As parameters, parts are translated, and their braces are not special.
    parameters = {
        f"part{index}": part for index, part in enumerate(filter(None, parts))
    }
    return _build(separator.join(f"{{{name}}}" for name in parameters), "", parameters)


def join_with_or(parts: Sequence[str]) -> str:
    return reduce(
        lambda one, other: Sentence("{one} or {other}", one=one, other=other), parts
    )


def join_with_and(parts: Sequence[str]) -> str:
    return reduce(
        lambda one, other: Sentence("{one} and {other}", one=one, other=other), parts
    )


def _build(template: str, plural: str, parameters: Mapping[str, Parameter]) -> Sentence:
    chosen = plural if plural and parameters["n"] != 1 else template
    sentence = str.__new__(Sentence, chosen.format(**parameters))
    sentence.template, sentence.plural = template, plural
    sentence.parameters = parameters
    return sentence


def with_unit(text: str, unit: str) -> str:
    """Add a unit to the values in a sentence about modes (peaks): "59 MB/s (64%)"."""
    if not unit or not isinstance(text, Sentence):
        return text
    # Only sentences about modes have this parameter (`analysis.distribution_shape`).
    if "centre" in text.parameters:
        template = text.template.replace("} (", "} {unit} (")
        return _build(template, text.plural, {**text.parameters, "unit": unit})
    parts = {
        name: with_unit(part, unit) if isinstance(part, str) else part
        for name, part in text.parameters.items()
    }
    return _build(text.template, text.plural, parts)


class Translator(Protocol):
    def template(self, sentence: Sentence) -> str:
        """Return the translated template of a sentence."""

    def number(self, written: str) -> str:
        """Return a number in the language's format."""

    def day(self, text: str) -> str:
        """Return a day such as 2026-11-28 in the language's format, others as is."""


def translate(text: str, translator: Translator) -> str:
    if not isinstance(text, Sentence):
        return text
    return _TranslatingFormatter(translator).vformat(
        translator.template(text), (), text.parameters
    )


class _TranslatingFormatter(Formatter):
    def __init__(self, translator: Translator) -> None:
        self._translator = translator

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Sentence):
            return translate(value, self._translator)
        if isinstance(value, str):
            return self._translator.day(value)
        written = format(value, format_spec)
        # "g" uses exponents from a million on.
        if "e+" in written and abs(value) < _MAX_PLAIN_NUMBER:
            written = format(value, ",.0f")
        return self._translator.number(written)


def serialize(text: str) -> str:
    if text.startswith(_MARK):  # a user's text that looks like a serialized sentence
        text = Sentence("{text}", text=text)
    return json.dumps(_to_json(text)) if isinstance(text, Sentence) else text


@lru_cache(_DESERIALIZE_CACHE_SIZE)
def deserialize(text: str) -> str:
    if not text.startswith(_MARK):
        return text
    try:
        sentence: str = _from_json(json.loads(text))
    except (ValueError, LookupError, TypeError):
        return text
    return sentence


def sentence_from_json(stored: Mapping[str, str]) -> str:
    """Return the sentence stored under ``words``, else the text under ``sentence``."""
    return deserialize(stored.get("words") or stored.get("sentence", ""))


def _to_json(part: Parameter) -> Any:
    if isinstance(part, Sentence):
        parts = {name: _to_json(value) for name, value in part.parameters.items()}
        return {"template": part.template, "plural": part.plural, "parameters": parts}
    to_python = getattr(part, "item", None)  # numpy numbers are not JSON serializable
    return to_python() if to_python else part


def _from_json(stored: Any) -> Any:
    if not isinstance(stored, dict):
        return stored
    parts = {name: _from_json(value) for name, value in stored["parameters"].items()}
    return _build(stored["template"], stored["plural"], parts)
