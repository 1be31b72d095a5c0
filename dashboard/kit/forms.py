"""What forms of several pages have in common: a line of text, and what is wrong."""

from typing import Any

from django import forms

from benchmarks.errors import BenchmarksError, TextError
from benchmarks.text import clean_text, collapse
from dashboard import wording


class NotChosenError(BenchmarksError):
    """Something of the form is missing or makes no sense."""

    code = "not_chosen"

    def __init__(self, text: str, field: str = "") -> None:
        super().__init__(text)
        self.field = field


class LineField(forms.CharField):
    """A short text on one line, without invisible characters."""

    def clean(self, value: Any) -> str:
        text = collapse(super().clean(value))
        try:
            return clean_text(text)
        except TextError as error:
            raise forms.ValidationError(wording.said(error.sentence)) from None


def cleaned(form: forms.Form) -> dict[str, Any]:
    """Return a form's values, or raise what is wrong with the first of them."""
    for field, errors in form.errors.get_json_data().items():
        text = f"{form[field].label}: {errors[0]['message']}"
        raise NotChosenError(text, field)
    return form.cleaned_data
