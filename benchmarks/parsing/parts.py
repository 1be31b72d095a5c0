"""Cutting a log into the outputs of its tools.

A part begins where a tool begins to speak: at a line that only this tool prints, or at
the prompt behind which it was called. Consecutive outputs of one tool between two
prompts are one part; its parser tells their runs apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from benchmarks.parsing.drafts import Parser
from benchmarks.tools import TOOLS, Tool

_PARSERS: Final[tuple[tuple[Tool, Parser], ...]] = tuple(
    (tool, tool.parser) for tool in TOOLS.values() if tool.parser
)
_PROGRAMS: Final = {
    program: tool for tool, parser in _PARSERS for program in parser.programs
}
_SIGNATURES: Final = re.compile(
    r"\n[ \t]*+(?!\n)(?:"
    + "|".join(each for _, parser in _PARSERS for each in parser.signatures)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A stretch of a log: ``line`` is the number of its first line."""

    text: str
    line: int
    tool: Tool | None = None
    command: str = ""


def parts(text: str) -> list[Part]:
    """The outputs of known tools in a text, in their order; the rest has no tool."""
    found: list[Part] = []
    line, position = 1, 0
    for region in _regions(text):
        for start, end, tool in _segments(region):
            line += text.count("\n", position, region.start + start)
            position = region.start + start
            cut = text[position : region.start + end]
            part = Part(text=cut, line=line, tool=tool, command=region.command)
            found.append(part)
    return found


@dataclass(frozen=True, slots=True)
class _Region:
    """What stands between two prompts, with the command of the first."""

    start: int
    text: str
    command: str = ""
    is_prompted: bool = False


def _regions(text: str) -> Iterator[_Region]:
    start, command, is_prompted = 0, "", False
    for prompt in _prompts(text):
        if prompt.start() > start:
            region = text[start : prompt.start()]
            yield _Region(start, region, command, is_prompted)
        start, command = (
            prompt.start(),
            (prompt["command"] or prompt["bare"] or "").strip(),
        )
        is_prompted = True
    yield _Region(start, text[start:], command, is_prompted)


def _prompts(text: str) -> Iterator[re.Match[str]]:
    if not text.startswith("+") and not any(sign in text for sign in _SIGNS):
        return
    for prompt in _PROMPT.finditer(f"\n{text}"):
        if prompt["full"] or _called(prompt["bare"]):
            yield prompt


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


def _segments(region: _Region) -> Iterator[tuple[int, int, Tool | None]]:
    starts = list(_starts(f"\n{region.text}"))
    if not starts:
        yield _unsigned(region)
        return
    # What stands before the first signature belongs to it: warnings, the command.
    cuts = [0, *(position for position, _ in starts[1:]), len(region.text)]
    for index, (_, tool) in enumerate(starts):
        yield cuts[index], cuts[index + 1], tool


def _unsigned(region: _Region) -> tuple[int, int, Tool | None]:
    """A region whose tool is told by the command, or by the shape below the prompt."""
    end = len(region.text)
    if tool := _called(region.command):
        return 0, end, tool
    body = region.text.find("\n") + 1 if region.is_prompted else 0
    return body, end, _by_shape(region.text[body:])


def _starts(text: str) -> Iterator[tuple[int, Tool]]:
    """Where another tool begins to speak."""
    current: tuple[Tool, Parser] | None = None
    began = 0
    for signature in _SIGNATURES.finditer(text):
        position = signature.start()
        if current and current[1].starts(text, position):
            began = position
            continue
        speaker = next(each for each in _PARSERS if each[1].starts(text, position))
        if current and _encloses(current[1], speaker[0], text, began, position):
            continue
        current, began = speaker, position
        yield position, speaker[0]


def _encloses(outer: Parser, inner: Tool, text: str, began: int, position: int) -> bool:
    """Whether the inner tool speaks as a part of the outer one."""
    is_part = inner.slug in outer.encloses
    return is_part and text.find(outer.last_line, began, position) < 0


def _by_shape(text: str) -> Tool | None:
    claims = (tool for tool, parser in _PARSERS if parser.shape and parser.shape(text))
    return next(claims, None)
