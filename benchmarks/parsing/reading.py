"""From what was uploaded to runs: the one way in for every raw output.

``read`` decodes the text, cuts a log into the outputs of its tools, finds out whose
they are, and lets the parsers of ``benchmarks/tools/`` read them. Nothing is stored.

A part of a log begins where a tool begins to speak: at a line that only this tool
prints, or at the prompt behind which it was called. Consecutive outputs of one tool
between two prompts are one part; its parser tells their runs apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from benchmarks import tools
from benchmarks.errors import BenchmarksError, ParseError, shorten
from benchmarks.fingerprints import canonical_parameters
from benchmarks.parsing.contract import Tool, check_value
from benchmarks.parsing.decoding import (
    decode,
    first_comma,
    with_points,
    without_prefixes,
    writes_comma,
)
from benchmarks.parsing.drafts import (
    MAX_RUNS,
    Mark,
    Parameter,
    ParsedRun,
    Parser,
    Reading,
)
from benchmarks.parsing.scanning import COMMA_HINT, LineError, fault
from benchmarks.sentences import Sentence, every, joined
from benchmarks.tools import TOOLS

_PARSERS: Final[tuple[tuple[Tool, Parser], ...]] = tuple(
    (tool, tool.parser) for tool in TOOLS.values() if tool.parser
)
_PROGRAMS: Final = {
    program: tool for tool, parser in _PARSERS for program in parser.programs
}
_SIGNATURES: Final = re.compile(
    r"\n[ \t]*+(?!\n)(?:"
    + "|".join(pattern for _, parser in _PARSERS for pattern in parser.signatures)
    + ")",
    re.MULTILINE | re.ASCII,
)
# A prompt that names its machine ends what came before it; a bare one ("$", "+") only
# if a known tool is called behind it: "# " also begins comments and titles.
_PROMPT: Final = re.compile(
    r"\n(?:(?P<full>"
    r"(?:\[?[\d:T-]{5,25}\]? )?(?:\([\w.-]{1,40}\) )?"
    r"\[?[\w.-]{1,64}@[\w.-]{1,64}[^\n$#%>]{0,120}[$#%>]"
    r"|(?:PS )?[A-Za-z]:\\[^\n>]{0,120}>"
    r") *(?P<command>[^\n]*)"
    r"|(?:[\w/~:.-]{0,40}[$#]|\+{1,4}) +(?P<bare>[^\n]*))",
    re.ASCII,
)
_BEFORE_PROGRAM: Final = re.compile(
    r"(?:sudo|time|nice|exec|nohup|env|command|taskset|numactl|timeout|\d\S*|-\S*"
    r"|\w+=\S*) +"
)
_PROGRAM: Final = re.compile(r"[^\s;|&<>]+")
# A version behind the name is no command, but the title that the tool prints.
_IS_NO_RUN: Final = re.compile(r" (?:(?:--?version|--?help|-[hvV])(?: |$)|v?\d+\.\d)")
# One of them is in every text that holds a prompt with a command.
_SIGNS: Final = ("$ ", "# ", "\n+ ", "\n++ ", "@", ":\\")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A stretch of a log: ``line`` is the number of its first line."""

    text: str
    line: int
    tool: Tool | None = None
    command: str = ""


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
    spoken = _spoken(decode(output), tools.get(tool) if tool else None)
    runs: list[ReadRun] = []
    for part in spoken:
        # A command from elsewhere is that of the whole text, not of one of many parts.
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
    known = [part for part in parts(text) if part.tool]
    if not known:
        # A logger's mark before every line hides what the line begins with.
        known = [part for part in parts(without_prefixes(text)) if part.tool]
    if ours := [part for part in known if named in (None, part.tool)]:
        return ours
    if named and known:
        titles = sorted({part.tool.title for part in known if part.tool})
        why = Sentence(
            "this is output of {titles}, not of {title}.",
            titles=every(titles),
            title=named.title,
        )
        first = known[0]
        raise LineError(first.line, first.text.strip().partition("\n")[0], why)
    if named:
        return [Part(text=without_prefixes(text), line=1, tool=named)]
    position = len(text) - len(text.lstrip())
    raise fault(text, position, joined([NO_TOOL, _comma_hint(text, 1)]))


def parts(text: str) -> list[Part]:
    """The outputs of known tools in a text, in their order; the rest has no tool."""
    may_hold = text.startswith("+") or any(sign in text for sign in _SIGNS)
    prompts = [
        prompt
        for prompt in (_PROMPT.finditer(f"\n{text}") if may_hold else ())
        if prompt["full"] or _called(prompt["bare"])
    ]
    ends = [*(prompt.start() for prompt in prompts), len(text)]
    cut: list[Part] = []
    line, position = 1, 0
    for prompt, start, end in zip([None, *prompts], [0, *ends], ends, strict=False):
        command = (prompt["command"] or prompt["bare"] or "").strip() if prompt else ""
        for first, last, tool in _outputs(text[start:end], command, bool(prompt)):
            # Counted on from the part before: from the start, time would be quadratic.
            line += text.count("\n", position, start + first)
            position = start + first
            piece = text[position : start + last]
            cut.append(Part(text=piece, line=line, tool=tool, command=command))
    return cut


def _called(command: str) -> Tool | None:
    """The tool whose program a command line calls for a measurement."""
    position = 0
    while before := _BEFORE_PROGRAM.match(command, position):
        position = before.end()
    program = _PROGRAM.match(command, position)
    if program is None or _IS_NO_RUN.search(command):
        return None
    name = re.split(r"[/\\]", program[0])[-1].removesuffix(".exe")
    return _PROGRAMS.get(name)


def _outputs(
    text: str, command: str, is_prompted: bool
) -> Iterator[tuple[int, int, Tool | None]]:
    """Where each tool speaks in what stands between two prompts, and where it ends."""
    end = len(text)
    if starts := list(_starts(f"\n{text}")):
        # What stands before the first signature belongs to it: warnings, the command.
        cuts = [0, *(position for position, _ in starts[1:]), end]
        for index, (_, tool) in enumerate(starts):
            yield cuts[index], cuts[index + 1], tool
    elif called := _called(command):
        yield 0, end, called
    else:
        body = text[text.find("\n") + 1 if is_prompted else 0 :]
        claims = (
            tool for tool, parser in _PARSERS if parser.shape and parser.shape(body)
        )
        yield end - len(body), end, next(claims, None)


def _starts(text: str) -> Iterator[tuple[int, Tool]]:
    """Where another tool begins to speak."""
    speaker: Parser | None = None
    began = 0
    for signature in _SIGNATURES.finditer(text):
        position = signature.start()
        if speaker and speaker.starts(text, position):
            began = position
            continue
        tool, parser = next(
            (tool, parser) for tool, parser in _PARSERS if parser.starts(text, position)
        )
        # HPCC prints all of HPL within its own output: until its last line, HPL's are
        # a part of it.
        if speaker and tool.slug in speaker.encloses:
            is_over = text.find(speaker.last_line, began, position) >= 0
            if not is_over:
                continue
        speaker, began = parser, position
        yield position, tool


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
    # A run that is none, at the last line of the part that is not blank; found without
    # copying a long text.
    tail = part.text[-10_000:]
    end = len(part.text) - len(tail) + len(tail.rstrip())
    refused = ReadRun(
        tool=part.tool.slug,
        parser_version=parser.version,
        first_line=part.line,
        last_line=part.line + part.text.removesuffix("\n").count("\n"),
        command=shorten(part.command, 1000),
        problem=fault(part.text, end, "").moved(part.line - 1),
    )
    text = with_points(part.text) if comma and parser.localized else part.text
    if part.command or not parser.needs_command:
        command = ""
    # The parser looks for the command above the output: put there, it is one line more.
    above = f"$ {shorten(command, 1000)}\n" if command else ""
    shift = part.line - 1 - bool(above)
    try:
        for run in parser.parse(above + text):
            yield _checked(part.tool, run, refused, shift)
    except LineError as error:
        yield _because(error, refused, shift)
    except ParseError as error:
        has_hint = parser.localized and not comma
        hint = _comma_hint(part.text, part.line) if has_hint else ""
        yield _because(ParseError(joined([error.sentence, hint])), refused, shift)


def _checked(tool: Tool, run: ParsedRun, refused: ReadRun, shift: int) -> ReadRun:
    """The run without the readings that are none; rejected if nothing is left."""
    if run.problem:
        return _because(run.problem, refused, shift)
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
            return _because(ParseError(error.sentence), refused, shift)
        kept.append(reading)
    if not kept:
        nothing = ParseError(Sentence("Every number of this run is 0."))
        return _because(nothing, refused, shift)
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


def _because(problem: ParseError, refused: ReadRun, shift: int) -> ReadRun:
    """The refused run with its reason; its line counts from ``shift`` lines later."""
    if isinstance(problem, LineError):
        return replace(refused, problem=problem.moved(shift))
    assert isinstance(refused.problem, LineError)
    last = refused.problem
    return replace(refused, problem=LineError(last.line, last.text, problem.sentence))


def _comma_hint(text: str, line: int) -> str:
    position = first_comma(text)
    if position is None:
        return ""
    line += text.count("\n", 0, position)
    return Sentence("A number in line {line} {hint}", line=line, hint=COMMA_HINT)
