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

from benchmarks.errors import BusyError
from benchmarks.labs.member_sign_in_methods import (
    has_second_factor,
    list_second_factors,
    record_passkey_use,
    use_code,
)
from benchmarks.labs.sign_in_throttle import SignInAttempt, current_attempt
from dashboard.kit.viewers import current_page_url, required_user, sign_in_required
from dashboard.pages.account.adapters import (
    KNOWN_BROWSER_COOKIE,
    configured_provider,
    refuse_sign_in,
)

ViewFunction = Callable[..., HttpResponse]

logger = logging.getLogger(__name__)
REAUTHENTICATION_S: Final = 300
PROOF_SESSION_KEY: Final = "proof"
DISCOVERY_CACHE_S: Final = 600
_discovered: TTLCache[str, dict[str, Any]] = TTLCache(4, DISCOVERY_CACHE_S)


class ConfirmPasswordForm(forms.Form):
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


class OneTimeCodeForm(AuthenticateForm):
    code = forms.CharField(
        label=gettext_lazy("Code"),
        max_length=40,
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "inputmode": "numeric"}
        ),
    )

    def clean_code(self) -> str:
        """Check the code and mark it as used; allauth alone could accept it twice."""
        code = str(self.cleaned_data["code"])
        self.authenticator = use_code(self.user, code)
        if self.authenticator is None:
            raise forms.ValidationError(
                _("This code is wrong or was already used. Wait for the next one.")
            )
        return code


class PasskeyResponseForm(AuthenticateWebAuthnForm):
    """Form that rejects responses of copied passkeys."""

    def clean_credential(self) -> Authenticator:
        credential = self.cleaned_data["credential"]
        try:
            row = super().clean_credential()
            response = AuthenticationResponse.from_dict(credential).response
        except (ValueError, TypeError, KeyError) as error:
            raise forms.ValidationError(
                _("This is not a valid passkey response.")
            ) from error
        if not record_passkey_use(row, response.authenticator_data.counter):
            raise forms.ValidationError(_("This is not a valid passkey response."))
        return row


class SignInForm(LoginForm):
    def add_prefix(self, field_name: str) -> str:
        return "username" if field_name == "login" else super().add_prefix(field_name)

    def clean_login(self) -> str:
        # User names are stored in the form NFKC, but keyboards may send other forms.
        return User.normalize_username(super().clean_login())


class SignInView(LoginView):
    form_class = SignInForm
    template_name = "account/login.html"

    def post(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        self.attempt = count_attempt(request, request.POST.get("username", ""))
        with refund_attempt_if_busy(self.attempt):
            return cast(HttpResponse, super().post(request, *args, **options))

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        more = {
            "next": self.get_next_url() or "",
            "oidc": settings.OIDC_PROVIDER,
            "sends_mail": settings.MAIL_SERVER is not None,
        }
        return cast(dict[str, Any], super().get_context_data(**context, **more))

    def form_valid(self, form: Any) -> HttpResponse:
        self.attempt.give_back()
        # allauth asks for the second factor, if there is one, before signing in.
        return cast(HttpResponse, super().form_valid(form))

    def _redirect_to_pending_stage(self, *args: Any) -> None:
        """Do not redirect to a pending sign-in, so that another user can sign in."""


@method_decorator(sensitive_post_parameters(), name="dispatch")
class SecondFactorView(AuthenticateView):
    form_class = OneTimeCodeForm
    webauthn_form_class = PasskeyResponseForm
    template_name = "account/second_factor.html"

    def post(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        name = self.stage.login.user.get_username()
        attempt = count_attempt(request, name, is_factor=True)
        if self.form.is_valid():
            attempt.give_back()
        return cast(HttpResponse, super().post(request, *args, **options))

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = 422
        return cast(HttpResponse, response)

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        context |= super().get_context_data()
        person = self.stage.login.user
        kinds = {row.type for row in list_second_factors(person)}
        context |= {"person": person, "has_app": "totp" in kinds}
        if "webauthn" in kinds:
            context["passkey_request"] = context["js_data"]["request_options"]
        return context


class ConfirmSecondFactorView(SecondFactorView):
    """Reauthentication by the second factor, followed by a redirect to ``target``."""

    target = ""

    def dispatch(self, request: HttpRequest, *args: Any, **options: Any) -> Any:
        # allauth's view expects a sign-in in progress, so this imitates one.
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
@sign_in_required
def reauthenticate(request: HttpRequest) -> HttpResponse:
    person = required_user(request)
    target = request.POST.get("next") or request.GET.get("next") or ""
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}):
        target = reverse("dashboard:account")
    if has_second_factor(person):
        return cast(
            HttpResponse, ConfirmSecondFactorView.as_view(target=target)(request)
        )
    form = ConfirmPasswordForm(person, request.POST or None)
    if request.method == "POST" and person.has_usable_password():
        attempt = count_attempt(request, person.get_username())
        with refund_attempt_if_busy(attempt):
            is_valid = form.is_valid()
        if is_valid:
            attempt.give_back()
            record_reauthentication(request, "password")
            return HttpResponseRedirect(target)
    context = {"form": form, "oidc": settings.OIDC_PROVIDER, "next": target}
    status = 422 if request.method == "POST" else 200
    return render(request, "account/reauthenticate.html", context, status=status)


def record_reauthentication(request: HttpRequest, method: str) -> None:
    request.session[PROOF_SESSION_KEY] = {"method": method, "at": time.time()}


def reauthentication_required(view: ViewFunction) -> ViewFunction:
    """Wrap a view so that it requires authentication in the last five minutes."""

    @wraps(view)
    @sign_in_required
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if is_recently_authenticated(request):
            return view(request, *args, **kwargs)
        return _confirm_first(current_page_url(request))

    return checked


def is_recently_authenticated(request: HttpRequest) -> bool:
    """Return whether the user was authenticated within `REAUTHENTICATION_S`.

    For users with a second factor, only its use counts.
    """
    if not request.user.is_authenticated:
        return False
    person = required_user(request)
    methods = {"mfa"} if has_second_factor(person) else {"password", "socialaccount"}
    records = get_authentication_records(request, person)
    proof = request.session.get(PROOF_SESSION_KEY)
    return any(
        record["method"] in methods and time.time() - record["at"] < REAUTHENTICATION_S
        for record in ([*records, proof] if proof else records)
    )


def _confirm_first(page: str) -> HttpResponse:
    query = urlencode({"next": page})
    return HttpResponseRedirect(f"{reverse('dashboard:reauthenticate')}?{query}")


class CachedOpenIDAdapter(OpenIDConnectOAuth2Adapter):
    @property
    def openid_config(self) -> Any:
        key = configured_provider().issuer
        if key not in _discovered:
            configuration = super().openid_config
            if str(configuration.get("issuer", "")).rstrip("/") != key:
                raise OAuth2Error("the issuer calls itself otherwise")
            _discovered[key] = configuration
        return _discovered[key]

    @property
    def basic_auth(self) -> bool:
        # The default according to OpenID Connect Discovery.
        default = ["client_secret_basic"]
        methods = self.openid_config.get(
            "token_endpoint_auth_methods_supported", default
        )
        return "client_secret_basic" in methods

    def get_callback_url(self, request: HttpRequest, app: Any) -> str:
        return request.build_absolute_uri(reverse("dashboard:provider-callback"))


@require_POST
def redirect_to_provider(request: HttpRequest) -> HttpResponse:
    """Return a page that redirects to the provider.

    The content security policy forbids an HTTP redirect to another site after a form.
    """
    provider_settings = configured_provider()
    target = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}):
        target = ""
    is_linking = "link" in request.POST
    if is_linking and not is_recently_authenticated(request):
        return _confirm_first(reverse("dashboard:account"))
    SignInAttempt("", request.META.get("REMOTE_ADDR", "")).count()
    provider = get_adapter().get_provider(request, provider_settings.app["provider_id"])
    provider.oauth2_adapter_class = CachedOpenIDAdapter
    process = "connect" if is_linking else "login"
    try:
        response = provider.redirect(request, process, next_url=target or None)
    except (requests.RequestException, OAuth2Error, ValueError, KeyError) as error:
        return _provider_failed(request, error)
    if not response.has_header("Location"):
        return _provider_failed(request, None)
    context = {"provider_url": response["Location"], "oidc": settings.OIDC_PROVIDER}
    return render(request, "account/redirect_to_provider.html", context)


@never_cache
@require_safe
def provider_callback(request: HttpRequest) -> HttpResponse:
    provider_id = configured_provider().app["provider_id"]
    attempt = SignInAttempt(provider_id, request.META.get("REMOTE_ADDR", ""))
    attempt.count()
    view = OAuth2CallbackView.adapter_view(CachedOpenIDAdapter(request, provider_id))
    try:
        response = cast(HttpResponse, view(request))
    except (requests.RequestException, OAuth2Error, ValueError, KeyError) as error:
        return _provider_failed(request, error)
    needs_second_factor = LoginStageController.enter(request, AuthenticateStage.key)
    if request.user.is_authenticated or needs_second_factor:
        attempt.give_back()
    return response


def _provider_failed(request: HttpRequest, error: Exception | None) -> HttpResponse:
    logger.warning("The provider of sign-ins did not do its part: %r", error)
    text = _("%(provider)s is not responding as expected. Try again later.")
    return refuse_sign_in(request, text % {"provider": configured_provider().name})


class SignOutView(LogoutView):
    """Django's sign-out, followed by a link to end the session at the provider."""

    def post(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        person = request.user if request.user.is_authenticated else None
        records = get_authentication_records(request, person)
        used_provider = any(
            record.get("method") == "socialaccount" for record in records
        )
        response = super().post(request, *args, **options)
        if not used_provider or settings.OIDC_PROVIDER is None:
            return response
        configuration, logout_url = (
            _discovered.get(configured_provider().issuer, {}),
            "",
        )
        endpoint = str(configuration.get("end_session_endpoint", ""))
        if endpoint.startswith(("https://", "http://")):
            home_url = request.build_absolute_uri(reverse("dashboard:home"))
            query = {
                "client_id": configured_provider().client_id,
                "post_logout_redirect_uri": home_url,
            }
            logout_url = (
                f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"
            )
        context = {"oidc": settings.OIDC_PROVIDER, "provider_logout_url": logout_url}
        return render(request, "account/signed_out.html", context)


def count_attempt(
    request: HttpRequest, name: str, is_factor: bool = False
) -> SignInAttempt:
    address = request.META.get("REMOTE_ADDR", "")
    attempt = SignInAttempt(
        name, address, request.COOKIES.get(KNOWN_BROWSER_COOKIE, ""), is_factor
    )
    attempt.count()
    return attempt


@contextmanager
def refund_attempt_if_busy(attempt: SignInAttempt) -> Iterator[None]:
    """Do not count an attempt if others kept the server busy."""
    previous = current_attempt.set(attempt)
    try:
        yield
    except BusyError as error:
        if not error.is_own_share:
            attempt.give_back()
        raise
    finally:
        current_attempt.reset(previous)
