"""The form of a study: what it is, who sees it, how it is judged."""

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.errors import BenchmarksError
from benchmarks.models import Lab, Study
from benchmarks.studies.lists import measured_systems
from benchmarks.text import clean_text, collapse
from dashboard import wording
from dashboard.kit.forms import LineField, ShortNameField

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

Sent = QueryDict | Mapping[str, Any] | None


class AboutForm(forms.Form):
    """What a study is."""

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


class VisibilityForm(forms.Form):
    """Who sees it."""

    visibility = forms.ChoiceField(
        label=gettext_lazy("Visible to"),
        choices=VISIBILITIES,
        initial="private",
        widget=forms.RadioSelect,
    )


class LabsForm(forms.Form):
    """Which labs; asked only where a study is shared."""

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


class MethodForm(forms.Form):
    """What was varied, and from when on a difference counts."""

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

    def clean_factors(self) -> dict[str, list[Any]]:
        return factors_in(self.cleaned_data["factors"])


class ArchiveForm(forms.Form):
    """Whether anything is added to it."""

    archived = forms.BooleanField(
        label=gettext_lazy("Archived: nothing is added any more"),
        required=False,
        help_text=gettext_lazy(
            "Uploads to it are refused until it is taken out again. What is stored "
            "stays where it is and as visible as before."
        ),
    )


@dataclass
class StudyForm:
    """The parts of the form, filled in or not."""

    about: AboutForm
    visibility: VisibilityForm
    labs: LabsForm
    method: MethodForm
    archive: ArchiveForm | None

    @classmethod
    def new(
        cls, lab: Lab, known: Iterable[Lab], sent: Sent, author: str
    ) -> "StudyForm":
        """A form of a study that is not there yet."""
        initial = {"author": author, "institution": lab.name}
        form = cls(
            AboutForm(sent, initial=initial),
            VisibilityForm(sent),
            LabsForm(sent),
            MethodForm(sent),
            None,
        )
        # Asked where there is an answer: nothing was measured yet.
        del form.method.fields["reference_system"]
        del form.about.fields["published"]
        form._offer(lab, known)
        return form

    @classmethod
    def of(cls, study: Study, known: Iterable[Lab], sent: Sent) -> "StudyForm":
        """A form that says how a study is set."""
        shared = study.shared_with.values_list("slug", flat=True)
        known = list(known)
        listed = {lab.slug for lab in known}
        method = {
            "factors": factors_text(study.factors),
            "equivalence_margin_percent": study.equivalence_margin_percent,
            "baseline_max_age_days": study.baseline_max_age_days,
            "reference_system": study.reference_system_id,
        }
        about = {name: getattr(study, name) for name in AboutForm.base_fields}
        labs = {
            "labs": [slug for slug in shared if slug in listed],
            "other_labs": ", ".join(slug for slug in shared if slug not in listed),
        }
        form = cls(
            AboutForm(sent, initial=about),
            VisibilityForm(sent, initial={"visibility": study.visibility}),
            LabsForm(sent, initial=labs),
            MethodForm(sent, initial=method),
            ArchiveForm(sent, initial={"archived": study.archived_at is not None}),
        )
        del form.about.fields["slug"]  # it stays for good
        reference = form.method.fields["reference_system"]
        assert isinstance(reference, forms.ChoiceField)
        systems = [(it.pk, wording.system_name(it)) for it in measured_systems(study)]
        reference.choices = [("", _("none")), *systems]
        form._offer(study.lab, known)
        return form

    def _offer(self, lab: Lab, known: Iterable[Lab]) -> None:
        field = self.labs.fields["labs"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(it.slug, it.name) for it in known if it.pk != lab.pk]
        if not field.choices:
            del self.labs.fields["labs"]

    @property
    def parts(self) -> tuple[forms.Form, ...]:
        all_parts = (self.about, self.visibility, self.labs, self.method, self.archive)
        return tuple(part for part in all_parts if part is not None)

    @property
    def errors(self) -> bool:
        """Whether anything is wrong: the page's title then says so."""
        return any(part.errors for part in self.parts)

    def is_valid(self) -> bool:
        # All are asked, for all shall be told at once.
        found = [part.is_valid() for part in self.parts]
        return all(found)

    def fields(self) -> dict[str, Any]:
        """Return what was filled in as a service takes it."""
        stated = {**self.about.cleaned_data, **self.visibility.cleaned_data}
        stated |= self.method.cleaned_data
        if self.archive:
            stated |= self.archive.cleaned_data
        if stated["visibility"] == Study.Visibility.SHARED:
            typed = self.labs.cleaned_data["other_labs"].replace(",", " ").split()
            chosen = self.labs.cleaned_data.get("labs", [])
            stated["shared_with"] = sorted({*chosen, *typed})
        return stated

    def say(self, error: BenchmarksError) -> None:
        """Put an error to the field that it is about, or above the form."""
        sentence = wording.said(error.sentence)
        name = {"shared_with": "other_labs"}.get(error.field, error.field)
        for part in self.parts:
            if name in part.fields:
                part.add_error(name, sentence)
                return
        self.about.add_error(None, sentence)


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
