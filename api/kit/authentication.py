"""Authentication by an agent's token or a user's session, and upload permission."""

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
from benchmarks import rls
from benchmarks.labs import tokens
from benchmarks.models import Token
from benchmarks.replica import from_primary

SCHEMES = {b"token", b"bearer"}


class TokenAuthentication(BaseAuthentication):
    """Token in ``Authorization: Token vl_...``; ``Bearer`` is accepted."""

    def authenticate(
        self, request: Request | HttpRequest
    ) -> tuple[AnonymousUser, Token] | None:
        token_text = token_from_header(request)
        if token_text is None:
            return None
        # A standby might miss a revocation.
        with from_primary():
            token = tokens.authenticate(token_text)
        if token.can_read or request.method not in SAFE_METHODS:
            rls.allow_labs(token.lab_id)
        # An agent has no Django user.
        return AnonymousUser(), token

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


class ReadOnlySessionAuthentication(SessionAuthentication):
    """For reading only, so that forms of other sites cannot write."""

    def authenticate(self, request: Request) -> Any:
        if request.method not in SAFE_METHODS:
            return None
        return super().authenticate(request)


class TokenScopePermission(BasePermission):
    """Everybody may read, upload tokens may write."""

    def has_permission(self, request: Request, view: object) -> bool:
        if request.method not in SAFE_METHODS:
            require_upload_scope(request.auth)
        return True


def token_from_header(request: Request | HttpRequest) -> str | None:
    """Return the Authorization header's token, if any."""
    header = get_authorization_header(cast(Request, request))  # reads META only
    words = header.split()
    if not words:
        return None
    if len(words) != 2 or words[0].lower() not in SCHEMES:
        raise AuthenticationFailed(
            'Send the token as "Authorization: Token vl_...", or send none.'
        )
    # Non-ASCII bytes must not be a server error.
    return words[1].decode("ascii", "replace")


def require_upload_scope(token: Any) -> Token:
    """Return the token; raise unless it may upload."""
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
