import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.errors import BenchmarksError
from benchmarks.labs.lab_queries import labs_with_counts
from benchmarks.models import Lab, Study
from benchmarks.studies.overview import measured_systems
from benchmarks.studies.saving import save_study, update_study
from benchmarks.text_validation import clean_text, normalize_whitespace
from dashboard import wording
from dashboard.kit.forms import (
    MultilineField,
    ShortNameField,
    SingleLineField,
    submit_form,
)
from dashboard.kit.routes import UPLOADERS_ONLY, form_page
from dashboard.kit.url_parts import STUDY_PATH
from dashboard.kit.viewers import (
    editable_study_or_404,
    required_user,
    viewer_of,
)
from dashboard.pages.study_settings.source_form import (
    SOURCE_FIELDS,
    PublicationDateField,
    SourceForm,
    changed_sources,
    source_initial,
)
from dashboard.pages.study_settings.study_import import editable_labs, import_study

# Suggested licenses (SPDX identifiers). Other texts are accepted as well.
DATA_LICENSES = (
    "CC-BY-4.0",
    "CC-BY-SA-4.0",
    "CC-BY-NC-4.0",
    "CC0-1.0",
    "ODbL-1.0",
    "PDDL-1.0",
)
VISIBILITIES = [
    ("private", gettext_lazy("My lab")),
    ("shared", gettext_lazy("My lab and selected labs")),
    ("public", gettext_lazy("Everyone")),
]
MAX_STUDY_FACTORS = 100
MAX_FACTOR_LEVELS = 100
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?", re.ASCII)


def new_study(request: HttpRequest) -> HttpResponse:
    labs, lab = editable_labs(request)
    if lab is None:
        return render(request, "study_settings/no_lab.html", status=403)
    person = required_user(request)
    data = request.POST if request.method == "POST" else None
    known_labs, author = labs_with_counts(viewer_of(request)), person.get_full_name()
    form, status = StudyForm(lab, known_labs, data, author=author), 200

    def create(title: str, slug: str, **fields: Any) -> tuple[Study, bool]:
        slug = slug or slugify(title)[:100].strip("-") or "study"
        return save_study(lab=lab, slug=slug, title=title, **fields)

    if data is not None:
        result, status = submit_form(form, create)
        if result:
            study, is_new = result
            if is_new:
                text = _("Study created. You can now upload results.")
                messages.success(request, text)
            else:
                messages.info(request, _("This study already exists."))
            return redirect("dashboard:study", lab.slug, study.slug)
    context = {
        "title": _("New study"),
        "labs": labs,
        "lab": lab,
        "form": form,
        "licenses": DATA_LICENSES,
    }
    return render(request, "study_settings/new.html", context, status=status)


def change_settings(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    study = editable_study_or_404(request, lab, slug)
    data = request.POST if request.method == "POST" else None
    known_labs = labs_with_counts(viewer_of(request))
    form, status = StudyForm(study.lab, known_labs, data, study), 200
    if data is not None:
        username = request.user.get_username()
        updated, status = submit_form(form, update_study, study=study, actor=username)
        if updated:
            messages.success(request, _("Settings saved."))
            return redirect("dashboard:study", lab, slug)
        # The page shows the stored study around the submitted form.
        study.refresh_from_db()
    context = {"study": study, "form": form, "licenses": DATA_LICENSES}
    return render(request, "study_settings/settings.html", context, status=status)


class StudyForm(SourceForm):
    field_aliases = {"shared_with": "other_labs"}

    title = SingleLineField(label=gettext_lazy("Title"), max_length=300)
    slug = ShortNameField()
    author = SingleLineField(
        label=gettext_lazy("Authors"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("The names as cited, e.g. Jane Doe and John Roe."),
    )
    institution = SingleLineField(
        label=gettext_lazy("Institution"), required=False, max_length=300
    )
    published = PublicationDateField(
        label=gettext_lazy("Published"),
        required=False,
        max_length=10,
        help_text=gettext_lazy(
            "The date as 2010-07-29, 2010-07 or 2010. Leave empty if not published yet."
        ),
    )
    data_licence = SingleLineField(
        label=gettext_lazy("Data license"),
        required=False,
        max_length=100,
        help_text=gettext_lazy(
            "The license for others: an SPDX identifier such as CC-BY-4.0. Leave "
            "empty to reserve all rights."
        ),
        widget=forms.TextInput(attrs={"list": "licenses"}),
    )
    note = MultilineField(
        label=gettext_lazy("Description (what was measured and why)"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    visibility = forms.ChoiceField(
        label=gettext_lazy("Visible to"),
        choices=VISIBILITIES,
        initial="private",
        widget=forms.RadioSelect,
    )
    labs = forms.MultipleChoiceField(
        label=gettext_lazy("Labs"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"invalid_choice": gettext_lazy("Choose labs from this list.")},
    )
    other_labs = SingleLineField(
        label=gettext_lazy("Other labs (short names)"),
        required=False,
        max_length=1_000,
        help_text=gettext_lazy(
            "The names as in the labs' URLs, separated by commas. Labs that have not "
            "published anything are not listed; ask their members for the short name."
        ),
    )
    factors = MultilineField(
        label=gettext_lazy("Factors varied"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 4, "placeholder": "guest bits: 32, 64"}),
        help_text=gettext_lazy(
            "One factor per line: name, colon, levels separated by commas. Put a "
            "level that contains a comma in double quotes."
        ),
    )
    equivalence_margin_percent = forms.FloatField(
        label=gettext_lazy("Equivalence margin (%)"),
        min_value=0,
        max_value=100,
        initial=2.0,
        help_text=gettext_lazy(
            "Differences within this margin do not matter in practice."
        ),
    )
    baseline_max_age_days = forms.IntegerField(
        label=gettext_lazy("Baseline expires after (days)"),
        min_value=0,
        max_value=36_500,
        initial=30,
    )
    reference_system = forms.TypedChoiceField(
        label=gettext_lazy("Reference system"),
        required=False,
        coerce=int,
        empty_value=None,
        help_text=gettext_lazy(
            "The other systems are compared with this system if no native run exists."
        ),
    )
    archived = forms.BooleanField(
        label=gettext_lazy("Archived (no new uploads)"),
        required=False,
        help_text=gettext_lazy(
            "Uploads to an archived study are refused until you unarchive it. "
            "Stored data remain, with the same visibility as before."
        ),
    )
    comments_closed = forms.BooleanField(
        label=gettext_lazy("Comments only by members of the lab"), required=False
    )

    stored_sources: Sequence[Mapping[str, Any]] = ()

    def __init__(
        self,
        lab: Lab,
        visible_labs: Iterable[Lab],
        data: QueryDict | None,
        study: Study | None = None,
        author: str = "",
    ) -> None:
        initial: dict[str, Any] = {"author": author, "institution": lab.name}
        labs = [
            (other_lab.slug, other_lab.name)
            for other_lab in visible_labs
            if other_lab.pk != lab.pk
        ]
        if study:
            self.stored_sources = study.sources
            listed_slugs = {slug for slug, _name in labs}
            shared = study.shared_with.values_list("slug", flat=True)
            initial = {
                **model_to_dict(study),
                **source_initial(study.sources),
                "factors": format_factors(study.factors),
                "labs": [slug for slug in shared if slug in listed_slugs],
                "other_labs": ", ".join(
                    slug for slug in shared if slug not in listed_slugs
                ),
                "archived": study.archived_at is not None,
            }
        super().__init__(data, initial=initial)
        choices = {"labs": labs}
        if study:
            systems = measured_systems(study)
            names = [
                (str(system.pk), wording.system_name(system)) for system in systems
            ]
            choices["reference_system"] = [("", _("none")), *names]
        for name, options in choices.items():
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = options
        # The slug of a study cannot be changed. New studies have fewer fields.
        unused_fields = (
            ["slug"]
            if study
            else [
                *("published", "reference_system", "archived", "comments_closed"),
                *SOURCE_FIELDS,
            ]
        )
        for name in unused_fields if labs else [*unused_fields, "labs"]:
            del self.fields[name]

    @property
    def about_fields(self) -> list[forms.BoundField]:
        names = ("title", "slug", "author", "institution", "published")
        return self._part(*names, "data_licence", "note")

    @property
    def source_fields(self) -> list[forms.BoundField]:
        return self._part(*SOURCE_FIELDS)

    @property
    def visibility_fields(self) -> list[forms.BoundField]:
        return self._part("visibility")

    @property
    def sharing_fields(self) -> list[forms.BoundField]:
        return self._part("labs", "other_labs")

    @property
    def assessment_fields(self) -> list[forms.BoundField]:
        names = ("factors", "equivalence_margin_percent", "baseline_max_age_days")
        return self._part(*names, "reference_system")

    def _part(self, *names: str) -> list[forms.BoundField]:
        return [self[name] for name in names if name in self.fields]

    def clean_factors(self) -> dict[str, list[Any]]:
        return parse_factors(self.cleaned_data["factors"])

    def clean(self) -> dict[str, Any]:
        fields = dict(self.cleaned_data)
        if "source_title" in self.fields:
            fields["sources"] = changed_sources(self.stored_sources, fields)
        chosen, entered = fields.pop("labs", []), fields.pop("other_labs", "")
        if fields.get("visibility") == Study.Visibility.SHARED:
            fields["shared_with"] = sorted(
                {*chosen, *entered.replace(",", " ").split()}
            )
        return fields


def parse_factors(text: str) -> dict[str, list[Any]]:
    """Return the levels of each factor from lines such as ``guest bits: 32, 64``.

    Raise ValidationError that names the line.
    """
    factors: dict[str, list[Any]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, colon, levels = line.partition(":")
        try:
            name = clean_text(normalize_whitespace(name))
            row = next(csv.reader([levels], skipinitialspace=True, strict=True), [])
            values = [
                clean_text(normalize_whitespace(level))
                for level in row
                if level.strip()
            ]
        except (BenchmarksError, csv.Error):
            values = []
        if not (colon and name and values) or name in factors or len(name) > 100:
            raise forms.ValidationError(
                _(
                    "Line %(number)s: enter a new factor name, a colon and at least "
                    "one level."
                )
                % {"number": number}
            )
        factors[name] = [_level(value) for value in values]
        if len(factors) > MAX_STUDY_FACTORS or len(values) > MAX_FACTOR_LEVELS:
            raise forms.ValidationError(
                _("A study can have at most 100 factors with at most 100 levels each.")
            )
    return factors


def format_factors(factors: Mapping[str, Any]) -> str:
    lines = []
    for name, stated in factors.items():
        levels = stated if isinstance(stated, list) else [stated]
        texts = [_quoted(str(level)) for level in levels]
        lines.append(f"{name}: {', '.join(texts)}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    if "," in text or '"' in text:
        return '"{}"'.format(text.replace('"', '""'))
    return text


def _level(text: str) -> Any:
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    return float(text) if match[2] else int(text)


urlpatterns = [
    form_page(
        "studies/new/",
        new_study,
        "new-study",
        member_statuses=UPLOADERS_ONLY,
        is_private=True,
    ),
    form_page(
        "studies/import/",
        import_study,
        "import-study",
        member_statuses=UPLOADERS_ONLY,
        is_private=True,
    ),
    form_page(f"{STUDY_PATH}settings/", change_settings, "study-settings"),
]
