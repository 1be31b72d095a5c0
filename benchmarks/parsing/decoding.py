"""Decoding of files to text: encodings, escapes and decimal commas."""

import codecs
import re
from typing import Final

from benchmarks.errors import ParseError, shorten
from benchmarks.parsing.parser_toolkit import line_error_at
from benchmarks.sentences import Sentence

# UTF-32 is first, because its little-endian mark begins with that of UTF-16.
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Number of bytes in which UTF-16 without a mark is detected.
_PROBE: Final = 4096

# The power meter "Watts up?" sends this before each reading. Its serial line adds NULs.
_METER_PACKET: Final = "#d,"

_ESCAPES: Final = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*+[ -/]*+[@-~]"  # colors, cursor movements
    r"|\][^\x07\x1b\n]*+(?:\x07|\x1b\\)?"  # window titles
    r"|[()*+#][0-9A-Za-z]"  # character sets
    r"|[=>78@-Z\\^_c]"
    r")"
)
# Languages with a decimal comma, languages with a point, and countries with a point
# whose language has a comma.
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
_LANGUAGES: Final = {
    **{"croatian": "hr", "czech": "cs", "danish": "da", "dutch": "nl", "finnish": "fi"},
    **{"french": "fr", "german": "de", "greek": "el", "hungarian": "hu"},
    **{"italian": "it", "norwegian": "nb", "polish": "pl", "portuguese": "pt"},
    **{"romanian": "ro", "russian": "ru", "spanish": "es", "swedish": "sv"},
    **{"turkish": "tr", "ukrainian": "uk", "english": "en", "chinese": "zh"},
    **{"japanese": "ja", "korean": "ko", "deutsch": "de", "francais": "fr"},
}
# Variables that set the locale of numbers, in order of precedence.
_SETTINGS: Final = ("lc_all", "lc_numeric", "lang", "language", "locale")
_SETTING: Final = re.compile(
    r"(?:(?:export|set|env)[ \t]+)?"
    r"(\w{1,20})[ \t]*=[ \t]*([\"']?)([^\s\"';]*)\2[;\s]*",
    re.ASCII,
)
_LOCALE: Final = re.compile(
    r"([a-z]{1,10})(?:[_-]([a-z]{2}|\d{3}))?(?:[.@_-][\w.@-]*)?"
)
# Digits around one comma. Lists and CSV rows do not match.
_DECIMAL_COMMA: Final = re.compile(
    r"(?<![\d.,])(\d{1,3}(?:\.\d{3}){1,99}|\d++),(\d++)(?![,.]?\d)", re.ASCII
)


def decode(output: bytes | str) -> str:
    """Return text with ``\\n`` as line end and without terminal escapes.

    Bytes may be UTF-8, UTF-16, UTF-32 or Latin-1. Raise ParseError if they contradict
    their byte order mark or contain NULs, except in a power meter's serial log.
    """
    text = output if isinstance(output, str) else _decoded(output)
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        # A lone carriage return separates the states of a progress line.
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\x08" in text:
        # On the whole text, single backspaces would take quadratic time.
        text = "\n".join(map(_apply_backspaces, text.split("\n")))
    if _METER_PACKET in text:
        text = text.replace("\0", "")
    if (position := text.find("\0")) >= 0:
        raise line_error_at(
            text,
            position,
            Sentence(
                "this is not text: it contains NUL characters. Upload what the "
                "tool printed."
            ),
        )
    return text


def _decoded(data: bytes) -> str:
    marked = (encoding for mark, encoding in _BYTE_ORDER_MARKS if data.startswith(mark))
    if not (encoding := next(marked, "")):
        # Every second byte of an English text in UTF-16 is NUL.
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
        if len(data) - error.start < 4:
            return data[: error.start].decode(encoding)
        raise ParseError(
            "The file seems to be {encoding}, but byte {place} is not valid in it. "
            "Save the file as UTF-8.",
            encoding=encoding.upper().removesuffix("-SIG"),
            place=error.start + 1,
        ) from None


def _apply_backspaces(line: str) -> str:
    pieces: list[str] = []
    deleted = -1
    for piece in reversed(line.split("\x08")):
        deleted += 1
        if remaining := piece[: max(len(piece) - deleted, 0)]:
            pieces.append(remaining)
        deleted = max(deleted - len(piece), 0)
    return "".join(reversed(pieces))


def uses_decimal_comma(locale: str | None) -> bool:
    """Raise ParseError if the locale (``de_DE``, ``LC_ALL=de_DE``) is unknown."""
    if not locale or not (locale_name := _stated_locale(locale.strip())):
        return False
    name = _LOCALE.fullmatch(locale_name.casefold())
    language = _LANGUAGES.get(name[1], name[1]) if name else ""
    has_comma = language in _COMMA_LANGUAGES.split()
    if name is None or not (has_comma or language in _POINT_LANGUAGES.split()):
        raise ParseError(
            'The locale "{locale}" is unknown. Use a name such as "de_DE.UTF-8".',
            locale=shorten(locale),
        )
    return has_comma and f"{language}_{name[2]}" not in _POINT_COUNTRIES.split()


def _stated_locale(text: str) -> str:
    settings: dict[str, str] = {}
    position = 0
    while position < len(text):
        setting = _SETTING.match(text, position)
        if setting is None:
            return text
        settings[setting[1].casefold()] = setting[3]
        position = setting.end()
    locales = [settings[name] for name in _SETTINGS if settings.get(name)]
    if not locales and not settings.keys() & set(_SETTINGS):
        return text
    # LANGUAGE is a list: de_DE:en.
    return locales[0].partition(":")[0] if locales else ""


def replace_decimal_commas(text: str) -> str:
    """Replace numbers like 1.234,5 by 1234.5."""
    if "," not in text:
        return text
    return _DECIMAL_COMMA.sub(
        lambda number: f"{number[1].replace('.', '')}.{number[2]}", text
    )


def find_decimal_comma(text: str) -> int | None:
    number = _DECIMAL_COMMA.search(text)
    return number.start() if number else None
