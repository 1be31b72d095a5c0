"""Toolkit of parsers: scanners for lines, JSON and numbers, and drafts of runs.

A :class:`LineScanner` passes once over a text and yields the lines that match one of
its patterns. Patterns are matched at the beginning of a line after its blanks, with
``$`` at its end. They are ASCII, and must not backtrack over the same text twice: no
nested repetition, and ``*+`` or ``++`` after a character or a class. After a group,
these fail in CPython before 3.11.5, so each repetition of a group must begin with
something that the previous one cannot contain, and have a limit (``{0,99}``).

Capture ``\\S+`` where a number is expected and call :meth:`MatchedLine.number`, which
raises an error with the line for other text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, ParamSpec, TypeVar

from benchmarks.errors import ParseError, shorten
from benchmarks.parsing.tool import Parameter, Parse, ParsedRun, ParseWarning, Reading
from benchmarks.sentences import Sentence, join_sentences, to_sentence

# The length is limited, because a text may have thousands of digits.
_NUMBER: Final = re.compile(
    r"[+-]?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,3})?", re.ASCII
)
_WHOLE: Final = re.compile(r"\d{1,18}", re.ASCII)
_COMMA: Final = re.compile(r"[+-]?[\d.]*\d,\d+", re.ASCII)
COMMA_HINT: Final = Sentence(
    "has a decimal comma, which is accepted only if the upload specifies its "
    'locale ("locale": "de_DE").'
)


class LineError(ParseError):
    def __init__(self, line: int, text: str, reason: str) -> None:
        self.line, self.text, self.why = line, text, reason
        self.field = f"line {line}"
        shown = shorten(text.strip(), 80)
        super().__init__(
            Sentence('Line {line} "{text}": {why}', line=line, text=shown, why=reason)
        )

    def shifted(self, lines: int) -> LineError:
        return LineError(self.line + lines, self.text, self.why)


class MatchedLine:
    """A line that matches the pattern with the name ``kind``."""

    __slots__ = ("_match", "kind")

    def __init__(self, match: re.Match[str], kind: str) -> None:
        self._match = match
        self.kind = kind

    def __getitem__(self, group: str) -> str:
        """Return the text of a group, or "" if it did not match."""
        return self._match[group] or ""

    def number(self, group: str, decimals: int | None = None) -> float:
        """Return a group's number, which must not be negative.

        ``decimals`` is the number of decimals that the tool always prints. A number at
        the very end of a text is rejected as truncated unless it has these decimals.
        """
        number = self.parse_amount(self[group])
        self._reject_truncated_number(group, self[group], decimals)
        return number

    def parse_amount(self, text: str) -> float:
        if (number := self.parse_number(text)) < 0:
            raise self.parse_error(
                "{text} is not possible because it is negative.", text=text
            )
        return number

    def parse_number(self, text: str) -> float:
        if _NUMBER.fullmatch(text):
            return float(text)
        why: str = Sentence('"{text}" is not a number.', text=shorten(text))
        if _COMMA.fullmatch(text):
            why = join_sentences([shorten(text), COMMA_HINT])
        elif text.strip("+-").casefold() in {"nan", "inf", "infinity"}:
            why = Sentence("{text} is not a number that can be measured.", text=text)
        raise self.parse_error(why)

    def numbers(self, group: str, decimals: int) -> list[float]:
        """Return a group's numbers; ``decimals`` (see `number`) is for the last one."""
        cells = self[group].split()
        self._reject_truncated_number(group, cells[-1], decimals)
        return [self.parse_number(cell) for cell in cells]

    def integer(self, group: str) -> int:
        if not _WHOLE.fullmatch(self[group]):
            raise self.parse_error(
                '"{text}" is not a whole number.', text=shorten(self[group])
            )
        self._reject_truncated_number(group, self[group], None)
        return int(self[group])

    def may_be_truncated(self, group: str) -> bool:
        """Return whether the text ends with this group."""
        return self._match.end(group) == len(self._match.string)

    def reject_if_truncated(self, group: str) -> None:
        if self.may_be_truncated(group):
            raise self.parse_error("the text ends in the middle of this line.")

    def _reject_truncated_number(
        self, group: str, number: str, decimals: int | None
    ) -> None:
        if self.may_be_truncated(group) and len(number.partition(".")[2]) != decimals:
            raise self.parse_error(
                "the text ends in the middle of this line. Upload the complete "
                "output, including the end of the last line."
            )

    def is_followed_by(self, pattern: str, end_line: MatchedLine | None) -> bool:
        """Return whether a line after this one begins with ``pattern``.

        Lines from ``end_line`` on do not count.
        """
        end = (
            len(self._match.string) if end_line is None else end_line._match.start() + 1
        )
        lines = re.compile(rf"\n[ \t]*+{pattern}", re.ASCII)
        return lines.search(self._match.string, self._match.end(), end) is not None

    def parse_error(self, reason: str, /, **values: str | float) -> LineError:
        return LineError(self.line, self.text, to_sentence(reason, values))

    @property
    def line(self) -> int:
        """The line number, starting at 1. It is slow, so use it only for errors."""
        return self._match.string.count("\n", 0, self._match.start()) + 1

    @property
    def text(self) -> str:
        start = self._match.start() + 1
        end = self._match.string.find("\n", start)
        return self._match.string[start : None if end < 0 else end]


class LineScanner:
    def __init__(self, **kinds: str) -> None:
        self._kinds: dict[str | None, str] = {f"{kind}_line": kind for kind in kinds}
        # With the group's name after the pattern, a branch that begins with another
        # letter is skipped at once.
        branches = "|".join(
            f"(?:{pattern})(?P<{kind}_line>)" for kind, pattern in kinds.items()
        )
        self._text = rf"\n[ \t]*+(?!\n)(?:{branches})"

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        # Compiled late: all patterns together would take a quarter of each start.
        return re.compile(self._text, re.MULTILINE | re.ASCII)

    def __call__(self, output: str) -> Iterator[MatchedLine]:
        kinds = self._kinds
        for match in self._pattern.finditer(f"\n{output}"):
            yield MatchedLine(match, kinds[match.lastgroup])


def check_row_width(line: MatchedLine, cells: Sequence[object], width: int) -> None:
    if len(cells) != width:
        raise line.parse_error(
            "the row has {cells} columns, not {width}.", cells=len(cells), width=width
        )


def line_error_at(output: str, position: int, reason: str) -> LineError:
    start = output.rfind("\n", 0, position) + 1
    end = output.find("\n", position)
    text = output[start : None if end < 0 else end]
    return LineError(output.count("\n", 0, position) + 1, text, reason)


Pairs = list[tuple[str, Any]]
_NAN: Final = re.compile(r"[+-]?(?:nan|inf(?:inity)?)\b", re.ASCII | re.IGNORECASE)


def unique_keys(pairs: Pairs) -> dict[str, Any]:
    """Raise ValueError if a key has two different values."""
    document = dict(pairs)
    if len(document) < len(pairs):
        for key, value in pairs:
            if document[key] != value:
                repeated = Sentence(
                    'the key "{key}" is repeated with another value', key=shorten(key)
                )
                raise ValueError(repeated)
    return document


def json_documents(
    output: str, begin: str, shape: Callable[[Pairs], Any] = unique_keys
) -> Iterator[dict[str, Any]]:
    """Yield each JSON object that begins a line with the pattern ``begin``.

    ``shape`` builds each object from its pairs, innermost first, and may drop data. It
    should end with `unique_keys`.
    """
    text = f"\n{output}"
    decoder = json.JSONDecoder(object_pairs_hook=shape, parse_constant=_reject_constant)
    pattern = re.compile(rf"\n[ \t]*+(?={begin})", re.ASCII)
    match = pattern.search(text)
    while match:
        # ``text`` has one more character than ``output`` in front.
        start = match.end() - 1
        try:
            document, end = decoder.raw_decode(output, start)
        except json.JSONDecodeError as error:
            end = min(error.pos, len(output.rstrip()) - 1)
            why: str = Sentence(
                "the JSON is not valid at this point ({why}).", why=error.msg
            )
            if nan := _NAN.match(output, error.pos):
                why = Sentence(
                    "{text} is not a number that can be measured.", text=nan[0]
                )
            raise line_error_at(output, end, why) from None
        except (ValueError, RecursionError) as error:
            why = error.args[0] if error.args else Sentence("it is nested too deeply")
            unread = Sentence("this JSON cannot be read: {why}.", why=why)
            raise line_error_at(output, start, unread) from None
        yield document
        match = pattern.search(text, end)


def _reject_constant(name: str) -> None:
    """Reject ``NaN`` and ``Infinity``, which Python's JSON parser accepts."""
    raise ValueError(Sentence("{name} is not a number that can be measured", name=name))


def json_number(value: object, label: str) -> float:
    """Return a number, or raise ParseError for another value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParseError("{what} is not a number in this output.", what=label)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise ParseError("{what} has too many digits.", what=label)
    return number


def json_section(document: object, *names: str) -> dict[str, Any]:
    """Return the object under nested names, or {} if there is none."""
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def json_rows(document: object, name: str) -> list[dict[str, Any]]:
    """Return the objects of the list under a name."""
    rows = document.get(name) if isinstance(document, dict) else None
    return (
        [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    )


MAX_READINGS: Final = 10_000
MAX_RUNS: Final = 1_000

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(slots=True, kw_only=True)
class Draft:
    """A run while it is being read; tools may subclass it."""

    tool_version: str = ""
    part: str = ""
    parameters: dict[str, Parameter] = field(default_factory=dict)
    facts: dict[str, Parameter] = field(default_factory=dict)
    errors: int | None = None
    operations: int | None = None
    _readings: list[Reading] = field(default_factory=list)
    # An ordered set: logs repeat warnings.
    _warnings: dict[ParseWarning, None] = field(default_factory=dict)
    _counts: dict[object, int] = field(default_factory=dict)
    _rejection: ParseError | None = None

    def read_line(
        self, reader: Callable[P, None], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Call a reader unless the run is rejected; a ParseError rejects the run."""
        if self._rejection is None:
            try:
                reader(*args, **kwargs)
            except ParseError as error:
                self._rejection = error

    def add(
        self, metric: str, value: float, unit: str, **parameters: Parameter
    ) -> None:
        """Add a reading with the parameters of the draft and its own.

        Readings of the same case are numbered as repetitions.
        """
        if len(self._readings) == MAX_READINGS:
            raise ParseError(
                "A run has more than {most:,} readings. Summarize the log, or "
                "upload it in parts.",
                most=MAX_READINGS,
            )
        all_parameters = {**self.parameters, **parameters}
        case = (metric, frozenset(all_parameters.items()))
        self._counts[case] = self._counts.get(case, 0) + 1
        reading = Reading(
            metric=metric,
            value=value,
            unit=unit,
            parameters=all_parameters,
            repetition=self._counts[case],
        )
        self._readings.append(reading)

    def add_warning(self, code: str, reason: str, /, **values: str | float) -> None:
        """Add a warning once; ``reason`` is a sentence or a template for ``values``."""
        self._warnings[ParseWarning(code, to_sentence(reason, values))] = None

    def add_failure(self, code: str, reason: str, /, **values: str | float) -> None:
        """Add a warning like `add_warning`; the work of the run failed."""
        self._warnings[ParseWarning(code, to_sentence(reason, values), True)] = None

    def count_errors(self, errors: float, operations: float) -> None:
        """State how many of the attempted operations failed.

        Of several parts of a run, the one with the largest share of errors counts.
        """
        stored = (self.errors or 0) / max(self.operations or 0, 1)
        if self.errors is None or errors / max(operations, 1) > stored:
            self.errors, self.operations = round(errors), round(operations)

    @property
    def readings(self) -> tuple[Reading, ...]:
        return tuple(self._readings)

    def close(self) -> None:
        """Complete the run. ``finish_drafts`` calls this once, after the last line."""

    def __bool__(self) -> bool:
        return bool(self._readings)

    @property
    def has_content(self) -> bool:
        return bool(self or self._rejection or self._warnings)

    def finish(self, empty_message: str = "") -> ParsedRun:
        problem = self._rejection
        if not self and not problem:
            messages = [warning.message for warning in self._warnings]
            problem = ParseError(join_sentences([empty_message, *messages[:3]]))
        return ParsedRun(
            readings=tuple(self._readings),
            tool_version=self.tool_version,
            warnings=tuple(self._warnings),
            facts=dict(self.facts),
            problem=problem,
            errors=self.errors,
            operations=self.operations,
            part=self.part,
        )


def append_limited(items: list[T], item: T) -> None:
    """Append the item, or raise ParseError if there are too many.

    One more than `MAX_RUNS` is allowed, because many parsers begin with an empty item
    that does not become a run.
    """
    if len(items) > MAX_RUNS:
        raise ParseError(
            "The text has more than {most:,} results. Split it.", most=MAX_RUNS
        )
    items.append(item)


def finish_drafts(drafts: Sequence[Draft], empty_message: str) -> tuple[ParsedRun, ...]:
    """Return the runs that are not empty, or raise ParseError if all are."""
    empty_message = to_sentence(empty_message, {})
    for draft in drafts:
        draft.read_line(draft.close)
    if runs := [draft for draft in drafts if draft.has_content]:
        return tuple(draft.finish(empty_message) for draft in runs)
    raise ParseError(empty_message)


def parser(empty_message: str) -> Callable[[Callable[[str], Sequence[Draft]]], Parse]:
    """Turn a function that returns drafts into a tool's ``parse``.

    ``empty_message`` is the error for a text without any run.
    """

    def finishing(parse: Callable[[str], Sequence[Draft]]) -> Parse:
        return lambda output: finish_drafts(parse(output), empty_message)

    return finishing
