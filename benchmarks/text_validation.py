"""Validation and normalization of short texts."""

from __future__ import annotations

import re
import unicodedata

from benchmarks.errors import InvalidError
from benchmarks.sentences import Sentence

# Control characters, bidirectional marks, lone surrogates, and the code points that
# Unicode never assigns. XML cannot contain most of them.
_ALWAYS_FORBIDDEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    "\ufdd0-\ufdef"
    + "".join(f"{chr(end - 1)}{chr(end)}" for end in range(0xFFFF, 0x110000, 0x10000))
)
_BREAKS = "\t\n\r"
_FORBIDDEN = re.compile(f"[{_BREAKS}\u2028\u2029{_ALWAYS_FORBIDDEN}]")
_FORBIDDEN_IN_LINES = re.compile(f"[{_ALWAYS_FORBIDDEN}]")
# Letters and symbols that are displayed as blanks.
_BLANKS = "\u115f\u1160\u2800\u3164\uffa0"


def clean_text(
    text: str, *, label: str = Sentence("text"), multiline: bool = False
) -> str:
    """Return ``text``; raise InvalidError for characters that cannot be displayed.

    ``label`` names the field. ``multiline`` allows tabs and line ends.
    """
    pattern = _FORBIDDEN_IN_LINES if multiline else _FORBIDDEN
    if match := pattern.search(text):
        raise InvalidError(
            "invalid_characters",
            "The {what} contains {character} at position {place}. Remove it, "
            "because it is invisible or changes how the text is displayed.",
            what=label,
            character=_name(match[0]),
            place=match.start() + 1,
        )
    if not text.isascii() and text.strip() and not any(map(_is_visible, text)):
        raise InvalidError(
            "invalid_characters",
            "The {what} has only invisible characters. Enter a text that people can "
            "read.",
            what=label,
        )
    return text


def replace_forbidden(text: str) -> str:
    """Replace the characters of a stored text that `clean_text` refuses.

    A single one makes a whole XML document unreadable, and it cannot be escaped.
    """
    return _FORBIDDEN_IN_LINES.sub("\N{REPLACEMENT CHARACTER}", text)


def _is_visible(character: str) -> bool:
    # Marks (M) are drawn over another character; separators (Z) and C are blank.
    return unicodedata.category(character)[0] not in "MZC" and character not in _BLANKS


def normalize_whitespace(text: str) -> str:
    """Return the text in Unicode form NFC, with single spaces between words."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def _name(character: str) -> str:
    point = f"U+{ord(character):04X}"
    if character in _BREAKS:
        return Sentence("a tab or line break ({point})", point=point)
    if "\ud800" <= character <= "\udfff":
        return Sentence("half of a surrogate pair ({point})", point=point)
    if unicodedata.category(character) == "Cn":
        return Sentence("a code point without a character ({point})", point=point)
    name = unicodedata.name(character, "")
    if not name:
        return Sentence("a control character ({point})", point=point)
    return Sentence("the character {name} ({point})", name=name, point=point)
