"""The tools that a lab declared itself: listed, declared, changed, retired, deleted."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks import units
from benchmarks.errors import BenchmarksError
from benchmarks.models import OwnTool, OwnToolVersion
from benchmarks.own_tools.declaration import stored_declaration
from benchmarks.own_tools.declaring import (
    BETTER,
    COMPONENTS,
    KINDS,
    MAX_DESCRIPTION,
    MAX_HOMEPAGE,
    MAX_METRICS,
    MAX_NAME,
    MAX_SLUG,
    change_tool,
    declare_tool,
    declared,
    delete_tool,
    has_results,
    measured_metrics,
    retire_tool,
)
from benchmarks.own_tools.lookup import find_tool_of, studies_of, tools_of_lab
from benchmarks.work_classes import WORK_CLASSES
from dashboard import wording
from dashboard.kit.forms import LineField, outcome_message
from dashboard.kit.viewers import signed_in_person, viewer_of
from dashboard.pages.labs.places import LabPlace, kept_lab_or_404, lab_or_404
from dashboard.wording.states import NUMBER_KINDS, work_class_name

# As docs/api.md says it: what programs read is in no language.
TABLE = "run,metric,value,unit\n1,{name},1.5,{unit}\n2,{name},1.6,{unit}"
PUSH = "python3 virtlab-agent.pyz push --tool {tool} results.csv"


def list_tools(request: HttpRequest, lab: str) -> HttpResponse:
    """Show the tools that a lab declared, as far as the reader may see them."""
    place = lab_or_404(request, lab)
    tools = tools_of_lab(viewer_of(request), place.lab)
    context = {"place": place, "tools": [(tool, newest(tool)) for tool in tools]}
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
    """Declare a tool with a form of its metrics, to which rows can be added."""
    return _edit(request, kept_lab_or_404(request, lab), None)


def change(request: HttpRequest, lab: str, tool: str) -> HttpResponse:
    """Declare a new version; the form begins with the newest one."""
    place = kept_lab_or_404(request, lab)
    return _edit(request, place, tool_or_404(request, place, tool))


def _edit(request: HttpRequest, place: LabPlace, tool: OwnTool | None) -> HttpResponse:
    status = 200
    if request.method != "POST":
        form = FilledForm.of(newest(tool)) if tool else FilledForm.empty()
    elif "more" in request.POST:
        form = FilledForm.with_another(request.POST, is_new=tool is None)
    else:
        form, status = FilledForm.posted(request.POST, is_new=tool is None), 422
        try:
            if form.is_valid():
                slug = _save(request, place, tool, form)
                return redirect("dashboard:own-tool", place.lab.slug, slug)
        except BenchmarksError as error:
            form.add_error(error)
            status = error.status
    context = {
        "place": place,
        "form": form,
        "tool": tool,
        "measured": sorted(measured_metrics(tool)) if tool else (),
    }
    return render(request, "labs/own_tool_form.html", context, status=status)


def _save(
    request: HttpRequest, place: LabPlace, tool: OwnTool | None, form: "FilledForm"
) -> str:
    """Declare a tool or a new version of it; return its short name."""
    declaration, by = declared(form.document()), signed_in_person(request)
    if tool is None:
        slug = str(form.tool.cleaned_data["slug"])
        made, _is_new = declare_tool(
            lab=place.lab, slug=slug, declaration=declaration, by=by
        )
        text = _("The tool %(tool)s is declared.")
        messages.success(request, text % {"tool": made.slug})
        return made.slug
    version, is_new = change_tool(tool=tool, declaration=declaration, by=by)
    number = {"number": version.number}
    if is_new:
        messages.success(request, _("Version %(number)s is declared.") % number)
    else:
        messages.info(request, _("Version %(number)s says this already.") % number)
    return tool.slug


def retire(request: HttpRequest, lab: str, tool: str) -> HttpResponse:
    """Accept no new uploads of a tool, or accept them again."""
    place = kept_lab_or_404(request, lab)
    found = tool_or_404(request, place, tool)
    is_retired = request.POST.get("again", "") == ""
    text = (
        _("The tool %(tool)s is retired: its results stay.")
        if is_retired
        else _("The tool %(tool)s accepts uploads again.")
    )
    with outcome_message(request, text % {"tool": found.slug}):
        retire_tool(tool=found, by=signed_in_person(request), is_retired=is_retired)
    return redirect("dashboard:own-tool", place.lab.slug, found.slug)


def delete(request: HttpRequest, lab: str, tool: str) -> HttpResponse:
    """Delete a tool that was never measured with."""
    place = kept_lab_or_404(request, lab)
    found = tool_or_404(request, place, tool)
    try:
        delete_tool(tool=found, by=signed_in_person(request))
    except BenchmarksError as error:
        messages.error(request, wording.said(error.sentence))
        return redirect("dashboard:own-tool", place.lab.slug, found.slug)
    messages.success(request, _("The tool %(tool)s is deleted.") % {"tool": tool})
    return redirect("dashboard:own-tools", place.lab.slug)


def newest(tool: OwnTool) -> OwnToolVersion:
    """Return what counts of a tool read with its versions."""
    return tool.versions.all()[0]


def tool_or_404(request: HttpRequest, place: LabPlace, slug: str) -> OwnTool:
    return find_tool_of(viewer_of(request), slug=slug, lab=place.lab)


COUNT = "metrics"
TRAITS = ("primary", "zero_allowed")
PLACE = re.compile(r"metrics\[(\d+)\](?:\.(\w+))?")
PLAIN = {"autocomplete": "off", "spellcheck": "false"}


class ToolForm(forms.Form):
    slug = forms.CharField(
        label=gettext_lazy("Short name"),
        max_length=MAX_SLUG,
        help_text=gettext_lazy(
            "Uploads use it: small letters a-z, digits, - and _. It cannot be changed "
            "later."
        ),
        widget=forms.TextInput(attrs=PLAIN),
    )
    title = LineField(
        label=gettext_lazy("Title"),
        max_length=MAX_NAME,
        help_text=gettext_lazy("Tables and charts say it."),
        widget=forms.TextInput(attrs=PLAIN),
    )
    homepage = LineField(
        label=gettext_lazy("Homepage"),
        max_length=MAX_HOMEPAGE,
        required=False,
        widget=forms.URLInput(attrs=PLAIN),
    )
    description = forms.CharField(
        label=gettext_lazy("Description"),
        max_length=MAX_DESCRIPTION,
        required=False,
        help_text=gettext_lazy("What it does, and how it is started."),
        widget=forms.Textarea(attrs={"rows": 4}),
    )

    def __init__(self, *args: Any, is_new: bool = True, **options: Any) -> None:
        super().__init__(*args, **options)
        if not is_new:
            del self.fields["slug"]


class MetricForm(forms.Form):
    """What one number of the tool means; without a name it is no metric."""

    name = LineField(
        label=gettext_lazy("Name"),
        max_length=MAX_NAME,
        required=False,
        help_text=gettext_lazy("Uploads name it so: boot time."),
        widget=forms.TextInput(attrs=PLAIN),
    )
    title = LineField(
        label=gettext_lazy("Title, if another"),
        max_length=MAX_NAME,
        required=False,
        widget=forms.TextInput(attrs=PLAIN),
    )
    unit = LineField(
        label=gettext_lazy("Unit"),
        max_length=20,
        required=False,
        help_text=gettext_lazy("s, MB/s, 1/s; empty for a count."),
        widget=forms.TextInput(attrs={**PLAIN, "list": "units"}),
    )
    better = forms.ChoiceField(label=gettext_lazy("Direction"))
    component = forms.ChoiceField(label=gettext_lazy("Component"))
    work_class = forms.ChoiceField(
        label=gettext_lazy("Kind of work"),
        required=False,
        help_text=gettext_lazy("Results of several tools are pooled by it."),
    )
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind of number"),
        required=False,
        help_text=gettext_lazy("Only speeds, energies and CPU time are compared."),
    )
    fixed_by = LineField(
        label=gettext_lazy("Fixed by the parameter"),
        max_length=64,
        required=False,
        help_text=gettext_lazy(
            "If a parameter fixes the value, as the length of a timed test: no speed."
        ),
        widget=forms.TextInput(attrs=PLAIN),
    )
    traits = forms.MultipleChoiceField(
        label=gettext_lazy("Role"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        kinds = [(slug, work_class_name(slug)) for slug in WORK_CLASSES]
        choices: dict[str, Any] = {
            "better": [(it, wording.BETTER[it]) for it in BETTER],
            "component": [(it, wording.COMPONENTS[it]) for it in COMPONENTS],
            "work_class": [("", _("none of these")), *kinds],
            "kind": [
                ("", _("as its unit says")),
                *((kind, str(NUMBER_KINDS[kind])) for kind in KINDS),
            ],
            "traits": [
                ("primary", _("primary: profiles use it")),
                ("zero_allowed", _("0 can be a reading")),
            ],
        }
        for name, known in choices.items():
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = known

    def document(self) -> dict[str, Any]:
        """Return the metric as input of `declared`."""
        values = dict(self.cleaned_data)
        traits = values.pop("traits")
        return {**values, **{name: name in traits for name in TRAITS}}


@dataclass
class FilledForm:
    tool: ToolForm
    metrics: list[MetricForm]
    # Suggestions for the unit of a metric.
    units = tuple(symbol for symbol in units.UNITS if symbol)

    @classmethod
    def empty(cls) -> "FilledForm":
        return cls(ToolForm(), [_metric_form(0, {"traits": ["primary"]})])

    @classmethod
    def of(cls, version: OwnToolVersion) -> "FilledForm":
        names = ("title", "homepage", "description", "metrics")
        stored = {name: getattr(version, name) for name in names}
        declaration = stored_declaration(stored)
        metrics = []
        for at, metric in enumerate(map(asdict, declaration.metrics)):
            traits = [name for name in TRAITS if metric[name]]
            metrics.append(_metric_form(at, {**metric, "traits": traits}))
        return cls(ToolForm(initial=declaration.stored, is_new=False), metrics)

    @classmethod
    def posted(cls, sent: QueryDict, *, is_new: bool) -> "FilledForm":
        """Return the form as sent, without metrics that have no name."""
        prefixes = [_prefix(at) for at in range(_count(sent))]
        named = [it for it in prefixes if sent.get(f"{it}-name", "").strip()]
        # Renumbered, because errors name a metric by its position.
        metrics = []
        for at, prefix in enumerate(named or prefixes[:1]):
            part = QueryDict(mutable=True)
            for name in MetricForm.base_fields:
                part.setlist(f"{_prefix(at)}-{name}", sent.getlist(f"{prefix}-{name}"))
            metrics.append(MetricForm(part, prefix=_prefix(at)))
        return cls(ToolForm(sent, is_new=is_new), metrics)

    @classmethod
    def with_another(cls, sent: QueryDict, *, is_new: bool) -> "FilledForm":
        """Return the form as sent so far, not validated, and one metric more."""
        texts = {name: sent.get(name, "") for name in ToolForm.base_fields}
        metrics = []
        for at in range(min(_count(sent) + 1, MAX_METRICS)):
            values: dict[str, Any] = {
                name: sent.get(f"{_prefix(at)}-{name}", "")
                for name in MetricForm.base_fields
            }
            values["traits"] = sent.getlist(f"{_prefix(at)}-traits")
            metrics.append(_metric_form(at, values))
        return cls(ToolForm(initial=texts, is_new=is_new), metrics)

    @property
    def errors(self) -> bool:
        return any(part.errors for part in (self.tool, *self.metrics))

    def is_valid(self) -> bool:
        """Validate all parts, so that all errors are shown at once."""
        parts = (self.tool, *self.metrics)
        return not [part for part in parts if not part.is_valid()]

    def document(self) -> dict[str, Any]:
        """Return the tool as input of `declared`."""
        metrics = [part.document() for part in self.metrics]
        return {**self.tool.cleaned_data, "metrics": metrics}

    def add_error(self, error: BenchmarksError) -> None:
        """Add an error to the field that it names, or to the whole form."""
        place = PLACE.fullmatch(error.field)
        part: forms.Form = self.tool
        field: str | None = error.field
        if place and int(place[1]) < len(self.metrics):
            part, field = self.metrics[int(place[1])], place[2]
        known = field if field in part.fields else None
        part.add_error(known, wording.said(error.sentence))


def _prefix(at: int) -> str:
    return f"metric-{at}"


def _count(sent: QueryDict) -> int:
    text = sent.get(COUNT, "")
    is_number = text.isascii() and text.isdigit() and len(text) < 4
    return max(1, min(int(text) if is_number else 1, MAX_METRICS))


def _metric_form(at: int, initial: Mapping[str, Any]) -> MetricForm:
    return MetricForm(initial=dict(initial), prefix=_prefix(at))
