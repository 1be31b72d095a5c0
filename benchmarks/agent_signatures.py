"""Signatures of the agent's packages, as files of minisign.

The key is derived from AGENT_SIGNING_KEY, or from SECRET_KEY if it is not set.
"""

import hashlib
from base64 import b64encode
from functools import cache

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.utils.crypto import salted_hmac


@cache
def _key_of(secret: str) -> Ed25519PrivateKey:
    seed = salted_hmac(
        "virtlab.agent-signing", "v1", secret=secret, algorithm="sha256"
    ).digest()
    return Ed25519PrivateKey.from_private_bytes(seed)


def _signing_key() -> Ed25519PrivateKey:
    return _key_of(settings.AGENT_SIGNING_KEY or settings.SECRET_KEY)


def _public_bytes() -> tuple[bytes, bytes]:
    """Return the ID and the bytes of the public key."""
    key = _signing_key().public_key().public_bytes_raw()
    return hashlib.sha256(key).digest()[:8], key


def public_key() -> str:
    return b64encode(b"Ed" + b"".join(_public_bytes())).decode()


def public_key_file() -> str:
    number = int.from_bytes(_public_bytes()[0], "little")
    return f"untrusted comment: minisign public key {number:016X}\n{public_key()}\n"


def signature_file(name: str, content: bytes) -> str:
    """Return the signature of a file; the same content gives the same text."""
    digest = hashlib.sha256(content).hexdigest()
    comment = f"file:{name} version:{settings.VERSION} sha256:{digest}"
    signature = _signing_key().sign(hashlib.blake2b(content).digest())
    last = _signing_key().sign(signature + comment.encode())
    return (
        "untrusted comment: signature by a Virtlab server\n"
        f"{b64encode(b'ED' + _public_bytes()[0] + signature).decode()}\n"
        f"trusted comment: {comment}\n"
        f"{b64encode(last).decode()}\n"
    )
