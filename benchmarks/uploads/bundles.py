"""Bundles: what a machine without a network measured, carried here and signed.

A bundle is a gzip of lines (`agents/commands/bundle.py` writes it):

    virtlab-bundle 1 PREFIX SIGNATURE
    {"made_at": "2026-11-24T04:00:00Z", "documents": 3}
    host {...}
    run {...}
    power {...}

PREFIX names a token of the lab; SIGNATURE is the HMAC-SHA256 of all that follows its
line, by the SHA-256 of the token's secret, which is what is stored of it. So nothing is
enrolled but the token, and revoking it ends its bundles. Nothing is read before the
signature fits.

The documents go the way of all uploads, in the name of the token's agent: imported
twice, or sent besides, they are here once.
"""

import hmac
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

import orjson
from django.conf import settings
from django.contrib.auth.models import User
from django.utils.module_loading import import_string

from benchmarks.errors import InvalidError
from benchmarks.models import Agent, AuditEntry, Lab, Token

FORMAT: Final = 1
FIRST_LINE: Final = re.compile(
    rb"virtlab-bundle (\d{1,6})(?: (\w{1,16}) ([0-9a-f]{64}))?"
)
KINDS: Final = (b"host", b"run", b"power")
# To zlib, 16 more than the largest window means: gzip's head and checksum.
GZIP: Final = 16 + zlib.MAX_WBITS


@dataclass(frozen=True)
class Document:
    """One line: where it stands, counted from 1, what it is, and its JSON."""

    line: int
    kind: str
    raw: bytes


@dataclass(frozen=True)
class Counts:
    """What became of the documents: new ones, those that were here, and machines."""

    accepted: int
    repeated: int
    hosts: int


@dataclass(frozen=True)
class Imported:
    """A bundle that was taken: by which token it is signed, when it was made."""

    token: Token
    made_at: datetime
    counts: Counts


def import_bundle(
    *, packed: bytes, lab: Lab | None, person: User | None = None, by: str = ""
) -> Imported:
    """Check a bundle and store its documents; ``lab`` limits the tokens that count.

    Raises InvalidError, and the errors of uploads (quotas).
    """
    prefix, signature, signed = _opened(packed)
    token = _signer(lab, prefix, signature, signed)
    made_at, documents = _documents(signed)
    # What a document may hold is the API's to say: it is named, not called.
    store: Callable[[Agent, Sequence[Document]], Counts] = import_string(
        settings.BUNDLE_DOCUMENTS
    )
    counts = store(token.agent, documents)
    AuditEntry.log(
        token.lab,
        AuditEntry.Kind.IMPORTED,
        f"{token} ({token.agent}), {made_at:%Y-%m-%d %H:%M} UTC: "
        f"{counts.accepted} + {counts.repeated}",
        person=person,
        agent=by,
    )
    return Imported(token, made_at, counts)


def refused(text: str, **values: Any) -> InvalidError:
    return InvalidError("bundle_refused", text, **values)


def _opened(packed: bytes) -> tuple[str, str, bytes]:
    """Return whose it says it is, the signature, and what is signed."""
    reader, most = zlib.decompressobj(GZIP), settings.UPLOAD_LIMIT_BYTES
    try:
        content = reader.decompress(packed, most + 1)
    except zlib.error:
        # What begins as gzip does was one.
        raise _damaged() if packed.startswith(b"\x1f\x8b") else _no_bundle() from None
    if len(content) > most:
        raise refused(
            "The bundle unpacks to more than {most} bytes. The agent writes smaller"
            " ones: write it again.",
            most=f"{most:,}",
        )
    first, _, signed = content.partition(b"\n")
    found = FIRST_LINE.fullmatch(first)
    if found is None:
        raise _no_bundle()
    if int(found[1]) != FORMAT or found[2] is None:
        raise refused(
            "The bundle is of the kind {kind}, and this portal reads {known}:"
            " update the older of the two, portal or agent.",
            kind=found[1].decode(),
            known=str(FORMAT),
        )
    if not reader.eof or reader.unused_data:
        raise _damaged()
    return found[2].decode("ascii", "replace"), found[3].decode(), signed


def _no_bundle() -> InvalidError:
    return refused(
        "This is not a bundle. Choose a file that the agent wrote (bundle write), "
        "as it is: packed, and ending in .virtlab."
    )


def _damaged() -> InvalidError:
    return refused("The bundle is cut off or damaged. Copy it once more.")


def _signer(lab: Lab | None, prefix: str, signature: str, signed: bytes) -> Token:
    """Return the token that signed it, or say why its word does not count."""
    tokens = Token.objects.select_related("agent__lab", "lab").filter(prefix=prefix)
    token = tokens.filter(lab=lab).first() if lab else tokens.first()
    # Compared in any case, and another lab's token is as good as none.
    key = bytes.fromhex(token.digest) if token else bytes(32)
    fits = hmac.compare_digest(hmac.new(key, signed, sha256).hexdigest(), signature)
    name = f"vl_{prefix}_..."
    if token is None:
        raise refused(
            "The bundle is signed by {token}, which is not a token of this lab. "
            "Import it where that token was made.",
            token=name,
        )
    if not fits:
        raise refused(
            "The signature of {token} does not fit: the bundle was changed after it"
            " was written, or somebody else wrote it.",
            token=name,
        )
    if not token.is_valid():
        raise refused(
            "The token {token}, which signed the bundle, is revoked or has expired."
            " Enrol the agent with a new one, and write the bundle again.",
            token=name,
        )
    if not token.can_upload:
        raise refused(
            "The token {token}, which signed the bundle, may read but not upload."
            " Enrol the agent with one that may, and write the bundle again.",
            token=name,
        )
    return token


def _documents(signed: bytes) -> tuple[datetime, list[Document]]:
    """Return when it was made and its documents; whoever signed it wrote them well."""
    head, *lines = signed.removesuffix(b"\n").split(b"\n")
    try:
        said: dict[str, Any] = orjson.loads(head)
        made_at = datetime.fromisoformat(said["made_at"])
        is_whole = said["documents"] == len(lines) and made_at.tzinfo is not None
    except (ValueError, KeyError, TypeError):
        is_whole = False
    if not is_whole:
        raise refused("The head of the bundle does not say what is in it.")
    documents = []
    for number, line in enumerate(lines, start=3):
        kind, _, raw = line.partition(b" ")
        if kind not in KINDS:
            raise refused(
                "Line {number} of the bundle is of a kind that this portal does not"
                " know: update it.",
                number=str(number),
            )
        documents.append(Document(number, kind.decode(), raw))
    return made_at, documents
