"""What forms of several pages have in common: a line of text, and what is wrong."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from benchmarks.errors import InvalidError
from benchmarks.text import clean_text, collapse
from dashboard import wording


class LineField(forms.CharField):
    """A short text on one line, without invisible characters."""

    def clean(self, value: Any) -> str:
        text = collapse(super().clean(value))
        try:
            return clean_text(text)
        except InvalidError as error:
            raise forms.ValidationError(wording.said(error.sentence)) from None


class ShortNameField(forms.SlugField):
    """What a new thing is called in addresses; it may follow from its name."""

    def __init__(self, *, max_length: int = 100) -> None:
        super().__init__(
            label=_("Short name"),
            required=False,
            max_length=max_length,
            help_text=_(
                "For addresses: letters, digits, - and _. It cannot be changed "
                "later. Left empty, it is made from the title or name."
            ),
            error_messages={
                "invalid": _("Use letters a-z, digits, - and _ only, like rack-7.")
            },
        )


def cleaned(form: forms.Form) -> dict[str, Any]:
    """Return a form's values, or raise what is wrong with the first of them."""
    for field, errors in form.errors.get_json_data().items():
        text = f"{form[field].label}: {errors[0]['message']}"
        raise InvalidError("not_chosen", text).at(field)
    return form.cleaned_data
