"""Encrypt secrets that must be read again with a key derived from SECRET_KEY."""

from base64 import urlsafe_b64encode
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.utils.crypto import salted_hmac

from benchmarks.errors import InvalidError


@lru_cache(maxsize=2)
def _box(key: str) -> Fernet:
    made = salted_hmac("virtlab.sealing", "v1", secret=key, algorithm="sha256")
    return Fernet(urlsafe_b64encode(made.digest()))


def seal(text: str) -> str:
    """Return a text that only this installation can read."""
    return _box(settings.SECRET_KEY).encrypt(text.encode()).decode()


def unseal(sealed: str) -> str:
    """Return what was sealed, or raise InvalidError."""
    try:
        return _box(settings.SECRET_KEY).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise InvalidError(
            "sealed", "What is kept sealed was sealed with another SECRET_KEY."
        ) from None
