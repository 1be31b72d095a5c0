"""Removal of prefixes that loggers write before each line of a tool's output."""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, takewhile
from typing import Final

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
