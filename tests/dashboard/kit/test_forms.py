"""Text fields of all forms."""

import importlib
import pkgutil

import pytest
from django import forms

import dashboard.pages

RAW_TEXT = {
    ("HostForm", "output"),  # output of programs, which is only parsed
    ("DataFilterForm", "hypervisor"),  # searched for, not stored
    ("DataFilterForm", "tool"),
    ("ForgotPasswordForm", "name_or_email"),
    # Compared with secrets:
    ("ConfirmPasswordForm", "password"),
    ("EmailLinkForm", "code"),
    ("AuthenticatorAppForm", "code"),
    ("OneTimeCodeForm", "code"),
    ("SignInForm", "password"),
}


def text_fields():
    for module in pkgutil.walk_packages(dashboard.pages.__path__, "dashboard.pages."):
        for form in vars(importlib.import_module(module.name)).values():
            is_own = getattr(form, "__module__", "") == module.name
            if not (is_own and isinstance(form, type) and issubclass(form, forms.Form)):
                continue
            for name, field in getattr(form, "declared_fields", {}).items():
                is_text = isinstance(field, forms.CharField)
                if is_text and (form.__name__, name) not in RAW_TEXT:
                    yield pytest.param(field, id=f"{form.__name__}.{name}")


@pytest.mark.parametrize("field", list(text_fields()))
@pytest.mark.parametrize(
    "text", ["1\uffff1", "1\ufffe1", "1\x011", "1\ud8001", "\u200b"]
)
def test_text_that_cannot_be_displayed_is_refused(field, text):
    with pytest.raises(forms.ValidationError):
        field.clean(text)
