"""How wide texts are on paper, so that a table is never wider than the page. PURE.

TeX alone knows how wide a text will be; here it is bounded from above, from the widths
of the letters of LaTeX's usual fonts (EC, 8 pt). Sizes are absolute: a document in
12 pt has wider lines, not wider tables.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from dashboard.exports.escaping import tex

# The text of a page of the class article, in points: A4 or letter, 10 pt.
PAPER_PT: Final = 345.0
GAP_PT: Final = 6.0  # between two columns: twice \tabcolsep
LABEL_PT: Final = 91.0
EDGES_PT: Final = LABEL_PT + GAP_PT / 2  # a heading over the last column has a gap
COLUMN_PT: Final = 44.0  # the least: a ratio's interval fits

# Widths in parts of the size; any other letter counts as the widest but W.
LETTERS: Final = {
    **dict.fromkeys("!',.:;[]`il|", 0.30),
    **dict.fromkeys("fjI-()tr", 0.42),
    **dict.fromkeys("scez?\N{NO-BREAK SPACE} ", 0.51),
    **dict.fromkeys('"$*/0123456789\\agokqvxyJ{}', 0.57),
    **dict.fromkeys("SbdhnpuZLF^~", 0.70),
    **dict.fromkeys("W\N{EM DASH}", 1.10),
}
WIDE: Final = 0.98
NAMED: Final = 5.5  # [U+05D0]: what pdfLaTeX has no letter for
# Points by which these are multiplied. Small letters are wider for their size.
PLAIN, ITALIC, BOLD = 8.0, 9.0, 9.4
SMALL, SMALL_ITALIC = 7.2, 8.4

AFTER: Final = re.compile(r"(?<=[-_/.,=:;+&])")


@lru_cache(maxsize=8192)
def width_pt(text: str, style: float = PLAIN) -> float:
    """Return what a text takes at most, in points."""
    return style * sum(map(_part_of_size, text))


def _part_of_size(letter: str) -> float:
    if letter in LETTERS:
        return LETTERS[letter]
    return NAMED if tex(letter).startswith(r"\virtlabchar") else WIDE


def breakable(text: str, room_pt: float, style: float = PLAIN) -> str:
    """Return a text for LaTeX of which no word is wider than there is room.

    A word that is breaks after its signs, else where the line ends.
    """
    return " ".join(
        r"\allowbreak{}".join(map(tex, _pieces(word, room_pt, style)))
        for word in text.split(" ")
    )


def _pieces(word: str, room_pt: float, style: float) -> Iterator[str]:
    if width_pt(word, style) <= room_pt:
        yield word
        return
    for part in filter(None, AFTER.split(word)):
        piece = ""
        for letter in part:
            if piece and width_pt(piece + letter, style) > room_pt:
                yield piece
                piece = ""
            piece += letter
        yield piece


def parts_that_fit(widths: Sequence[float]) -> list[slice]:
    """Part columns into tables that a page has room for, in order."""
    found, start, used = [], 0, EDGES_PT
    for at, width in enumerate(widths):
        if at > start and used + GAP_PT + width > PAPER_PT:
            found.append(slice(start, at))
            start, used = at, EDGES_PT
        used += GAP_PT + width
    return [*found, slice(start, len(widths))] if widths else []


def table_pt(widths: Sequence[float]) -> float:
    """Return how wide a table of labels and these columns is."""
    return LABEL_PT + sum(widths) + GAP_PT * len(widths)
