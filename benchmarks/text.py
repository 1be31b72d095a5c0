"""Which characters a text may hold, and how texts with numbers sort."""

from __future__ import annotations

import re
import unicodedata

from benchmarks.errors import InvalidError
from benchmarks.sentences import Sentence

# Control characters, line and paragraph separators, bidirectional marks, and lone
# surrogates.
_BREAKS = "\t\n\r"
_REFUSED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_REFUSED_IN_LINES = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def clean_text(
    text: str, *, what: str = Sentence("text"), multiline: bool = False
) -> str:
    """Return ``text``, or raise InvalidError that names the character and its place.

    ``what`` names the field. Tabs and line ends are allowed with ``multiline``.
    """
    pattern = _REFUSED_IN_LINES if multiline else _REFUSED
    if found := pattern.search(text):
        raise InvalidError(
            "unclean_text",
            "The {what} holds {character} at character {place}. Remove it: it "
            "is invisible or changes how the text is shown.",
            what=what,
            character=_name(found[0]),
            place=found.start() + 1,
        )
    return text


def collapse(text: str) -> str:
    """One spelling of a text: composed characters, single spaces, no space around."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def _name(character: str) -> str:
    point = f"U+{ord(character):04X}"
    if character in _BREAKS:
        return Sentence("a tab or line break ({point})", point=point)
    if "\ud800" <= character <= "\udfff":
        return Sentence("half of a surrogate pair ({point})", point=point)
    name = unicodedata.name(character, Sentence("control character"))
    return Sentence("the character {name} ({point})", name=name, point=point)


def natural(text: str) -> list[tuple[bool, int, str]]:
    """Return a sort key of a text, in which 4000 comes after 500."""
    # Not \d and isdigit: "²" is a digit to them, and no number to int().
    parts = re.findall(r"[0-9]+|[^0-9]+", text)
    return [
        (False, int(part), "")
        if part[0] in "0123456789"
        else (True, 0, part.casefold())
        for part in parts
    ]
