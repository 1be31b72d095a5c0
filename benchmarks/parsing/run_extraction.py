"""Extraction of runs from uploaded text: decode, strip prefixes, split, parse."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Final

from benchmarks import tools
from benchmarks.errors import BenchmarksError, ParseError, shorten
from benchmarks.fingerprints import canonical_parameters
from benchmarks.parsing.decoding import (
    decode,
    find_decimal_comma,
    replace_decimal_commas,
    uses_decimal_comma,
)
from benchmarks.parsing.failed_work import Failure, WorkCount
from benchmarks.parsing.log_prefixes import LogSource, strip_prefixes
from benchmarks.parsing.parser_toolkit import (
    COMMA_HINT,
    MAX_RUNS,
    LineError,
    line_error_at,
)
from benchmarks.parsing.result_labels import (
    LABELLED_RESULTS,
    Label,
    find_labels,
    split_at,
)
from benchmarks.parsing.start_times import printed_start
from benchmarks.parsing.tool import (
    Parameter,
    ParsedRun,
    ParseWarning,
    Reading,
    Tool,
    check_value,
)
from benchmarks.sentences import Sentence, join_sentences, join_with_and
from benchmarks.tools import TOOLS

_READERS: Final = [tool for tool in TOOLS.values() if tool.parse]
_PROGRAMS: Final = {program: tool for tool in _READERS for program in tool.programs}
_SIGNATURES: Final = re.compile(
    r"\n[ \t]*+(?!\n)(?:"
    + "|".join(pattern for tool in _READERS for pattern in tool.signatures)
    + ")",
    re.MULTILINE | re.ASCII,
)
# A prompt with the name of its machine ends the previous output. A bare one ("$", "+")
# does so only before a known tool, because "# " also begins comments.
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
# These lines are titles that a tool prints, or commands that run no test. Four numbers
# are an address.
_NOT_A_RUN: Final = re.compile(
    r" (?:(?:--?version|--?help|-[hvV])(?: |$)|v?\d+\.\d+(?:\.\d+)?(?![.\d]))"
)
MAX_PROMPTS: Final = 5_000
# One of these is in every text with a prompt and a command.
_PROMPT_ENDINGS: Final = ("$ ", "# ", "\n+ ", "\n++ ", "@", ":\\")


TOOL_NOT_RECOGNIZED = Sentence(
    "this is not the output of a known tool. Name the tool, and upload its output "
    "from the first line."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedRun:
    """A run found in a text; ``problem`` is why it is rejected.

    ``printed_start`` may lack a time zone. ``part`` is the system or label in a text
    with several; until the uploader states a part, its runs are rejected.
    """

    tool: str
    parser_version: int
    first_line: int
    last_line: int
    command: str = ""
    tool_version: str = ""
    readings: tuple[Reading, ...] = ()
    warnings: tuple[ParseWarning, ...] = ()
    facts: Mapping[str, Parameter] = field(default_factory=dict)
    problem: ParseError | None = None
    printed_start: datetime | None = None
    errors: int | None = None
    operations: int | None = None
    part: str = ""

    @property
    def failure(self) -> Failure:
        reasons = [warning.message for warning in self.warnings if warning.is_failure]
        work = None
        if self.errors is not None and self.operations is not None:
            work = WorkCount(self.errors, max(self.operations, self.errors))
        return Failure(next(iter(reasons), ""), work)

    @property
    def status(self) -> str:
        return "rejected" if self.problem else "parsed"


MAX_PART: Final = 200
UNLABELLED: Final = "(above the first label)"
"""The part that precedes all labels."""
PREFIX: Final = "line prefix"
"""Name of the fact that holds the removed prefix of the lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """A section of a source that begins at the source's line ``line``."""

    text: str
    line: int
    source: LogSource
    tool: Tool | None = None
    command: str = ""

    def line_in_text(self, line: int) -> int:
        return self.source.line_numbers[self.line + max(line, 1) - 2]

    @property
    def prefix(self) -> str:
        """The removed prefix (blanks as "4 blanks"); "" if it is empty or one blank."""
        blanks = self.source.prefix.replace("\t", "    ")
        return blanks.strip() or (f"{len(blanks)} blanks" if len(blanks) > 1 else "")


def extract_runs(
    output: bytes | str,
    tool: str | None = None,
    locale: str | None = None,
    command: str = "",
    part: str = "",
) -> tuple[ExtractedRun, ...]:
    """Return every run in a text, or in a ``part``; rejected runs have a ``problem``.

    ``tool`` is any name of a tool (default: detected), ``locale`` may allow decimal
    commas, and ``command`` printed the text. Raise ParseError if there is no output of
    the tool, or of any tool, or if there is no such part.
    """
    comma = uses_decimal_comma(locale)
    text = decode(output)
    named_tool = tools.get(tool) if tool else None
    sections = _parts_of_tool(text, named_tool)
    runs = _read_parts(sections, text, comma, command)
    sources = {id(section.source) for section in sections}
    names = {run.part for run in runs}
    if len(sources) == 1 and len(names) < 2 and _has_repetitions(runs):
        labelled = _labelled_runs(runs, sections[0].source, named_tool, comma)
        runs = [*_restore_quoted_lines(labelled, text)] if labelled else runs
    return tuple(_with_targets(_runs_of_part(runs, part, text)))


def _runs_of_part(
    runs: Sequence[ExtractedRun], part: str, text: str
) -> Sequence[ExtractedRun]:
    """Return the runs of a part; without one, reject the runs of several parts."""
    names = list(dict.fromkeys(run.part for run in runs))
    if part:
        if matching := [run for run in runs if run.part == part]:
            _check_count(len(matching))
            return [replace(run, problem=_own_problem(run)) for run in matching]
        raise ParseError(
            'The output has no part "{part}". Its parts are: {known}.',
            part=shorten(part),
            known=shorten(", ".join(filter(None, names)) or "-", 300),
        )
    if len(names) < 2 or all(run.problem for run in runs):
        return runs
    why = Sentence(
        "the file has results of {n} systems: {names}. State the part of each system "
        "(on the upload page, assign each to a system).",
        n=len(names),
        names=shorten(", ".join(names), 200),
    )
    problem = line_error_at(text, len(text) - len(text.lstrip()), why)
    return [replace(run, problem=run.problem or problem) for run in runs]


def _own_problem(run: ExtractedRun) -> ParseError | None:
    is_unassigned = isinstance(run.problem, LineError) and (
        run.problem.why == LABELLED_RESULTS
    )
    return None if is_unassigned and run.readings else run.problem


def _check_count(n: int) -> None:
    if n > MAX_RUNS:
        raise ParseError(
            "The text has more than {most:,} runs. Split it.", most=MAX_RUNS
        )


def _read_parts(
    parts: Sequence[TextPart], text: str, comma: bool, command: str
) -> list[ExtractedRun]:
    runs: list[ExtractedRun] = []
    for part in parts:
        # A separate command is used only if the text is a single part.
        part_runs = _read_part(part, comma, command if len(parts) == 1 else "")
        runs += (
            _restore_quoted_lines(part_runs, text) if part.source.prefix else part_runs
        )
        if not any(run.part for run in runs):
            _check_count(len(runs))
    return runs


def _has_repetitions(runs: Sequence[ExtractedRun]) -> bool:
    cases = [_case_key(run, reading) for run in runs for reading in run.readings]
    return len(set(cases)) < len(cases)


def _case_key(run: ExtractedRun, reading: Reading) -> tuple[object, ...]:
    return run.tool, reading.metric, frozenset(reading.parameters.items())


def _labelled_runs(
    runs: Sequence[ExtractedRun], source: LogSource, tool: Tool | None, comma: bool
) -> list[ExtractedRun]:
    """Return rejected runs for results that foreign lines separate, or []."""
    if not (labels := find_labels(source.text)):
        return []
    sections: list[tuple[Label | None, list[ExtractedRun]]] = []
    for label, text, before in split_at(source.text, labels):
        inner = LogSource(text, source.line_numbers[before:], source.prefix)
        parts = [
            part for part in _parts(inner) if part.tool and tool in (None, part.tool)
        ]
        if not parts and tool:
            parts = [TextPart(text=text, line=1, source=inner, tool=tool)]
        section = [run for part in parts for run in _read_part(part, comma, "")]
        sections.append((label, [run for run in section if run.readings]))
    measured = [(label, section) for label, section in sections if section]
    # A line within a result is not a label: without it, values or settings are lost.
    whole = Counter(_values(runs))
    names = {label.name if label else "" for label, _ in measured}
    if len(names) < 2 or whole != Counter(
        value for _, section in measured for value in _values(section)
    ):
        return []
    cases = [{case for case, _ in _values(section)} for _, section in measured]
    is_shared = sum(map(len, cases)) > len(set().union(*cases))
    if not is_shared:
        return []
    first = labels[0]
    rejected = []
    for label, section in measured:
        shown = label or first
        line = source.line_numbers[source.text.count("\n", 0, shown.position)]
        problem = LineError(line, shown.text, LABELLED_RESULTS)
        name = label.name if label else UNLABELLED
        rejected += [replace(run, part=name, problem=problem) for run in section]
    return rejected


def _values(
    runs: Iterable[ExtractedRun],
) -> Iterator[tuple[tuple[object, ...], float]]:
    for run in runs:
        for reading in run.readings:
            yield _case_key(run, reading), reading.value


def _with_targets(runs: Sequence[ExtractedRun]) -> Iterator[ExtractedRun]:
    """Yield the runs; targets (devices) that share a case become parameters of it."""
    targets: dict[tuple[object, ...], set[Parameter]] = {}
    for run, name, reading in _targeted_readings(runs):
        key = (name, *_case_key(run, reading))
        targets.setdefault(key, set()).add(run.facts[name])
    mixed = {key for key, values in targets.items() if len(values) > 1}
    for run in runs:
        yield replace(run, readings=_readings_by_target(run, mixed)) if mixed else run


def _readings_by_target(
    run: ExtractedRun, mixed: Set[tuple[object, ...]]
) -> tuple[Reading, ...]:
    readings = []
    for reading in run.readings:
        case = _case_key(run, reading)
        names = [
            name
            for name in TOOLS[run.tool].targets
            if name in run.facts and (name, *case) in mixed
        ]
        parameters = {**reading.parameters, **{name: run.facts[name] for name in names}}
        readings.append(replace(reading, parameters=parameters))
    return tuple(readings)


def _targeted_readings(
    runs: Sequence[ExtractedRun],
) -> Iterator[tuple[ExtractedRun, str, Reading]]:
    for run in runs if len(runs) > 1 else ():
        for name in TOOLS[run.tool].targets:
            for reading in run.readings if name in run.facts else ():
                yield run, name, reading


def _restore_quoted_lines(
    runs: Iterable[ExtractedRun], text: str
) -> Iterator[ExtractedRun]:
    lines: list[str] = []
    for run in runs:
        if isinstance(run.problem, LineError):
            lines = lines or text.split("\n")
            problem, line = run.problem, lines[run.problem.line - 1]
            run = replace(run, problem=LineError(problem.line, line, problem.why))
        yield run


def _parts_of_tool(text: str, tool: Tool | None) -> list[TextPart]:
    """Return the outputs of a tool (None: of all tools), or raise ParseError."""
    if not text or text.isspace():
        raise ParseError("The output is empty. Upload what the tool printed.")
    source = LogSource(text)
    parts = [
        part
        for log in _best_prefix_removal(source)
        for part in _parts(log)
        if part.tool
    ]
    if matching := [part for part in parts if tool in (None, part.tool)]:
        return matching
    if tool and parts:
        titles = sorted({part.tool.title for part in parts if part.tool})
        why = Sentence(
            "this is output of {titles}, not of {title}.",
            titles=join_with_and(titles),
            title=tool.title,
        )
        first = parts[0]
        raise LineError(
            first.line_in_text(1), first.text.strip().partition("\n")[0], why
        )
    if tool:
        return _part_without_signature(source, tool)
    position = len(text) - len(text.lstrip())
    # In a text of an unknown tool, a comma more likely belongs to a list.
    hint = _comma_hint(text) if text.count(",") >= text.count(".") else ""
    raise line_error_at(text, position, join_sentences([TOOL_NOT_RECOGNIZED, hint]))


def _best_prefix_removal(source: LogSource) -> tuple[LogSource, ...]:
    """Return the source with or without prefixes, whichever has more results."""
    texts = [(source,), *strip_prefixes(source)]
    if len(texts) == 1:
        return (source,)
    starts = [
        sum(len(_SIGNATURES.findall(f"\n{candidate.text}")) for candidate in sources)
        for sources in texts
    ]
    best = [
        candidate
        for candidate, n in zip(texts, starts, strict=True)
        if n == max(starts)
    ]
    return max(best, key=_count_readings) if len(best) > 1 else best[0]


def _count_readings(sources: tuple[LogSource, ...]) -> int:
    parts = [part for source in sources for part in _parts(source) if part.tool]
    runs = [run for part in parts for run in _read_part(part, True, "")]
    return sum(len(run.readings) for run in runs)


def _part_without_signature(source: LogSource, tool: Tool) -> list[TextPart]:
    for sources in ((source,), *strip_prefixes(source)):
        parts = [
            TextPart(text=log.text, line=1, source=log, tool=tool) for log in sources
        ]
        if any(run.readings for part in parts for run in _read_part(part, True, "")):
            return parts
    return [TextPart(text=source.text, line=1, source=source, tool=tool)]


def _parts(source: LogSource) -> Iterator[TextPart]:
    """Yield the outputs of known tools and the other text, which has no tool."""
    text = source.text
    may_have_prompt = text.startswith("+") or any(
        ending in text for ending in _PROMPT_ENDINGS
    )
    matches = (
        prompt
        for prompt in (_PROMPT.finditer(f"\n{text}") if may_have_prompt else ())
        if prompt["full"] or _tool_from_command(prompt["bare"])
    )
    prompts = list(islice(matches, MAX_PROMPTS + 1))
    if len(prompts) > MAX_PROMPTS:
        raise ParseError(
            "The text has more than {most:,} shell prompts. Split it.",
            most=MAX_PROMPTS,
        )
    ends = [*(prompt.start() for prompt in prompts), len(text)]
    line, position = 1, 0
    for prompt, start, end in zip([None, *prompts], [0, *ends], ends, strict=False):
        # Counting from the start would take quadratic time.
        line += text.count("\n", position, start)
        position = start
        section = text[start:end]
        if prompt and (stripped := _sources_after_prompt(section, source, line)):
            for log in stripped:
                yield from _parts(log)
            continue
        command = (prompt["command"] or prompt["bare"] or "").strip() if prompt else ""
        for first, last, tool in _outputs(section, command, bool(prompt)):
            line += text.count("\n", position, start + first)
            position = start + first
            output = text[position : start + last]
            yield TextPart(
                text=output, line=line, source=source, tool=tool, command=command
            )


def _sources_after_prompt(
    section: str, source: LogSource, line: int
) -> tuple[LogSource, ...]:
    """Return a command and its output without prefixes (``sysbench cpu run | ts``).

    Return () if the output has no prefixes.
    """
    prompt, _, body = section.partition("\n")
    if not body:
        return ()
    inner = LogSource(body, source.line_numbers[line:], source.prefix)
    stripped = _best_prefix_removal(inner)
    if inner in stripped:
        return ()
    first = source.line_numbers[line - 1]
    return tuple(
        LogSource(
            f"{prompt}\n{log.text}",
            [first, *islice(log.line_numbers, log.text.count("\n") + 1)],
            log.prefix,
        )
        for log in stripped
    )


def _tool_from_command(command: str) -> Tool | None:
    position = 0
    while prefix := _BEFORE_PROGRAM.match(command, position):
        position = prefix.end()
    program = _PROGRAM.match(command, position)
    if program is None or _NOT_A_RUN.search(command):
        return None
    name = re.split(r"[/\\]", program[0])[-1].removesuffix(".exe")
    return _PROGRAMS.get(name)


def _outputs(
    text: str, command: str, is_prompted: bool
) -> Iterator[tuple[int, int, Tool | None]]:
    end = len(text)
    if starts := list(_starts(f"\n{text}")):
        # Warnings and the command precede the first signature.
        cuts = [0, *(position for position, _ in starts[1:]), end]
        commanded = _tool_from_command(command)
        if commanded and starts[0][1].slug in commanded.enclosed_tools:
            starts[0] = (starts[0][0], commanded)
        for index, (_, tool) in enumerate(starts):
            yield cuts[index], cuts[index + 1], tool
    elif command_tool := _tool_from_command(command):
        yield 0, end, command_tool
    else:
        body = text[text.find("\n") + 1 if is_prompted else 0 :]
        recognized = (
            tool for tool in _READERS if tool.recognizes and tool.recognizes(body)
        )
        yield end - len(body), end, next(recognized, None)


def _starts(text: str) -> Iterator[tuple[int, Tool]]:
    current: Tool | None = None
    began = 0
    for signature in _SIGNATURES.finditer(text):
        position = signature.start()
        if current and current.is_signature_at(text, position):
            began = position
            continue
        tool = next(tool for tool in _READERS if tool.is_signature_at(text, position))
        # HPCC prints all of HPL within its own output.
        if current and tool.slug in current.enclosed_tools:
            is_over = text.find(current.last_line, began, position) >= 0
            if not is_over:
                continue
        current, began = tool, position
        yield position, tool


def _read_part(part: TextPart, comma: bool, command: str) -> Iterator[ExtractedRun]:
    tool = part.tool
    assert tool is not None
    if tool.parse is None:
        raise ParseError(
            "The output of {title} cannot be parsed yet. Send its samples instead.",
            title=tool.title,
        )
    # Only the tail is copied, because the text may be long.
    tail = part.text[-10_000:]
    end = len(part.text) - len(tail) + len(tail.rstrip())
    template = ExtractedRun(
        tool=tool.slug,
        parser_version=tool.version,
        first_line=part.line_in_text(1),
        last_line=part.line_in_text(1 + part.text.removesuffix("\n").count("\n")),
        command=shorten(part.command, 1000),
        facts={PREFIX: shorten(part.prefix, 200)} if part.prefix else {},
        problem=_at_line(line_error_at(part.text, end, ""), part.line_in_text),
        printed_start=printed_start(tool.slug, part.text),
    )
    text = (
        replace_decimal_commas(part.text) if comma and tool.is_localized else part.text
    )
    if part.command or not tool.needs_command:
        command = ""
    # The command adds a line above the output.
    command_line = f"$ {shorten(command, 1000)}\n" if command else ""

    def original_line(line: int) -> int:
        return part.line_in_text(line - bool(command_line))

    try:
        for run in tool.parse(command_line + text):
            yield _checked_run(tool, run, template, original_line)
    except LineError as error:
        yield _rejected_run(error, template, original_line)
    except ParseError as error:
        has_hint = tool.is_localized and not comma
        hint = _comma_hint(part.text, part.line_in_text) if has_hint else ""
        yield _rejected_run(
            ParseError(join_sentences([error.sentence, hint])), template, original_line
        )


LineNumber = Callable[[int], int]


def _checked_run(
    tool: Tool, run: ParsedRun, template: ExtractedRun, line_number: LineNumber
) -> ExtractedRun:
    """Omit readings of 0 that cannot be 0.

    Reject the run if none is left, or another reading is invalid.
    """
    template = replace(template, part=shorten(run.part, MAX_PART))
    if run.problem:
        return _rejected_run(run.problem, template, line_number)
    readings, warnings = [], dict.fromkeys(run.warnings)
    for reading in run.readings:
        metric = tool.metric(reading.metric)
        if reading.value == 0 and not metric.allows_zero:
            sentence = Sentence(
                '"{metric}" was printed as 0, which is not a valid value, so it '
                "was excluded.",
                metric=metric.name,
            )
            warnings[ParseWarning("not_measured", sentence)] = None
            continue
        try:
            check_value(metric, reading.value, reading.unit)
            _check_parameters(
                tuple((name, v, type(v)) for name, v in reading.parameters.items())
            )
        except BenchmarksError as error:
            return _rejected_run(ParseError(error.sentence), template, line_number)
        readings.append(reading)
    if not readings:
        empty = ParseError("Every value of this run is 0.")
        return _rejected_run(empty, template, line_number)
    return replace(
        template,
        problem=None,
        tool_version=shorten(run.tool_version),
        readings=tuple(readings),
        warnings=tuple(warnings),
        errors=run.errors,
        operations=run.operations,
        facts={
            **template.facts,
            **{
                name: (shorten(fact, 200) if isinstance(fact, str) else fact)
                for name, fact in run.facts.items()
            },
        },
    )


@lru_cache(maxsize=4096)
def _check_parameters(items: tuple[tuple[str, Parameter, type], ...]) -> None:
    """Raise InvalidError for parameters that cannot be stored."""
    # Runs repeat their parameters. The types distinguish 1 and True.
    canonical_parameters({name: value for name, value, _ in items})


def _rejected_run(
    problem: ParseError, template: ExtractedRun, line_number: LineNumber
) -> ExtractedRun:
    if isinstance(problem, LineError):
        return replace(template, problem=_at_line(problem, line_number))
    assert isinstance(template.problem, LineError)
    last = template.problem
    return replace(template, problem=LineError(last.line, last.text, problem.sentence))


def _at_line(problem: LineError, line_number: LineNumber) -> LineError:
    return LineError(line_number(problem.line), problem.text, problem.why)


def _comma_hint(text: str, line_number: LineNumber = int) -> str:
    position = find_decimal_comma(text)
    if position is None:
        return ""
    line = line_number(1 + text.count("\n", 0, position))
    return Sentence("A number in line {line} {hint}", line=line, hint=COMMA_HINT)
