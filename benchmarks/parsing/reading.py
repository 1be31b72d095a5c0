"""From what was uploaded to runs: the one way in for every raw output.

``read`` decodes the text, cuts a log into the outputs of its tools, finds out whose
they are, and lets the parsers of ``benchmarks/tools/`` read them. Nothing is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from benchmarks import tools
from benchmarks.errors import BenchmarksError, ParseError, shorten
from benchmarks.fingerprints import canonical_parameters
from benchmarks.parsing.contract import Tool
from benchmarks.parsing.decoding import decode
from benchmarks.parsing.drafts import (
    MAX_RUNS,
    Mark,
    Parameter,
    ParsedRun,
    Parser,
    Reading,
)
from benchmarks.parsing.locales import first_comma, with_points, writes_comma
from benchmarks.parsing.parts import Part, parts
from benchmarks.parsing.prefixes import without_prefixes
from benchmarks.parsing.scanning import COMMA_HINT, LineError, fault
from benchmarks.parsing.values import check_value
from benchmarks.sentences import Sentence, every, joined

NO_TOOL = Sentence(
    "no tool is known that prints this. Name the tool, and upload its output from the "
    "first line on."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRun:
    """A run that was found in a text, or why it is none (``problem``).

    ``first_line`` and ``last_line`` are those of the part of the text it was read from.
    """

    tool: str
    parser_version: int
    first_line: int
    last_line: int
    command: str = ""
    tool_version: str = ""
    readings: tuple[Reading, ...] = ()
    warnings: tuple[Mark, ...] = ()
    facts: Mapping[str, Parameter] = field(default_factory=dict)
    problem: ParseError | None = None

    @property
    def status(self) -> str:
        return "rejected" if self.problem else "parsed"


def read(
    output: bytes | str,
    tool: str | None = None,
    locale: str | None = None,
    command: str = "",
) -> tuple[ReadRun, ...]:
    """Every run that a text holds, those that cannot be read with the reason.

    ``tool`` is any name of a tool; without it each part of the text says itself whose
    it is. A decimal comma is read only if ``locale`` names one that writes it.
    ``command`` is what printed the text, where that is known from elsewhere. A text
    that holds no output of a (or the named) tool is a ParseError.
    """
    comma = writes_comma(locale)
    named = tools.get(tool) if tool else None
    text = decode(output)
    runs: list[ReadRun] = []
    spoken = _spoken(text, named)
    for part in spoken:
        runs += _read_part(part, comma, command if len(spoken) == 1 else "")
        if len(runs) > MAX_RUNS:
            raise ParseError(
                Sentence(
                    "The text holds more than {most:,} runs: cut it.", most=MAX_RUNS
                )
            )
    return tuple(runs)


def _spoken(text: str, named: Tool | None) -> list[Part]:
    """The parts of the named tool, or of any; at least one."""
    if not text or text.isspace():
        raise ParseError(Sentence("The output is empty. Upload what the tool printed."))
    for each in _views(text):
        found = [part for part in parts(each) if part.tool]
        if ours := [part for part in found if named in (None, part.tool)]:
            return ours
        if named and found:
            raise _foreign(named, found)
    if named:
        return [Part(text=without_prefixes(text), line=1, tool=named)]
    raise _unknown(text)


def _views(text: str) -> Iterator[str]:
    """The text, and if nothing is known in it, what stands behind its timestamps."""
    yield text
    yield without_prefixes(text)


def _foreign(named: Tool, found: list[Part]) -> ParseError:
    titles = every(sorted({part.tool.title for part in found if part.tool}))
    return LineError(
        found[0].line,
        found[0].text.strip().partition("\n")[0],
        Sentence(
            "this is output of {titles}, not of {title}.",
            titles=titles,
            title=named.title,
        ),
    )


def _unknown(text: str) -> ParseError:
    position = len(text) - len(text.lstrip())
    return fault(
        text,
        position,
        joined([NO_TOOL, _comma_hint(text, 1)]),
    )


def _read_part(part: Part, comma: bool, command: str) -> Iterator[ReadRun]:
    assert part.tool is not None
    if part.tool.parser is None:
        raise ParseError(
            Sentence(
                "The output of {title} cannot be read yet: send its samples.",
                title=part.tool.title,
            )
        )
    parser = part.tool.parser
    # A run that is none, at the last line of the part that is not blank.
    lines = part.text.removesuffix("\n").count("\n")
    # Without copying a long text.
    tail = part.text[-10_000:]
    end = len(part.text) - len(tail) + len(tail.rstrip())
    refused = ReadRun(
        tool=part.tool.slug,
        parser_version=parser.version,
        first_line=part.line,
        last_line=part.line + lines,
        command=shorten(part.command, 1000),
        problem=fault(part.text, end, "").moved(part.line - 1),
    )
    try:
        for run in _parsed(part, parser, comma, command):
            yield _checked(part.tool, run, refused)
    except LineError as error:
        yield _because(error, refused)
    except ParseError as error:
        has_hint = parser.localized and not comma
        hint = _comma_hint(part.text, part.line) if has_hint else ""
        yield _because(ParseError(joined([error.sentence, hint])), refused)


def _parsed(
    part: Part, parser: Parser, comma: bool, command: str
) -> tuple[ParsedRun, ...]:
    localized = comma and parser.localized
    text = with_points(part.text) if localized else part.text
    if not command or part.command or not parser.needs_command:
        return parser.parse(text)
    return _below(shorten(command, 1000), text, parser)


def _below(command: str, text: str, parser: Parser) -> tuple[ParsedRun, ...]:
    """The runs of a text as if its command stood above it; its lines stay its own."""
    try:
        runs = parser.parse(f"$ {command}\n{text}")
    except LineError as error:
        raise error.moved(-1) from None
    return tuple(map(_moved, runs))


def _moved(run: ParsedRun) -> ParsedRun:
    if isinstance(run.problem, LineError):
        return replace(run, problem=run.problem.moved(-1))
    return run


def _checked(tool: Tool, run: ParsedRun, refused: ReadRun) -> ReadRun:
    """The run without the readings that are none; rejected if nothing is left."""
    if run.problem:
        return _because(run.problem, refused)
    kept, doubts = [], dict.fromkeys(run.warnings)
    for reading in run.readings:
        metric = tool.metric(reading.metric)
        if reading.value == 0 and not metric.zero_allowed:
            sentence = Sentence(
                '"{metric}" was printed as 0, which is no reading: left out.',
                metric=metric.name,
            )
            doubts[Mark("not_measured", sentence)] = None
            continue
        try:
            check_value(metric, reading.value, reading.unit)
            canonical_parameters(reading.parameters)
        except BenchmarksError as error:
            return _because(ParseError(error.sentence), refused)
        kept.append(reading)
    if not kept:
        return _because(ParseError(Sentence("Every number of this run is 0.")), refused)
    return replace(
        refused,
        problem=None,
        tool_version=shorten(run.tool_version),
        readings=tuple(kept),
        warnings=tuple(doubts),
        facts={
            name: (shorten(fact, 200) if isinstance(fact, str) else fact)
            for name, fact in run.facts.items()
        },
    )


def _because(problem: ParseError, refused: ReadRun) -> ReadRun:
    """The refused run with its reason, and the line of it in the whole text."""
    if isinstance(problem, LineError):
        return replace(refused, problem=problem.moved(refused.first_line - 1))
    assert isinstance(refused.problem, LineError)
    last = refused.problem
    return replace(refused, problem=LineError(last.line, last.text, problem.sentence))


def _comma_hint(text: str, line: int) -> str:
    position = first_comma(text)
    if position is None:
        return ""
    at = line + text.count("\n", 0, position)
    return Sentence("A number in line {line} {hint}", line=at, hint=COMMA_HINT)


__all__ = ["ReadRun", "read", "writes_comma"]
