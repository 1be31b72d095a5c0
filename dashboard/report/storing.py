"""Reports that were typeset already, kept as long as they would say the same.

A report is found by all that it says except when it was made: so nothing stale is ever
handed out, and nobody gets one that was made for others. The files lie under VAR, are
bounded in number, and may be deleted at any time.
"""

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from dashboard.report.document import Document

KEPT = 50

logger = logging.getLogger(__name__)


def stored(
    folder: Path, document: Document, for_whom: str, make: Callable[[], bytes]
) -> bytes:
    """Return the kept file of a report, or make one and keep it."""
    path = folder / f"{_digest(document, for_whom)}.pdf"
    with suppress(FileNotFoundError, NotADirectoryError):
        file = path.read_bytes()
        os.utime(path)
        return file
    file = make()
    try:
        _keep(path, file)
    except OSError as error:
        logger.warning("The report could not be kept (%s); it is made anew.", error)
    return file


def _digest(document: Document, for_whom: str) -> str:
    said = replace(document, colophon=for_whom).data()
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _keep(path: Path, file: bytes) -> None:
    """Write a file at once and whole, and forget those that were asked for least."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
        part.write(file)
    Path(part.name).replace(path)
    newest_first = sorted(
        path.parent.iterdir(), key=lambda each: each.stat().st_mtime, reverse=True
    )
    for old in newest_first[KEPT:]:
        old.unlink(missing_ok=True)
