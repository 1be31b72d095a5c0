"""Carry what waits to a server that this machine cannot reach.

bundle write FOLDER     write all that waits into signed files, on a stick for example
bundle forget FILE ...  after the import: what these files hold waits no longer

A portal takes them on the page "Bundles" of the lab, by its API and by `manage.py
import_bundle`. What waits stays here until you forget it; a bundle that is imported
twice is there once. The token signs it: the lab whose token it is imports it.

On a machine without a network: enroll --offline ...
"""
# The format of a bundle is described in benchmarks/uploads/bundles.py.

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
from agents.spool import POWER, Spool

FORMAT = 1
ENDING = ".virtlab"
# The server accepts 8 MiB at once, unpacked.
MOST_BYTES = 6 * 1024 * 1024
MOST_DOCUMENTS = 5000
_MOST_READ = 64 * 1024 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("write", "forget"))
    parser.add_argument("places", nargs="+", metavar="PLACE")


def run(options: argparse.Namespace) -> int:
    from agents.home import load_enrolment, open_spool

    spool, console = open_spool(), Console()
    if options.action == "forget":
        keys = [key for path in options.places for key in keys_in(path)]
        waited = spool.number()
        spool.remove(keys)
        console.say("%d wait no longer." % (waited - spool.number()))
        return errors.DONE
    if len(options.places) != 1:
        raise UsageError("Name one folder.")
    enrolment = load_enrolment()
    host = None
    if enrolment.host:
        from agents.detection.facts import host_document

        host = host_document(enrolment.host)
    written = write(spool, options.places[0], enrolment.token, host)
    for path in written:
        console.result(path)
    total = sum(written.values())
    console.say(
        "%d written; after the import: bundle forget FILE" % total
        if written
        else "Nothing waits."
    )
    return errors.DONE


def signing(token: str) -> Tuple[str, bytes]:
    """Return a token's prefix and the key of its signatures."""
    brand, _, rest = token.partition("_")
    prefix, _, secret = rest.partition("_")
    if brand != "vl" or not prefix or not secret:
        raise UsageError("The token is none of Virtlab's (vl_...): enroll again.")
    return prefix, hashlib.sha256(secret.encode()).digest()


def write(
    spool: Spool, folder: str, token: str, host: Optional[Dict[str, Any]] = None
) -> Dict[str, int]:
    """Write all waiting documents into files of a folder; the spool keeps them.

    Return the files and the number of runs and power logs in each.
    """
    prefix, key = signing(token)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    written: Dict[str, int] = {}
    for lines in batches(_lines(spool), MOST_DOCUMENTS, MOST_BYTES):
        number = len(lines)
        if host and not written:
            lines.insert(0, b"host " + json.dumps(host).encode())
        head = {"made_at": utc_text(), "documents": len(lines)}
        signed = b"\n".join([json.dumps(head).encode(), *lines]) + b"\n"
        first = "virtlab-bundle %d %s %s\n" % (FORMAT, prefix, signature(key, signed))
        name = "%s-%s-%d%s" % (prefix, stamp, len(written) + 1, ENDING)
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


def keys_in(path: str) -> List[str]:
    """Return the spool keys of the documents in a bundle."""
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


def _lines(spool: Spool) -> Iterator[bytes]:
    for key in spool.waiting():
        with contextlib.suppress(FileNotFoundError):  # sent by another process
            yield (b"power " if key.endswith(POWER) else b"run ") + spool.read(key)
