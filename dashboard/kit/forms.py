from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from benchmarks.errors import BenchmarksError, InvalidError
from benchmarks.text_validation import clean_text, normalize_whitespace
from dashboard import wording

ServiceResult = TypeVar("ServiceResult")
UNPROCESSABLE = 422


class SingleLineField(forms.CharField):
    """Text field for one line, without invisible characters."""

    def clean(self, value: Any) -> str:
        return _clean_field_text(normalize_whitespace(super().clean(value)))


class MultilineField(forms.CharField):
    """Text area with line ends as ``\\n``, without invisible characters."""

    widget = forms.Textarea

    def clean(self, value: Any) -> str:
        text = super().clean(value).replace("\r\n", "\n")
        return _clean_field_text(text, multiline=True)


def _clean_field_text(text: str, *, multiline: bool = False) -> str:
    try:
        return clean_text(text, multiline=multiline)
    except InvalidError as error:
        raise forms.ValidationError(wording.translate_text(error.sentence)) from None


class ShortNameField(forms.SlugField):
    """Slug of a new object, by default derived from the title."""

    def __init__(self, *, max_length: int = 100) -> None:
        super().__init__(
            label=_("Short name"),
            required=False,
            max_length=max_length,
            help_text=_(
                "Used in URLs: letters, digits, - and _. It cannot be changed "
                "later. If empty, it is derived from the title or name."
            ),
            error_messages={
                "invalid": _(
                    "Use only letters a-z, digits, - and _, for example rack-7."
                )
            },
        )


def cleaned_data_or_error(form: forms.Form) -> dict[str, Any]:
    for field, errors in form.errors.get_json_data().items():
        text = f"{form[field].label}: {errors[0]['message']}"
        raise InvalidError("choice_required", text).for_field(field)
    return form.cleaned_data


def add_error(form: forms.Form, error: BenchmarksError) -> None:
    """Add a service's error to its field (``form.field_aliases``) or to the form."""
    name = getattr(form, "field_aliases", {}).get(error.field, error.field)
    form.add_error(
        name if name in form.fields else None, wording.translate_text(error.sentence)
    )


def submit_form(
    form: forms.Form, service: Callable[..., ServiceResult], **fixed: Any
) -> tuple[ServiceResult | None, int]:
    """Call a service with a form's values; return its result and the HTTP status.

    After errors, which are added to the form, the result is None.
    """
    if not form.is_valid():
        return None, UNPROCESSABLE
    try:
        return service(**form.cleaned_data, **fixed), 200
    except BenchmarksError as error:
        add_error(form, error)
        return None, error.status


@contextmanager
def outcome_message(request: HttpRequest, success: str = "") -> Iterator[None]:
    """Show a success message, or the error that the block raised."""
    try:
        yield
    except BenchmarksError as error:
        messages.error(request, wording.translate_text(error.sentence))
    else:
        if success:
            messages.success(request, success)
