"""Issue, check and revoke the tokens agents carry."""

import hmac
import secrets
from datetime import datetime, timedelta
from hashlib import sha256

from django.db.models import Q
from django.utils import timezone

from benchmarks.errors import WrongTokenError
from benchmarks.models import Agent, Token

PREFIX_BYTES = 5
SECRET_BYTES = 32  # 256 bits
USE_IS_NOTED_EVERY = timedelta(minutes=1)


def issue_token(
    *,
    agent: Agent,
    can_upload: bool = False,
    can_read: bool = False,
    expires_at: datetime | None = None,
) -> tuple[Token, str]:
    """Make a token and return it with its secret, which is shown only this once."""
    prefix = secrets.token_hex(PREFIX_BYTES)
    secret = secrets.token_urlsafe(SECRET_BYTES)
    token = Token.objects.create(
        lab_id=agent.lab_id,
        agent=agent,
        prefix=prefix,
        digest=_digest(secret),
        can_upload=can_upload,
        can_read=can_read,
        expires_at=expires_at,
    )
    return token, f"vl_{prefix}_{secret}"


def authenticate(shown: str) -> Token:
    """Return the valid token behind a shown secret, or raise WrongTokenError.

    A wrong prefix, a wrong secret, an expired and a revoked token get one and the
    same answer, so that nothing can be learnt by trying.
    """
    brand, _, rest = shown.partition("_")
    prefix, _, secret = rest.partition("_")
    token = _token_with(prefix)
    stored = token.digest if token else _digest("")
    matches = hmac.compare_digest(stored, _digest(secret))
    if brand != "vl" or token is None or not matches or not token.is_valid():
        raise WrongTokenError
    _note_use(token)
    return token


def revoke_token(*, token: Token) -> None:
    """Make a token useless from the next request on."""
    Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())


def _token_with(prefix: str) -> Token | None:
    if not (prefix.isascii() and prefix.isalnum()):
        return None
    return Token.objects.filter(prefix=prefix).select_related("agent__lab").first()


def _note_use(token: Token) -> None:
    now = timezone.now()
    fresh = Q(last_used_at=None) | Q(last_used_at__lt=now - USE_IS_NOTED_EVERY)
    Token.objects.filter(fresh, pk=token.pk).update(last_used_at=now)


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "replace")).hexdigest()
