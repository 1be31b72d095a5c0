"""The tools that a lab declared itself: listed, declared, changed, retired, deleted."""

from collections.abc import Callable
from functools import wraps

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from benchmarks.errors import BenchmarksError
from benchmarks.models import OwnTool, OwnToolVersion
from benchmarks.own_tools.declaration import declared, stored_declaration
from benchmarks.own_tools.declaring import (
    change_tool,
    declare_tool,
    delete_tool,
    has_results,
    measured_metrics,
    retire_tool,
)
from benchmarks.own_tools.lists import find_tool_of, studies_of, tools_of_lab
from dashboard import wording
from dashboard.kit.viewers import signed_in_person, viewer_of
from dashboard.pages.labs.own_tools_form import FilledForm
from dashboard.pages.labs.places import LabPlace, kept_lab_or_404, lab_or_404

# As docs/api.md says it: what programs read is in no language.
TABLE = "run,metric,value,unit\n1,{name},1.5,{unit}\n2,{name},1.6,{unit}"
PUSH = "python3 virtlab-agent.pyz push --tool {tool} results.csv"

ToolView = Callable[[HttpRequest, LabPlace, OwnTool], HttpResponse]


def list_tools(request: HttpRequest, lab: str) -> HttpResponse:
    """Show the tools that a lab declared, as far as the reader may see them."""
    place = lab_or_404(request, lab)
    tools = tools_of_lab(viewer_of(request), place.lab)
    context = {"place": place, "tools": [(it, newest(it)) for it in tools]}
    return render(request, "labs/own_tools.html", context)


def show_tool(request: HttpRequest, lab: str, tool: str) -> HttpResponse:
    """Show what a tool is, all that was ever declared of it, and where it is used."""
    place = lab_or_404(request, lab)
    found = tool_or_404(request, place, tool)
    context = {
        "place": place,
        "tool": found,
        "versions": list(found.versions.all()),
        "studies": studies_of(viewer_of(request), found),
        "has_results": has_results(found),
        "table": TABLE.format(**newest(found).metrics[0]),
        "command": PUSH.format(tool=found.slug),
    }
    return render(request, "labs/own_tool.html", context)


def declare(request: HttpRequest, lab: str) -> HttpResponse:
    """Declare a tool: a form of its metrics, one row more as often as asked for."""
    place = kept_lab_or_404(request, lab)
    if request.method != "POST":
        return _form(request, place, FilledForm.empty())
    if "more" in request.POST:
        return _form(request, place, FilledForm.with_another(request.POST, is_new=True))
    form = FilledForm.posted(request.POST, is_new=True)
    if not form.is_valid():
        return _form(request, place, form, status=422)
    try:
        made, _is_new = declare_tool(
            lab=place.lab,
            slug=form.slug,
            declaration=declared(form.document()),
            by=signed_in_person(request),
        )
    except BenchmarksError as error:
        form.say(error)
        return _form(request, place, form, status=error.status)
    messages.success(request, _("The tool %(tool)s is declared.") % {"tool": made.slug})
    return redirect("dashboard:own-tool", place.lab.slug, made.slug)


def change(request: HttpRequest, lab: str, tool: str) -> HttpResponse:
    """Declare a new version; the form begins with what the newest one says."""
    place = kept_lab_or_404(request, lab)
    found = tool_or_404(request, place, tool)
    if request.method != "POST":
        stored = {
            name: getattr(newest(found), name)
            for name in ("title", "homepage", "description", "metrics")
        }
        form = FilledForm.of(stored_declaration(stored))
        return _form(request, place, form, found)
    if "more" in request.POST:
        form = FilledForm.with_another(request.POST, is_new=False)
        return _form(request, place, form, found)
    form = FilledForm.posted(request.POST, is_new=False)
    if not form.is_valid():
        return _form(request, place, form, found, status=422)
    try:
        version, is_new = change_tool(
            tool=found,
            declaration=declared(form.document()),
            by=signed_in_person(request),
        )
    except BenchmarksError as error:
        form.say(error)
        return _form(request, place, form, found, status=error.status)
    said = {"number": version.number}
    if is_new:
        messages.success(request, _("Version %(number)s is declared.") % said)
    else:
        messages.info(request, _("Version %(number)s says this already.") % said)
    return redirect("dashboard:own-tool", place.lab.slug, found.slug)


def _acts(act: ToolView) -> Callable[..., HttpResponse]:
    """Do what a button of the tool's page says, and say what came of it."""

    @wraps(act)
    def view(request: HttpRequest, lab: str, tool: str) -> HttpResponse:
        place = kept_lab_or_404(request, lab)
        found = tool_or_404(request, place, tool)
        try:
            return act(request, place, found)
        except BenchmarksError as error:
            messages.error(request, wording.said(error.sentence))
            return redirect("dashboard:own-tool", place.lab.slug, found.slug)

    return view


@_acts
def retire(request: HttpRequest, place: LabPlace, tool: OwnTool) -> HttpResponse:
    """Take no new uploads of a tool, or take them again."""
    is_retired = request.POST.get("again", "") == ""
    retire_tool(tool=tool, by=signed_in_person(request), is_retired=is_retired)
    said = (
        _("The tool %(tool)s is retired: its results stay.")
        if is_retired
        else _("The tool %(tool)s accepts uploads again.")
    )
    messages.success(request, said % {"tool": tool.slug})
    return redirect("dashboard:own-tool", place.lab.slug, tool.slug)


@_acts
def delete(request: HttpRequest, place: LabPlace, tool: OwnTool) -> HttpResponse:
    """Delete a tool that was never measured with."""
    delete_tool(tool=tool, by=signed_in_person(request))
    messages.success(request, _("The tool %(tool)s is deleted.") % {"tool": tool.slug})
    return redirect("dashboard:own-tools", place.lab.slug)


def is_any_seen(request: HttpRequest, place: LabPlace) -> bool:
    """Whether the reader sees a tool that the lab declared."""
    return OwnTool.objects.visible_to(viewer_of(request)).filter(lab=place.lab).exists()


def newest(tool: OwnTool) -> OwnToolVersion:
    """Return what counts of a tool read with its versions."""
    return tool.versions.all()[0]


def tool_or_404(request: HttpRequest, place: LabPlace, slug: str) -> OwnTool:
    """Return a tool of the lab that the reader may see."""
    return find_tool_of(viewer_of(request), slug=slug, lab=place.lab)


def _form(
    request: HttpRequest,
    place: LabPlace,
    form: FilledForm,
    tool: OwnTool | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    context = {
        "place": place,
        "form": form,
        "tool": tool,
        "measured": sorted(measured_metrics(tool)) if tool else (),
    }
    return render(request, "labs/own_tool_form.html", context, status=status)
