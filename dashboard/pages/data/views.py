"""All data as files: what there is of each table, and what its columns mean."""

from collections.abc import Mapping
from datetime import date
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from benchmarks import tools
from benchmarks.datasets.files import FORMS
from benchmarks.datasets.selecting import Wanted, count_of
from benchmarks.datasets.tables import TABLES
from benchmarks.errors import BenchmarksError
from benchmarks.platforms import canonical_hypervisor
from benchmarks.studies.lookup import visible
from benchmarks.viewer import Viewer
from dashboard.kit import figures
from dashboard.kit.routes import page
from dashboard.kit.viewers import query_of, viewer_of

FORM_NAMES = {"csv": "CSV", "ndjson": "NDJSON", "parquet": "Parquet"}


class Day(forms.DateInput):
    """A day as browsers take it: of anything else they complain."""

    input_type = "date"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%d")

    def format_value(self, value: Any) -> str | None:
        text = super().format_value(value) or ""
        try:
            date.fromisoformat(text)
        except ValueError:
            return None
        return text


class Narrowing(forms.Form):
    """What of the data somebody wants."""

    study = forms.ChoiceField(required=False, label=_("Study"))
    host = forms.SlugField(required=False, max_length=100, label=_("Host"))
    hypervisor = forms.CharField(required=False, max_length=100, label=_("Hypervisor"))
    tool = forms.CharField(required=False, max_length=101, label=_("Benchmark tool"))
    since = forms.DateField(
        required=False,
        label=_("Measured since"),
        widget=Day,
    )
    until = forms.DateField(
        required=False,
        label=_("Measured until"),
        widget=Day,
    )

    def __init__(self, viewer: Viewer, query: Mapping[str, str]) -> None:
        super().__init__(query)
        self.studies = {f"{it.lab.slug}/{it.slug}": it for it in visible(viewer)}
        names = ((name, study.title) for name, study in self.studies.items())
        field = self.fields["study"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", _("All studies")), *names]

    def clean_hypervisor(self) -> str:
        name = self.cleaned_data["hypervisor"]
        return canonical_hypervisor(name) if name else ""

    def clean_tool(self) -> str:
        name = self.cleaned_data["tool"]
        try:
            return name if not name or ":" in name else tools.get(name).slug
        except BenchmarksError as error:
            raise forms.ValidationError(str(error)) from None

    def clean_until(self) -> date | None:
        day: date | None = self.cleaned_data["until"]
        # The day after it has to exist, too.
        if day == date.max:
            raise forms.ValidationError(_("Choose an earlier day."))
        return day

    @property
    def given(self) -> dict[str, Any]:
        """What was filled in and can be used."""
        found = getattr(self, "cleaned_data", {})
        return {name: value for name, value in found.items() if value}


def show_data(request: HttpRequest) -> HttpResponse:
    """Show how many rows there are of each table, and where its files are."""
    viewer = viewer_of(request)
    form = Narrowing(viewer, query_of(request))
    given = form.given if form.is_valid() else {}
    study = form.studies.get(given.get("study", ""))
    wanted = Wanted(study=study, **{it: given[it] for it in given if it != "study"})
    tail = f"?{urlencode(given)}" if given else ""
    counts = {name: count_of(name, viewer, wanted) for name in TABLES}
    tables = [
        {
            "table": table,
            "rows": counts[name],
            "shown": figures.number(counts[name], ","),
            "files": [
                (FORM_NAMES[it], reverse("api:data-file", args=[name, it]) + tail)
                for it in FORMS
            ],
        }
        for name, table in TABLES.items()
    ]
    named = f'"{study.slug}", ' if study else ""
    named += f'server="{request.build_absolute_uri("/").rstrip("/")}"'
    address = reverse("api:data-file", args=["cells", "csv"]) + tail
    csv = request.build_absolute_uri(address)
    context = {
        "form": form,
        "tables": tables,
        "is_narrowed": bool(given),
        "in_python": f"import virtlab\ncells = virtlab.read_cells({named})",
        "in_r": f'cells <- read.csv("{csv}")',
    }
    return render(request, "data/data.html", context)


urlpatterns = [
    page(
        "data/",
        show_data,
        "data",
        walked=("", "?hypervisor=nothing&until=never"),
        counted=("/data/",),
    ),
]
