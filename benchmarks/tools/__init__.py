"""The benchmark tools Virtlab knows: a file each.

To add a tool: one file here, two saved outputs under ``tests/data/<slug>/``, a line for
each in ``tests/data/README.md`` (machine, command), ``make golden``. Nothing else: the
tests find it. The file holds

- a docstring with one real line of output, and what its units mean;
- ``LINES = Scanner(kind=pattern, ...)``: the lines that matter, or ``documents(...)``
  for JSON (both in ``parsing/scanning.py``);
- ``@parser("It printed no result.") def parse(output) -> list[Draft]``: a loop over
  these lines that fills a ``Draft`` for each execution (``parsing/scanning.py``), or
  a subclass of it whose ``close`` makes readings of lines that were kept;
- ``TOOL = Tool(..., metrics=(...), version=1, parse=parse, signatures=(...))`` with
  the signatures by which its output is known.

The rules of a parser:

- Text alone goes in; nothing is stored, looked up or guessed. It is linear in the text.
- A reading is the number as printed, with the exact unit that the tool means: MiB/s if
  its "MB" are 2^20 B. ``contract.check_value`` converts it where it is stored.
- ``line.number("group")`` refuses what is no number, with the line. A 0 of a metric
  that cannot be 0, NaN and a cut line never become a reading.
- Parameters are what makes two cases different and is the same natively and in a VM
  (block size, threads); everything else (times, peers, devices) is a fact.
- Options that people may send as parameters, too, stand in ``options`` of the ``TOOL``:
  ``-t``, ``--threads`` and ours are then one case (``contract.Options``).
- What is said for people is a ``Sentence``: pages say it in their reader's language.
- What a tool says against its own result is a mark (``draft.mark(code, sentence)``): a
  failed check, errors counted, a run too short. A run without readings is refused,
  also beside good ones: with ``nothing`` and what its marks say.
- Whoever changes what a parser reads raises its ``version``: history is read anew.

``benchmarks.parsing.reading.read`` is the way in: it decodes, cuts logs, parses.
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
    """Each tool under each of its names; two tools of one name are a ValueError."""
    by_name: dict[str, Tool] = {}
    for tool in tools:
        for name in map(folded, tool.names):
            if (other := by_name.setdefault(name, tool)) is not tool:
                raise ValueError(f'{other.slug} and {tool.slug} are both "{name}"')
    return by_name


def get(name: str) -> Tool:
    """The tool of a slug, title or alias, whatever its case; refuses an unknown one."""
    if tool := _BY_NAME.get(folded(name)):
        return tool
    known = (known for tool in TOOLS.values() for known in tool.names)
    raise UnknownNameError("tool", name, known)


# Whatever stands in this folder is a tool: an error in one of its files is not hidden.
_SCANNED: Final[list[Tool]] = [
    import_module(f"{__name__}.{name}").TOOL
    for name in sorted(module.name for module in iter_modules(__path__))
]
_BY_NAME: Final = register(_SCANNED)
TOOLS: Final[Mapping[str, Tool]] = MappingProxyType(
    {tool.slug: tool for tool in _SCANNED}
)
