"""A power log on its way to the spool: kill -9 loses nothing, nothing is kept twice.

    power/<log>.<number>.piece      lines of JSON: the head, then samples and stamps

Every reading is written as it comes, so that it outlives the process (not a crash of
the machine: flushing each second would itself be measured). A full piece is saved in
the spool under a key that follows from its name, then the file is forgotten; what a
killed process left is saved by the next one. A piece in use is locked.
"""

import json
import os
import re
import uuid
from typing import Any, Dict, List, NamedTuple, Optional

from agents.errors import SpoolFullError
from agents.files import forget, names_in, take
from agents.power.meters import Reading, Source
from agents.spool import POWER, Spool
from agents.timing.asking import Stamp

MOST_SAMPLES = 300
MOST_READ_BYTES = 16 * 1024 * 1024
_PIECE = re.compile(r"[0-9a-f-]{36}\.\d+\.piece")


class Log(NamedTuple):
    """What all pieces of a log have in common."""

    log: str
    host: str
    meter: Dict[str, Any]
    measures: str
    axis: str
    channels: List[str]
    total: List[str]


def log_of(source: Source, host: str, axis: str = "monotonic", log: str = "") -> Log:
    """Return a new log of a source."""
    meter: Dict[str, Any] = {"name": source.name, "kind": source.kind}
    if source.gain_error is not None:
        meter["gain_error"] = source.gain_error
    return Log(
        log or str(uuid.uuid4()),
        host,
        meter,
        source.measures,
        axis,
        list(source.channels),
        list(source.total),
    )


class Journal:
    """The piece of a log that is being written."""

    def __init__(self, folder: str, log: Log, number: int = 1) -> None:
        self.folder, self.log, self.number = folder, log, number
        self.samples = 0
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.path = os.path.join(folder, "%s.%d.piece" % (log.log, number))
        self._file = open(self.path, "ab", 0)  # noqa: SIM115 - open as long as we are
        # Before anything is written: another recorder would take it for abandoned.
        take(self._file)
        self._write(dict(log._asdict(), number=number))

    def add(self, reading: Reading) -> None:
        """Write a reading; from here on it is not lost."""
        # Six digits are a microjoule, the unit that RAPL counts in.
        values = [round(value, 6) for value in reading.values]
        self._write([reading.moment_us, *values])
        self.samples += 1

    def add_stamp(self, stamp: Stamp) -> None:
        self._write({"stamp": stamp.with_steps()})

    def note(self, sentence: str) -> None:
        """Keep what went wrong beside the readings."""
        self._write({"note": sentence[:500]})

    def save(self, spool: Spool) -> None:
        """Save this piece in the spool and forget it here; SpoolFullError keeps it."""
        try:
            _save(self.path, spool)
        finally:
            self.close()

    def close(self) -> None:
        """Leave the piece where it is, to whoever comes next."""
        self._file.close()

    def _write(self, line: Any) -> None:
        # One write of a whole line: a kill leaves it out or in, not in half.
        try:
            self._file.write(json.dumps(line).encode() + b"\n")
        except OSError as error:
            raise SpoolFullError(
                "The reading was NOT kept: %s: %s. What was kept before stays."
                % (self.path, error.strerror)
            ) from error


def save_abandoned(folder: str, spool: Spool) -> int:
    """Save what killed processes left; return how many pieces these were."""
    saved = 0
    for name in names_in(folder):
        path = os.path.join(folder, name)
        if _PIECE.fullmatch(name):
            with open(path, "rb") as file:
                if take(file):  # whoever still writes it holds that
                    saved += _save(path, spool)
    return saved


def document_of(content: bytes) -> Optional[Dict[str, Any]]:
    """Return the upload of a piece's lines, always the same; None without a sample."""
    lines: List[Any] = []
    for line in content.split(b"\n"):
        try:
            lines.append(json.loads(line.decode()))
        except ValueError:
            continue
    head = lines[0] if lines else {}
    samples = [line for line in lines if isinstance(line, list)]
    if not samples:
        return None
    remarks = [line for line in lines[1:] if isinstance(line, dict)]
    notes = [line["note"] for line in remarks if "note" in line]
    document = dict(
        head,
        key=piece_key(head["log"], head["number"]),
        stamps=[line["stamp"] for line in remarks if "stamp" in line],
        samples=samples,
    )
    return dict(document, facts={"notes": notes}) if notes else document


def piece_key(log: str, number: int) -> str:
    """Return the key of a piece's upload, the same whenever it is asked for."""
    return str(uuid.uuid5(uuid.UUID(log), "piece %d" % number))


def _save(path: str, spool: Spool) -> bool:
    with open(path, "rb") as file:
        document = document_of(file.read(MOST_READ_BYTES))
    if document is not None:
        spool.save(document, POWER)
    forget(path)
    return document is not None
