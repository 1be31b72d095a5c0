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
from benchmarks.datasets.files import FILE_FORMATS
from benchmarks.datasets.row_selection import RowSelection, count_selected_rows
from benchmarks.datasets.tables import TABLES
from benchmarks.errors import BenchmarksError
from benchmarks.hypervisor_names import canonical_hypervisor
from benchmarks.studies.lookup import list_studies
from benchmarks.viewer import Viewer
from dashboard.exports.citation import site_url
from dashboard.kit import formatting
from dashboard.kit.routes import page
from dashboard.kit.viewers import query_params, viewer_of

FORM_NAMES = {"csv": "CSV", "ndjson": "NDJSON", "parquet": "Parquet"}


class IsoDateInput(forms.DateInput):
    """Date input with dates in ISO 8601, the only format that browsers accept."""

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


class DataFilterForm(forms.Form):
    study = forms.ChoiceField(required=False, label=_("Study"))
    host = forms.SlugField(required=False, max_length=100, label=_("Host"))
    hypervisor = forms.CharField(required=False, max_length=100, label=_("Hypervisor"))
    tool = forms.CharField(required=False, max_length=101, label=_("Benchmark tool"))
    since = forms.DateField(
        required=False,
        label=_("Measured since"),
        widget=IsoDateInput,
    )
    until = forms.DateField(
        required=False,
        label=_("Measured until"),
        widget=IsoDateInput,
    )

    def __init__(self, viewer: Viewer, query: Mapping[str, str]) -> None:
        super().__init__(query)
        self.studies = {
            f"{study.lab.slug}/{study.slug}": study for study in list_studies(viewer)
        }
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
        # The selection ends at the next day, which must exist, too.
        if day == date.max:
            raise forms.ValidationError(_("Choose an earlier date."))
        return day

    @property
    def active_filters(self) -> dict[str, Any]:
        cleaned = getattr(self, "cleaned_data", {})
        return {name: value for name, value in cleaned.items() if value}


def show_data(request: HttpRequest) -> HttpResponse:
    viewer = viewer_of(request)
    form = DataFilterForm(viewer, query_params(request))
    given = form.active_filters if form.is_valid() else {}
    study = form.studies.get(given.get("study", ""))
    selection = RowSelection(
        study=study, **{name: given[name] for name in given if name != "study"}
    )
    tail = f"?{urlencode(given)}" if given else ""
    counts = {name: count_selected_rows(name, viewer, selection) for name in TABLES}
    tables = [
        {
            "table": table,
            "rows": counts[name],
            "shown": formatting.number(counts[name], ","),
            "files": [
                (
                    FORM_NAMES[file_format],
                    reverse("api:data-file", args=[name, file_format]) + tail,
                )
                for file_format in FILE_FORMATS
            ],
        }
        for name, table in TABLES.items()
    ]
    arguments = f'"{study.slug}", ' if study else ""
    arguments += f'server="{site_url(request)}"'
    context = {
        "form": form,
        "study": study,
        "tables": tables,
        "is_narrowed": bool(given),
        "install": f"pip install {request.build_absolute_uri(reverse('client'))}",
        "programs": program_lines(request, arguments, tail),
    }
    return render(request, "data/data.html", context)


def program_lines(
    request: HttpRequest, arguments: str, tail: str
) -> list[tuple[str, str]]:
    """Return the names of programs, and the line that reads all results in each."""

    def address(file_format: str) -> str:
        path = reverse("api:data-file", args=["cells", file_format])
        return request.build_absolute_uri(path + tail)

    parquet = address("parquet")
    return [
        ("Python", f"import virtlab; cells = virtlab.read_cells({arguments})"),
        ("pandas", f'import pandas as pd; cells = pd.read_parquet("{parquet}")'),
        ("R", f'cells <- read.csv("{address("csv")}")'),
        ("DuckDB", f"CREATE TABLE cells AS FROM read_parquet('{parquet}');"),
    ]


urlpatterns = [
    page(
        "data/",
        show_data,
        "data",
        example_urls=("", "?hypervisor=nothing&until=never"),
        query_count_urls=("/data/",),
    ),
]
