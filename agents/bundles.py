"""Bundles: what waits in a spool, in files that somebody carries to the server.

    virtlab-bundle 1 PREFIX SIGNATURE
    {"made_at": "2026-11-24T04:00:00Z", "documents": 3}
    host {"slug": ...}
    run {"key": ...}
    power {"key": ...}

packed with gzip. PREFIX names the token (vl_PREFIX_...) and SIGNATURE is the
HMAC-SHA256 of all that follows its line, by the SHA-256 of the token's secret: the
server keeps that, and nobody learns the secret from a bundle. A document is what would
have been sent.

Nothing leaves the spool: what a bundle holds is forgotten when its owner says so, after
the server has it. Imported twice, or sent besides, it is there once.
"""

import gzip
import hashlib
import hmac
import json
import os
import time
import zlib
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from agents.errors import AgentError, UsageError
from agents.files import write_durably
from agents.spool import POWER, Spool

FORMAT = 1
ENDING = ".virtlab"
# The server takes 8 MiB at once, unpacked.
MOST_BYTES = 6 * 1024 * 1024
MOST_DOCUMENTS = 5000
_MOST_READ = 64 * 1024 * 1024


class Bundle(NamedTuple):
    """One file, and how many runs and pieces of power logs are in it."""

    path: str
    documents: int


def signing(token: str) -> Tuple[str, bytes]:
    """Return a token's prefix and the key of its signatures."""
    brand, _, rest = token.partition("_")
    prefix, _, secret = rest.partition("_")
    if brand != "vl" or not prefix or not secret:
        raise UsageError("The token is none of Virtlab's (vl_...): enroll again.")
    return prefix, hashlib.sha256(secret.encode()).digest()


def write(
    spool: Spool, folder: str, token: str, host: Optional[Dict[str, Any]] = None
) -> List[Bundle]:
    """Write all that waits into files of a folder, and leave it in the spool."""
    prefix, key = signing(token)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    bundles: List[Bundle] = []
    for lines in _parts(spool):
        number = len(lines)
        if host and not bundles:
            lines.insert(0, b"host " + json.dumps(host).encode())
        made_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        head = {"made_at": made_at, "documents": len(lines)}
        signed = b"\n".join([json.dumps(head).encode(), *lines]) + b"\n"
        first = "virtlab-bundle %d %s %s\n" % (FORMAT, prefix, signature(key, signed))
        name = "%s-%s-%d%s" % (prefix, stamp, len(bundles) + 1, ENDING)
        path = os.path.join(folder, name)
        try:
            os.makedirs(folder, exist_ok=True)
            write_durably(path, gzip.compress(first.encode() + signed, 6))
        except OSError as error:
            raise AgentError("%s: %s" % (path, error.strerror)) from None
        bundles.append(Bundle(path, number))
    return bundles


def signature(key: bytes, signed: bytes) -> str:
    return hmac.new(key, signed, hashlib.sha256).hexdigest()


def keys_in(path: str) -> List[str]:
    """Return the keys, as the spool knows them, of what a bundle holds."""
    try:
        with gzip.open(path, "rb") as file:
            content = file.read(_MOST_READ)
        if not content.startswith(b"virtlab-bundle "):
            raise ValueError
        keys = []
        for line in content.splitlines()[2:]:
            kind, _, document = line.partition(b" ")
            if kind in (b"run", b"power"):
                ending = POWER if kind == b"power" else ""
                keys.append(json.loads(document.decode())["key"] + ending)
    except OSError as error:
        said = error.strerror or "it is damaged"
        raise UsageError("%s: %s" % (path, said)) from None
    except (ValueError, KeyError, TypeError, EOFError, zlib.error):
        raise UsageError("%s is no bundle, or is damaged." % path) from None
    return keys


def _parts(spool: Spool) -> Iterator[List[bytes]]:
    """Yield the lines of one file after the other; none where nothing waits."""
    lines: List[bytes] = []
    size = 0
    for key in spool.waiting():
        try:
            body = spool.read(key)
        except FileNotFoundError:  # sent by another process meanwhile
            continue
        if lines and (size + len(body) > MOST_BYTES or len(lines) == MOST_DOCUMENTS):
            yield lines
            lines, size = [], 0
        lines.append((b"power " if key.endswith(POWER) else b"run ") + body)
        size += len(body)
    if lines:
        yield lines
