"""What loggers, pagers and mails have put before every line of an output.

``ts``, journals and CI write the time; ``kubectl logs --prefix``, ``docker compose``,
``pdsh`` and ``mpirun --tag-output`` whose line it is; ``grep -n`` and ``cat -n`` its
number; a mail ``>``; a pasted block blanks. :func:`unprefixed` takes such marks off,
one after the other (``grep -n`` in the log of a pod), and puts the lines of each source
together: two pods that printed at once are two outputs.

A mark is known by its form, and by nearly every line having it. Columns of numbers
begin like some of them: whether a text says more without a mark is for its reader to
see (``parsing/reading``).
"""

from __future__ import annotations

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
_MARKS: Final = tuple(
    re.compile(rf"\n{each}", re.ASCII)
    for each in (*_OF_EVERY_LINE, *_OF_A_SOURCE, *_COUNTED)
)
# Hardly any text has any of them: that it has none is seen at once.
_ANY: Final = re.compile(
    "|".join(re.sub(r"\?P<\w+>", "", mark.pattern) for mark in _MARKS), re.ASCII
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
    """What one source printed.

    ``numbers`` are the lines of the whole text that its lines were; ``prefix`` is what
    stood before the first of them.
    """

    text: str
    numbers: Sequence[int] = range(1, sys.maxsize)
    prefix: str = ""


def _unindented(source: Source) -> Source:
    """The source without the blanks that all its lines begin with."""
    if not (indent := _indent(_heads(source.text))):
        return source
    # Its first lines have it; only now the others are looked at.
    lines = f"\n{source.text}"
    indent = _common([indent, *_INDENT.findall(lines)])
    text = lines.replace(f"\n{indent}", "\n")[1:]
    return replace(source, text=text, prefix=source.prefix + indent)


def unprefixed(source: Source) -> Iterator[tuple[Source, ...]]:
    """The source without its indentation, and with one mark less before its lines each
    time; nothing if it has neither."""
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
    """The first lines that are not blank (nor ``--``, which ``grep`` puts between two
    finds), each behind a line end.

    So much text holds the lines that are looked at: a long log is not cut up for it.
    """
    probed = text[: 200 * _PROBED_LINES].split("\n")[:_PROBED_LINES]
    return [f"\n{line}" for line in probed if line.strip() not in _BETWEEN]


def _indent(heads: Sequence[str]) -> str:
    if not heads or not all(head[1] in " \t" for head in heads):
        return ""
    return _common([indent for head in heads for indent in _INDENT.findall(head)])


def _common(indents: Sequence[str]) -> str:
    """What all begin with; a tab is no blank."""
    first, last = min(indents, default=""), max(indents, default="")
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(blank for blank, _ in alike)


def _within(source: Source) -> tuple[Source, ...]:
    """The sources within one, without the mark of its lines; none if they have none."""
    heads = _heads(source.text)
    for mark in _MARKS if _first(_ANY, heads) else ():
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
    """The mark of the first line that has it; None if too many lines have not."""
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
    """The lines of each source together, without their mark; none if it is no mark.

    A line without the mark goes on with the one before it. Where the mark is the number
    of the line, every line has it (but for blank ones, and for what ``grep`` puts
    between two finds), and each a larger one than the line before.
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
