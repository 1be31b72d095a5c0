"""Who a request comes from: an agent's token, or a person who has signed in."""

from typing import Any, cast

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from rest_framework.authentication import (
    BaseAuthentication,
    SessionAuthentication,
    get_authorization_header,
)
from rest_framework.exceptions import (
    AuthenticationFailed,
    NotAuthenticated,
    PermissionDenied,
)
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from api.kit.errors import CHALLENGE
from benchmarks import sight
from benchmarks.labs import tokens
from benchmarks.models import Token
from benchmarks.replica import from_primary

SCHEMES = {b"token", b"bearer"}


class TokenAuthentication(BaseAuthentication):
    """Read ``Authorization: Token vl_...``; ``Bearer`` is taken as well."""

    def authenticate(
        self, request: Request | HttpRequest
    ) -> tuple[AnonymousUser, Token] | None:
        shown = shown_token(request)
        if shown is None:
            return None
        # Revoked tokens are refused at once: a standby may not know yet.
        with from_primary():
            token = tokens.authenticate(shown)
        if token.can_read or request.method not in SAFE_METHODS:
            sight.see_labs(token.lab_id)
        # An agent is its token, not a user of Django.
        return AnonymousUser(), token

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


class SessionReading(SessionAuthentication):
    """A signed-in person may read. Writing needs a token, so no form of another
    site can write in a person's name."""

    def authenticate(self, request: Request) -> Any:
        if request.method not in SAFE_METHODS:
            return None
        return super().authenticate(request)


class Scoped(BasePermission):
    """Anybody may ask; only a token with the upload scope may write, to its own lab."""

    def has_permission(self, request: Request, view: object) -> bool:
        if request.method not in SAFE_METHODS:
            check_upload(request.auth)
        return True


def shown_token(request: Request | HttpRequest) -> str | None:
    """Return the token of the Authorization header, None without such a header."""
    header = get_authorization_header(cast(Request, request))  # reads META only
    words = header.split()
    if not words:
        return None
    if len(words) != 2 or words[0].lower() not in SCHEMES:
        raise AuthenticationFailed(
            'Send the token as "Authorization: Token vl_...", or send none.'
        )
    # Other bytes than ASCII make a wrong token, not a server error.
    return words[1].decode("ascii", "replace")


def check_upload(token: Any) -> Token:
    """Return a token that may upload; refuse anything else."""
    if not isinstance(token, Token):
        raise NotAuthenticated(
            'Writing needs a token: send "Authorization: Token vl_..." with a '
            "token of your lab that may upload."
        )
    if not token.can_upload:
        raise PermissionDenied(
            "This token may read but not upload. Use one with the upload scope."
        )
    return token
