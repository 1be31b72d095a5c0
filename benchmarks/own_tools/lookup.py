"""Which tool a stored name means, whether everybody has it or a lab declared it.

A page names the tool of thousands of cells, and asks the database once: what a lab
declared is remembered for the rest of the request, and for a second at most. Whoever
stores something by a declaration reads it afresh (`declared_tools`).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from django.core.signals import request_started
from django.db.models import Exists, OuterRef, Prefetch, QuerySet

from benchmarks import tools
from benchmarks.errors import NotFoundError, UnknownNameError
from benchmarks.models import Cell, Lab, OwnTool, OwnToolVersion, Study
from benchmarks.own_tools.declaration import (
    BETWEEN,
    Declaration,
    stored_declaration,
    tool_of,
)
from benchmarks.parsing.contract import Tool, folded
from benchmarks.sentences import Sentence
from benchmarks.studies.lookup import visible
from benchmarks.viewer import Viewer

REMEMBERED_S = 1.0
# So long what is not there is not asked for again.
MISSED_S = 0.1


@dataclass(frozen=True)
class DeclaredTool:
    """An own tool by its newest version."""

    id: int
    name: str
    slug: str
    version: int
    is_retired: bool
    declaration: Declaration
    tool: Tool

    @property
    def names(self) -> tuple[str, ...]:
        """The names that uploads of its lab may use."""
        return (self.name, self.slug, self.declaration.title)


_remembered: dict[str, tuple[float, Mapping[str, DeclaredTool]]] = {}


def forget(**_signal: Any) -> None:
    """Clear the cache: a request begins, or something was declared."""
    _remembered.clear()


request_started.connect(forget, dispatch_uid="own tools are read once a request")


def is_own(name: str) -> bool:
    return BETWEEN in name


def lab_of(name: str) -> str:
    return name.partition(BETWEEN)[0]


def known_tool(name: str) -> Tool:
    """Return the tool of a case, cell or run, or raise UnknownNameError."""
    return tools.get(name) if not is_own(name) else _own(name).tool


def find_tool(name: str) -> Tool | None:
    """Return the tool of a name, or None if it is gone."""
    try:
        return known_tool(name)
    except UnknownNameError:
        return None


def find_declared(name: str) -> DeclaredTool | None:
    """Return the declared tool of a stored name, or None."""
    try:
        return _own(name) if is_own(name) else None
    except UnknownNameError:
        return None


def _own(name: str) -> DeclaredTool:
    lab = lab_of(name)
    at, known = _remembered.get(lab, (0.0, {}))
    # One that is not among them may have been declared since, by another process.
    fresh_s = REMEMBERED_S if name in known else MISSED_S
    if not known or monotonic() - at > fresh_s:
        known = declared_tools(lab)
        _remembered[lab] = (monotonic(), known)
    if declared := known.get(name):
        return declared
    raise UnknownNameError("tool", name, known)


def declared_tools(lab: str) -> dict[str, DeclaredTool]:
    """Return a lab's own tools as declared now, by stored name."""
    newest = (
        OwnToolVersion.objects.filter(tool__lab__slug=lab)
        .select_related("tool")
        .order_by("tool", "-number")
        .distinct("tool")
    )
    return {row.tool.name: _declared(row) for row in newest}


def _declared(row: OwnToolVersion) -> DeclaredTool:
    stored = {
        name: getattr(row, name)
        for name in ("title", "homepage", "description", "metrics")
    }
    declaration = stored_declaration(stored)
    return DeclaredTool(
        id=row.tool_id,
        name=row.tool.name,
        slug=row.tool.slug,
        version=row.number,
        is_retired=row.tool.retired_at is not None,
        declaration=declaration,
        tool=tool_of(row.tool.name, declaration),
    )


def declarations_of(study: Study) -> list[dict[str, Any]]:
    """Return what is declared now of the own tools that a study measured with."""
    cells = Cell.objects.filter(study=study, n__gt=0, case__tool__contains=BETWEEN)
    names = cells.values_list("case__tool", flat=True).distinct().order_by("case__tool")
    found = filter(None, map(find_declared, names))
    return [
        {"name": it.name, "version": it.version, **it.declaration.stored}
        for it in found
    ]


def readable_tool(viewer: Viewer, name: str) -> DeclaredTool | None:
    """Return the own tool of this stored name, if a viewer may see it."""
    seen = is_own(name) and OwnTool.objects.visible_to(viewer).filter(name=name)
    return find_declared(name) if seen and seen.exists() else None


def named(declared: Iterable[DeclaredTool], name: str) -> DeclaredTool | None:
    """Return the tool that a lab's upload means by a name, in any case."""
    wanted = folded(name)
    return next((each for each in declared if wanted in map(folded, each.names)), None)


def tool_named(
    own: Collection[DeclaredTool], name: str
) -> tuple[Tool, DeclaredTool | None]:
    """Return the tool that a lab of these tools calls so: its own, else everybody's.

    Its own first: a release that learns a tool of that name changes no lab's uploads.
    """
    if found := named(own, name):
        return found.tool, found
    try:
        return tools.get(name), None
    except UnknownNameError:
        known = [every for tool in tools.TOOLS.values() for every in tool.names]
        mine = [each for tool in own for each in tool.names]
        raise UnknownNameError("tool", name, [*mine, *known]) from None


def visible_tools(viewer: Viewer) -> QuerySet[OwnTool]:
    """Return the tools of the viewer's labs and of public results."""
    versions = Prefetch("versions", OwnToolVersion.objects.order_by("-number"))
    tools = OwnTool.objects.visible_to(viewer).select_related("lab")
    return tools.prefetch_related(versions)


def find_tool_of(viewer: Viewer, **which: object) -> OwnTool:
    """Return one of them, or raise NotFoundError."""
    tool = visible_tools(viewer).filter(**which).first()
    if tool is None:
        raise NotFoundError(Sentence("tool"), next(iter(which.values())))
    return tool


def tools_of_lab(viewer: Viewer, lab: Lab) -> list[OwnTool]:
    """Return those of one lab that the viewer may see, in use first, by slug."""
    tools = visible_tools(viewer).filter(lab=lab)
    return sorted(tools, key=lambda tool: (tool.retired_at is not None, tool.slug))


def studies_of(viewer: Viewer, tool: OwnTool) -> QuerySet[Study]:
    """Return the studies that measured with a tool, as far as the viewer sees them."""
    cells = Cell.objects.filter(study=OuterRef("pk"), case__tool=tool.name, n__gt=0)
    studies = visible(viewer).filter(lab=tool.lab)
    return studies.filter(Exists(cells))
