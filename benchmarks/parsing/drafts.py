"""What a parser makes of a tool's output: runs, their readings and quality marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, ParamSpec, TypeVar

from benchmarks.errors import ParseError
from benchmarks.sentences import joined, sentence_of

MAX_READINGS: Final = 10_000
"""A run of more readings is a log to be summarized, not a result."""
MAX_RUNS: Final = 1_000

Parameter = str | int | float | bool
T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One number as it was printed, in the unit that its tool means by it."""

    metric: str
    value: float
    unit: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    repetition: int = 1


@dataclass(frozen=True, slots=True)
class Mark:
    """A doubt about a run: a code for programs, a sentence for people."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRun:
    """One execution of a tool, as its output tells it.

    ``facts`` is what is worth keeping beside the numbers and is no parameter of them:
    times, peers, compiler flags. ``problem`` says why it is refused.
    """

    readings: tuple[Reading, ...]
    tool_version: str = ""
    warnings: tuple[Mark, ...] = ()
    facts: Mapping[str, Parameter] = field(default_factory=dict)
    problem: ParseError | None = None


@dataclass(slots=True, kw_only=True)
class Draft:
    """A run while it is being read."""

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
        """Call this reader, unless the run is refused already: what it cannot read
        refuses this run alone."""
        if self._refusal is None:
            try:
                read(*args, **kwargs)
            except ParseError as error:
                self._refusal = error

    def add(
        self, metric: str, value: float, unit: str, **parameters: Parameter
    ) -> None:
        """Take a reading under the draft's parameters and these. The second reading of
        the same case is its second repetition."""
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

    def __bool__(self) -> bool:
        """Whether anything was read."""
        return bool(self._readings)

    @property
    def is_told(self) -> bool:
        """Whether it is a run at all: read, refused, or but doubted."""
        return bool(self or self._refusal or self._warnings)

    def _problem(self, nothing: str) -> ParseError | None:
        """Why it is refused: its own error, or the sentence that nothing was read and
        what the tool said."""
        if self or self._refusal:
            return self._refusal
        doubts = [mark.sentence for mark in self._warnings]
        return ParseError(joined([nothing, *doubts[:3]]))

    def finished(self, nothing: str = "") -> ParsedRun:
        return ParsedRun(
            readings=tuple(self._readings),
            tool_version=self.tool_version,
            warnings=tuple(self._warnings),
            facts=dict(self.facts),
            problem=self._problem(nothing),
        )


def keep(items: list[T], item: T) -> None:
    """Append a run or a total; too many are refused before they fill the memory."""
    if len(items) > MAX_RUNS:
        raise ParseError(
            "The text holds more than {most:,} results: cut it.", most=MAX_RUNS
        )
    items.append(item)


def finished(drafts: list[Draft], nothing: str) -> tuple[ParsedRun, ...]:
    """The drafts in which anything was read; the sentence ``nothing`` if there is none.

    A draft that was only doubted is a run that failed: it is refused with that sentence
    and with what the tool said.
    """
    nothing = sentence_of(nothing, {})
    if runs := [draft for draft in drafts if draft.is_told]:
        return tuple(draft.finished(nothing) for draft in runs)
    raise ParseError(nothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parser:
    """How the output of a tool is known and read.

    ``signatures`` are patterns at the beginning of a line (after blanks) that only this
    tool prints: one of them starts its output in a longer log. ``shape`` tells whether
    a text without any signature can be this tool's. ``programs`` are the names that it
    is called by. ``localized``: its numbers follow the locale, so that a decimal comma
    is read where the locale is named. Between a signature and ``last_line`` the
    signatures of the tools in ``encloses`` are part of this output.
    ``needs_command``: it does not print all that it was told to do, and ``parse`` finds
    the rest in the command above the output.
    """

    version: int
    parse: Callable[[str], tuple[ParsedRun, ...]]
    signatures: tuple[str, ...]
    shape: Callable[[str], bool] | None = None
    programs: tuple[str, ...] = ()
    localized: bool = True
    encloses: tuple[str, ...] = ()
    last_line: str = ""
    needs_command: bool = False
    _signature: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        branches = "|".join(f"(?:{pattern})" for pattern in self.signatures)
        # A newline in front instead of ^: a search leaps from line end to line end.
        signature = re.compile(rf"\n[ \t]*+(?:{branches})", re.MULTILINE | re.ASCII)
        object.__setattr__(self, "_signature", signature)

    def starts(self, text: str, position: int) -> bool:
        """Whether the line after the newline at ``position`` is a signature."""
        return self._signature.match(text, position) is not None
