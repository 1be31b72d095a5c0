"""The form of a declaration: what the tool is, and a part for each metric."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks import units
from benchmarks.errors import BenchmarksError
from benchmarks.own_tools.declaration import (
    BETTER,
    COMPONENTS,
    KINDS,
    MAX_DESCRIPTION,
    MAX_HOMEPAGE,
    MAX_METRICS,
    MAX_NAME,
    MAX_SLUG,
    Declaration,
)
from benchmarks.work_classes import WORK_CLASSES
from dashboard import wording
from dashboard.kit.forms import LineField
from dashboard.wording.labs import number_kind_name, work_class_name

COUNT = "metrics"
TRAITS = ("primary", "zero_allowed")
PLACE = re.compile(r"metrics\[(\d+)\](?:\.(\w+))?")
PLAIN = {"autocomplete": "off", "spellcheck": "false"}


class ToolForm(forms.Form):
    """What people are told of a tool."""

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
                *((it, number_kind_name(it)) for it in KINDS),
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
        """Return the metric as `declared` takes it."""
        values = dict(self.cleaned_data)
        traits = values.pop("traits")
        return {**values, **{name: name in traits for name in TRAITS}}


@dataclass
class FilledForm:
    """The form of a tool and those of its metrics, filled in or not."""

    tool: ToolForm
    metrics: list[MetricForm]

    @classmethod
    def empty(cls) -> "FilledForm":
        """A form with one metric."""
        return cls(ToolForm(), [_metric_form(0, {"traits": ["primary"]})])

    @classmethod
    def of(cls, declaration: Declaration) -> "FilledForm":
        """A form that says what is declared."""
        stored = declaration.stored
        metrics = [
            _metric_form(at, _initial(asdict(metric)))
            for at, metric in enumerate(declaration.metrics)
        ]
        return cls(ToolForm(initial=stored, is_new=False), metrics)

    @classmethod
    def posted(cls, sent: QueryDict, *, is_new: bool) -> "FilledForm":
        """What somebody sent; parts without a name are left out."""
        prefixes = [_prefix(at) for at in range(_count(sent))]
        named = [it for it in prefixes if sent.get(f"{it}-name", "").strip()]
        # Renumbered, for what is wrong with a metric is said by its place.
        metrics = []
        for at, prefix in enumerate(named or prefixes[:1]):
            part = QueryDict(mutable=True)
            for name in MetricForm.base_fields:
                part.setlist(f"{_prefix(at)}-{name}", sent.getlist(f"{prefix}-{name}"))
            metrics.append(MetricForm(part, prefix=_prefix(at)))
        return cls(ToolForm(sent, is_new=is_new), metrics)

    @classmethod
    def with_another(cls, sent: QueryDict, *, is_new: bool) -> "FilledForm":
        """What somebody sent so far, not judged yet, and one metric more."""
        count = min(_count(sent) + 1, MAX_METRICS)
        texts = {name: sent.get(name, "") for name in ToolForm.base_fields}
        metrics = []
        for at in range(count):
            values: dict[str, Any] = {
                name: sent.get(f"{_prefix(at)}-{name}", "")
                for name in MetricForm.base_fields
            }
            values["traits"] = sent.getlist(f"{_prefix(at)}-traits")
            metrics.append(_metric_form(at, values))
        return cls(ToolForm(initial=texts, is_new=is_new), metrics)

    @property
    def slug(self) -> str:
        return str(self.tool.cleaned_data["slug"])

    @property
    def units(self) -> Sequence[str]:
        """What a unit may be, for the field to offer."""
        return tuple(symbol for symbol in units.UNITS if symbol)

    @property
    def errors(self) -> bool:
        """Whether anything is wrong: the page's title then says so."""
        return any(part.errors for part in (self.tool, *self.metrics))

    def is_valid(self) -> bool:
        """Whether all parts are; each then says what is wrong with it."""
        # All are asked, for all shall be told at once.
        found = [part.is_valid() for part in (self.tool, *self.metrics)]
        return all(found)

    def document(self) -> dict[str, Any]:
        """Return what `declared` takes."""
        metrics = [part.document() for part in self.metrics]
        return {**self.tool.cleaned_data, "metrics": metrics}

    def say(self, error: BenchmarksError) -> None:
        """Put an error to the field that it is about, or above the form."""
        sentence = wording.said(error.sentence)
        place = PLACE.fullmatch(error.field)
        if place and int(place[1]) < len(self.metrics):
            part: forms.Form = self.metrics[int(place[1])]
            field = place[2]
        else:
            part, field = self.tool, error.field
        part.add_error(field if field in part.fields else None, sentence)


def _prefix(at: int) -> str:
    return f"metric-{at}"


def _count(sent: QueryDict) -> int:
    text = sent.get(COUNT, "")
    is_number = text.isascii() and text.isdigit() and len(text) < 4
    return max(1, min(int(text) if is_number else 1, MAX_METRICS))


def _initial(metric: Mapping[str, Any]) -> dict[str, Any]:
    return {**metric, "traits": [name for name in TRAITS if metric[name]]}


def _metric_form(at: int, initial: Mapping[str, Any]) -> MetricForm:
    return MetricForm(initial=dict(initial), prefix=_prefix(at))
