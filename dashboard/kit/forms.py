"""Fields, validation and messages that forms of several pages share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from benchmarks.errors import BenchmarksError, InvalidError
from benchmarks.text import clean_text, collapse
from dashboard import wording

Made = TypeVar("Made")
UNPROCESSABLE = 422


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


def add_error(form: forms.Form, error: BenchmarksError) -> None:
    """Add an error to the field that it names, or to the whole form.

    ``form.renamed`` has the form's names of fields that a service calls otherwise.
    """
    name = getattr(form, "renamed", {}).get(error.field, error.field)
    form.add_error(name if name in form.fields else None, wording.said(error.sentence))


def submit(
    form: forms.Form, service: Callable[..., Made], **fixed: Any
) -> tuple[Made | None, int]:
    """Call a service with the values of a valid form; return its result and a status.

    Without a result the form has the errors.
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
    """Show a message of success, or the error that the block raised."""
    try:
        yield
    except BenchmarksError as error:
        messages.error(request, wording.said(error.sentence))
    else:
        if success:
            messages.success(request, success)
