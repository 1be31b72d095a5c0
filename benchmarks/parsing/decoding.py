"""Decoding of files to text: encodings, decimal commas, and prefixes of loggers."""

import codecs
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, takewhile
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
            "The file begins as {encoding} but is not valid at byte {place}. Save "
            "it as UTF-8.",
            encoding=encoding.upper(),
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
    """Return whether a locale (``de_DE``, ``LC_ALL=de_DE``) has a decimal comma.

    Raise ParseError if the locale is unknown.
    """
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


_CLOCK = r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?"
_DATE = r"\d{4}[-/.]\d{2}[-/.]\d{2}"
_ZONE = (
    r"(?: ?(?:Z|UTC|GMT|CES?T|[EMP][SD]T|CDT|WES?T|EES?T|MSK|JST|IST"
    r"|[+-]\d{2}:?\d{2}))?"
)
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}\d{1,2}"
_EPOCH = r"[1-9]\d{9}(?:\d{3}){0,3}(?:[.,]\d{1,9})?"
_LEVEL = r"(?:DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR)"
_NAME = r"[\w.-]{1,100}"
# A prefix includes one blank, which editors remove at the end of a line.
_AFTER = r"(?:[ \t]|(?=\n|\Z))"

_LINE_PREFIXES: Final = (
    rf"\[?(?:[A-Z][a-z]{{2}} )?{_DATE}[T _]{_CLOCK}{_ZONE}\]?:?{_AFTER}",
    # journald and syslog: "Nov 20 21:44:36 host program[123]: "
    rf"{_MONTH} (?:\d{{4}} )?{_CLOCK} [\w.-]++ [^\s:\[]++(?:\[\d++\])?:{_AFTER}",
    rf"\[?(?:[A-Z][a-z]{{2}} )?{_MONTH} (?:\d{{4}} )?{_CLOCK}(?: \d{{4}})?\]?:?"
    rf"{_AFTER}",
    rf"\[?{_CLOCK}\]?:?{_AFTER}",
    rf"\[ *\d++\.\d++\]{_AFTER}",  # seconds since start
    rf"\[?{_EPOCH}\]?:?{_AFTER}",  # ts %.s
    rf"\d{{1,9}}\.\d{{6}}{_AFTER}",  # ts -i %.s
    # "INFO:root:", "- root - INFO - "
    rf"(?:- )?(?:{_NAME} - )?\[?{_LEVEL}\]?(?::{_NAME})?:?(?: -)?{_AFTER}",
    rf"{_LEVEL}:{_NAME}:",
    rf">{_AFTER}",  # quoted in a mail
    rf"#{_AFTER}",  # commented out
)
_SOURCE_PREFIXES: Final = (
    # kubectl logs --prefix, kubetail; stern
    rf"\[(?P<source>[A-Za-z][^\]\n]{{0,300}})\]{_AFTER}",
    rf"(?P<source>[a-z\d]{{1,60}}-[a-z\d-]{{1,200}} [a-z\d-]{{1,60}}){_AFTER}",
    rf"(?P<source>{_NAME}(?:@{_NAME})?) *\|{_AFTER}",  # docker compose, docker service
    r"\[(?P<source>[^\s\]]{1,100},\d{1,9})\]<std(?:out|err)>:",  # mpirun --tag-output
    rf"(?P<source>(?:{_NAME} )?{_NAME}\[\d{{1,9}}\]):{_AFTER}",
    rf"(?P<source>{_NAME}):{_AFTER}",  # pdsh, srun --label
    rf"(?P<source>{_NAME} \((?:remote|local)-exec\)):{_AFTER}",  # terraform
    r"(?P<source>[^\s:]{0,99}[./][^\s:]{0,99}):",  # grep -H
)
_NUMBERED_PREFIXES: Final = (
    r"(?P<count>\d{1,9})[:-]",  # grep -n
    r"(?P<source>[^\s:]{1,200}):(?P<count>\d{1,9}):",  # grep -Hn
    r" {0,9}(?P<count>\d{1,9}) {1,4}[|│](?: |(?=\n|\Z))",  # bat, editors
    r" {0,9}(?P<count>\d{1,9})(?:\t|: | {2}|(?=\n|\Z))",  # cat -n, nl
    rf" {{0,9}}(?P<count>\d{{1,9}}){_AFTER}",
)
_PREFIX_PATTERNS: Final = tuple(
    re.compile(rf"\n{prefix}", re.ASCII)
    for prefix in (*_LINE_PREFIXES, *_SOURCE_PREFIXES, *_NUMBERED_PREFIXES)
)
# One search excludes the many texts without a prefix.
_ANY_PREFIX: Final = re.compile(
    "|".join(re.sub(r"\?P<\w+>", "", prefix.pattern) for prefix in _PREFIX_PATTERNS),
    re.ASCII,
)
_INDENT: Final = re.compile(r"\n([ \t]*+)(?![ \t\n]|\Z)", re.ASCII)

_SEPARATOR_LINES: Final = frozenset({"", "--"})
_PROBED_LINES: Final = 400
_MIN_PREFIX_FRACTION: Final = 0.8
_MAX_PREFIXES: Final = 3
_MAX_SOURCES: Final = 64
_MIN_LINES_PER_SOURCE: Final = 3
"""Mean per source. With fewer lines, the names are probably keys of a report."""


@dataclass(frozen=True, slots=True)
class LogSource:
    """A text, or its lines from one program or host; ``prefix`` was removed.

    ``line_numbers`` are those in the original text.
    """

    text: str
    line_numbers: Sequence[int] = range(1, sys.maxsize)
    prefix: str = ""


def _unindented(source: LogSource) -> LogSource:
    heads = _first_lines(source.text)
    if not heads or not all(head[1] in " \t" for head in heads):
        return source
    indent = _common([indent for head in heads for indent in _INDENT.findall(head)])
    if not indent:
        return source
    lines = f"\n{source.text}"
    indent = _common([indent, *_INDENT.findall(lines)])
    text = lines.replace(f"\n{indent}", "\n")[1:]
    return replace(source, text=text, prefix=source.prefix + indent)


def strip_prefixes(source: LogSource) -> Iterator[tuple[LogSource, ...]]:
    """Yield the text without indentation, then each time without one more prefix.

    A logger puts prefixes (a time, for example) before each line. If one names a
    program or host, there is one `LogSource` for each name. A text without indentation
    is not yielded as it is.
    """
    sources: tuple[LogSource, ...] = (_unindented(source),)
    if sources != (source,):
        yield sources
    for _ in range(_MAX_PREFIXES):
        inner_sources = [_sources_in(outer) for outer in sources]
        if not any(inner_sources):
            return
        pairs = zip(sources, inner_sources, strict=True)
        sources = tuple(
            chain.from_iterable(inner or (outer,) for outer, inner in pairs)
        )
        yield sources


def _first_lines(text: str) -> list[str]:
    probed = text[: 200 * _PROBED_LINES].split("\n")[:_PROBED_LINES]
    return [f"\n{line}" for line in probed if line.strip() not in _SEPARATOR_LINES]


def _common(indents: Sequence[str]) -> str:
    first, last = min(indents, default=""), max(indents, default="")
    common_pairs = takewhile(
        lambda pair: pair[0] == pair[1], zip(first, last, strict=False)
    )
    return "".join(blank for blank, _ in common_pairs)


def _sources_in(source: LogSource) -> tuple[LogSource, ...]:
    heads = _first_lines(source.text)
    for pattern in _PREFIX_PATTERNS if _common_prefix(_ANY_PREFIX, heads) else ():
        if (first := _common_prefix(pattern, heads)) is None:
            continue
        if not pattern.groupindex:
            text = pattern.sub("\n", f"\n{source.text}")[1:]
            prefix = source.prefix + first[0][1:]
            return (_unindented(LogSource(text, source.line_numbers, prefix)),)
        if sources := _split_by_source(source, pattern, first):
            return tuple(map(_unindented, sources))
    return ()


def _common_prefix(
    pattern: re.Pattern[str], heads: Sequence[str]
) -> re.Match[str] | None:
    first, missing = None, 0
    for head in heads:
        if match := pattern.match(head):
            first = first or match
            continue
        missing += 1
        if missing > (1 - _MIN_PREFIX_FRACTION) * len(heads):
            return None
    return first


def _split_by_source(
    source: LogSource, pattern: re.Pattern[str], first: re.Match[str]
) -> tuple[LogSource, ...]:
    """Remove a prefix, and group the lines by the program or host that it names.

    Lines without the prefix belong to the previous group. Return () if lines lack a
    printed line number or it does not increase.
    """
    is_counted, is_named = "count" in pattern.groupindex, "source" in pattern.groupindex
    name = first["source"] if is_named else ""
    texts: dict[str, list[str]] = {}
    numbers: dict[str, list[int]] = {}
    prefixes: dict[str, str] = {}
    counts: dict[str, int] = {}
    prefixed_lines = 0
    for number, line in zip(source.line_numbers, source.text.split("\n"), strict=False):
        rest = line
        if match := pattern.match(f"\n{line}"):
            name = match["source"] if is_named else ""
            rest = line[match.end() - 1 :]
            prefixes.setdefault(name, source.prefix + match[0][1:])
            prefixed_lines += 1
            if is_counted:
                if int(match["count"]) <= counts.get(name, -1):
                    return ()
                counts[name] = int(match["count"])
        elif is_counted and line.strip() not in _SEPARATOR_LINES:
            return ()
        elif is_counted:
            rest = ""
        texts.setdefault(name, []).append(rest)
        numbers.setdefault(name, []).append(number)
        if len(texts) > _MAX_SOURCES:
            return ()
    if len(texts) > 1 and prefixed_lines < _MIN_LINES_PER_SOURCE * len(texts):
        return ()
    # Only the last line of the text may be truncated.
    ends = {source_name: "" if source_name == name else "\n" for source_name in texts}
    return tuple(
        LogSource(
            "\n".join(texts[source_name]) + ends[source_name],
            numbers[source_name],
            prefixes[source_name],
        )
        for source_name in texts
    )
