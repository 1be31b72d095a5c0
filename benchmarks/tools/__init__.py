"""Benchmark tools: one module per tool or family of tools.

To add a tool, write one module here, save two outputs under ``tests/data/<slug>/``,
describe each in ``tests/data/README.md`` (machine, command), and run ``make golden``.
The module contains

- a docstring with the units, and a real line of output if its columns have no names;
- ``LINES = LineScanner(...)`` or ``json_documents(...)``
  (``parsing/parser_toolkit.py``);
- ``@parser("It printed no result.") def parse(output) -> list[Draft]``, which fills a
  ``Draft`` per execution; a subclass can convert collected lines in ``close``;
- ``TOOL = Tool(...)``; ``parsing/tool.py`` explains the fields.

Rules for parsers:

- A parser uses its text only and guesses nothing. It is linear in the length of the
  text.
- A reading is the number as printed, with the exact unit: MiB/s if "MB" means 2^20 B.
- NaN, a truncated line, and a 0 of a metric that cannot be 0 never become a reading.
- Parameters distinguish cases and are the same natively and in a VM (block size,
  threads); everything else (times, peers, devices) is a fact.
- If a tool reports a problem with its own result (a failed check, errors, a run that is
  too short), call ``draft.add_warning(code, sentence)``. A run without readings is
  rejected.
- Increase ``version`` with every change of the readings: stored outputs are parsed
  again.
"""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Final

from benchmarks.errors import UnknownNameError
from benchmarks.parsing.tool import Metric, Tool, normalize_name

__all__ = ["TOOLS", "Metric", "Tool", "get", "register"]


def register(tools: Iterable[Tool]) -> dict[str, Tool]:
    """Map each name to its tool; raise ValueError if two tools share one."""
    by_name: dict[str, Tool] = {}
    for tool in tools:
        for name in map(normalize_name, tool.names):
            if (existing := by_name.setdefault(name, tool)) is not tool:
                raise ValueError(f'{existing.slug} and {tool.slug} are both "{name}"')
    return by_name


def get(name: str) -> Tool:
    """Return the tool with this slug, title or alias, or raise UnknownNameError."""
    if tool := _BY_NAME.get(normalize_name(name)):
        return tool
    known_names = (alias for tool in TOOLS.values() for alias in tool.names)
    raise UnknownNameError("tool", name, known_names)


_SCANNED: Final[list[Tool]] = [
    tool
    for module in sorted(module.name for module in iter_modules(__path__))
    for tool in vars(import_module(f"{__name__}.{module}")).values()
    if isinstance(tool, Tool)
]
_BY_NAME: Final = register(_SCANNED)
TOOLS: Final[Mapping[str, Tool]] = MappingProxyType(
    {tool.slug: tool for tool in _SCANNED}
)
