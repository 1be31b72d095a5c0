"""Lookup of tools by their stored name: built-in tools and those that labs declared.

Declarations are cached until the next request begins, and for at most a second. Code
that stores data by a declaration reads it without the cache (`declared_tools`).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from django.core.signals import request_started
from django.db.models import Exists, OuterRef, Prefetch, QuerySet

from benchmarks import tools
from benchmarks.custom_tools.declaration import (
    LAB_SEPARATOR,
    Declaration,
    declaration_from_row,
    tool_from_declaration,
)
from benchmarks.errors import NotFoundError, UnknownNameError
from benchmarks.models import Cell, CustomTool, CustomToolVersion, Lab, Study
from benchmarks.parsing.tool import Tool, normalize_name
from benchmarks.sentences import Sentence
from benchmarks.studies.lookup import list_studies
from benchmarks.viewer import Viewer

CACHE_LIFETIME_S = 1.0
MISS_LIFETIME_S = 0.1


@dataclass(frozen=True)
class DeclaredTool:
    id: int
    name: str
    slug: str
    version: int
    is_retired: bool
    declaration: Declaration
    tool: Tool

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, self.slug, self.declaration.title)


_cache: dict[str, tuple[float, Mapping[str, DeclaredTool]]] = {}


def clear_tool_cache(**_signal: Any) -> None:
    _cache.clear()


request_started.connect(clear_tool_cache, dispatch_uid="clear_tool_cache")


def is_custom(name: str) -> bool:
    return LAB_SEPARATOR in name


def lab_slug_from_name(name: str) -> str:
    return name.partition(LAB_SEPARATOR)[0]


def require_tool(name: str) -> Tool:
    """Return the tool with a stored name, or raise UnknownNameError."""
    return tools.get(name) if not is_custom(name) else _require_declared(name).tool


def find_tool(name: str) -> Tool | None:
    try:
        return require_tool(name)
    except UnknownNameError:
        return None


def find_declared_tool(name: str) -> DeclaredTool | None:
    try:
        return _require_declared(name) if is_custom(name) else None
    except UnknownNameError:
        return None


def _require_declared(name: str) -> DeclaredTool:
    lab = lab_slug_from_name(name)
    fetched_at, lab_tools = _cache.get(lab, (0.0, {}))
    # Another process may have declared a missing tool.
    lifetime_s = CACHE_LIFETIME_S if name in lab_tools else MISS_LIFETIME_S
    if not lab_tools or monotonic() - fetched_at > lifetime_s:
        lab_tools = declared_tools(lab)
        _cache[lab] = (monotonic(), lab_tools)
    if declared := lab_tools.get(name):
        return declared
    raise UnknownNameError("tool", name, lab_tools)


def declared_tools(lab: str) -> dict[str, DeclaredTool]:
    """Return a lab's own tools by stored name, without the cache."""
    newest = (
        CustomToolVersion.objects.filter(tool__lab__slug=lab)
        .select_related("tool")
        .order_by("tool", "-number")
        .distinct("tool")
    )
    return {row.tool.name: _declared_tool(row) for row in newest}


def _declared_tool(row: CustomToolVersion) -> DeclaredTool:
    stored = {
        name: getattr(row, name)
        for name in ("title", "homepage", "description", "metrics")
    }
    declaration = declaration_from_row(stored)
    return DeclaredTool(
        id=row.tool_id,
        name=row.tool.name,
        slug=row.tool.slug,
        version=row.number,
        is_retired=row.tool.retired_at is not None,
        declaration=declaration,
        tool=tool_from_declaration(row.tool.name, declaration),
    )


def study_declarations(study: Study) -> list[dict[str, Any]]:
    cells = Cell.objects.filter(
        study=study, n__gt=0, case__tool__contains=LAB_SEPARATOR
    )
    names = cells.values_list("case__tool", flat=True).distinct().order_by("case__tool")
    declared = filter(None, map(find_declared_tool, names))
    return [
        {"name": tool.name, "version": tool.version, **tool.declaration.row_fields}
        for tool in declared
    ]


def find_visible_declaration(viewer: Viewer, name: str) -> DeclaredTool | None:
    visible = is_custom(name) and CustomTool.objects.visible_to(viewer).filter(
        name=name
    )
    return find_declared_tool(name) if visible and visible.exists() else None


def match_name(declared: Iterable[DeclaredTool], name: str) -> DeclaredTool | None:
    """Match name, slug or title; ignore case."""
    normalized = normalize_name(name)
    return next(
        (tool for tool in declared if normalized in map(normalize_name, tool.names)),
        None,
    )


def resolve_tool(
    custom_tools: Collection[DeclaredTool], name: str
) -> tuple[Tool, DeclaredTool | None]:
    """Return the tool that a lab's upload names, and its declaration.

    The declaration is None for a built-in tool. A lab's own tools come first, so that a
    new built-in tool of the same name does not change what its uploads mean. Raise
    UnknownNameError if there is no such tool.
    """
    if declared := match_name(custom_tools, name):
        return declared.tool, declared
    try:
        return tools.get(name), None
    except UnknownNameError:
        builtin_names = [alias for tool in tools.TOOLS.values() for alias in tool.names]
        own_names = [alias for tool in custom_tools for alias in tool.names]
        raise UnknownNameError("tool", name, [*own_names, *builtin_names]) from None


def visible_custom_tools(viewer: Viewer) -> QuerySet[CustomTool]:
    """Return the custom tools of the viewer's labs, and others with visible results."""
    versions = Prefetch("versions", CustomToolVersion.objects.order_by("-number"))
    tools = CustomTool.objects.visible_to(viewer).select_related("lab")
    return tools.prefetch_related(versions)


def find_visible_tool(viewer: Viewer, **lookup: object) -> CustomTool:
    """Raise NotFoundError if the tool is not visible."""
    tool = visible_custom_tools(viewer).filter(**lookup).first()
    if tool is None:
        raise NotFoundError(Sentence("tool"), next(iter(lookup.values())))
    return tool


def tools_of_lab(viewer: Viewer, lab: Lab) -> list[CustomTool]:
    """Put retired tools last."""
    tools = visible_custom_tools(viewer).filter(lab=lab)
    return sorted(tools, key=lambda tool: (tool.retired_at is not None, tool.slug))


def studies_using(viewer: Viewer, tool: CustomTool) -> QuerySet[Study]:
    cells = Cell.objects.filter(study=OuterRef("pk"), case__tool=tool.name, n__gt=0)
    studies = list_studies(viewer).filter(lab=tool.lab)
    return studies.filter(Exists(cells))
