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
from api.kit.scopes import required_scope
from benchmarks import rls
from benchmarks.labs import tokens
from benchmarks.models import Token
from benchmarks.replica import from_primary

SCHEMES = {b"token", b"bearer"}


class TokenAuthentication(BaseAuthentication):
    """Authentication by the header ``Authorization: Token vl_...``.

    The scheme ``Bearer`` is accepted too.
    """

    def authenticate(
        self, request: Request | HttpRequest
    ) -> tuple[AnonymousUser, Token] | None:
        token_text = token_from_header(request)
        if token_text is None:
            return None
        # A replica might not have a revocation yet.
        with from_primary():
            token = tokens.authenticate(token_text)
        if token.can_read or request.method not in SAFE_METHODS:
            rls.allow_labs(token.lab_id)
        # Tokens belong to agents, which are not Django users.
        return AnonymousUser(), token

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


class ReadOnlySessionAuthentication(SessionAuthentication):
    """Session authentication for reading only.

    Otherwise forms on other sites could use the session to write.
    """

    def authenticate(self, request: Request) -> Any:
        if request.method not in SAFE_METHODS:
            return None
        return super().authenticate(request)


class TokenScopePermission(BasePermission):
    """Permission of everybody to read, and of tokens with the required scope."""

    def has_permission(self, request: Request, view: object) -> bool:
        if request.method not in SAFE_METHODS:
            require_scope(request.auth, required_scope(request))
        return True


def token_from_header(request: Request | HttpRequest) -> str | None:
    # The cast is safe, because the function reads only META.
    header = get_authorization_header(cast(Request, request))
    words = header.split()
    if not words:
        return None
    if len(words) != 2 or words[0].lower() not in SCHEMES:
        raise AuthenticationFailed(
            'Send the token as "Authorization: Token vl_...", or leave the header out.'
        )
    # Bytes that are not ASCII become an invalid token, not a server error.
    return words[1].decode("ascii", "replace")


def require_scope(token: Any, scope: str) -> Token:
    """Return the token; raise unless it has the scope."""
    if not isinstance(token, Token):
        raise NotAuthenticated(
            f"Writing requires a token of your lab with the scope {scope}. Send it as "
            '"Authorization: Token vl_...".'
        )
    if scope and scope not in token.scopes:
        raise PermissionDenied(
            f"This request requires the scope {scope}. This token has only: "
            f"{', '.join(token.scopes)}. Use another token of your lab."
        )
    return token
