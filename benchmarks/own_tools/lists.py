"""Own tools as somebody may see them, with all that was ever declared of each."""

from collections.abc import Sequence

from django.db.models import Prefetch, QuerySet

from benchmarks.errors import NotFoundError
from benchmarks.models import Lab, OwnTool, OwnToolVersion, Run
from benchmarks.sentences import Sentence
from benchmarks.viewer import Viewer


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


def measured_names(tools: Sequence[OwnTool]) -> set[str]:
    """Return the names of those that any run is of: they cannot be deleted."""
    runs = Run.objects.filter(tool__in=[tool.name for tool in tools]).order_by()
    return set(runs.values_list("tool", flat=True).distinct())
