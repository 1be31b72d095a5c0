"""Read uploaded text into runs: decode, strip prefixes, cut at tools and prompts,
parse."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Final

from benchmarks import tools
from benchmarks.errors import BenchmarksError, ParseError, shorten
from benchmarks.fingerprints import canonical_parameters
from benchmarks.parsing.contract import (
    Mark,
    Parameter,
    ParsedRun,
    Reading,
    Tool,
    check_value,
)
from benchmarks.parsing.decoding import (
    Source,
    decode,
    first_comma,
    unprefixed,
    with_points,
    writes_comma,
)
from benchmarks.parsing.scanning import COMMA_HINT, MAX_RUNS, LineError, fault
from benchmarks.parsing.starts import printed_start
from benchmarks.sentences import Sentence, every, joined
from benchmarks.tools import TOOLS

_READERS: Final = [tool for tool in TOOLS.values() if tool.parse]
_PROGRAMS: Final = {program: tool for tool in _READERS for program in tool.programs}
_SIGNATURES: Final = re.compile(
    r"\n[ \t]*+(?!\n)(?:"
    + "|".join(pattern for tool in _READERS for pattern in tool.signatures)
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
MOST_PROMPTS: Final = 5_000
"""What stands behind each of them is looked at by itself."""
# One of them is in every text that holds a prompt with a command.
_SIGNS: Final = ("$ ", "# ", "\n+ ", "\n++ ", "@", ":\\")


NO_TOOL = Sentence(
    "no tool is known that prints this. Name the tool, and upload its output from the "
    "first line on."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRun:
    """A run found in a text, or why it is refused (``problem``).

    Lines are those of its part; ``printed_start`` may lack a time zone.
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
    printed_start: datetime | None = None

    @property
    def status(self) -> str:
        return "rejected" if self.problem else "parsed"


PREFIX: Final = "line prefix"
"""The fact that says what stood before each line of an output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A stretch of a source, from the source's line ``line`` on."""

    text: str
    line: int
    source: Source
    tool: Tool | None = None
    command: str = ""

    def at(self, line: int) -> int:
        """Return the line of the whole text that a line of this part is."""
        return self.source.numbers[self.line + max(line, 1) - 2]

    @property
    def prefix(self) -> str:
        """Return the text in front of its lines; "" for nothing or one blank."""
        blanks = self.source.prefix.replace("\t", "    ")
        return blanks.strip() or (f"{len(blanks)} blanks" if len(blanks) > 1 else "")


def read(
    output: bytes | str,
    tool: str | None = None,
    locale: str | None = None,
    command: str = "",
) -> tuple[ReadRun, ...]:
    """Return every run in a text; unreadable ones have a ``problem``.

    ``tool`` is any name of a tool (else detected), ``locale`` one that allows decimal
    commas, ``command`` what printed the text. ParseError if no output of a (or the)
    tool is found.
    """
    comma = writes_comma(locale)
    text = decode(output)
    spoken = _spoken(text, tools.get(tool) if tool else None)
    runs: list[ReadRun] = []
    for part in spoken:
        # A command from elsewhere is that of the whole text, not of one of many parts.
        found = _read_part(part, comma, command if len(spoken) == 1 else "")
        runs += _as_uploaded(found, text) if part.source.prefix else found
        if len(runs) > MAX_RUNS:
            raise ParseError(
                "The text holds more than {most:,} runs: cut it.", most=MAX_RUNS
            )
    return tuple(runs)


def _as_uploaded(runs: Iterable[ReadRun], text: str) -> Iterator[ReadRun]:
    """Yield runs whose problems quote the line as it was uploaded."""
    lines: list[str] = []
    for run in runs:
        if isinstance(run.problem, LineError):
            lines = lines or text.split("\n")
            problem, line = run.problem, lines[run.problem.line - 1]
            run = replace(run, problem=LineError(problem.line, line, problem.why))
        yield run


def _spoken(text: str, named: Tool | None) -> list[Part]:
    """Return the parts of the named tool, or of any; at least one."""
    if not text or text.isspace():
        raise ParseError("The output is empty. Upload what the tool printed.")
    whole = Source(text)
    known = [part for each in _clearest(whole) for part in _parts(each) if part.tool]
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
        raise LineError(first.at(1), first.text.strip().partition("\n")[0], why)
    if named:
        return _nameless(whole, named)
    position = len(text) - len(text.lstrip())
    # Of a text that is none of ours a comma is more likely one of a list.
    hint = _comma_hint(text) if text.count(",") >= text.count(".") else ""
    raise fault(text, position, joined([NO_TOOL, hint]))


def _clearest(source: Source) -> tuple[Source, ...]:
    """Return the source with or without line prefixes, whichever has more results."""
    texts = [(source,), *unprefixed(source)]
    if len(texts) == 1:
        return (source,)
    starts = [
        sum(len(_SIGNATURES.findall(f"\n{each.text}")) for each in sources)
        for sources in texts
    ]
    best = [each for each, n in zip(texts, starts, strict=True) if n == max(starts)]
    return max(best, key=_readings) if len(best) > 1 else best[0]


def _readings(sources: tuple[Source, ...]) -> int:
    known = [part for source in sources for part in _parts(source) if part.tool]
    runs = [run for part in known for run in _read_part(part, True, "")]
    return sum(len(run.readings) for run in runs)


def _nameless(whole: Source, tool: Tool) -> list[Part]:
    """Return a text without signatures as one part, without prefixes if need be."""
    for sources in ((whole,), *unprefixed(whole)):
        found = [
            Part(text=each.text, line=1, source=each, tool=tool) for each in sources
        ]
        if any(run.readings for each in found for run in _read_part(each, True, "")):
            return found
    return [Part(text=whole.text, line=1, source=whole, tool=tool)]


def _parts(source: Source) -> Iterator[Part]:
    """Yield the outputs of known tools in order; the rest has no tool."""
    text = source.text
    may_hold = text.startswith("+") or any(sign in text for sign in _SIGNS)
    found = (
        prompt
        for prompt in (_PROMPT.finditer(f"\n{text}") if may_hold else ())
        if prompt["full"] or _called(prompt["bare"])
    )
    prompts = list(islice(found, MOST_PROMPTS + 1))
    if len(prompts) > MOST_PROMPTS:
        raise ParseError(
            "The text holds more than {most:,} prompts of a shell: cut it.",
            most=MOST_PROMPTS,
        )
    ends = [*(prompt.start() for prompt in prompts), len(text)]
    line, position = 1, 0
    for prompt, start, end in zip([None, *prompts], [0, *ends], ends, strict=False):
        # Counted on from the part before: from the start, time would be quadratic.
        line += text.count("\n", position, start)
        position = start
        stretch = text[start:end]
        if prompt and (clearer := _behind_prompt(stretch, source, line)):
            for each in clearer:
                yield from _parts(each)
            continue
        command = (prompt["command"] or prompt["bare"] or "").strip() if prompt else ""
        for first, last, tool in _outputs(stretch, command, bool(prompt)):
            line += text.count("\n", position, start + first)
            position = start + first
            piece = text[position : start + last]
            yield Part(text=piece, line=line, source=source, tool=tool, command=command)


def _behind_prompt(stretch: str, source: Source, line: int) -> tuple[Source, ...]:
    """Return a command and its output without prefixes (``sysbench cpu run | ts``)."""
    prompt, _, body = stretch.partition("\n")
    if not body:
        return ()
    inner = Source(body, source.numbers[line:], source.prefix)
    clearer = _clearest(inner)
    if inner in clearer:
        return ()
    first = source.numbers[line - 1]
    return tuple(
        Source(
            f"{prompt}\n{each.text}",
            [first, *islice(each.numbers, each.text.count("\n") + 1)],
            each.prefix,
        )
        for each in clearer
    )


def _called(command: str) -> Tool | None:
    """Return the tool whose program a command line calls for a measurement."""
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
    """Yield begin, end and tool of each output between two prompts."""
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
        shaped = (tool for tool in _READERS if tool.shape and tool.shape(body))
        yield end - len(body), end, next(shaped, None)


def _starts(text: str) -> Iterator[tuple[int, Tool]]:
    """Yield where another tool's output begins."""
    speaker: Tool | None = None
    began = 0
    for signature in _SIGNATURES.finditer(text):
        position = signature.start()
        if speaker and speaker.starts(text, position):
            began = position
            continue
        tool = next(tool for tool in _READERS if tool.starts(text, position))
        # HPCC prints all of HPL within its own output: until its last line, HPL's are
        # a part of it.
        if speaker and tool.slug in speaker.encloses:
            is_over = text.find(speaker.last_line, began, position) >= 0
            if not is_over:
                continue
        speaker, began = tool, position
        yield position, tool


def _read_part(part: Part, comma: bool, command: str) -> Iterator[ReadRun]:
    tool = part.tool
    assert tool is not None
    if tool.parse is None:
        raise ParseError(
            "The output of {title} cannot be read yet: send its samples.",
            title=tool.title,
        )
    # A run that is none, at the last line of the part that is not blank; found without
    # copying a long text.
    tail = part.text[-10_000:]
    end = len(part.text) - len(tail) + len(tail.rstrip())
    refused = ReadRun(
        tool=tool.slug,
        parser_version=tool.version,
        first_line=part.at(1),
        last_line=part.at(1 + part.text.removesuffix("\n").count("\n")),
        command=shorten(part.command, 1000),
        facts={PREFIX: shorten(part.prefix, 200)} if part.prefix else {},
        problem=_placed(fault(part.text, end, ""), part.at),
        printed_start=printed_start(tool.slug, part.text),
    )
    text = with_points(part.text) if comma and tool.localized else part.text
    if part.command or not tool.needs_command:
        command = ""
    # The parser looks for the command above the output: put there, it is one line more.
    above = f"$ {shorten(command, 1000)}\n" if command else ""

    def at(line: int) -> int:
        return part.at(line - bool(above))

    try:
        for run in tool.parse(above + text):
            yield _checked(tool, run, refused, at)
    except LineError as error:
        yield _because(error, refused, at)
    except ParseError as error:
        has_hint = tool.localized and not comma
        hint = _comma_hint(part.text, part.at) if has_hint else ""
        yield _because(ParseError(joined([error.sentence, hint])), refused, at)


LineNumber = Callable[[int], int]
"""From a line of a part to that of the whole text."""


def _checked(tool: Tool, run: ParsedRun, refused: ReadRun, at: LineNumber) -> ReadRun:
    """Return the run without unusable readings; rejected if none is left."""
    if run.problem:
        return _because(run.problem, refused, at)
    kept, doubts = [], dict.fromkeys(run.warnings)
    for reading in run.readings:
        metric = tool.metric(reading.metric)
        if reading.value == 0 and not metric.zero_allowed:
            sentence = Sentence(
                '"{metric}" was printed as 0, which is not a reading: left out.',
                metric=metric.name,
            )
            doubts[Mark("not_measured", sentence)] = None
            continue
        try:
            check_value(metric, reading.value, reading.unit)
            canonical_parameters(reading.parameters)
        except BenchmarksError as error:
            return _because(ParseError(error.sentence), refused, at)
        kept.append(reading)
    if not kept:
        nothing = ParseError("Every number of this run is 0.")
        return _because(nothing, refused, at)
    return replace(
        refused,
        problem=None,
        tool_version=shorten(run.tool_version),
        readings=tuple(kept),
        warnings=tuple(doubts),
        facts={
            **refused.facts,
            **{
                name: (shorten(fact, 200) if isinstance(fact, str) else fact)
                for name, fact in run.facts.items()
            },
        },
    )


def _because(problem: ParseError, refused: ReadRun, at: LineNumber) -> ReadRun:
    """Return the refused run with its reason, at its line of the whole text."""
    if isinstance(problem, LineError):
        return replace(refused, problem=_placed(problem, at))
    assert isinstance(refused.problem, LineError)
    last = refused.problem
    return replace(refused, problem=LineError(last.line, last.text, problem.sentence))


def _placed(problem: LineError, at: LineNumber) -> LineError:
    return LineError(at(problem.line), problem.text, problem.why)


def _comma_hint(text: str, at: LineNumber = int) -> str:
    position = first_comma(text)
    if position is None:
        return ""
    line = at(1 + text.count("\n", 0, position))
    return Sentence("A number in line {line} {hint}", line=line, hint=COMMA_HINT)
