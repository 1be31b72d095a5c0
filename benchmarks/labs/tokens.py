"""Issue, check and revoke the tokens agents carry."""

import hmac
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import islice
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import Model
from django.utils import timezone

from benchmarks import sight
from benchmarks.database import rows_of
from benchmarks.errors import InvalidError, UnauthenticatedError
from benchmarks.models import Agent, AuditEntry, FeedToken, Invitation, Lab, Token

PREFIX_BYTES = 5
SECRET_BYTES = 32  # 256 bits

SCOPES = frozenset({"upload", "read"})
USE_IS_NOTED_EVERY = timedelta(minutes=1)
TOKENS_KNOWN = 1024

TOKEN, AGENT, LAB = (model._meta.db_table for model in (Token, Agent, Lab))
COLUMNS: dict[type[Model], list[str]] = {
    model: [field.attname for field in model._meta.concrete_fields]
    for model in (Token, Agent, Lab)
}
SELECTED = ", ".join(
    f'{model._meta.db_table}."{name}"'
    for model, names in COLUMNS.items()
    for name in names
)
FIND = f"""
    SELECT {SELECTED} FROM {TOKEN}
    JOIN {AGENT} ON {AGENT}.id = {TOKEN}.agent_id
    JOIN {LAB} ON {LAB}.id = {AGENT}.lab_id
    WHERE {TOKEN}.prefix = %(prefix)s
"""


R = TypeVar("R", Token, FeedToken, Invitation)

# Whether a token is still what it was when it was authenticated, by any process.
IS_VALID = f"""
    {TOKEN}.id = %(token)s::bigint AND {TOKEN}.digest = %(token_digest)s
    AND {TOKEN}.agent_id = %(agent)s::bigint AND {TOKEN}.can_upload
    AND {TOKEN}.revoked_at IS NULL
    AND ({TOKEN}.expires_at IS NULL OR {TOKEN}.expires_at > now())
"""
_known: dict[str, Token] = {}


def new_prefix() -> str:
    """Return the part that is no secret."""
    return secrets.token_hex(PREFIX_BYTES)


def new_secret() -> str:
    """Return the part that is stored nowhere."""
    return secrets.token_urlsafe(SECRET_BYTES)


def digest(secret: str) -> str:
    """Return what is stored of a secret."""
    # A shown secret may hold half a surrogate pair, which UTF-8 refuses.
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


def fits(secret: str, stored: str) -> bool:
    """Return whether a secret is the one of a digest; takes as long either way."""
    return hmac.compare_digest(stored, digest(secret))


def row_of_secret(shown: str, find: Callable[[str], R | None]) -> R | None:
    """Return the row of a shown secret, given how to find one by its prefix."""
    # The secret may hold further underscores; a prefix is hexadecimal.
    prefix, _, secret = shown.partition("_")
    # A NUL character would be an error in the database.
    row = find(prefix) if prefix.isascii() and prefix.isalnum() else None
    # Compared in any case: an unknown prefix must not be answered sooner.
    matches = fits(secret, row.digest if row else digest(""))
    return row if matches else None


def issue_token(
    *,
    agent: Agent,
    can_upload: bool = False,
    can_read: bool = False,
    expires_at: datetime | None = None,
) -> tuple[Token, str]:
    """Make a token and return it with its secret, which is shown only this once."""
    prefix, secret = new_prefix(), new_secret()
    token = Token.objects.create(
        lab_id=agent.lab_id,
        agent=agent,
        prefix=prefix,
        digest=digest(secret),
        can_upload=can_upload,
        can_read=can_read,
        expires_at=expires_at,
    )
    return token, f"vl_{prefix}_{secret}"


@sight.nothing()  # tokens, agents and labs have no policy
def authenticate(shown: str) -> Token:
    """Return the valid token behind a shown secret, or raise UnauthenticatedError.

    All wrong secrets get the same answer.
    """
    brand, _, rest = shown.partition("_")
    token = row_of_secret(rest, _find)
    if brand != "vl" or token is None or not token.is_valid():
        raise UnauthenticatedError
    note_use(token.pk, token.last_used_at)
    if len(_known) >= TOKENS_KNOWN:
        _known.clear()
    _known[digest(shown)] = token
    return token


def known(shown: str) -> Token | None:
    """Return a token as it was authenticated; `IS_VALID` asks whether it still is."""
    return _known.get(digest(shown))


@sight.nothing()
def still_valid(token: Token) -> Token:
    """Return a token of `known` as it is now, or raise UnauthenticatedError."""
    now = _find(token.prefix)
    is_same = now is not None and now.digest == token.digest
    if now is None or not (is_same and now.is_valid() and now.can_upload):
        _known.clear()
        raise UnauthenticatedError
    note_use(now.pk, now.last_used_at)
    return now


def _find(prefix: str) -> Token | None:
    """Return a token with its agent and lab, or None."""
    # A prepared statement: every upload asks.
    for row in rows_of(FIND, {"prefix": prefix}):
        values = iter(row)
        read: list[Any] = [
            model.from_db(DEFAULT_DB_ALIAS, names, list(islice(values, len(names))))
            for model, names in COLUMNS.items()
        ]
        token: Token = read[0]
        token.agent, token.agent.lab = read[1:]
        return token
    return None


def note_use(token_id: int, last_used_at: datetime | None) -> None:
    """Store that a token is used now, at most once a minute."""
    now = timezone.now()
    if last_used_at is None or last_used_at < now - USE_IS_NOTED_EVERY:
        Token.objects.filter(pk=token_id).update(last_used_at=now)


@transaction.atomic
def hand_out_token(
    *,
    lab: Lab,
    person: User,
    agent: str,
    scopes: frozenset[str],
    expires_at: datetime | None,
) -> tuple[Token, str]:
    """Issue a token for an agent of that name, and log who did.

    Raises InvalidError without a scope, or for a person's own agent.
    """
    if not scopes & SCOPES:
        raise InvalidError(
            "token_refused", "Choose what the token may do: upload, read, or both."
        )
    if agent.startswith(Agent.PERSONAL):
        raise InvalidError(
            "token_refused",
            'Names that begin with "{beginning}" belong to people who upload'
            " in the browser. Choose another name for the agent.",
            beginning=Agent.PERSONAL,
        )
    known, _ = Agent.objects.get_or_create(lab=lab, name=agent)
    token, secret = issue_token(
        agent=known,
        can_upload="upload" in scopes,
        can_read="read" in scopes,
        expires_at=expires_at,
    )
    about = f"{token} ({known}, {', '.join(sorted(scopes & SCOPES))})"
    AuditEntry.log(lab, AuditEntry.Kind.ISSUED, about, person=person)
    return token, secret


@transaction.atomic
def revoke_token(*, token: Token, person: User | None = None) -> None:
    """Make a token useless from the next request on; revoking twice is once."""
    valid = Token.objects.filter(pk=token.pk, revoked_at=None)
    if valid.update(revoked_at=timezone.now()) and person is not None:
        about = f"{token} ({token.agent})"
        AuditEntry.log(token.lab, AuditEntry.Kind.REVOKED, about, person=person)
