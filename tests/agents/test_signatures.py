"""Verification of minisign signatures, compared with minisign and `cryptography`."""

import base64

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from agents import signatures

# Made by minisign 0.11: the file "hello\n".
KEY = """\
untrusted comment: minisign public key 4253E8C91F05A02
RWQCWvCRjD4lBPqd0AqAD2Nm9mqTknpLvkanDDpTdfy3CvysxT5c+Zb8
"""
SIGNATURE = """\
untrusted comment: signature from minisign secret key
RUQCWvCRjD4lBEfjd6xPnEnlmKRe2MqqXkgU5L8o8mFNjy3J2XL6+xGZ4ggeIOMYMFz9312t4nhLxLfUMELwZ63Z7Pmt0gSA5AE=
trusted comment: file:f version:1
FdlJYo9MDPJTi5sCKTumsLXZXOk4NXPHxjI9Ot/mthHOS9p29ansyPlc5iRG+qA56yEIuhTqi+cqtZw6yHtfDQ==
"""
# Public key, message and signature of RFC 8032, section 7.1, tests 1 to 3.
VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33"
        "bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e159"
        "96e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f"
        "290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]
ORDER = 2**252 + 27742317777372353535851937790883648493


@pytest.fixture
def key():
    return signatures.read_key(KEY, "server.pub")


@pytest.mark.parametrize(("public", "message", "signature"), VECTORS)
def test_vectors_of_the_rfc_are_valid(public, message, signature):
    values = [bytes.fromhex(text) for text in (public, message, signature)]

    assert signatures.is_valid(*values)
    assert not signatures.is_valid(values[0], values[1] + b"x", values[2])


def test_answers_are_those_of_openssl():
    """Each signature has one changed byte, key or message, or none."""
    for number in range(12):
        private = Ed25519PrivateKey.from_private_bytes(bytes([number + 1] * 32))
        public, message = private.public_key().public_bytes_raw(), bytes([number])
        values = [public, message, private.sign(message)]
        if number % 4:
            changed = bytearray(values[number % 3])
            changed[-(number % len(changed)) - 1] ^= 1 << number % 8
            values[number % 3] = bytes(changed)

        assert signatures.is_valid(*values) == openssl_accepts(*values)


def openssl_accepts(public, message, signature):
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def test_second_form_of_a_signature_is_refused():
    """S + the group's order satisfies the equation, but RFC 8032 forbids it."""
    public, message, signature = (bytes.fromhex(text) for text in VECTORS[1])
    scalar = int.from_bytes(signature[32:], "little") + ORDER

    other = signature[:32] + scalar.to_bytes(32, "little")

    assert not signatures.is_valid(public, message, other)


@pytest.mark.parametrize(
    "public",
    [b"", b"\xff" * 32, (2**255 - 19).to_bytes(32, "little"), b"\x02" + bytes(31)],
    ids=["empty", "above the prime", "the prime", "not on the curve"],
)
def test_invalid_keys_verify_nothing(public):
    signature = bytes.fromhex(VECTORS[0][2])

    assert not signatures.is_valid(public, b"", signature)


def test_minisign_signature_is_verified(key):
    comment = signatures.verify_file(b"hello\n", SIGNATURE, "f.minisig", key)

    assert comment == "file:f version:1"
    assert key.name == "04253E8C91F05A02"


def changed(text, line, character="A"):
    lines = text.splitlines()
    lines[line] = lines[line][:20] + character + lines[line][21:]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("content", "signature", "problem"),
    [
        (b"hello", SIGNATURE, "not the signed one"),
        (b"hello\n", changed(SIGNATURE, 1), "not the signed one"),
        (b"hello\n", SIGNATURE.replace("version:1", "version:2"), "comment"),
        (b"hello\n", changed(SIGNATURE, 3), "comment"),
        (b"hello\n", changed(SIGNATURE, 1, "*"), "not a minisign signature"),
        (b"hello\n", SIGNATURE.replace("RUQ", "RWQ"), "not a minisign signature"),
        (b"hello\n", "", "not a minisign signature"),
        (b"hello\n", "<html>\n\n\n</html>", "not a minisign signature"),
    ],
)
def test_changed_files_are_refused(key, content, signature, problem):
    with pytest.raises(signatures.SignatureError, match=problem):
        signatures.verify_file(content, signature, "f.minisig", key)


def test_signature_of_another_key_names_both(key):
    other = signatures.PublicKey(b"12345678", key.key)

    with pytest.raises(signatures.SignatureError, match=f"{key.name}.* {other.name}"):
        signatures.verify_file(b"hello\n", SIGNATURE, "f.minisig", other)


@pytest.mark.parametrize("text", ["", "RWQ", KEY + KEY, "Zm9v", SIGNATURE])
def test_other_files_are_not_keys(text):
    with pytest.raises(signatures.SignatureError, match="public key"):
        signatures.read_key(text, "server.pub")


def test_key_file_can_be_read_again(key):
    assert signatures.read_key(signatures.key_file(key), "x") == key
    assert signatures.read_key(key.text, "x") == key
    assert base64.b64decode(key.text)[:2] == b"Ed"
