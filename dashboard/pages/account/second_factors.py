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

from benchmarks.labs.member_sign_in_methods import (
    FEW_RECOVERY_CODES,
    add_passkey,
    has_second_factor,
    lab_requiring_second_factor,
    list_second_factors,
    new_recovery_codes,
    new_totp_secret,
    recovery_codes_left,
    remove_factor,
    set_authenticator_app,
)
from dashboard.kit.forms import SingleLineField
from dashboard.kit.viewers import required_user, sign_in_required
from dashboard.pages.account.sign_in import (
    OneTimeCodeForm,
    count_attempt,
    reauthentication_required,
    record_reauthentication,
)

# Session key for the secret of an authenticator app that is being set up.
APP_SECRET_SESSION_KEY: Final = "app-secret"


class AuthenticatorAppForm(forms.Form):
    code = OneTimeCodeForm.base_fields["code"]


class PasskeyForm(AddWebAuthnForm):
    field_order = ("name", "credential")
    name = SingleLineField(
        label=gettext_lazy("Name"),
        max_length=60,
        help_text=gettext_lazy(
            "A name that helps you recognize it, for example My laptop or Blue key."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean(self) -> dict[str, Any]:
        if "name" not in self.cleaned_data:
            return dict(self.cleaned_data)
        try:
            if "credential" in self.cleaned_data:
                return dict(super().clean())
        except (forms.ValidationError, ValueError, TypeError, KeyError):
            pass
        self.errors.pop("credential", None)
        raise forms.ValidationError(
            _("The browser did not create a valid passkey. Try again.")
        )


@never_cache
@require_safe
@sign_in_required
def show_second_factors(request: HttpRequest) -> HttpResponse:
    return _page(request)


def _page(request: HttpRequest, **context: Any) -> HttpResponse:
    person = required_user(request)
    factors = list_second_factors(person)
    left = recovery_codes_left(person)
    context |= {
        "factors": [(row, row.wrap()) for row in factors],
        "has_app": any(row.type == Authenticator.Type.TOTP for row in factors),
        "codes_left": left,
        "has_few_codes": left is not None and left <= FEW_RECOVERY_CODES,
        "waiting": lab_requiring_second_factor(person),
    }
    return render(request, "account/second_factors.html", context)


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@reauthentication_required
def add_authenticator_app(request: HttpRequest) -> HttpResponse:
    person = required_user(request)
    form = AuthenticatorAppForm(request.POST or None)
    secret = request.session.setdefault(APP_SECRET_SESSION_KEY, new_totp_secret())
    status = 200
    if request.method == "POST":
        attempt = count_attempt(request, person.get_username(), is_factor=True)
        if form.is_valid():
            code = "".join(form.cleaned_data["code"].split())
            if set_authenticator_app(person, secret, code):
                attempt.give_back()
                del request.session[APP_SECRET_SESSION_KEY]
                return _confirm_added(request, _("The authenticator app is set up."))
            form.add_error(
                "code", _("This code is wrong. Check the clock of your device.")
            )
        status = 422
    adapter = get_adapter()
    address = adapter.build_totp_url(person, secret)
    context = {
        "form": form,
        "secret": " ".join(
            secret[start : start + 4] for start in range(0, len(secret), 4)
        ),
        "address": address,
        # The adapter creates this SVG itself, from a URL with quoted parameters.
        "qr_code": mark_safe(adapter.build_totp_svg(address).split("?>", 1)[-1]),
    }
    return render(request, "account/add_app.html", context, status=status)


@method_decorator(
    [sensitive_post_parameters(), never_cache, reauthentication_required], "dispatch"
)
class AddPasskeyView(AddWebAuthnView):
    form_class = PasskeyForm
    template_name = "account/add_passkey.html"

    def form_valid(self, form: Any) -> HttpResponse:
        data = form.cleaned_data
        add_passkey(required_user(self.request), data["name"], data["credential"])
        return _confirm_added(self.request, _("The passkey is set up."))

    def form_invalid(self, form: Any) -> HttpResponse:
        context = self.get_context_data(form=form)
        return self.render_to_response(context, status=422)


def _confirm_added(request: HttpRequest, text: str) -> HttpResponse:
    """Confirm a new second factor; show recovery codes to users who have none yet."""
    messages.success(request, text)
    person = required_user(request)
    # Setting up the new factor proved who the user is.
    record_reauthentication(request, "mfa")
    if recovery_codes_left(person) is None:
        return _page(request, codes=new_recovery_codes(person))
    return redirect("dashboard:second-factors")


@never_cache
@require_POST
@reauthentication_required
def create_recovery_codes(request: HttpRequest) -> HttpResponse:
    """Create recovery codes and show them once; older codes become invalid."""
    person = required_user(request)
    if not has_second_factor(person):
        raise Http404("There is nothing to recover.")
    return _page(request, codes=new_recovery_codes(person))


@require_POST
@reauthentication_required
def remove_second_factor(request: HttpRequest, pk: int) -> HttpResponse:
    if not remove_factor(required_user(request), pk):
        raise Http404("Second factor not found.")
    messages.success(request, _("The second factor was removed."))
    return redirect("dashboard:second-factors")
