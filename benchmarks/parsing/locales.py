"""Which locales write a decimal comma, and how it is read where one was named."""

from __future__ import annotations

import re
from typing import Final

from benchmarks.errors import ParseError, shorten
from benchmarks.sentences import Sentence

_COMMA: Final = frozenset(
    re.findall(
        r"\w+",
        "af az be bg bs ca cs da de el es et eu fi fo fr fy gl hr hu hy id is it ka kk "
        "ky lb lt lv mk mn nb nl nn no pl pt ro ru sk sl sq sr sv tr uk uz vi",
    )
)
_POINT: Final = frozenset(
    re.findall(
        r"\w+",
        "am ar bn c cy en fa ga gu he hi ja kn ko ml mr ms mt my ne pa posix ps si sw "
        "ta te th ur zh zu",
    )
)
_POINT_COUNTRIES: Final = frozenset(
    re.findall(
        r"\w+",
        "de_ch de_li it_ch es_do es_gt es_hn es_mx es_ni es_pa es_pe es_pr es_sv es_us",
    )
)
_NAME: Final = re.compile(r"([a-z]{1,8})(?:[_-]([a-z]{2}|\d{3}))?(?:[.@_-][\w.@-]*)?")

# One comma, digits around it, and nothing of a list or a CSV row beside it.
_DECIMAL_COMMA: Final = re.compile(
    r"(?<![\d.,])(\d{1,3}(?:\.\d{3}){1,99}|\d++),(\d++)(?![,.]?\d)", re.ASCII
)


def writes_comma(locale: str | None) -> bool:
    """Whether numbers of this locale have a decimal comma; refuses an unknown one.

    Names are those of a system: ``de_DE.UTF-8``, ``de-DE``, ``C``.
    """
    if not locale:
        return False
    name = _NAME.fullmatch(locale.strip().casefold())
    language = name[1] if name else ""
    if name is None or language not in _COMMA | _POINT:
        raise ParseError(
            Sentence(
                'The locale "{locale}" is unknown: name it as in "de_DE.UTF-8".',
                locale=shorten(locale),
            )
        )
    return language in _COMMA and f"{language}_{name[2]}" not in _POINT_COUNTRIES


def with_points(text: str) -> str:
    """``text`` with its decimal commas turned into points: 1.234,5 is 1234.5."""
    if "," not in text:
        return text
    return _DECIMAL_COMMA.sub(_with_point, text)


def first_comma(text: str) -> int | None:
    """Where the first number with a decimal comma is."""
    found = _DECIMAL_COMMA.search(text)
    return found.start() if found else None


def _with_point(number: re.Match[str]) -> str:
    return f"{number[1].replace('.', '')}.{number[2]}"
