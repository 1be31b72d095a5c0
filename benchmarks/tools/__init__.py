"""The benchmark tools Virtlab knows: every file of this folder that is no helper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Final

from benchmarks.errors import UnknownToolError
from benchmarks.tools.base import Metric, Tool, folded

__all__ = ["TOOLS", "Metric", "Tool", "get", "register"]

_HELPERS: Final = {"base", "catalogue", "labels", "values"}


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
    if found := _BY_NAME.get(folded(name)):
        return found
    known = (each for tool in TOOLS.values() for each in tool.names)
    raise UnknownToolError(name, known)


def _scan() -> list[Tool]:
    names = sorted(module.name for module in iter_modules(__path__))
    modules = [import_module(f"{__name__}.{n}") for n in names if n not in _HELPERS]
    return [module.TOOL for module in modules]


_SCANNED: Final = _scan()
_BY_NAME: Final = register(_SCANNED)
TOOLS: Final[Mapping[str, Tool]] = MappingProxyType(
    {tool.slug: tool for tool in _SCANNED}
)
