"""From the bytes of a file to the text that a person would see in it.

Also what else stands between a file and its numbers: the decimal comma of a locale that
was named.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

from benchmarks.errors import ParseError, shorten
from benchmarks.parsing.scanning import fault
from benchmarks.sentences import Sentence

# UTF-32's first: the little-endian one begins as UTF-16's does.
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# So many bytes tell how UTF-16 without a mark is ordered.
_PROBE: Final = 4096

# What a Watts up? prints before each reading; its serial line is noisy in between.
_METER_PACKET: Final = "#d,"

_ESCAPES: Final = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*+[ -/]*+[@-~]"  # colours, cursor movements
    r"|\][^\x07\x1b\n]*+(?:\x07|\x1b\\)?"  # window titles
    r"|[()*+#][0-9A-Za-z]"  # character sets
    r"|[=>78@-Z\\^_c]"
    r")"
)
# The languages whose numbers have a decimal comma or a point, and where they differ.
_COMMA_LANGUAGES: Final = (
    "af az be bg bs ca cs da de el es et eu fi fo fr fy gl hr hu hy id is it ka kk "
    "ky lb lt lv mk mn nb nl nn no pl pt ro ru sk sl sq sr sv tr uk uz vi"
)
_POINT_LANGUAGES: Final = (
    "am ar bn c cy en fa ga gu he hi ja kn ko ml mr ms mt my ne pa posix ps si sw ta "
    "te th ur zh zu"
)
_POINT_COUNTRIES: Final = (
    "de_ch de_li it_ch es_do es_gt es_hn es_mx es_ni es_pa es_pe es_pr es_sv es_us"
)
# By glibc's aliases and by Windows: "german", "German_Germany.1252".
_LANGUAGES: Final = {
    **{"croatian": "hr", "czech": "cs", "danish": "da", "dutch": "nl", "finnish": "fi"},
    **{"french": "fr", "german": "de", "greek": "el", "hungarian": "hu"},
    **{"italian": "it", "norwegian": "nb", "polish": "pl", "portuguese": "pt"},
    **{"romanian": "ro", "russian": "ru", "spanish": "es", "swedish": "sv"},
    **{"turkish": "tr", "ukrainian": "uk", "english": "en", "chinese": "zh"},
    **{"japanese": "ja", "korean": "ko", "deutsch": "de", "francais": "fr"},
}
# As a shell is told, or as ``locale`` prints it; what stands first decides the numbers.
_SETTINGS: Final = ("lc_all", "lc_numeric", "lang", "language", "locale")
_SETTING: Final = re.compile(
    r"(?:(?:export|set|env)[ \t]+)?"
    r"(\w{1,20})[ \t]*=[ \t]*([\"']?)([^\s\"';]*)\2[;\s]*",
    re.ASCII,
)
_LOCALE: Final = re.compile(
    r"([a-z]{1,10})(?:[_-]([a-z]{2}|\d{3}))?(?:[.@_-][\w.@-]*)?"
)
# One comma, digits around it, and nothing of a list or a CSV row beside it.
_DECIMAL_COMMA: Final = re.compile(
    r"(?<![\d.,])(\d{1,3}(?:\.\d{3}){1,99}|\d++),(\d++)(?![,.]?\d)", re.ASCII
)


def decode(output: bytes | str) -> str:
    """The text of a file in UTF-8, UTF-16 (with and without mark) or Latin-1.

    Line ends become ``\\n``, terminal colours and struck-out characters disappear. A
    text with NULs is no text: an error that names the line. Only the serial log of a
    power meter may hold them, as noise between its packets.
    """
    text = output if isinstance(output, str) else _decoded(output)
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        # Progress lines that overwrite each other are lines of their own.
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\x08" in text:
        # A line at a time: one backspace after the other would take quadratic time.
        text = "\n".join(map(_without_struck_out, text.split("\n")))
    if _METER_PACKET in text:
        text = text.replace("\0", "")
    if (position := text.find("\0")) >= 0:
        raise fault(
            text,
            position,
            Sentence(
                "this is not text: it holds NUL characters. "
                "Upload what the tool printed."
            ),
        )
    return text


def _decoded(data: bytes) -> str:
    marked = (encoding for mark, encoding in _MARKS if data.startswith(mark))
    if not (encoding := next(marked, "")):
        # UTF-16 without a mark: every second byte of an English text is NUL.
        head = data[:_PROBE]
        half = len(head) // 2
        even, odd = head[::2].count(0), head[1::2].count(0)
        if half and odd > 0.6 * half and even < 0.1 * half:
            encoding = "utf-16-le"
        elif half and even > 0.6 * half and odd < 0.1 * half:
            encoding = "utf-16-be"
    try:
        return data.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        if not encoding:
            return data.decode("latin-1")
        # Cut within its last character: all before it is whole.
        if len(data) - error.start < 4:
            return data[: error.start].decode(encoding)
        raise ParseError(
            "The file begins as {encoding} and breaks off at byte {place}. "
            "Save it as UTF-8.",
            encoding=encoding.upper(),
            place=error.start + 1,
        ) from None


def _without_struck_out(line: str) -> str:
    # From the end: so many characters before here are struck out.
    kept: list[str] = []
    struck = -1
    for piece in reversed(line.split("\x08")):
        struck += 1
        if left := piece[: max(len(piece) - struck, 0)]:
            kept.append(left)
        struck = max(struck - len(piece), 0)
    return "".join(reversed(kept))


def writes_comma(locale: str | None) -> bool:
    """Whether numbers of this locale have a decimal comma; refuses an unknown one.

    Names are those of a system: ``de_DE.UTF-8``, ``de-DE``, ``C``; or as a shell is
    told: ``LC_ALL=de_DE.UTF-8``, ``LANG=en_US LC_NUMERIC=de_DE``.
    """
    if not locale or not (stated := _stated_locale(locale.strip())):
        return False
    name = _LOCALE.fullmatch(stated.casefold())
    language = _LANGUAGES.get(name[1], name[1]) if name else ""
    has_comma = language in _COMMA_LANGUAGES.split()
    if name is None or not (has_comma or language in _POINT_LANGUAGES.split()):
        raise ParseError(
            'The locale "{locale}" is unknown: name it as in "de_DE.UTF-8".',
            locale=shorten(locale),
        )
    return has_comma and f"{language}_{name[2]}" not in _POINT_COUNTRIES.split()


def _stated_locale(text: str) -> str:
    """The locale itself, of settings of a shell the one that decides the numbers."""
    settings: dict[str, str] = {}
    position = 0
    while position < len(text):
        setting = _SETTING.match(text, position)
        if setting is None:
            return text
        settings[setting[1].casefold()] = setting[3]
        position = setting.end()
    stated = [settings[name] for name in _SETTINGS if settings.get(name)]
    if not stated and not settings.keys() & set(_SETTINGS):
        return text
    # LANGUAGE lists them: de_DE:en.
    return stated[0].partition(":")[0] if stated else ""


def with_points(text: str) -> str:
    """``text`` with its decimal commas turned into points: 1.234,5 is 1234.5."""
    if "," not in text:
        return text
    return _DECIMAL_COMMA.sub(
        lambda number: f"{number[1].replace('.', '')}.{number[2]}", text
    )


def first_comma(text: str) -> int | None:
    """Where the first number with a decimal comma is."""
    number = _DECIMAL_COMMA.search(text)
    return number.start() if number else None
