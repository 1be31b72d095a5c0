"""The benchmark tools that Virtlab reads: a module for each, or for a family.

To add a tool: one module here, two saved outputs under ``tests/data/<slug>/``, a line
for each in ``tests/data/README.md`` (machine, command), ``make golden``. The tests find
it: nothing else is edited. The module holds

- a docstring with one real line of output, and what its units mean;
- ``LINES = Scanner(kind=pattern, ...)``: the lines that matter, or ``documents(...)``
  for JSON (both in ``parsing/scanning.py``);
- ``@parser("It printed no result.") def parse(output) -> list[Draft]``: a loop over
  these lines that fills a ``Draft`` for each execution (``parsing/scanning.py``), or
  a subclass of it whose ``close`` makes readings of lines that were kept;
- ``TOOL = Tool(slug, title, homepage, metrics, labels, version=1, parse=parse,
  signatures, programs)``; ``parsing/contract.py`` explains each field. ``signatures``
  are lines that no other saved output has. Units are those of ``benchmarks/units.py``.
  A metric that stands for a test states its class of ``work`` (``work_classes.py``;
  ``NO_CLASS`` for work of none), one that follows from it ``implied_by``. A tool that
  only watches others has neither: it is among the observers of
  ``tests/benchmarks/comparing/test_primaries.py``.

The rules of a parser:

- It takes text only; nothing is stored, looked up or guessed. It is linear in the text.
- A reading is the number as printed, with the exact unit that the tool means: MiB/s if
  its "MB" are 2^20 B. ``contract.check_value`` converts it where it is stored.
- ``line.number("group")`` refuses what is not a number, with the line. A 0 of a metric
  that cannot be 0, NaN and a cut line never become a reading.
- Parameters are what makes two cases different and is the same natively and in a VM
  (block size, threads); everything else (times, peers, devices) is a fact.
- Options that people may send as parameters, too, are in ``options`` of the tool:
  ``-t``, ``--threads`` and ours are then one case (``contract.Options``).
- Text for people is a ``Sentence``: pages show it in their reader's language.
- What a tool says against its own result is a mark (``draft.mark(code, sentence)``): a
  failed check, errors counted, a run too short. A run without readings is refused, also
  beside good ones: with the sentence of ``@parser`` and those of its marks.
- Raise ``version`` with every change of what a parser reads: history is read anew.

``benchmarks.parsing.reading.read`` decodes a text, cuts logs, and calls the parsers.
"""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Final

from benchmarks.errors import UnknownNameError
from benchmarks.parsing.contract import Metric, Tool, folded

__all__ = ["TOOLS", "Metric", "Tool", "get", "register"]


def register(tools: Iterable[Tool]) -> dict[str, Tool]:
    """Map each name to its tool; raise ValueError if two tools share one."""
    by_name: dict[str, Tool] = {}
    for tool in tools:
        for name in map(folded, tool.names):
            if (other := by_name.setdefault(name, tool)) is not tool:
                raise ValueError(f'{other.slug} and {tool.slug} are both "{name}"')
    return by_name


def get(name: str) -> Tool:
    """Return the tool of a slug, title or alias in any case, or raise an error."""
    if tool := _BY_NAME.get(folded(name)):
        return tool
    known = (known for tool in TOOLS.values() for known in tool.names)
    raise UnknownNameError("tool", name, known)


# Every module of this folder is imported, and each `Tool` that it names is a tool.
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
