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
from benchmarks.custom_tools.declaration import declaration_from_row
from benchmarks.custom_tools.lookup import (
    find_visible_tool,
    studies_using,
    tools_of_lab,
)
from benchmarks.custom_tools.registration import (
    BETTER,
    COMPONENTS,
    MAX_DESCRIPTION,
    MAX_HOMEPAGE,
    MAX_METRICS,
    MAX_NAME,
    MAX_SLUG,
    METRIC_KINDS,
    change_tool,
    declare_tool,
    delete_tool,
    has_runs,
    measured_metrics,
    read_declaration,
    retire_tool,
)
from benchmarks.errors import BenchmarksError
from benchmarks.models import CustomTool, CustomToolVersion
from benchmarks.work_classes import WORK_CLASSES
from dashboard import wording
from dashboard.kit.forms import MultilineField, SingleLineField, outcome_message
from dashboard.kit.viewers import required_user, viewer_of
from dashboard.pages.labs.lab_of_request import (
    LabAccess,
    editable_lab_or_404,
    lab_or_404,
)
from dashboard.wording.state_names import NUMBER_KINDS, work_class_name

# The example in docs/api.md. Programs read such tables, so it is not translated.
EXAMPLE_TABLE = "run,metric,value,unit\n1,{name},1.5,{unit}\n2,{name},1.6,{unit}"
PUSH_COMMAND = "python3 virtlab-agent.pyz push --tool {tool} results.csv"


def list_custom_tools(request: HttpRequest, lab: str) -> HttpResponse:
    access = lab_or_404(request, lab)
    tools = tools_of_lab(viewer_of(request), access.lab)
    context = {
        "access": access,
        "tools": [(tool, newest_version(tool)) for tool in tools],
    }
    return render(request, "labs/custom_tools.html", context)


def show_custom_tool(request: HttpRequest, lab: str, tool: str) -> HttpResponse:
    access = lab_or_404(request, lab)
    custom_tool = custom_tool_or_404(request, access, tool)
    context = {
        "access": access,
        "tool": custom_tool,
        "versions": list(custom_tool.versions.all()),
        "studies": studies_using(viewer_of(request), custom_tool),
        "has_results": has_runs(custom_tool),
        "table": EXAMPLE_TABLE.format(**newest_version(custom_tool).metrics[0]),
        "command": PUSH_COMMAND.format(tool=custom_tool.slug),
    }
    return render(request, "labs/custom_tool.html", context)


def declare_custom_tool(request: HttpRequest, lab: str) -> HttpResponse:
    return _edit(request, editable_lab_or_404(request, lab), None)


def new_custom_tool_version(request: HttpRequest, lab: str, tool: str) -> HttpResponse:
    access = editable_lab_or_404(request, lab)
    return _edit(request, access, custom_tool_or_404(request, access, tool))


def _edit(
    request: HttpRequest, access: LabAccess, tool: CustomTool | None
) -> HttpResponse:
    status = 200
    if request.method != "POST":
        form = (
            DeclarationForm.from_version(newest_version(tool))
            if tool
            else DeclarationForm.blank(request.GET)
        )
    elif "more" in request.POST:
        form = DeclarationForm.with_extra_metric(request.POST, is_new=tool is None)
    else:
        form, status = DeclarationForm.from_post(request.POST, is_new=tool is None), 422
        try:
            if form.is_valid():
                slug = _save(request, access, tool, form)
                return redirect("dashboard:custom-tool", access.lab.slug, slug)
        except BenchmarksError as error:
            form.add_error(error)
            status = error.status
    context = {
        "access": access,
        "form": form,
        "tool": tool,
        "measured": sorted(measured_metrics(tool)) if tool else (),
    }
    return render(request, "labs/custom_tool_form.html", context, status=status)


def _save(
    request: HttpRequest,
    access: LabAccess,
    tool: CustomTool | None,
    form: "DeclarationForm",
) -> str:
    declaration, person = (
        read_declaration(form.to_declaration()),
        required_user(request),
    )
    if tool is None:
        slug = str(form.tool.cleaned_data["slug"])
        created, _is_new = declare_tool(
            lab=access.lab, slug=slug, declaration=declaration, actor=person
        )
        text = _("The tool %(tool)s was created.")
        messages.success(request, text % {"tool": created.slug})
        return created.slug
    version, is_new = change_tool(tool=tool, declaration=declaration, actor=person)
    number = {"number": version.number}
    if is_new:
        messages.success(request, _("Version %(number)s was created.") % number)
    else:
        messages.info(
            request,
            _("Nothing changed: version %(number)s has the same content.") % number,
        )
    return tool.slug


def retire_custom_tool(request: HttpRequest, lab: str, tool: str) -> HttpResponse:
    access = editable_lab_or_404(request, lab)
    custom_tool = custom_tool_or_404(request, access, tool)
    is_retired = request.POST.get("reactivate", "") == ""
    text = (
        _("The tool %(tool)s was retired. Its results are kept.")
        if is_retired
        else _("The tool %(tool)s accepts uploads again.")
    )
    with outcome_message(request, text % {"tool": custom_tool.slug}):
        retire_tool(
            tool=custom_tool, actor=required_user(request), is_retired=is_retired
        )
    return redirect("dashboard:custom-tool", access.lab.slug, custom_tool.slug)


def delete_custom_tool(request: HttpRequest, lab: str, tool: str) -> HttpResponse:
    access = editable_lab_or_404(request, lab)
    custom_tool = custom_tool_or_404(request, access, tool)
    try:
        delete_tool(tool=custom_tool, actor=required_user(request))
    except BenchmarksError as error:
        messages.error(request, wording.translate_text(error.sentence))
        return redirect("dashboard:custom-tool", access.lab.slug, custom_tool.slug)
    messages.success(request, _("The tool %(tool)s was deleted.") % {"tool": tool})
    return redirect("dashboard:custom-tools", access.lab.slug)


def newest_version(tool: CustomTool) -> CustomToolVersion:
    return tool.versions.all()[0]


def custom_tool_or_404(
    request: HttpRequest, access: LabAccess, slug: str
) -> CustomTool:
    return find_visible_tool(viewer_of(request), slug=slug, lab=access.lab)


METRIC_COUNT_FIELD = "metrics"
METRIC_TRAITS = ("is_primary", "allows_zero")
ERROR_PATH = re.compile(r"metrics\[(\d+)\](?:\.(\w+))?")
PLAIN_INPUT_ATTRS = {"autocomplete": "off", "spellcheck": "false"}


class CustomToolForm(forms.Form):
    slug = SingleLineField(
        label=gettext_lazy("Short name"),
        max_length=MAX_SLUG,
        help_text=gettext_lazy(
            "The name used in uploads: lowercase letters a-z, digits, - and _. It "
            "cannot be changed later."
        ),
        widget=forms.TextInput(attrs=PLAIN_INPUT_ATTRS),
    )
    title = SingleLineField(
        label=gettext_lazy("Title"),
        max_length=MAX_NAME,
        help_text=gettext_lazy("The name that tables and charts show."),
        widget=forms.TextInput(attrs=PLAIN_INPUT_ATTRS),
    )
    homepage = SingleLineField(
        label=gettext_lazy("Homepage"),
        max_length=MAX_HOMEPAGE,
        required=False,
        widget=forms.URLInput(attrs=PLAIN_INPUT_ATTRS),
    )
    description = MultilineField(
        label=gettext_lazy("Description"),
        max_length=MAX_DESCRIPTION,
        required=False,
        help_text=gettext_lazy("The purpose of the tool, and how to run it."),
        widget=forms.Textarea(attrs={"rows": 4}),
    )

    def __init__(self, *args: Any, is_new: bool = True, **options: Any) -> None:
        super().__init__(*args, **options)
        if not is_new:
            del self.fields["slug"]


class MetricForm(forms.Form):
    """Form for a metric; forms without a name are ignored."""

    name = SingleLineField(
        label=gettext_lazy("Name"),
        max_length=MAX_NAME,
        required=False,
        help_text=gettext_lazy("The name used in uploads, such as boot time."),
        widget=forms.TextInput(attrs=PLAIN_INPUT_ATTRS),
    )
    title = SingleLineField(
        label=gettext_lazy("Title (if different from the name)"),
        max_length=MAX_NAME,
        required=False,
        widget=forms.TextInput(attrs=PLAIN_INPUT_ATTRS),
    )
    unit = SingleLineField(
        label=gettext_lazy("Unit"),
        max_length=20,
        required=False,
        help_text=gettext_lazy("Such as s, MB/s or 1/s. Leave empty for a count."),
        widget=forms.TextInput(attrs={**PLAIN_INPUT_ATTRS, "list": "units"}),
    )
    better = forms.ChoiceField(label=gettext_lazy("Direction"))
    component = forms.ChoiceField(label=gettext_lazy("Component"))
    work_class = forms.ChoiceField(
        label=gettext_lazy("Work class"),
        required=False,
        help_text=gettext_lazy(
            "Results of several tools with the same work class can be pooled."
        ),
    )
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind of metric"),
        required=False,
        help_text=gettext_lazy(
            "Only speeds, energy and CPU time are compared with a baseline."
        ),
    )
    fixed_by_parameter = SingleLineField(
        label=gettext_lazy("Fixed by parameter"),
        max_length=64,
        required=False,
        help_text=gettext_lazy(
            "The parameter that fixes the value, such as the duration of a timed "
            "test. A fixed value is not a speed."
        ),
        widget=forms.TextInput(attrs=PLAIN_INPUT_ATTRS),
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
            "better": [(name, wording.DIRECTION_NAMES[name]) for name in BETTER],
            "component": [(name, wording.COMPONENT_NAMES[name]) for name in COMPONENTS],
            "work_class": [("", _("none of these")), *kinds],
            "kind": [
                ("", _("determined by the unit")),
                *((kind, str(NUMBER_KINDS[kind])) for kind in METRIC_KINDS),
            ],
            "traits": [
                ("is_primary", _("primary: used in profiles")),
                ("allows_zero", _("0 is a valid reading")),
            ],
        }
        for name, options_of_field in choices.items():
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = options_of_field

    def to_declaration(self) -> dict[str, Any]:
        values = dict(self.cleaned_data)
        traits = values.pop("traits")
        return {**values, **{name: name in traits for name in METRIC_TRAITS}}


@dataclass
class DeclarationForm:
    tool: CustomToolForm
    metrics: list[MetricForm]
    units = tuple(symbol for symbol in units.UNITS if symbol)

    @classmethod
    def blank(cls, query: QueryDict) -> "DeclarationForm":
        """Return an empty form, or one with the columns of a table (?metric=&unit=)."""
        names = query.getlist("metric")[:MAX_METRICS] or [""]
        symbols = [*query.getlist("unit"), *[""] * len(names)]
        metrics = []
        for index, (name, unit) in enumerate(zip(names, symbols, strict=False)):
            values: dict[str, Any] = {"traits": [] if index else ["is_primary"]}
            if name:
                found = units.find_unit(unit)
                better = "lower" if found and found.dimension == "time" else "higher"
                values |= {"name": name, "unit": unit, "better": better}
            metrics.append(_metric_form(index, values))
        return cls(CustomToolForm(), metrics)

    @classmethod
    def from_version(cls, version: CustomToolVersion) -> "DeclarationForm":
        names = ("title", "homepage", "description", "metrics")
        stored = {name: getattr(version, name) for name in names}
        declaration = declaration_from_row(stored)
        metrics = []
        for index, metric in enumerate(map(asdict, declaration.metrics)):
            traits = [name for name in METRIC_TRAITS if metric[name]]
            metrics.append(_metric_form(index, {**metric, "traits": traits}))
        return cls(
            CustomToolForm(initial=declaration.row_fields, is_new=False), metrics
        )

    @classmethod
    def from_post(cls, data: QueryDict, *, is_new: bool) -> "DeclarationForm":
        prefixes = [_prefix(index) for index in range(_metric_count(data))]
        named_prefixes = [
            prefix for prefix in prefixes if data.get(f"{prefix}-name", "").strip()
        ]
        # Metrics are renumbered, because errors name a metric by its position.
        metrics = []
        for index, prefix in enumerate(named_prefixes or prefixes[:1]):
            metric_data = QueryDict(mutable=True)
            for name in MetricForm.base_fields:
                metric_data.setlist(
                    f"{_prefix(index)}-{name}", data.getlist(f"{prefix}-{name}")
                )
            metrics.append(MetricForm(metric_data, prefix=_prefix(index)))
        return cls(CustomToolForm(data, is_new=is_new), metrics)

    @classmethod
    def with_extra_metric(cls, data: QueryDict, *, is_new: bool) -> "DeclarationForm":
        texts = {name: data.get(name, "") for name in CustomToolForm.base_fields}
        metrics = []
        for index in range(min(_metric_count(data) + 1, MAX_METRICS)):
            values: dict[str, Any] = {
                name: data.get(f"{_prefix(index)}-{name}", "")
                for name in MetricForm.base_fields
            }
            values["traits"] = data.getlist(f"{_prefix(index)}-traits")
            metrics.append(_metric_form(index, values))
        return cls(CustomToolForm(initial=texts, is_new=is_new), metrics)

    @property
    def errors(self) -> bool:
        return any(part.errors for part in (self.tool, *self.metrics))

    def is_valid(self) -> bool:
        """Validate all parts, so that the page shows all errors at once."""
        parts = (self.tool, *self.metrics)
        return not [part for part in parts if not part.is_valid()]

    def to_declaration(self) -> dict[str, Any]:
        metrics = [part.to_declaration() for part in self.metrics]
        return {**self.tool.cleaned_data, "metrics": metrics}

    def add_error(self, error: BenchmarksError) -> None:
        match = ERROR_PATH.fullmatch(error.field)
        part: forms.Form = self.tool
        field: str | None = error.field
        if match and int(match[1]) < len(self.metrics):
            part, field = self.metrics[int(match[1])], match[2]
        field_name = field if field in part.fields else None
        part.add_error(field_name, wording.translate_text(error.sentence))


def _prefix(index: int) -> str:
    return f"metric-{index}"


def _metric_count(data: QueryDict) -> int:
    text = data.get(METRIC_COUNT_FIELD, "")
    is_number = text.isascii() and text.isdigit() and len(text) < 4
    return max(1, min(int(text) if is_number else 1, MAX_METRICS))


def _metric_form(index: int, initial: Mapping[str, Any]) -> MetricForm:
    return MetricForm(initial=dict(initial), prefix=_prefix(index))
