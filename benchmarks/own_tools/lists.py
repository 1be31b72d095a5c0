"""Own tools as somebody may see them, with all that was ever declared of each."""

from django.db.models import Exists, OuterRef, Prefetch, QuerySet

from benchmarks.errors import NotFoundError
from benchmarks.models import Cell, Lab, OwnTool, OwnToolVersion, Study
from benchmarks.sentences import Sentence
from benchmarks.studies.lookup import visible
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


def studies_of(viewer: Viewer, tool: OwnTool) -> QuerySet[Study]:
    """Return the studies that measured with a tool, as far as the viewer sees them."""
    cells = Cell.objects.filter(study=OuterRef("pk"), case__tool=tool.name, n__gt=0)
    studies = visible(viewer).filter(lab=tool.lab)
    return studies.filter(Exists(cells))
