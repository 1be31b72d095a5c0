"""Finding the lines that matter in an output, JSON documents, and the numbers in them.

A :class:`Scanner` passes once over the text, whatever its size, and yields the lines
that one of its patterns matches, in their order. Patterns are matched at the beginning
of a line after its blanks, with ``$`` at the end of it; they are ASCII, and must not
backtrack over the same text twice: no nested repetition, and ``*+`` or ``++`` behind a
character or a class. Behind a group they fail in CPython before 3.11.5: there each turn
begins with what the one before cannot hold, and has a limit (``{0,99}``).

Capture ``\\S+`` where a number is expected and ask :meth:`Found.number` for it: what is
no number is then an error that names the line instead of a line that is passed over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, ParamSpec, TypeVar

from benchmarks.errors import ParseError, shorten
from benchmarks.parsing.contract import Mark, Parameter, Parse, ParsedRun, Reading
from benchmarks.sentences import Sentence, joined, sentence_of

# Limited, because a text of thousands of digits must not become a number.
_NUMBER: Final = re.compile(
    r"[+-]?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,3})?", re.ASCII
)
_WHOLE: Final = re.compile(r"\d{1,18}", re.ASCII)
_COMMA: Final = re.compile(r"[+-]?[\d.]*\d,\d+", re.ASCII)
COMMA_HINT: Final = Sentence(
    "has a decimal comma, which is read only if the upload names its locale "
    '("locale": "de_DE").'
)


class LineError(ParseError):
    """A line of an output that cannot be read."""

    def __init__(self, line: int, text: str, why: str) -> None:
        self.line, self.text, self.why = line, text, why
        self.field = f"line {line}"
        shown = shorten(text.strip(), 80)
        super().__init__(
            Sentence('Line {line} "{text}": {why}', line=line, text=shown, why=why)
        )

    def moved(self, lines: int) -> LineError:
        """Return the same error, counted from so many lines earlier."""
        return LineError(self.line + lines, self.text, self.why)


class Found:
    """A line that matched: ``kind`` is the name of its pattern."""

    # A long log makes a million of them.
    __slots__ = ("_match", "kind")

    def __init__(self, match: re.Match[str], kind: str) -> None:
        self._match = match
        self.kind = kind

    def __getitem__(self, group: str) -> str:
        """Return the text of a group; "" if it took no part."""
        return self._match[group] or ""

    def number(self, group: str, decimals: int | None = None) -> float:
        """Return a group's number, not negative; ``decimals``: how many it always has.

        At the very end of a text a number is refused unless it has all its decimals.
        """
        number = self.amount_of(self[group])
        self._refuse_cut(group, self[group], decimals)
        return number

    def amount_of(self, text: str) -> float:
        """Return a piece of this line as a number that is not negative."""
        if (number := self.number_of(text)) < 0:
            raise self.refused("{text} cannot be: it is negative.", text=text)
        return number

    def number_of(self, text: str) -> float:
        """Return a piece of this line as a number."""
        if _NUMBER.fullmatch(text):
            return float(text)
        why: str = Sentence('"{text}" is not a number.', text=shorten(text))
        if _COMMA.fullmatch(text):
            why = joined([shorten(text), COMMA_HINT])
        elif text.strip("+-").casefold() in {"nan", "inf", "infinity"}:
            why = Sentence("{text} is not a number that can be measured.", text=text)
        raise self.refused(why)

    def numbers(self, group: str, decimals: int) -> list[float]:
        """Return the numbers of a row; ``decimals`` is how many the last one has."""
        cells = self[group].split()
        self._refuse_cut(group, cells[-1], decimals)
        return [self.number_of(cell) for cell in cells]

    def whole(self, group: str) -> int:
        if not _WHOLE.fullmatch(self[group]):
            raise self.refused(
                '"{text}" is not a whole number.', text=shorten(self[group])
            )
        self._refuse_cut(group, self[group], None)
        return int(self[group])

    def is_open(self, group: str) -> bool:
        """Whether the text ends with this group: it may have been cut in it."""
        return self._match.end(group) == len(self._match.string)

    def refuse_open(self, group: str) -> None:
        """Refuse the line if the text ends with this group."""
        if self.is_open(group):
            raise self.refused("the text ends within this line.")

    def _refuse_cut(self, group: str, number: str, decimals: int | None) -> None:
        if self.is_open(group) and len(number.partition(".")[2]) != decimals:
            raise self.refused(
                "the text ends within this line. Upload the whole output, with "
                "the end of its last line."
            )

    def precedes(self, pattern: str, until: Found | None) -> bool:
        """Whether such a line follows this one, before the line ``until``."""
        end = len(self._match.string) if until is None else until._match.start() + 1
        lines = re.compile(rf"\n[ \t]*+{pattern}", re.ASCII)
        return lines.search(self._match.string, self._match.end(), end) is not None

    def refused(self, why: str, /, **values: str | float) -> LineError:
        """Return the error that this line cannot be read, to be raised."""
        return LineError(self.line, self.text, sentence_of(why, values))

    @property
    def line(self) -> int:
        """The number of the line, from 1; it counts from the start, for errors only."""
        return self._match.string.count("\n", 0, self._match.start()) + 1

    @property
    def text(self) -> str:
        start = self._match.start() + 1
        end = self._match.string.find("\n", start)
        return self._match.string[start : None if end < 0 else end]


class Scanner:
    """Named patterns of lines."""

    def __init__(self, **kinds: str) -> None:
        self._kinds: dict[str | None, str] = {f"{kind}_line": kind for kind in kinds}
        # The name stands behind its pattern, empty: a branch that begins with a letter
        # is passed over at once where the line begins with another one.
        branches = "|".join(
            f"(?:{pattern})(?P<{kind}_line>)" for kind, pattern in kinds.items()
        )
        self._pattern = re.compile(
            rf"\n[ \t]*+(?!\n)(?:{branches})", re.MULTILINE | re.ASCII
        )

    def __call__(self, output: str) -> Iterator[Found]:
        kinds = self._kinds
        for match in self._pattern.finditer(f"\n{output}"):
            yield Found(match, kinds[match.lastgroup])


def fault(output: str, position: int, why: str) -> LineError:
    """Return the error that the line at a position of ``output`` cannot be read."""
    start = output.rfind("\n", 0, position) + 1
    end = output.find("\n", position)
    text = output[start : None if end < 0 else end]
    return LineError(output.count("\n", 0, position) + 1, text, why)


Pairs = list[tuple[str, Any]]


def documents(
    output: str, begin: str, shape: Callable[[Pairs], Any] = dict
) -> Iterator[dict[str, Any]]:
    """Yield each JSON object that begins a line with the pattern ``begin``.

    ``shape`` builds each object from its pairs, innermost first, and may drop data.
    """
    text = f"\n{output}"
    decoder = json.JSONDecoder(object_pairs_hook=shape, parse_constant=_refuse_constant)
    pattern = re.compile(rf"\n[ \t]*+(?={begin})", re.ASCII)
    begun = pattern.search(text)
    while begun:
        # One character more stands before everything in ``text``.
        start = begun.end() - 1
        try:
            document, end = decoder.raw_decode(output, start)
        except json.JSONDecodeError as error:
            # Where the text says something last, not in the blanks behind it.
            end = min(error.pos, len(output.rstrip()) - 1)
            broken = Sentence("the JSON breaks off here ({why}).", why=error.msg)
            raise fault(output, end, broken) from None
        except (ValueError, RecursionError) as error:
            why = error.args[0] if error.args else Sentence("it is nested too deep")
            unread = Sentence("this JSON cannot be read: {why}.", why=why)
            raise fault(output, start, unread) from None
        yield document
        begun = pattern.search(text, end)


def _refuse_constant(name: str) -> None:
    """Refuse ``NaN`` and ``Infinity``, which Python's JSON reads."""
    raise ValueError(Sentence("{name} is not a number that can be measured", name=name))


def number(value: object, what: str) -> float:
    """Return a number of a document, or raise ParseError."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParseError("{what} is not a number in this output.", what=what)
    try:
        return float(value)
    except OverflowError:
        raise ParseError("{what} is a number of too many digits.", what=what) from None


def section(document: object, *names: str) -> dict[str, Any]:
    """Return the object under these names; {} if there is none."""
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


MAX_READINGS: Final = 10_000
"""A run of more readings is a log to be summarized, not a result."""
MAX_RUNS: Final = 1_000

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(slots=True, kw_only=True)
class Draft:
    """A run while it is read; tools may subclass it."""

    tool_version: str = ""
    parameters: dict[str, Parameter] = field(default_factory=dict)
    facts: dict[str, Parameter] = field(default_factory=dict)
    _readings: list[Reading] = field(default_factory=list)
    # A set in order: logs say the same doubt again and again.
    _warnings: dict[Mark, None] = field(default_factory=dict)
    _counts: dict[object, int] = field(default_factory=dict)
    _refusal: ParseError | None = None

    def attempt(
        self, read: Callable[P, None], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Call a reader unless the run is refused; its ParseError refuses this run."""
        if self._refusal is None:
            try:
                read(*args, **kwargs)
            except ParseError as error:
                self._refusal = error

    def add(
        self, metric: str, value: float, unit: str, **parameters: Parameter
    ) -> None:
        """Add a reading under the draft's parameters; a repeated case counts up."""
        if len(self._readings) == MAX_READINGS:
            raise ParseError(
                "There are more than {most:,} readings of one run. Summarize "
                "the log, or upload it in parts.",
                most=MAX_READINGS,
            )
        both = {**self.parameters, **parameters}
        # Whatever order they were told in: it is the same case.
        case = (metric, *sorted(both.items(), key=lambda item: item[0]))
        self._counts[case] = self._counts.get(case, 0) + 1
        reading = Reading(
            metric=metric,
            value=value,
            unit=unit,
            parameters=both,
            repetition=self._counts[case],
        )
        self._readings.append(reading)

    def mark(self, code: str, why: str, /, **values: str | float) -> None:
        """Add a warning once: a sentence, or a template and its values."""
        self._warnings[Mark(code, sentence_of(why, values))] = None

    def close(self) -> None:
        """Make readings of lines that were kept; called once, after the last line."""

    def __bool__(self) -> bool:
        """Whether anything was read."""
        return bool(self._readings)

    @property
    def is_told(self) -> bool:
        """Whether it is a run: read, refused, or only doubted."""
        return bool(self or self._refusal or self._warnings)

    def finished(self, nothing: str = "") -> ParsedRun:
        problem = self._refusal
        if not self and not problem:
            doubts = [mark.sentence for mark in self._warnings]
            problem = ParseError(joined([nothing, *doubts[:3]]))
        return ParsedRun(
            readings=tuple(self._readings),
            tool_version=self.tool_version,
            warnings=tuple(self._warnings),
            facts=dict(self.facts),
            problem=problem,
        )


def keep(items: list[T], item: T) -> None:
    """Append a run or a total; refuse too many before they fill the memory."""
    if len(items) > MAX_RUNS:
        raise ParseError(
            "The text holds more than {most:,} results: cut it.", most=MAX_RUNS
        )
    items.append(item)


def finished(drafts: Sequence[Draft], nothing: str) -> tuple[ParsedRun, ...]:
    """Return the runs with readings or warnings, or raise ParseError(``nothing``)."""
    nothing = sentence_of(nothing, {})
    for draft in drafts:
        draft.attempt(draft.close)
    if runs := [draft for draft in drafts if draft.is_told]:
        return tuple(draft.finished(nothing) for draft in runs)
    raise ParseError(nothing)


def parser(nothing: str) -> Callable[[Callable[[str], Sequence[Draft]]], Parse]:
    """Make the ``parse`` of a tool from a function that returns drafts.

    ``nothing``: the sentence that refuses a text without any run.
    """

    def finishing(parse: Callable[[str], Sequence[Draft]]) -> Parse:
        return lambda output: finished(parse(output), nothing)

    return finishing
