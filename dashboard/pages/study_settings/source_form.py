import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.study_sources import DOI_PATTERN, TRANSCRIBED, URL_PATTERN
from dashboard.kit.forms import SingleLineField
from dashboard.wording.sources import RELATIONS

_PROPERTIES: Final = ("title", "relation", "authors", "published")
SOURCE_FIELDS: Final = (*(f"source_{name}" for name in _PROPERTIES), "source_link")
_DATE: Final = re.compile(
    r"(19|20)\d\d(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?", re.ASCII
)
_DOI: Final = re.compile(rf"(?:https?://(?:dx\.)?doi\.org/|doi:)?({DOI_PATTERN})")


class PublicationDateField(SingleLineField):
    def clean(self, value: Any) -> str:
        text = super().clean(value)
        if text and not _DATE.fullmatch(text):
            raise forms.ValidationError(
                _("Enter a date such as 2010-07-29, 2010-07 or 2010.")
            )
        return text


class SourceForm(forms.Form):
    """The first of a study's sources; the API can state more of them."""

    source_title = SingleLineField(
        label=gettext_lazy("Title of the published work"),
        required=False,
        max_length=300,
        help_text=gettext_lazy("Leave empty if the study itself is the original."),
    )
    source_relation = forms.ChoiceField(
        label=gettext_lazy("The numbers are"),
        required=False,
        choices=[*RELATIONS.items()],
        initial=TRANSCRIBED,
    )
    source_authors = SingleLineField(
        label=gettext_lazy("Authors of the work"),
        required=False,
        max_length=500,
        help_text=gettext_lazy("Separate names by semicolons."),
    )
    source_published = PublicationDateField(
        label=gettext_lazy("Date of the work"),
        required=False,
        max_length=10,
        help_text=gettext_lazy("The date as 2010-07-29, 2010-07 or 2010."),
    )
    source_link = SingleLineField(
        label=gettext_lazy("DOI or link"), required=False, max_length=1_000
    )

    def clean_source_link(self) -> str:
        text = str(self.cleaned_data["source_link"])
        if text and not (_DOI.fullmatch(text) or re.fullmatch(URL_PATTERN, text)):
            raise forms.ValidationError(
                _("Enter a DOI such as 10.1000/182, or a link with https://.")
            )
        return text


def source_initial(sources: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    first = sources[0] if sources else {}
    return {
        **{f"source_{name}": first.get(name, "") for name in _PROPERTIES},
        "source_link": first.get("doi") or first.get("url", ""),
    }


def changed_sources(
    stored: Sequence[Mapping[str, Any]], fields: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the sources with the first one as entered.

    Removes `SOURCE_FIELDS` from ``fields``.
    """
    *texts, link = (str(fields.pop(name, "")) for name in SOURCE_FIELDS)
    entered = dict(zip(_PROPERTIES, texts, strict=True))
    first, *others = map(dict, stored or [{}])
    if not entered["title"]:
        return others
    doi = _DOI.fullmatch(link)
    first |= entered | ({"doi": doi[1]} if doi else {"doi": "", "url": link})
    return [{name: text for name, text in first.items() if text}, *others]
