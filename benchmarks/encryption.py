"""Encryption of stored secrets with a key derived from SECRET_KEY."""

from base64 import urlsafe_b64encode
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.utils.crypto import salted_hmac

from benchmarks.errors import InvalidError


@lru_cache(maxsize=2)
def _fernet(key: str) -> Fernet:
    key_hash = salted_hmac("virtlab.sealing", "v1", secret=key, algorithm="sha256")
    return Fernet(urlsafe_b64encode(key_hash.digest()))


def encrypt(text: str) -> str:
    return _fernet(settings.SECRET_KEY).encrypt(text.encode()).decode()


def decrypt(encrypted: str) -> str:
    """Raise InvalidError if the text is damaged or was encrypted with another key."""
    try:
        return _fernet(settings.SECRET_KEY).decrypt(encrypted.encode()).decode()
    except InvalidToken:
        raise InvalidError(
            "wrong_secret_key",
            "The stored value was encrypted with a different SECRET_KEY.",
        ) from None
