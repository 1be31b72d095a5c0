"""The forms of a lab's people and tokens."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth.forms import UserCreationForm
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from dashboard.kit.forms import LineField, ShortNameField
from dashboard.wording.labs import ROLES

SCOPES = [
    ("upload", _("upload: writes to this lab, reads only what is public")),
    ("read", _("read: sees what this lab keeps private")),
]
DAYS = [
    ("30", _("in 30 days")),
    ("90", _("in 90 days")),
    ("365", _("in a year")),
    ("", _("never (until revoked)")),
]


class LabForm(forms.Form):
    """What a new lab is called."""

    name = LineField(label=_("Name"), max_length=200)
    slug = ShortNameField(max_length=50)


class InvitationForm(forms.Form):
    """Whom to invite, and as what; nobody offers more than they have."""

    name = forms.CharField(
        label=_("Name or e-mail address"),
        max_length=200,
        help_text=_("Shown in this list."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    role = forms.ChoiceField(label=_("Role"))

    def __init__(self, roles: tuple[str, ...], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # The class has the field for its place only: who may offer what differs.
        choices = [(role, ROLES[role]) for role in roles]
        self.fields["role"] = forms.ChoiceField(label=_("Role"), choices=choices)


class TokenForm(forms.Form):
    """What a new token is for, what it may do, and until when."""

    agent = forms.SlugField(
        label=_("Agent"),
        max_length=100,
        help_text=_(
            "The machine or script that will use it: letters, digits, - and _. "
            "If the agent exists, a second token is added."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off", "list": "agents"}),
        error_messages={
            "invalid": _("Use letters, digits, - and _ only, like rack-7.")
        },
    )
    scopes = forms.MultipleChoiceField(
        label=_("Permissions"),
        choices=SCOPES,
        initial=["upload"],
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": _("Choose what the token may do: upload, read, or both.")
        },
    )
    days = forms.ChoiceField(
        label=_("Expires"), choices=DAYS, initial="365", required=False
    )

    def expires_at(self) -> datetime | None:
        """Return the moment the chosen days lead to; None for never."""
        days = self.cleaned_data["days"]
        return timezone.now() + timedelta(days=int(days)) if days else None


class NewPersonForm(UserCreationForm):
    """A new account, called by the words of the sign-in page."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        name = self.fields["username"]
        name.label = _("Name")
        name.help_text = _("For signing in: letters, digits and @ . + - _")
        self.fields["password2"].label = _("Repeat password")
        self.fields["password2"].help_text = ""


class CodeForm(forms.Form):
    """The code of an invitation, or the whole link."""

    code = forms.CharField(
        label=_("Invitation code or link"),
        max_length=500,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean_code(self) -> str:
        """Return what stands behind the last # of a link, or all of a bare code."""
        return str(self.cleaned_data["code"]).rpartition("#")[2].strip()
