"""Adapters for allauth.

All sign-ins go through allauth, which asks for the second factor before it signs a
person in.
"""

import logging
from typing import Any, cast

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.adapter import get_adapter as get_account_adapter
from allauth.account.models import EmailAddress
from allauth.account.utils import get_login_redirect_url
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialLogin
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _

from benchmarks.encryption import decrypt, encrypt
from benchmarks.errors import BenchmarksError
from benchmarks.labs.member_sign_in_methods import (
    add_provider_account,
    log_account_link,
    person_for_address,
)
from benchmarks.labs.members import accept_invitation
from benchmarks.labs.sign_in_throttle import KNOWN_BROWSER_S, known_browser_cookie
from benchmarks.models import Invitation
from dashboard import wording
from dashboard.kit.viewers import INVITATION_SESSION_KEY

logger = logging.getLogger(__name__)

KNOWN_BROWSER_COOKIE = "known-browser"
STORED_CLAIMS = ("sub", "email", "preferred_username")
"""Claims of the provider that are stored."""


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def is_reauthentication_required(self, **options: Any) -> bool:
        """Return False, because `sign_in.reauthentication_required` checks this."""
        return False

    def respond_user_inactive(self, request: HttpRequest, user: Any) -> HttpResponse:
        return refuse_sign_in(request, _("This account is disabled."))

    def post_login(
        self, request: HttpRequest, user: Any, **options: Any
    ) -> HttpResponse:
        """Redirect, and set a cookie that marks the browser as known to this user."""
        url = get_login_redirect_url(request, options["redirect_url"])
        response = HttpResponseRedirect(url)
        # A known browser is not locked out by failed attempts of others.
        response.set_cookie(
            KNOWN_BROWSER_COOKIE,
            known_browser_cookie(user.get_username()),
            max_age=KNOWN_BROWSER_S,
            path=reverse("dashboard:login"),
            secure=settings.HTTPS,
            httponly=True,
            samesite="Lax",
        )
        return response

    def add_message(self, *args: Any, **options: Any) -> None:
        """Add no message, because the pages have their own."""

    def send_mail(self, *args: Any, **options: Any) -> None:
        """Send nothing, because `collaboration/outgoing_mail` sends all emails."""

    def send_notification_mail(self, *args: Any, **options: Any) -> None:
        """Send nothing, because the audit log has an entry."""


class SocialAccountAdapter(DefaultSocialAccountAdapter):
    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Verify the provider's claims, then link, accept or refuse the account."""
        provider_data = sociallogin.account.extra_data
        token, claims = (
            provider_data.get("id_token"),
            provider_data.get("userinfo") or {},
        )
        if not token or token.get("sub") != claims.get("sub", token.get("sub")):
            # The two responses are about different people (OpenID Connect Core 5.3.2).
            refusal = refuse_sign_in(
                request,
                _(
                    "The provider's response describes two different people. Try "
                    "again, or contact the administrator of this server."
                ),
            )
            raise ImmediateHttpResponse(refusal)
        merged_claims = {**token, **claims}
        sociallogin.token = None
        sociallogin.email_addresses = _verified_addresses(merged_claims)
        account = sociallogin.account
        account.extra_data = {
            key: merged_claims[key] for key in STORED_CLAIMS if key in merged_claims
        }
        if account.pk:
            account.save(update_fields=["extra_data"])
        if sociallogin.state.get("process") == "connect":
            raise ImmediateHttpResponse(_link_account(request, sociallogin))
        if account.pk:
            return
        for address in sociallogin.email_addresses:
            if person := person_for_address(address.email):
                with transaction.atomic():
                    sociallogin.connect(request, person)
                    log_account_link(person, configured_provider().name)
                return

    def is_open_for_signup(
        self, request: HttpRequest, sociallogin: SocialLogin
    ) -> bool:
        if configured_provider().accounts == "everybody" or _invitation(request):
            return True
        text = _(
            "No account here is linked to your %(provider)s account. Open your "
            "invitation first, or sign in with your password and link %(provider)s "
            "on your account page."
        )
        refusal = refuse_sign_in(
            request, text % {"provider": configured_provider().name}
        )
        raise ImmediateHttpResponse(refusal)

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, **options: Any
    ) -> None:
        logger.warning(
            "Sign-in with %s failed: %s %r",
            configured_provider().name,
            options.get("error"),
            options.get("exception"),
        )
        text = _("Sign-in with %(provider)s failed. Try again.")
        refusal = refuse_sign_in(
            request, text % {"provider": configured_provider().name}
        )
        raise ImmediateHttpResponse(refusal)

    def is_auto_signup_allowed(
        self, request: HttpRequest, sociallogin: SocialLogin
    ) -> bool:
        return True

    def populate_user(
        self, request: HttpRequest, sociallogin: SocialLogin, data: Any
    ) -> Any:
        """Suggest a user name. The email address is not stored in the user."""
        user = cast(User, sociallogin.user)
        name = data.get("username") or (data.get("email") or "").partition("@")[0]
        user.username = self._free_name(str(name or ""))
        return user

    def _free_name(self, suggestion: str) -> str:
        account = cast(AccountAdapter, get_account_adapter())
        return str(account.generate_unique_username([suggestion[:100], "person"]))

    def save_user(
        self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None
    ) -> Any:
        """Create the account and accept the invitation, if any, in one transaction."""
        try:
            with transaction.atomic():
                person = super().save_user(request, sociallogin, form)
                if invitation := _invitation(request):
                    accept_invitation(invitation=invitation, person=person)
                else:
                    add_provider_account(
                        person, configured_provider().lab, configured_provider().name
                    )
        except BenchmarksError as error:
            refusal = refuse_sign_in(request, wording.translate_text(error.sentence))
            raise ImmediateHttpResponse(refusal) from error
        request.session.pop(INVITATION_SESSION_KEY, None)
        return person


class SecondFactorAdapter(DefaultMFAAdapter):
    def encrypt(self, text: str) -> str:
        return encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        return decrypt(encrypted_text)

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        return {**super().get_public_key_credential_rp_entity(), "name": "Virtlab"}


def configured_provider() -> Any:
    if settings.OIDC_PROVIDER is None:
        raise Http404("No provider is set.")
    return settings.OIDC_PROVIDER


def refuse_sign_in(request: HttpRequest, text: str) -> HttpResponse:
    messages.error(request, text)
    return HttpResponseRedirect(reverse("dashboard:login"))


def _link_account(request: HttpRequest, sociallogin: SocialLogin) -> HttpResponse:
    name, person = {"provider": configured_provider().name}, request.user
    if not person.is_authenticated:
        return refuse_sign_in(request, _("Sign in first."))
    if sociallogin.is_existing and sociallogin.user != person:
        text = _("This %(provider)s account is linked to another account here.")
        messages.error(request, text % name)
    elif SocialAccount.objects.filter(user=person).exists():
        messages.success(request, _("Your account is already linked."))
    else:
        with transaction.atomic():
            sociallogin.connect(request, person)
            log_account_link(person, configured_provider().name)
        text = _("You can now sign in with %(provider)s.")
        messages.success(request, text % name)
    return HttpResponseRedirect(reverse("dashboard:account"))


def _verified_addresses(claims: dict[str, Any]) -> list[EmailAddress]:
    """Return the email address if the provider has verified it.

    Some providers send ``email_verified`` as the text "true".
    """
    email = claims.get("email")
    claim = claims.get("email_verified")
    # The number 1 equals True, but it does not confirm the address.
    is_verified = claim is True or claim == "true"
    if not is_verified or not isinstance(email, str) or "@" not in email:
        return []
    return [EmailAddress(email=email.casefold(), verified=True, primary=True)]


def _invitation(request: HttpRequest) -> Invitation | None:
    """Return the invitation whose code was entered in this session, if it is open."""
    shown = Invitation.objects.filter(pk=request.session.get(INVITATION_SESSION_KEY, 0))
    invitation = shown.select_related("lab").first()
    return invitation if invitation and invitation.is_open() else None
