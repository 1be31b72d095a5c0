"""Verification of minisign signatures: Ed25519 (RFC 8032, section 5.1.7) over BLAKE2b.

This module holds no secret, so it need not run in constant time
(docs/decisions/agent-signatures.md).
"""

import base64
import hashlib
from typing import NamedTuple, Optional, Tuple

SUFFIX = ".minisig"
_COMMENT, _TRUSTED = "untrusted comment: ", "trusted comment: "
_BROKEN = "%s is not a minisign %s."

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_ROOT_OF_MINUS_1 = pow(2, (_P - 1) // 4, _P)

# X, Y, Z, T with x = X/Z, y = Y/Z, xy = T/Z.
_Point = Tuple[int, int, int, int]


class SignatureError(ValueError):
    """A key or a signature is unreadable, or the signature is wrong."""


class PublicKey(NamedTuple):
    key_id: bytes
    key: bytes

    @property
    def text(self) -> str:
        return base64.b64encode(b"Ed" + self.key_id + self.key).decode()

    @property
    def name(self) -> str:
        """The ID as minisign prints it."""
        return "%016X" % int.from_bytes(self.key_id, "little")


def read_key(text: str, source: str) -> PublicKey:
    lines = text.strip().splitlines() or [""]
    content = _decoded(lines[-1], 42, _BROKEN % (source, "public key"))
    if content[:2] != b"Ed" or len(lines) > 2:
        raise SignatureError(_BROKEN % (source, "public key"))
    return PublicKey(content[2:10], content[10:])


def key_file(key: PublicKey) -> str:
    return "%sminisign public key %s\n%s\n" % (_COMMENT, key.name, key.text)


def verify_file(content: bytes, signature: str, source: str, key: PublicKey) -> str:
    """Return the trusted comment; raise SignatureError if anything is wrong."""
    problem = _BROKEN % (source, "signature of a hashed file")
    lines = signature.strip().splitlines()
    if len(lines) != 4 or not lines[2].startswith(_TRUSTED):
        raise SignatureError(problem)
    head = _decoded(lines[1], 74, problem)
    last = _decoded(lines[3], 64, problem)
    if head[:2] != b"ED":
        raise SignatureError(problem)
    if head[2:10] != key.key_id:
        signer = PublicKey(head[2:10], b"").name
        raise SignatureError(
            "%s was made with the key %s, not with %s." % (source, signer, key.name)
        )
    comment = lines[2][len(_TRUSTED) :]
    if not is_valid(key.key, hashlib.blake2b(content).digest(), head[10:]):
        raise SignatureError("The file is not the signed one: it was changed.")
    if not is_valid(key.key, head[10:] + comment.encode(), last):
        raise SignatureError("The comment of %s was changed." % source)
    return comment


def is_valid(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether an Ed25519 signature is valid; the cofactor is not cleared."""
    key = _decompressed(public_key)
    commitment = _decompressed(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if key is None or commitment is None or len(signature) != 64 or scalar >= _ORDER:
        return False
    digest = hashlib.sha512(signature[:32] + public_key + message).digest()
    challenge = int.from_bytes(digest, "little") % _ORDER
    left = _times(scalar, _BASE)
    right = _sum(commitment, _times(challenge, key))
    return (left[0] * right[2] - right[0] * left[2]) % _P == 0 and (
        left[1] * right[2] - right[1] * left[2]
    ) % _P == 0


def _decompressed(encoded: bytes) -> Optional[_Point]:
    """Return the point of 32 bytes; None if there is no such point."""
    if len(encoded) != 32:
        return None
    number = int.from_bytes(encoded, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    if y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, _P - 2, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * _ROOT_OF_MINUS_1 % _P
    if (x * x - square) % _P or (x == 0 and sign):
        return None
    x = x if x & 1 == sign else _P - x
    return x, y, 1, x * y % _P


def _sum(first: _Point, second: _Point) -> _Point:
    a = (first[1] - first[0]) * (second[1] - second[0]) % _P
    b = (first[1] + first[0]) * (second[1] + second[0]) % _P
    c = 2 * first[3] * second[3] * _D % _P
    d = 2 * first[2] * second[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _times(scalar: int, point: _Point) -> _Point:
    product = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            product = _sum(product, point)
        point = _sum(point, point)
        scalar >>= 1
    return product


_base = _decompressed((4 * pow(5, _P - 2, _P) % _P).to_bytes(32, "little"))
assert _base is not None
_BASE = _base


def _decoded(text: str, size: int, problem: str) -> bytes:
    try:
        content = base64.b64decode(text.encode(), validate=True)
    except ValueError:
        content = b""
    if len(content) != size:
        raise SignatureError(problem)
    return content
