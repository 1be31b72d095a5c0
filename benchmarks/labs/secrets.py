"""Secrets that are shown once: a prefix finds the row, a digest proves the rest."""

import hmac
import secrets
from hashlib import sha256

PREFIX_BYTES = 5
SECRET_BYTES = 32  # 256 bits


def new_prefix() -> str:
    """Return the part that is no secret."""
    return secrets.token_hex(PREFIX_BYTES)


def new_secret() -> str:
    """Return the part that is stored nowhere."""
    return secrets.token_urlsafe(SECRET_BYTES)


def digest(secret: str) -> str:
    """Return what is stored of a secret."""
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


def fits(secret: str, stored: str) -> bool:
    """Return whether a secret is the one of a digest; takes as long either way."""
    return hmac.compare_digest(stored, digest(secret))
