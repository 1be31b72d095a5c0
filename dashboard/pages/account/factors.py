"""The page of somebody's second factors: an app, passkeys, recovery codes."""

from typing import Any, Final

from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.forms import AddWebAuthnForm
from allauth.mfa.webauthn.views import AddWebAuthnView
from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from benchmarks.labs.sign_ins import (
    LEFT_FEW,
    add_passkey,
    factors_of,
    has_factor,
    lab_that_waits_for,
    new_app_secret,
    new_recovery_codes,
    recovery_codes_left,
    remove_factor,
    set_up_app,
)
from dashboard.kit.forms import LineField
from dashboard.kit.viewers import signed_in, signed_in_person
from dashboard.pages.account.sign_in import (
    FactorForm,
    attempt,
    confirmed,
    note_proof,
)

# Of a session: the secret of an app that is being set up.
APP_SECRET: Final = "app-secret"


class AppForm(forms.Form):
    code = FactorForm.base_fields["code"]


class PasskeyForm(AddWebAuthnForm):
    """A new passkey as the browser made it, and what it is called."""

    field_order = ("name", "credential")
    name = LineField(
        label=gettext_lazy("Name"),
        max_length=60,
        help_text=gettext_lazy("To know it again: my laptop, the blue key."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean(self) -> dict[str, Any]:
        """Refuse an answer that does not fit the question."""
        if "name" not in self.cleaned_data:
            return dict(self.cleaned_data)
        try:
            if "credential" in self.cleaned_data:
                return dict(super().clean())
        except (forms.ValidationError, ValueError, TypeError, KeyError):
            pass
        self.errors.pop("credential", None)
        raise forms.ValidationError(
            _("The browser made no passkey that fits. Try again.")
        )


@never_cache
@require_safe
@signed_in
def show(request: HttpRequest) -> HttpResponse:
    return _page(request)


def _page(request: HttpRequest, **context: Any) -> HttpResponse:
    person = signed_in_person(request)
    factors = factors_of(person)
    left = recovery_codes_left(person)
    context |= {
        "factors": [(row, row.wrap()) for row in factors],
        "has_app": any(row.type == Authenticator.Type.TOTP for row in factors),
        "left": left,
        "left_few": left is not None and left <= LEFT_FEW,
        "waiting": lab_that_waits_for(person),
    }
    return render(request, "account/factors.html", context)


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@confirmed
def add_app(request: HttpRequest) -> HttpResponse:
    """Show the secret of an app, and keep it once the app shows the right code."""
    person = signed_in_person(request)
    form = AppForm(request.POST or None)
    secret = request.session.setdefault(APP_SECRET, new_app_secret())
    status = 200
    if request.method == "POST":
        trial = attempt(request, person.get_username(), is_factor=True)
        if form.is_valid():
            code = "".join(form.cleaned_data["code"].split())
            if set_up_app(person, secret, code):
                trial.succeeded()
                del request.session[APP_SECRET]
                return _done(request, _("The app is set up."))
            form.add_error("code", _("This code is wrong. Is the clock right?"))
        status = 422
    adapter = get_adapter()
    address = adapter.build_totp_url(person, secret)
    context = {
        "form": form,
        "secret": " ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
        "address": address,
        # Drawn by us, of an address that is quoted.
        "drawing": mark_safe(adapter.build_totp_svg(address).split("?>", 1)[-1]),
    }
    return render(request, "account/add_app.html", context, status=status)


@method_decorator([sensitive_post_parameters(), never_cache, confirmed], "dispatch")
class MakePasskey(AddWebAuthnView):
    """Ask the browser for a passkey, and store it."""

    form_class = PasskeyForm
    template_name = "account/add_passkey.html"

    def form_valid(self, form: Any) -> HttpResponse:
        made = form.cleaned_data
        add_passkey(signed_in_person(self.request), made["name"], made["credential"])
        return _done(self.request, _("The passkey is set up."))

    def form_invalid(self, form: Any) -> HttpResponse:
        context = self.get_context_data(form=form)
        return self.render_to_response(context, status=422)


def _done(request: HttpRequest, text: str) -> HttpResponse:
    """Say so; whoever has no recovery codes yet is shown some."""
    messages.success(request, text)
    person = signed_in_person(request)
    # With what was just made they have shown that it is them.
    note_proof(request, "mfa")
    if recovery_codes_left(person) is None:
        return _page(request, codes=new_recovery_codes(person))
    return redirect("dashboard:factors")


@never_cache
@require_POST
@confirmed
def make_codes(request: HttpRequest) -> HttpResponse:
    """Show new recovery codes this once; those of before end."""
    person = signed_in_person(request)
    if not has_factor(person):
        raise Http404("There is nothing to recover.")
    return _page(request, codes=new_recovery_codes(person))


@require_POST
@confirmed
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    if not remove_factor(signed_in_person(request), pk):
        raise Http404("There is no such thing of yours.")
    messages.success(request, _("It is removed."))
    return redirect("dashboard:factors")
