"""Make a study; change its settings: what it is, who sees it, how it is judged."""

import csv
import re
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.forms.models import model_to_dict
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.errors import BenchmarksError
from benchmarks.labs.pages import labs_with_counts
from benchmarks.models import Lab, Study
from benchmarks.studies.lists import measured_systems
from benchmarks.studies.saving import save_study, update_study
from benchmarks.text import clean_text, collapse
from dashboard import wording
from dashboard.kit.addresses import STUDY
from dashboard.kit.forms import LineField, ShortNameField, submit
from dashboard.kit.routes import UPLOAD, form_page
from dashboard.kit.viewers import (
    kept_study_or_404,
    own_labs,
    query_of,
    signed_in_person,
    viewer_of,
)

# SPDX names of what data are usually under; any other text is taken as well.
LICENCES = (
    "CC-BY-4.0",
    "CC-BY-SA-4.0",
    "CC-BY-NC-4.0",
    "CC0-1.0",
    "ODbL-1.0",
    "PDDL-1.0",
)
VISIBILITIES = [
    ("private", gettext_lazy("me and my lab")),
    ("shared", gettext_lazy("my lab and labs I choose")),
    ("public", gettext_lazy("everybody")),
]
MOST_FACTORS = 100
MOST_LEVELS = 100
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?", re.ASCII)
_DAY = re.compile(r"(19|20)\d\d(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?", re.ASCII)


def new_study(request: HttpRequest) -> HttpResponse:
    """Show the form of a new study; make it and redirect to it."""
    wanted = query_of(request).get("lab", "")
    labs = own_labs(request, kept=True)
    named = [lab for lab in labs if lab.slug == wanted]
    is_own = not wanted or wanted in {lab.slug for lab in own_labs(request)}
    if not is_own:
        raise Http404("There is no such lab, or it is not yours.")
    if not labs or (wanted and not named):
        return render(request, "studies/no_lab.html", status=403)
    lab, person = (named or labs)[0], signed_in_person(request)
    sent = request.POST if request.method == "POST" else None
    known, author = labs_with_counts(viewer_of(request)), person.get_full_name()
    form, status = StudyForm(lab, known, sent, author=author), 200

    def make(title: str, slug: str, **stated: Any) -> tuple[Study, bool]:
        slug = slug or slugify(title)[:100].strip("-") or "study"
        return save_study(lab=lab, slug=slug, title=title, **stated)

    if sent is not None:
        made, status = submit(form, make)
        if made:
            study, is_new = made
            if is_new:
                text = _("The study is created. Upload what was measured.")
                messages.success(request, text)
            else:
                messages.info(request, _("This study was there already."))
            return redirect("dashboard:study", lab.slug, study.slug)
    context = {"labs": labs, "lab": lab, "form": form, "licences": LICENCES}
    return render(request, "studies/new.html", context, status=status)


def change_settings(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Show the settings of a study; change them."""
    study = kept_study_or_404(request, lab, slug)
    sent = request.POST if request.method == "POST" else None
    known = labs_with_counts(viewer_of(request))
    form, status = StudyForm(study.lab, known, sent, study), 200
    if sent is not None:
        who = request.user.get_username()
        stored, status = submit(form, update_study, study=study, who=who)
        if stored:
            messages.success(request, _("The settings are stored."))
            return redirect("dashboard:study", lab, slug)
        # The page shows what is stored, beside what was typed.
        study.refresh_from_db()
    context = {"study": study, "form": form, "licences": LICENCES}
    return render(request, "studies/settings.html", context, status=status)


class StudyForm(forms.Form):
    """A study: what it is, who sees it, how it is assessed.

    It can be shared with the labs that are ``known`` to the user.
    """

    renamed = {"shared_with": "other_labs"}

    title = LineField(label=gettext_lazy("Title"), max_length=300)
    slug = ShortNameField()
    author = LineField(
        label=gettext_lazy("Authors"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("As they are cited: Jane Doe and John Roe."),
    )
    institution = LineField(
        label=gettext_lazy("Institution"), required=False, max_length=300
    )
    published = LineField(
        label=gettext_lazy("Published"),
        required=False,
        max_length=10,
        help_text=gettext_lazy("2010-07-29, 2010-07 or 2010; empty: not yet."),
    )
    data_licence = LineField(
        label=gettext_lazy("Licence of the data"),
        required=False,
        max_length=100,
        help_text=gettext_lazy(
            "The licence for others: an SPDX name such as CC-BY-4.0. Empty: "
            "all rights stay with you."
        ),
        widget=forms.TextInput(attrs={"list": "licences"}),
    )
    note = forms.CharField(
        label=gettext_lazy("What was measured, and why"),
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
        error_messages={"invalid_choice": gettext_lazy("Choose labs of this list.")},
    )
    other_labs = LineField(
        label=gettext_lazy("Other labs, by their short names"),
        required=False,
        max_length=1_000,
        help_text=gettext_lazy(
            "As in their addresses, separated by commas. A lab that has published "
            "nothing is in no list: ask its people."
        ),
    )
    factors = forms.CharField(
        label=gettext_lazy("Factors varied"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 4, "placeholder": "guest bits: 32, 64"}),
        help_text=gettext_lazy(
            "One a line: its name, a colon, its levels separated by commas. Put a "
            "level that contains a comma in double quotes."
        ),
    )
    equivalence_margin_percent = forms.FloatField(
        label=gettext_lazy("Equivalence margin, %"),
        min_value=0,
        max_value=100,
        initial=2.0,
        help_text=gettext_lazy("Smaller differences do not matter in practice."),
    )
    baseline_max_age_days = forms.IntegerField(
        label=gettext_lazy("A baseline is outdated after, days"),
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
            "What others are compared with where no native run exists."
        ),
    )
    archived = forms.BooleanField(
        label=gettext_lazy("Archived: nothing is added any more"),
        required=False,
        help_text=gettext_lazy(
            "Uploads to it are refused until it is taken out again. What is stored "
            "stays where it is and as visible as before."
        ),
    )

    def __init__(
        self,
        lab: Lab,
        known: Iterable[Lab],
        sent: QueryDict | None,
        study: Study | None = None,
        author: str = "",
    ) -> None:
        initial: dict[str, Any] = {"author": author, "institution": lab.name}
        labs = [(it.slug, it.name) for it in known if it.pk != lab.pk]
        if study:
            listed = {slug for slug, _name in labs}
            shared = study.shared_with.values_list("slug", flat=True)
            initial = {
                **model_to_dict(study),
                "factors": factors_text(study.factors),
                "labs": [slug for slug in shared if slug in listed],
                "other_labs": ", ".join(slug for slug in shared if slug not in listed),
                "archived": study.archived_at is not None,
            }
        super().__init__(sent, initial=initial)
        choices = {"labs": labs}
        if study:
            systems = measured_systems(study)
            named = [(str(it.pk), wording.system_name(it)) for it in systems]
            choices["reference_system"] = [("", _("none")), *named]
        for name, offered in choices.items():
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = offered
        # The short name is permanent; the rest has no answer yet or no choice.
        left_out = ["slug"] if study else ["published", "reference_system", "archived"]
        for name in left_out if labs else [*left_out, "labs"]:
            del self.fields[name]

    @property
    def about(self) -> list[forms.BoundField]:
        names = ("title", "slug", "author", "institution", "published")
        return self._part(*names, "data_licence", "note")

    @property
    def visibility_fields(self) -> list[forms.BoundField]:
        return self._part("visibility")

    @property
    def readers(self) -> list[forms.BoundField]:
        return self._part("labs", "other_labs")

    @property
    def method(self) -> list[forms.BoundField]:
        names = ("factors", "equivalence_margin_percent", "baseline_max_age_days")
        return self._part(*names, "reference_system")

    def _part(self, *names: str) -> list[forms.BoundField]:
        return [self[name] for name in names if name in self.fields]

    def clean_published(self) -> str:
        text = str(self.cleaned_data["published"])
        if text and not _DAY.fullmatch(text):
            raise forms.ValidationError(_("Write a day like 2010-07-29, or 2010."))
        return text

    def clean_note(self) -> str:
        text = self.cleaned_data["note"].replace("\r\n", "\n")
        try:
            return clean_text(text, multiline=True)
        except BenchmarksError as error:
            raise forms.ValidationError(wording.said(error.sentence)) from None

    def clean_factors(self) -> dict[str, list[Any]]:
        return factors_in(self.cleaned_data["factors"])

    def clean(self) -> dict[str, Any]:
        """Return the values as a service takes them."""
        stated = dict(self.cleaned_data)
        chosen, typed = stated.pop("labs", []), stated.pop("other_labs", "")
        if stated.get("visibility") == Study.Visibility.SHARED:
            stated["shared_with"] = sorted({*chosen, *typed.replace(",", " ").split()})
        return stated


def factors_in(text: str) -> dict[str, list[Any]]:
    """Return the levels of each factor; raise ValidationError that names the line.

    >>> factors_in('guest bits: 32, 64')
    {'guest bits': [32, 64]}
    """
    factors: dict[str, list[Any]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, colon, levels = line.partition(":")
        try:
            name = clean_text(collapse(name))
            row = next(csv.reader([levels], skipinitialspace=True, strict=True), [])
            values = [clean_text(collapse(level)) for level in row if level.strip()]
        except (BenchmarksError, csv.Error):
            values = []
        if not (colon and name and values) or name in factors or len(name) > 100:
            raise forms.ValidationError(
                _("Line %(number)s: write a new name, a colon and at least one level.")
                % {"number": number}
            )
        factors[name] = [_level(value) for value in values]
        if len(factors) > MOST_FACTORS or len(values) > MOST_LEVELS:
            raise forms.ValidationError(
                _("At most 100 factors have at most 100 levels each.")
            )
    return factors


def factors_text(factors: Mapping[str, Any]) -> str:
    """Return factors as `factors_in` reads them."""
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
    form_page("studies/new/", new_study, "new-study", own=UPLOAD, is_private=True),
    form_page(f"{STUDY}settings/", change_settings, "study-settings"),
]
