"""Transfer waiting runs to a server that this machine cannot reach.

bundle write FOLDER     write all waiting runs to signed files, for example on a stick
bundle forget FILE ...  after the import: remove the runs in these files from the spool

Import a bundle on the lab's page "Bundles", by the API, or by `manage.py
import_bundle`. The runs stay in the spool until you forget them. Importing a bundle
twice stores its runs once. The token signs the bundle, so the runs belong to the lab
of the token.

On a machine without a network, enroll with: enroll --offline ...
"""
# benchmarks/uploads/bundles.py describes the format.

import argparse
import contextlib
import gzip
import hashlib
import hmac
import json
import os
import time
import zlib
from typing import Any, Dict, Iterator, List, Optional, Tuple

from agents import errors
from agents.client import batches
from agents.console import Console, utc_text
from agents.errors import AgentError, UsageError
from agents.files import write_durably
from agents.spool import POWER_SUFFIX, Spool

FORMAT = 2
KEY_LABEL = b"virtlab bundle 2"
FILE_SUFFIX = ".virtlab"
# The server accepts at most 8 MiB unpacked.
MAX_BYTES = 6 * 1024 * 1024
MAX_DOCUMENTS = 5000
_MAX_READ_BYTES = 64 * 1024 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("write", "forget"))
    parser.add_argument("paths", nargs="+", metavar="FOLDER_OR_FILE")


def run(options: argparse.Namespace) -> int:
    from agents.local_state import load_enrolment, open_spool

    spool, console = open_spool(), Console()
    if options.action == "forget":
        keys = [key for path in options.paths for key in bundle_keys(path)]
        before = spool.count()
        spool.remove(keys)
        console.message("%d runs removed from the spool." % (before - spool.count()))
        return errors.DONE
    if len(options.paths) != 1:
        raise UsageError("Name exactly one folder.")
    enrolment = load_enrolment()
    host = None
    if enrolment.host:
        from agents.detection.facts import host_document

        host = host_document(enrolment.host, enrolment.native == "confirmed")
    written = write_bundles(spool, options.paths[0], enrolment.token, host)
    for path in written:
        console.print_result(path)
    total = sum(written.values())
    console.message(
        "%d runs written. After the import, run: bundle forget FILE" % total
        if written
        else "No runs are waiting."
    )
    return errors.DONE


def signing_key(token: str) -> Tuple[str, bytes]:
    """Return a token's prefix and its signing key."""
    brand, _, rest = token.partition("_")
    prefix, _, secret = rest.partition("_")
    if brand != "vl" or not prefix or not secret:
        raise UsageError("This is not a Virtlab token (vl_...). Enroll again.")
    # Not the SHA-256 of the secret, which the database of the server contains.
    return prefix, hmac.new(secret.encode(), KEY_LABEL, hashlib.sha256).digest()


def write_bundles(
    spool: Spool, folder: str, token: str, host: Optional[Dict[str, Any]] = None
) -> Dict[str, int]:
    """Write all waiting documents to signed files; return their number by path."""
    prefix, key = signing_key(token)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    written: Dict[str, int] = {}
    for lines in batches(_lines(spool), MAX_DOCUMENTS, MAX_BYTES):
        number = len(lines)
        if host and not written:
            lines.insert(0, b"host " + json.dumps(host).encode())
        head = {"made_at": utc_text(), "documents": len(lines)}
        signed = b"\n".join([json.dumps(head).encode(), *lines]) + b"\n"
        first = "virtlab-bundle %d %s %s\n" % (FORMAT, prefix, signature(key, signed))
        name = "%s-%s-%d%s" % (prefix, stamp, len(written) + 1, FILE_SUFFIX)
        path = os.path.join(folder, name)
        try:
            os.makedirs(folder, exist_ok=True)
            write_durably(path, gzip.compress(first.encode() + signed, 6))
        except OSError as error:
            raise AgentError("%s: %s" % (path, error.strerror)) from None
        written[path] = number
    return written


def signature(key: bytes, signed: bytes) -> str:
    return hmac.new(key, signed, hashlib.sha256).hexdigest()


def bundle_keys(path: str) -> List[str]:
    try:
        with gzip.open(path, "rb") as file:
            content = file.read(_MAX_READ_BYTES)
        if not content.startswith(b"virtlab-bundle "):
            raise ValueError
        keys = []
        for line in content.splitlines()[2:]:
            kind, _, document = line.partition(b" ")
            if kind in (b"run", b"power"):
                ending = POWER_SUFFIX if kind == b"power" else ""
                keys.append(json.loads(document.decode())["key"] + ending)
    except OSError as error:
        reason = error.strerror or "the file is damaged"
        raise UsageError("%s: %s" % (path, reason)) from None
    except (ValueError, KeyError, TypeError, EOFError, zlib.error):
        raise UsageError("%s is not a bundle or is damaged." % path) from None
    return keys


def _lines(spool: Spool) -> Iterator[bytes]:
    for key in spool.waiting():
        with contextlib.suppress(FileNotFoundError):
            yield (b"power " if key.endswith(POWER_SUFFIX) else b"run ") + spool.read(
                key
            )
