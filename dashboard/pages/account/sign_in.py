"""Signing in: a password or a provider, then the second factor; and signing out."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import SimpleNamespace
from typing import Any, Final, cast
from urllib.parse import urlencode

import requests
from allauth.account.authentication import get_authentication_records
from allauth.account.forms import LoginForm
from allauth.account.stages import LoginStageController
from allauth.account.views import LoginView
from allauth.mfa.base.forms import AuthenticateForm
from allauth.mfa.base.views import AuthenticateView
from allauth.mfa.models import Authenticator
from allauth.mfa.stages import AuthenticateStage
from allauth.mfa.webauthn.forms import AuthenticateWebAuthnForm
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.views import (
    OpenIDConnectOAuth2Adapter,
)
from cachetools import TTLCache
from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.views import LogoutView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)
from fido2.webauthn import AuthenticationResponse

from benchmarks.errors import TooFastError
from benchmarks.labs.sign_ins import (
    count_passkey_use,
    factors_of,
    has_factor,
    take_code,
)
from benchmarks.labs.throttle import Attempt
from dashboard.kit.viewers import page_of, signed_in, signed_in_person
from dashboard.pages.account.adapters import KNOWN, provider_set, turned_away

ViewFunction = Callable[..., HttpResponse]

logger = logging.getLogger(__name__)
SURE_S: Final = 300
PROOF: Final = "proof"
DISCOVERED_S: Final = 600
_discovered: TTLCache[str, dict[str, Any]] = TTLCache(4, DISCOVERED_S)


class OwnPasswordForm(forms.Form):
    """The signed-in person's password, asked for once more."""

    password = forms.CharField(
        label=gettext_lazy("Your password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, person: User, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.person = person

    def clean_password(self) -> str:
        password = str(self.cleaned_data["password"])
        if not self.person.check_password(password):
            raise forms.ValidationError(_("Wrong password."))
        return password


class FactorForm(AuthenticateForm):
    """A code of an app, or a recovery code."""

    code = forms.CharField(
        label=gettext_lazy("Code"),
        max_length=40,
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "inputmode": "numeric"}
        ),
    )

    def clean_code(self) -> str:
        """Use the code up: allauth would let other processes accept it again."""
        code = str(self.cleaned_data["code"])
        self.authenticator = take_code(self.user, code)
        if self.authenticator is None:
            raise forms.ValidationError(
                _("This code is wrong, or was used before. Wait for the next one.")
            )
        return code


class PasskeyAnswerForm(AuthenticateWebAuthnForm):
    """A passkey's answer. Answers of a copied passkey are refused."""

    def clean_credential(self) -> Authenticator:
        credential = self.cleaned_data["credential"]
        try:
            row = super().clean_credential()
            answer = AuthenticationResponse.from_dict(credential).response
        except (ValueError, TypeError, KeyError) as error:
            raise forms.ValidationError(_("Not the answer of a passkey.")) from error
        if not count_passkey_use(row, answer.authenticator_data.counter):
            raise forms.ValidationError(_("Not the answer of a passkey."))
        return row


class SignInForm(LoginForm):
    """allauth's sign-in form; its field for the name is called username."""

    def add_prefix(self, field_name: str) -> str:
        return "username" if field_name == "login" else super().add_prefix(field_name)

    def clean_login(self) -> str:
        # Names are stored in Unicode's form NFKC; keyboards send others, too.
        return User.normalize_username(super().clean_login())


class SignIn(LoginView):
    """Sign in by password; limit how often one is tried."""

    form_class = SignInForm
    template_name = "account/login.html"

    def post(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        self.trial = attempt(request, request.POST.get("username", ""))
        with uncounted_if_busy(self.trial):
            return cast(HttpResponse, super().post(request, *args, **options))

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        more = {
            "next": self.get_next_url() or "",
            "oidc": settings.OIDC,
            "sends_mail": settings.EMAIL is not None,
        }
        return cast(dict[str, Any], super().get_context_data(**context, **more))

    def form_valid(self, form: Any) -> HttpResponse:
        self.trial.succeeded()
        # Asks for the second factor, if there is one, and only then signs in.
        return cast(HttpResponse, super().form_valid(form))

    def _redirect_to_pending_stage(self, *args: Any) -> None:
        """Let somebody else sign in instead of asking for the second factor again."""


@method_decorator(sensitive_post_parameters(), name="dispatch")
class SecondStep(AuthenticateView):
    """Ask for the second factor after the password."""

    form_class = FactorForm
    webauthn_form_class = PasskeyAnswerForm
    template_name = "account/second_step.html"

    def post(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        name = self.stage.login.user.get_username()
        trial = attempt(request, name, is_factor=True)
        if self.form.is_valid():
            trial.succeeded()
        return cast(HttpResponse, super().post(request, *args, **options))

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = 422
        return cast(HttpResponse, response)

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        context |= super().get_context_data()
        person = self.stage.login.user
        kinds = {row.type for row in factors_of(person)}
        context |= {"person": person, "has_app": "totp" in kinds}
        if "webauthn" in kinds:
            context["asked"] = context["js_data"]["request_options"]
        return context


class ConfirmFactor(SecondStep):
    """Ask a signed-in person for the second factor, then lead to ``target``."""

    target = ""

    def dispatch(self, request: HttpRequest, *args: Any, **options: Any) -> Any:
        # allauth's view works on a sign-in; here there is none.
        self.stage = SimpleNamespace(
            login=SimpleNamespace(user=request.user),
            exit=lambda: HttpResponseRedirect(self.target),
        )
        self.form = self._build_forms()
        return View.dispatch(self, request, *args, **options)

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        context |= {"is_confirming": True, "next": self.target}
        return super().get_context_data(**context)


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def confirm(request: HttpRequest) -> HttpResponse:
    """Ask a signed-in person once more, before how they sign in is changed."""
    person = signed_in_person(request)
    target = request.POST.get("next") or request.GET.get("next") or ""
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}):
        target = reverse("dashboard:account")
    if has_factor(person):
        return cast(HttpResponse, ConfirmFactor.as_view(target=target)(request))
    form = OwnPasswordForm(person, request.POST or None)
    if request.method == "POST" and person.has_usable_password():
        trial = attempt(request, person.get_username())
        with uncounted_if_busy(trial):
            is_right = form.is_valid()
        if is_right:
            trial.succeeded()
            note_proof(request, "password")
            return HttpResponseRedirect(target)
    context = {"form": form, "oidc": settings.OIDC, "next": target}
    status = 422 if request.method == "POST" else 200
    return render(request, "account/confirm.html", context, status=status)


def note_proof(request: HttpRequest, method: str) -> None:
    """Note in the session by what a signed-in person proved who they are."""
    request.session[PROOF] = {"method": method, "at": time.time()}


def confirmed(view: ViewFunction) -> ViewFunction:
    """Let through who proved within five minutes that it is really them."""

    @wraps(view)
    @signed_in
    def checked(request: HttpRequest, *args: Any, **named: Any) -> HttpResponse:
        if is_sure(request):
            return view(request, *args, **named)
        return _confirm_first(page_of(request))

    return checked


def is_sure(request: HttpRequest) -> bool:
    """Return whether a signed-in person proved a moment ago that it is them.

    Whoever has a second factor by that, others by how they signed in.
    """
    if not request.user.is_authenticated:
        return False
    person = signed_in_person(request)
    ways = {"mfa"} if has_factor(person) else {"password", "socialaccount"}
    records = get_authentication_records(request, person)
    proof = request.session.get(PROOF)
    return any(
        record["method"] in ways and time.time() - record["at"] < SURE_S
        for record in ([*records, proof] if proof else records)
    )


def _confirm_first(page: str) -> HttpResponse:
    query = urlencode({"next": page})
    return HttpResponseRedirect(f"{reverse('dashboard:confirm')}?{query}")


class Discovery(OpenIDConnectOAuth2Adapter):
    """The provider's addresses, asked for once in ten minutes."""

    @property
    def openid_config(self) -> Any:
        key = provider_set().issuer
        if key not in _discovered:
            found = super().openid_config
            if str(found.get("issuer", "")).rstrip("/") != key:
                raise OAuth2Error("the issuer calls itself otherwise")
            _discovered[key] = found
        return _discovered[key]

    @property
    def basic_auth(self) -> bool:
        # What OpenID Connect says of a provider that does not say.
        default = ["client_secret_basic"]
        ways = self.openid_config.get("token_endpoint_auth_methods_supported", default)
        return "client_secret_basic" in ways

    def get_callback_url(self, request: HttpRequest, app: Any) -> str:
        return request.build_absolute_uri(reverse("dashboard:come-back"))


@require_POST
def leave_for_provider(request: HttpRequest) -> HttpResponse:
    """Lead to the provider, to sign in or to link it to the account.

    By a page that goes on by itself: a redirect would be what a form leads to, which
    our content security policy keeps on this site.
    """
    known = provider_set()
    target = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}):
        target = ""
    is_linking = "link" in request.POST
    if is_linking and not is_sure(request):
        return _confirm_first(reverse("dashboard:account"))
    Attempt("", request.META.get("REMOTE_ADDR", "")).count()
    provider = get_adapter().get_provider(request, known.app["provider_id"])
    provider.oauth2_adapter_class = Discovery
    process = "connect" if is_linking else "login"
    try:
        answer = provider.redirect(request, process, next_url=target or None)
    except (requests.RequestException, OAuth2Error, ValueError, KeyError) as error:
        return _unreached(request, error)
    if not answer.has_header("Location"):
        return _unreached(request, None)
    context = {"onward": answer["Location"], "oidc": settings.OIDC}
    return render(request, "account/onward.html", context)


@never_cache
@require_safe
def come_back(request: HttpRequest) -> HttpResponse:
    """Take whom the provider sends back."""
    provider_id = provider_set().app["provider_id"]
    trial = Attempt(provider_id, request.META.get("REMOTE_ADDR", ""))
    trial.count()
    view = OAuth2CallbackView.adapter_view(Discovery(request, provider_id))
    try:
        answer = cast(HttpResponse, view(request))
    except (requests.RequestException, OAuth2Error, ValueError, KeyError) as error:
        return _unreached(request, error)
    waits = LoginStageController.enter(request, AuthenticateStage.key)
    if request.user.is_authenticated or waits:
        trial.succeeded()
    return answer


def _unreached(request: HttpRequest, error: Exception | None) -> HttpResponse:
    logger.warning("The provider of sign-ins did not do its part: %r", error)
    text = _("%(provider)s does not answer as it should. Try again in a while.")
    return turned_away(request, text % {"provider": provider_set().name})


class SignOut(LogoutView):
    """Django's sign-out; whoever came by a provider is told that it goes on there."""

    def post(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        person = request.user if request.user.is_authenticated else None
        records = get_authentication_records(request, person)
        came_by = any(it.get("method") == "socialaccount" for it in records)
        answer = super().post(request, *args, **options)
        if not came_by or settings.OIDC is None:
            return answer
        # The address that ends the provider's own session, if the provider states one.
        known, elsewhere = _discovered.get(provider_set().issuer, {}), ""
        found = str(known.get("end_session_endpoint", ""))
        if found.startswith(("https://", "http://")):
            back = request.build_absolute_uri(reverse("dashboard:overview"))
            query = {
                "client_id": provider_set().client_id,
                "post_logout_redirect_uri": back,
            }
            elsewhere = f"{found}{'&' if '?' in found else '?'}{urlencode(query)}"
        context = {"oidc": settings.OIDC, "elsewhere": elsewhere}
        return render(request, "account/signed_out.html", context)


def attempt(request: HttpRequest, name: str, is_factor: bool = False) -> Attempt:
    """Count an attempt at a password or a second factor, before it is looked at."""
    address = request.META.get("REMOTE_ADDR", "")
    trial = Attempt(name, address, request.COOKIES.get(KNOWN, ""), is_factor)
    trial.count()
    return trial


@contextmanager
def uncounted_if_busy(trial: Attempt) -> Iterator[None]:
    """Give an attempt back whose password nobody had the time to look at."""
    try:
        yield
    except TooFastError:
        trial.succeeded()
        raise
