"""What of allauth's ways is ours: who gets in, who gets an account, what is sealed.

`config/settings.py` names these classes. All sign-ins, by password and by a provider,
come through `OneWayIn`: allauth asks for the second factor before it lets anybody in.
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

from benchmarks.errors import BenchmarksError
from benchmarks.labs.people import accept_invitation
from benchmarks.labs.sign_ins import (
    log_linked,
    person_of_address,
    place_new_person,
)
from benchmarks.labs.throttle import KNOWN_S, known_browser
from benchmarks.models import Invitation
from benchmarks.sealing import seal, unseal
from dashboard import wording
from dashboard.kit.viewers import PROVED_INVITATION

logger = logging.getLogger(__name__)

KNOWN = "known-browser"
CLAIMS = ("sub", "email", "preferred_username")
"""What is kept of what a provider says of somebody."""


class OneWayIn(DefaultAccountAdapter):
    """Signing in, whichever way somebody said who they are."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def is_reauthentication_required(self, **options: Any) -> bool:
        """Leave it to `sign_in.confirmed`, which asks for the second factor itself."""
        return False

    def respond_user_inactive(self, request: HttpRequest, user: Any) -> HttpResponse:
        return turned_away(request, _("This account is closed."))

    def post_login(
        self, request: HttpRequest, user: Any, **options: Any
    ) -> HttpResponse:
        """Lead back to where somebody wanted to go, and know this browser again."""
        url = get_login_redirect_url(request, options["redirect_url"])
        answer = HttpResponseRedirect(url)
        # Others' wrong tries do not hold up this browser.
        answer.set_cookie(
            KNOWN,
            known_browser(user.get_username()),
            max_age=KNOWN_S,
            path=reverse("dashboard:login"),
            secure=settings.HTTPS,
            httponly=True,
            samesite="Lax",
        )
        return answer

    def add_message(self, *args: Any, **options: Any) -> None:
        """Say nothing: pages say it in their own words."""

    def send_mail(self, *args: Any, **options: Any) -> None:
        """Send nothing: letters are sent by `together/letters`."""

    def send_notification_mail(self, *args: Any, **options: Any) -> None:
        """Send nothing; the audit log keeps it."""


class Provider(DefaultSocialAccountAdapter):
    """Whom a provider sends: somebody known, somebody invited, or nobody."""

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Trust of what a provider says what it is sure of, and link who is known."""
        said = sociallogin.account.extra_data
        token, claims = said.get("id_token"), said.get("userinfo") or {}
        if not token or token.get("sub") != claims.get("sub", token.get("sub")):
            # OpenID Connect Core 5.3.2: an answer about somebody else.
            away = turned_away(request, _("The provider spoke of two people at once."))
            raise ImmediateHttpResponse(away)
        told = {**token, **claims}
        sociallogin.token = None
        sociallogin.email_addresses = _sure_addresses(told)
        account = sociallogin.account
        account.extra_data = {key: told[key] for key in CLAIMS if key in told}
        if account.pk:
            account.save(update_fields=["extra_data"])
        if sociallogin.state.get("process") == "connect":
            raise ImmediateHttpResponse(_linked(request, sociallogin))
        if account.pk:
            return
        for address in sociallogin.email_addresses:
            if person := person_of_address(address.email):
                with transaction.atomic():
                    sociallogin.connect(request, person)
                    log_linked(person, provider_set().name)
                return

    def is_open_for_signup(
        self, request: HttpRequest, sociallogin: SocialLogin
    ) -> bool:
        """Let the invited make an account, or everybody where it is set so."""
        if provider_set().accounts == "everybody" or _invitation(request):
            return True
        text = _(
            "%(provider)s knows you, but no account here is linked to it. Open your "
            "invitation first, or sign in with your password and link it on the page "
            "of your account."
        )
        away = turned_away(request, text % {"provider": provider_set().name})
        raise ImmediateHttpResponse(away)

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, **options: Any
    ) -> None:
        """Lead back; what went wrong stands in the log."""
        logger.warning(
            "Nobody was signed in by %s: %s %r",
            provider_set().name,
            options.get("error"),
            options.get("exception"),
        )
        text = _("You were not signed in by %(provider)s. Try again.")
        away = turned_away(request, text % {"provider": provider_set().name})
        raise ImmediateHttpResponse(away)

    def is_auto_signup_allowed(
        self, request: HttpRequest, sociallogin: SocialLogin
    ) -> bool:
        return True

    def populate_user(
        self, request: HttpRequest, sociallogin: SocialLogin, data: Any
    ) -> Any:
        """Suggest a name; addresses are kept apart, and only those that are sure."""
        user = cast(User, sociallogin.user)
        name = data.get("username") or (data.get("email") or "").partition("@")[0]
        user.username = self._free_name(str(name or ""))
        return user

    def _free_name(self, wanted: str) -> str:
        """Return a name that nobody has, like the wanted one."""
        account = cast(OneWayIn, get_account_adapter())
        return str(account.generate_unique_username([wanted[:100], "person"]))

    def save_user(
        self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None
    ) -> Any:
        """Make an account and give it its place, or neither."""
        try:
            with transaction.atomic():
                person = super().save_user(request, sociallogin, form)
                if invitation := _invitation(request):
                    accept_invitation(invitation=invitation, person=person)
                else:
                    place_new_person(person, provider_set().lab, provider_set().name)
        except BenchmarksError as error:
            away = turned_away(request, wording.said(error.sentence))
            raise ImmediateHttpResponse(away) from error
        request.session.pop(PROVED_INVITATION, None)
        return person


class Factors(DefaultMFAAdapter):
    """Second factors, with their secrets sealed."""

    def encrypt(self, text: str) -> str:
        return seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        return unseal(encrypted_text)

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        return {**super().get_public_key_credential_rp_entity(), "name": "Virtlab"}


def provider_set() -> Any:
    """Return the provider of the settings; where there is none nothing of it is."""
    if settings.OIDC is None:
        raise Http404("No provider is set.")
    return settings.OIDC


def turned_away(request: HttpRequest, text: str) -> HttpResponse:
    """Lead somebody back to the sign-in page, with the reason."""
    messages.error(request, text)
    return HttpResponseRedirect(reverse("dashboard:login"))


def _linked(request: HttpRequest, sociallogin: SocialLogin) -> HttpResponse:
    """Link whom the provider sent to whoever is signed in here."""
    name, person = {"provider": provider_set().name}, request.user
    if not person.is_authenticated:
        return turned_away(request, _("Sign in first."))
    if sociallogin.is_existing and sociallogin.user != person:
        text = _("This person of %(provider)s is linked to another account here.")
        messages.error(request, text % name)
    elif SocialAccount.objects.filter(user=person).exists():
        messages.success(request, _("It is linked already."))
    else:
        with transaction.atomic():
            sociallogin.connect(request, person)
            log_linked(person, provider_set().name)
        text = _("From now on you can sign in with %(provider)s.")
        messages.success(request, text % name)
    return HttpResponseRedirect(reverse("dashboard:account"))


def _sure_addresses(told: dict[str, Any]) -> list[EmailAddress]:
    """Return the address that the provider has verified.

    Some providers write true as a text; every other text is a false.
    """
    email = told.get("email")
    said = told.get("email_verified")
    is_sure = said is True or said == "true"  # 1 equals True and says nothing
    if not is_sure or not isinstance(email, str) or "@" not in email:
        return []
    return [EmailAddress(email=email.casefold(), verified=True, primary=True)]


def _invitation(request: HttpRequest) -> Invitation | None:
    """Return the open invitation that this browser has shown."""
    shown = Invitation.objects.filter(pk=request.session.get(PROVED_INVITATION, 0))
    invitation = shown.select_related("lab").first()
    return invitation if invitation and invitation.is_open() else None
