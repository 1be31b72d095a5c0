"""Validation and normalization of short texts."""

from __future__ import annotations

import re
import unicodedata

from benchmarks.errors import InvalidError
from benchmarks.sentences import Sentence

# Control characters, line and paragraph separators, bidirectional marks, lone
# surrogates.
_BREAKS = "\t\n\r"
_FORBIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_REFUSED_IN_LINES = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def clean_text(
    text: str, *, label: str = Sentence("text"), multiline: bool = False
) -> str:
    """Return ``text``; raise InvalidError for a forbidden character.

    ``label`` names the field. ``multiline`` allows tabs and line ends.
    """
    pattern = _REFUSED_IN_LINES if multiline else _FORBIDDEN
    if match := pattern.search(text):
        raise InvalidError(
            "invalid_characters",
            "The {what} contains {character} at position {place}. Remove it, "
            "because it is invisible or changes how the text is displayed.",
            what=label,
            character=_name(match[0]),
            place=match.start() + 1,
        )
    return text


def normalize_whitespace(text: str) -> str:
    """Return the text in Unicode form NFC, with single spaces between words."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def _name(character: str) -> str:
    point = f"U+{ord(character):04X}"
    if character in _BREAKS:
        return Sentence("a tab or line break ({point})", point=point)
    if "\ud800" <= character <= "\udfff":
        return Sentence("half of a surrogate pair ({point})", point=point)
    name = unicodedata.name(character, "")
    if not name:
        return Sentence("a control character ({point})", point=point)
    return Sentence("the character {name} ({point})", name=name, point=point)
