"""Import of bundles: signed files with the uploads of a machine without a network.

A bundle is a gzip file of lines, written by `agents/commands/bundle.py`:

    virtlab-bundle 2 PREFIX SIGNATURE
    {"made_at": "2026-11-24T04:00:00Z", "documents": 3}
    host {...}
    run {...}
    power {...}

PREFIX identifies a token of the lab. SIGNATURE is the HMAC-SHA256 of all lines but the
first. Its key is derived from the token's secret, and stored encrypted, so that a dump
of the database cannot sign. Revoking the token invalidates its bundles. The signature
is verified before anything else is parsed.
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
from django.db import transaction
from django.utils.module_loading import import_string

from benchmarks.encryption import decrypt
from benchmarks.errors import InvalidError
from benchmarks.models import Agent, AuditEntry, Lab, Token

FORMAT: Final = 2
HEADER_PATTERN: Final = re.compile(
    rb"virtlab-bundle (\d{1,6})(?: (\w{1,16}) ([0-9a-f]{64}))?"
)
KINDS: Final = (b"host", b"run", b"power")
# Select the gzip format.
GZIP: Final = 16 + zlib.MAX_WBITS


@dataclass(frozen=True)
class BundleDocument:
    """A line of a bundle: its number (the file begins with line 1), kind and JSON."""

    line: int
    kind: str
    raw: bytes


@dataclass(frozen=True)
class ImportCounts:
    accepted: int
    repeated: int
    hosts: int


@dataclass(frozen=True)
class ImportedBundle:
    token: Token
    created_at: datetime
    counts: ImportCounts


def import_bundle(
    *, content: bytes, lab: Lab | None, person: User | None = None, actor: str = ""
) -> ImportedBundle:
    """Verify a bundle and store all its documents, or none of them.

    With ``lab``, the token must be one of this lab. Raises InvalidError for an invalid
    bundle, and the errors of uploads, such as RateLimitError.
    """
    prefix, signature, signed = _read_header(content)
    token = _signing_token(lab, prefix, signature, signed)
    made_at, documents = _parse_documents(signed)
    # The API validates documents; an import here would reverse the dependency.
    store: Callable[[Agent, Sequence[BundleDocument]], ImportCounts] = import_string(
        settings.BUNDLE_IMPORTER
    )
    with transaction.atomic():
        counts = store(token.agent, documents)
        AuditEntry.log(
            token.lab,
            AuditEntry.Kind.IMPORTED_BUNDLE,
            f"{token} ({token.agent}), {made_at:%Y-%m-%d %H:%M} UTC: "
            f"{counts.accepted} + {counts.repeated}",
            person=person,
            agent=actor,
        )
    return ImportedBundle(token, made_at, counts)


def bundle_error(text: str, **values: Any) -> InvalidError:
    return InvalidError("bundle_rejected", text, **values)


def _read_header(archive: bytes) -> tuple[str, str, bytes]:
    reader, limit = zlib.decompressobj(GZIP), settings.UPLOAD_LIMIT_BYTES
    try:
        content = reader.decompress(archive, limit + 1)
    except zlib.error:
        # The first bytes of gzip: probably a damaged bundle.
        raise (
            _damaged() if archive.startswith(b"\x1f\x8b") else _not_a_bundle()
        ) from None
    if len(content) > limit:
        raise bundle_error(
            "The unpacked bundle is larger than {most} bytes. Write it again with "
            "the agent, which writes smaller bundles.",
            most=f"{limit:,}",
        )
    header, _, signed = content.partition(b"\n")
    match = HEADER_PATTERN.fullmatch(header)
    if match is None:
        raise _not_a_bundle()
    if int(match[1]) != FORMAT or match[2] is None:
        raise bundle_error(
            "The bundle has format {kind}, but this server reads format {known}. "
            "Update the server or the agent, whichever is older.",
            kind=match[1].decode(),
            known=str(FORMAT),
        )
    if not reader.eof or reader.unused_data:
        raise _damaged()
    return match[2].decode("ascii", "replace"), match[3].decode(), signed


def _not_a_bundle() -> InvalidError:
    return bundle_error(
        "This is not a bundle. Choose an unmodified file that the agent wrote "
        "(bundle write): it is compressed and its name ends in .virtlab."
    )


def _damaged() -> InvalidError:
    return bundle_error("The bundle is truncated or damaged. Copy it again.")


def _signing_token(
    lab: Lab | None, prefix: str, signature: str, signed: bytes
) -> Token:
    tokens = Token.objects.select_related("agent__lab", "lab").filter(prefix=prefix)
    token = tokens.filter(lab=lab).first() if lab else tokens.first()
    # Always compare, so that the time does not reveal whether the token exists.
    is_keyless = token is not None and not token.bundle_key
    stored = decrypt(token.bundle_key) if token and token.bundle_key else "00" * 32
    key = bytes.fromhex(stored)
    is_valid_signature = hmac.compare_digest(
        hmac.new(key, signed, sha256).hexdigest(), signature
    )
    name = f"vl_{prefix}_..."
    if token is None:
        raise bundle_error(
            "The bundle is signed by {token}, which is not a token of this lab. "
            "Import the bundle in the lab where the token was created.",
            token=name,
        )
    if is_keyless:
        raise bundle_error(
            "The token {token} is from a version of Virtlab that stored no keys for "
            "bundles. Enroll the agent with a new token and write the bundle again.",
            token=name,
        )
    if not is_valid_signature:
        raise bundle_error(
            "The signature of {token} is not valid: the bundle was changed after "
            "it was written, or someone else wrote it.",
            token=name,
        )
    if not token.is_valid():
        raise bundle_error(
            "The token {token}, which signed the bundle, is revoked or has "
            "expired. Enroll the agent with a new token and write the bundle again.",
            token=name,
        )
    if not token.can_upload:
        raise bundle_error(
            "The token {token}, which signed the bundle, can read but not upload. "
            "Enroll the agent with a token that can upload, and write the bundle "
            "again.",
            token=name,
        )
    return token


def _parse_documents(signed: bytes) -> tuple[datetime, list[BundleDocument]]:
    first_line, *lines = signed.removesuffix(b"\n").split(b"\n")
    try:
        header: dict[str, Any] = orjson.loads(first_line)
        made_at = datetime.fromisoformat(header["made_at"])
        is_complete = header["documents"] == len(lines) and made_at.tzinfo is not None
    except (ValueError, KeyError, TypeError):
        is_complete = False
    if not is_complete:
        raise bundle_error("The header of the bundle does not describe its contents.")
    documents = []
    for number, line in enumerate(lines, start=3):
        kind, _, raw = line.partition(b" ")
        if kind not in KINDS:
            raise bundle_error(
                "Line {number} of the bundle has a type that this server does not "
                "support. Update the server.",
                number=str(number),
            )
        documents.append(BundleDocument(number, kind.decode(), raw))
    return made_at, documents
