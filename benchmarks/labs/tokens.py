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

from benchmarks import rls
from benchmarks.database import fetch_prepared
from benchmarks.encryption import encrypt
from benchmarks.errors import InvalidError, UnauthenticatedError
from benchmarks.models import Agent, AuditEntry, FeedToken, Invitation, Lab, Token
from benchmarks.models.lab import TOKEN_SCOPES

PREFIX_BYTES = 5
SECRET_BYTES = 32
BUNDLE_KEY_LABEL = b"virtlab bundle 2"

USE_RECORD_INTERVAL = timedelta(minutes=1)
TOKEN_CACHE_SIZE = 1024

TOKEN_TABLE, AGENT, LAB = (model._meta.db_table for model in (Token, Agent, Lab))
COLUMNS: dict[type[Model], list[str]] = {
    model: [field.attname for field in model._meta.concrete_fields]
    for model in (Token, Agent, Lab)
}
TOKEN_COLUMNS_SQL = ", ".join(
    f'{model._meta.db_table}."{name}"'
    for model, names in COLUMNS.items()
    for name in names
)
FIND_TOKEN_SQL = f"""
    SELECT {TOKEN_COLUMNS_SQL} FROM {TOKEN_TABLE}
    JOIN {AGENT} ON {AGENT}.id = {TOKEN_TABLE}.agent_id
    JOIN {LAB} ON {LAB}.id = {AGENT}.lab_id
    WHERE {TOKEN_TABLE}.prefix = %(prefix)s
"""


R = TypeVar("R", Token, FeedToken, Invitation)

# Condition for a token from the cache that is still valid for uploads.
VALID_TOKEN_SQL = f"""
    {TOKEN_TABLE}.id = %(token)s::bigint AND {TOKEN_TABLE}.digest = %(token_digest)s
    AND {TOKEN_TABLE}.agent_id = %(agent)s::bigint AND {TOKEN_TABLE}.can_upload
    AND {TOKEN_TABLE}.revoked_at IS NULL
    AND ({TOKEN_TABLE}.expires_at IS NULL OR {TOKEN_TABLE}.expires_at > now())
"""
_token_cache: dict[str, Token] = {}


def new_prefix() -> str:
    """Return the public part of a new token, by which its row is found."""
    return secrets.token_hex(PREFIX_BYTES)


def new_secret() -> str:
    return secrets.token_urlsafe(SECRET_BYTES)


def secret_digest(secret: str) -> str:
    # Lone surrogates cannot be encoded.
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


def bundle_key(secret: str) -> bytes:
    """Return the key that the agent derives for signing bundles."""
    return hmac.digest(secret.encode(), BUNDLE_KEY_LABEL, "sha256")


def matches_digest(secret: str, stored: str) -> bool:
    return hmac.compare_digest(stored, secret_digest(secret))


def find_by_secret(full_secret: str, find: Callable[[str], R | None]) -> R | None:
    """Return the row of "PREFIX_SECRET"; None if it is missing or the secret is wrong.

    ``find`` returns the row with a prefix.
    """
    # The secret may contain underscores; the prefix is hexadecimal.
    prefix, _, secret = full_secret.partition("_")
    # PostgreSQL rejects NUL characters.
    row = find(prefix) if prefix.isascii() and prefix.isalnum() else None
    # Compare in any case, so that the time does not reveal whether the prefix exists.
    matches = matches_digest(secret, row.digest if row else secret_digest(""))
    return row if matches else None


def issue_token(
    *,
    agent: Agent,
    can_upload: bool = False,
    can_read: bool = False,
    can_manage: bool = False,
    expires_at: datetime | None = None,
) -> tuple[Token, str]:
    """The returned secret is shown once."""
    prefix, secret = new_prefix(), new_secret()
    token = Token.objects.create(
        lab_id=agent.lab_id,
        agent=agent,
        prefix=prefix,
        digest=secret_digest(secret),
        bundle_key=encrypt(bundle_key(secret).hex()),
        can_upload=can_upload,
        can_read=can_read,
        can_manage=can_manage,
        expires_at=expires_at,
    )
    return token, f"vl_{prefix}_{secret}"


@rls.deny_all()  # the tables of tokens have no policy
def authenticate(secret: str) -> Token:
    """Raises UnauthenticatedError."""
    brand, _, remainder = secret.partition("_")
    token = find_by_secret(remainder, _find)
    if brand != "vl" or token is None or not token.is_valid():
        raise UnauthenticatedError
    record_use(token.pk, token.last_used_at)
    if len(_token_cache) >= TOKEN_CACHE_SIZE:
        _token_cache.clear()
    _token_cache[secret_digest(secret)] = token
    return token


def cached_token(secret: str) -> Token | None:
    """Return the token of a secret if this process has authenticated it before.

    It may have been revoked since then: check it with `VALID_TOKEN_SQL`.
    """
    return _token_cache.get(secret_digest(secret))


@rls.deny_all()
def revalidate(token: Token) -> Token:
    """Return a token's current row; raise UnauthenticatedError if it may not upload."""
    now = _find(token.prefix)
    is_same = now is not None and now.digest == token.digest
    if now is None or not (is_same and now.is_valid() and now.can_upload):
        _token_cache.clear()
        raise UnauthenticatedError
    record_use(now.pk, now.last_used_at)
    return now


def _find(prefix: str) -> Token | None:
    for row in fetch_prepared(FIND_TOKEN_SQL, {"prefix": prefix}):
        values = iter(row)
        instances: list[Any] = [
            model.from_db(DEFAULT_DB_ALIAS, names, list(islice(values, len(names))))
            for model, names in COLUMNS.items()
        ]
        token: Token = instances[0]
        token.agent, token.agent.lab = instances[1:]
        return token
    return None


def record_use(token_id: int, last_used_at: datetime | None) -> None:
    """Store the time at most once a minute."""
    now = timezone.now()
    if last_used_at is None or last_used_at < now - USE_RECORD_INTERVAL:
        Token.objects.filter(pk=token_id).update(last_used_at=now)


@transaction.atomic
def issue_agent_token(
    *,
    lab: Lab,
    person: User,
    agent: str,
    scopes: frozenset[str],
    expires_at: datetime | None,
) -> tuple[Token, str]:
    """Issue a token with an audit entry.

    Raise InvalidError without a scope, or for the name of a person's agent.
    """
    if not scopes & set(TOKEN_SCOPES):
        raise InvalidError(
            "token_rejected",
            "Choose at least one permission of the token: upload, read or manage.",
        )
    if agent.startswith(Agent.PERSONAL_PREFIX):
        raise InvalidError(
            "token_rejected",
            'Names that begin with "{beginning}" are reserved for people who '
            "upload in the browser. Choose another name for the agent.",
            beginning=Agent.PERSONAL_PREFIX,
        )
    agent_row, _ = Agent.objects.get_or_create(lab=lab, name=agent)
    token, secret = issue_token(
        agent=agent_row,
        expires_at=expires_at,
        **{f"can_{scope}": scope in scopes for scope in TOKEN_SCOPES},
    )
    about = f"{token} ({agent_row}, {', '.join(token.scopes)})"
    AuditEntry.log(lab, AuditEntry.Kind.ISSUED_TOKEN, about, person=person)
    return token, secret


@transaction.atomic
def revoke_token(*, token: Token, person: User | None = None) -> None:
    """Revoke a token from the next request on; a revoked token stays revoked."""
    valid = Token.objects.filter(pk=token.pk, revoked_at=None)
    if valid.update(revoked_at=timezone.now()) and person is not None:
        about = f"{token} ({token.agent})"
        AuditEntry.log(token.lab, AuditEntry.Kind.REVOKED_TOKEN, about, person=person)
