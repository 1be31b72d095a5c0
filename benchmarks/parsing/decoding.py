"""Decode files to text: encodings, decimal commas, and the prefixes of loggers."""

import codecs
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, takewhile
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
    """Return bytes of UTF-8, UTF-16 or Latin-1 as text with ``\\n``, without escapes.

    NULs are an error that names the line, except in a power meter's serial log.
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
    """Return whether a locale (``de_DE``, ``LC_ALL=de_DE``) has a decimal comma."""
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
    """Return the locale; of a shell's settings the one that decides the numbers."""
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
    """Return ``text`` with decimal points for commas: 1.234,5 is 1234.5."""
    if "," not in text:
        return text
    return _DECIMAL_COMMA.sub(
        lambda number: f"{number[1].replace('.', '')}.{number[2]}", text
    )


def first_comma(text: str) -> int | None:
    """Return where the first number with a decimal comma is."""
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
# One blank belongs to the mark, the others to the line. Editors take it off where
# nothing follows.
_AFTER = r"(?:[ \t]|(?=\n|\Z))"

_OF_EVERY_LINE: Final = (
    rf"\[?(?:[A-Z][a-z]{{2}} )?{_DATE}[T _]{_CLOCK}{_ZONE}\]?:?{_AFTER}",
    # journald and syslog: "Nov 20 21:44:36 host program[123]: "
    rf"{_MONTH} (?:\d{{4}} )?{_CLOCK} [\w.-]++ [^\s:\[]++(?:\[\d++\])?:{_AFTER}",
    rf"\[?(?:[A-Z][a-z]{{2}} )?{_MONTH} (?:\d{{4}} )?{_CLOCK}(?: \d{{4}})?\]?:?"
    rf"{_AFTER}",
    rf"\[?{_CLOCK}\]?:?{_AFTER}",
    rf"\[ *\d++\.\d++\]{_AFTER}",  # seconds since start
    rf"\[?{_EPOCH}\]?:?{_AFTER}",  # ts %.s
    rf"\d{{1,9}}\.\d{{6}}{_AFTER}",  # ts -i %.s
    # As programs log: "INFO:root:", "- root - INFO - "
    rf"(?:- )?(?:{_NAME} - )?\[?{_LEVEL}\]?(?::{_NAME})?:?(?: -)?{_AFTER}",
    rf"{_LEVEL}:{_NAME}:",
    rf">{_AFTER}",  # quoted in a mail
    rf"#{_AFTER}",  # commented out
)
_OF_A_SOURCE: Final = (
    # kubectl logs --prefix, kubetail; stern
    rf"\[(?P<source>[A-Za-z][^\]\n]{{0,300}})\]{_AFTER}",
    rf"(?P<source>[a-z\d]{{1,60}}-[a-z\d-]{{1,200}} [a-z\d-]{{1,60}}){_AFTER}",
    rf"(?P<source>{_NAME}(?:@{_NAME})?) *\|{_AFTER}",  # docker compose, docker service
    r"\[(?P<source>[^\s\]]{1,100},\d{1,9})\]<std(?:out|err)>:",  # mpirun --tag-output
    # A journal without its times.
    rf"(?P<source>(?:{_NAME} )?{_NAME}\[\d{{1,9}}\]):{_AFTER}",
    rf"(?P<source>{_NAME}):{_AFTER}",  # pdsh, srun --label
    rf"(?P<source>{_NAME} \((?:remote|local)-exec\)):{_AFTER}",  # terraform
    r"(?P<source>[^\s:]{0,99}[./][^\s:]{0,99}):",  # grep -H
)
_COUNTED: Final = (
    r"(?P<count>\d{1,9})[:-]",  # grep -n
    r"(?P<source>[^\s:]{1,200}):(?P<count>\d{1,9}):",  # grep -Hn
    r" {0,9}(?P<count>\d{1,9}) {1,4}[|│](?: |(?=\n|\Z))",  # bat, editors
    r" {0,9}(?P<count>\d{1,9})(?:\t|: | {2}|(?=\n|\Z))",  # cat -n, nl
    rf" {{0,9}}(?P<count>\d{{1,9}}){_AFTER}",
)
_PREFIX_MARKS: Final = tuple(
    re.compile(rf"\n{each}", re.ASCII)
    for each in (*_OF_EVERY_LINE, *_OF_A_SOURCE, *_COUNTED)
)
# Hardly any text has any of them: that it has none is seen at once.
_ANY: Final = re.compile(
    "|".join(re.sub(r"\?P<\w+>", "", mark.pattern) for mark in _PREFIX_MARKS), re.ASCII
)
_INDENT: Final = re.compile(r"\n([ \t]*+)(?![ \t\n]|\Z)", re.ASCII)

_BETWEEN: Final = frozenset({"", "--"})
_PROBED_LINES: Final = 400
_SHARE: Final = 0.8
_MOST_MARKS: Final = 3
_MOST_SOURCES: Final = 64
_LINES_OF_A_SOURCE: Final = 3
"""So many lines a source prints, on the average: the keys of a report look like the
names of sources, and stand before one line each."""


@dataclass(frozen=True, slots=True)
class Source:
    """Lines of one source, their ``numbers`` in the text, and the first ``prefix``."""

    text: str
    numbers: Sequence[int] = range(1, sys.maxsize)
    prefix: str = ""


def _unindented(source: Source) -> Source:
    """Return the source without the blanks that all its lines begin with."""
    heads = _heads(source.text)
    if not heads or not all(head[1] in " \t" for head in heads):
        return source
    indent = _common([indent for head in heads for indent in _INDENT.findall(head)])
    if not indent:
        return source
    # Its first lines have it; only now the others are looked at.
    lines = f"\n{source.text}"
    indent = _common([indent, *_INDENT.findall(lines)])
    text = lines.replace(f"\n{indent}", "\n")[1:]
    return replace(source, text=text, prefix=source.prefix + indent)


def unprefixed(source: Source) -> Iterator[tuple[Source, ...]]:
    """Yield the source without indentation, then with one prefix less each time."""
    sources: tuple[Source, ...] = (_unindented(source),)
    if sources != (source,):
        yield sources
    for _ in range(_MOST_MARKS):
        within = [_within(each) for each in sources]
        if not any(within):
            return
        # What has no mark stays as it is beside the others.
        pairs = zip(sources, within, strict=True)
        sources = tuple(chain.from_iterable(found or (one,) for one, found in pairs))
        yield sources


def _heads(text: str) -> list[str]:
    """Return the first lines that are not blank or ``--``, each behind a newline."""
    probed = text[: 200 * _PROBED_LINES].split("\n")[:_PROBED_LINES]
    return [f"\n{line}" for line in probed if line.strip() not in _BETWEEN]


def _common(indents: Sequence[str]) -> str:
    """Return the common beginning; a tab is not a blank."""
    first, last = min(indents, default=""), max(indents, default="")
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(blank for blank, _ in alike)


def _within(source: Source) -> tuple[Source, ...]:
    """Return the sources within one, without the mark of its lines; else ()."""
    heads = _heads(source.text)
    for mark in _PREFIX_MARKS if _first(_ANY, heads) else ():
        if (first := _first(mark, heads)) is None:
            continue
        if not mark.groupindex:
            text = mark.sub("\n", f"\n{source.text}")[1:]
            prefix = source.prefix + first[0][1:]
            return (_unindented(Source(text, source.numbers, prefix)),)
        if sources := _apart(source, mark, first):
            return tuple(map(_unindented, sources))
    return ()


def _first(mark: re.Pattern[str], heads: Sequence[str]) -> re.Match[str] | None:
    """Return the mark of the first line that has it; None if too many have not."""
    first, missing = None, 0
    for head in heads:
        if found := mark.match(head):
            first = first or found
            continue
        missing += 1
        if missing > (1 - _SHARE) * len(heads):
            return None
    return first


def _apart(
    source: Source, mark: re.Pattern[str], first: re.Match[str]
) -> tuple[Source, ...]:
    """Group lines by source without their prefix; () if it is not a prefix.

    Unmarked lines continue the one before; line numbers must be on all and increase.
    """
    is_counted, is_named = "count" in mark.groupindex, "source" in mark.groupindex
    name = first["source"] if is_named else ""
    texts: dict[str, list[str]] = {}
    numbers: dict[str, list[int]] = {}
    prefixes: dict[str, str] = {}
    counts: dict[str, int] = {}
    marked = 0
    # A source's numbers may go on beyond its last line.
    for number, line in zip(source.numbers, source.text.split("\n"), strict=False):
        rest = line
        if found := mark.match(f"\n{line}"):
            name = found["source"] if is_named else ""
            rest = line[found.end() - 1 :]
            prefixes.setdefault(name, source.prefix + found[0][1:])
            marked += 1
            if is_counted:
                if int(found["count"]) <= counts.get(name, -1):
                    return ()
                counts[name] = int(found["count"])
        elif is_counted and line.strip() not in _BETWEEN:
            return ()
        elif is_counted:
            rest = ""
        texts.setdefault(name, []).append(rest)
        numbers.setdefault(name, []).append(number)
        if len(texts) > _MOST_SOURCES:
            return ()
    if len(texts) > 1 and marked < _LINES_OF_A_SOURCE * len(texts):
        return ()
    # Only the last line of all may be one that was cut.
    ends = {each: "" if each == name else "\n" for each in texts}
    return tuple(
        Source("\n".join(texts[each]) + ends[each], numbers[each], prefixes[each])
        for each in texts
    )
