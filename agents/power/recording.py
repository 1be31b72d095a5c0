"""Record a power meter: kill -9 loses nothing, and nothing is kept twice.

    power/<log>.<number>.piece      lines of JSON: the head, then samples and stamps

Every reading is written when it is taken, so that it survives the process (but not a
crash of the machine: flushing each second would itself be measured). A full piece is
saved in the spool under a key derived from its name, then removed. The next recorder
saves the pieces of a killed one. A piece in use is locked.
"""

import json
import os
import re
import threading
import time
import uuid
from itertools import compress
from typing import Any, Callable, Dict, List, Optional

from agents.console import Console
from agents.errors import SpoolFullError
from agents.files import forget, names_in, take
from agents.power.meters import CounterLostError, MissedError, Reading, Source
from agents.processes import Stop
from agents.sending import Watch
from agents.spool import POWER, Spool
from agents.timing.asking import NoTimeError, Stamp, TimePath

MOST_SAMPLES = 300
MOST_READ_BYTES = 16 * 1024 * 1024
_PIECE = re.compile(r"[0-9a-f-]{36}\.\d+\.piece")


Log = Dict[str, Any]


def log_of(source: Source, host: str, axis: str = "monotonic", log: str = "") -> Log:
    """Return the common properties of the pieces of a log, a new one by default."""
    meter: Dict[str, Any] = {"name": source.name, "kind": source.kind}
    if source.gain_error is not None:
        meter["gain_error"] = source.gain_error
    return {
        "log": log or str(uuid.uuid4()),
        "host": host,
        "meter": meter,
        "measures": source.measures,
        "axis": axis,
        "channels": list(source.channels),
        "total": list(source.total),
    }


class Journal:
    """The piece of a log that is being written."""

    def __init__(self, folder: str, log: Log, number: int = 1) -> None:
        self.folder, self.log, self.number = folder, log, number
        self.samples = 0
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.path = os.path.join(folder, "%s.%d.piece" % (log["log"], number))
        self._file = open(self.path, "ab", 0)  # noqa: SIM115 - open as long as we are
        # Lock before writing: another recorder would take the piece for abandoned.
        take(self._file)
        self._write(dict(log, number=number))

    def add(self, reading: Reading) -> None:
        # Six digits are a microjoule, RAPL's unit.
        values = [round(value, 6) for value in reading.values]
        self._write([reading.moment_us, *values])
        self.samples += 1

    def add_stamp(self, stamp: Stamp) -> None:
        self._write({"stamp": stamp.with_steps()})

    def note(self, sentence: str) -> None:
        """Write what went wrong beside the readings."""
        self._write({"note": sentence[:500]})

    def save(self, spool: Spool) -> None:
        """Move this piece to the spool; after SpoolFullError it stays."""
        try:
            _save(self.path, spool)
        finally:
            self.close()

    def close(self) -> None:
        self._file.close()

    def _write(self, line: Any) -> None:
        # A single write: a kill leaves no half of a line.
        try:
            self._file.write(json.dumps(line).encode() + b"\n")
        except OSError as error:
            raise SpoolFullError(
                "The reading was NOT kept: %s: %s. What was kept before stays."
                % (self.path, error.strerror)
            ) from error


def save_abandoned(folder: str, spool: Spool) -> int:
    """Save the pieces of killed processes; return their number."""
    saved = 0
    for name in names_in(folder):
        path = os.path.join(folder, name)
        if _PIECE.fullmatch(name):
            with open(path, "rb") as file:
                if take(file):  # a recorder at work holds the lock
                    saved += _save(path, spool)
    return saved


def document_of(content: bytes) -> Optional[Dict[str, Any]]:
    """Return the upload of a piece, always the same; None without a sample."""
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
    """Return the key of a piece's upload."""
    return str(uuid.uuid5(uuid.UUID(log), "piece %d" % number))


def _save(path: str, spool: Spool) -> bool:
    with open(path, "rb") as file:
        document = document_of(file.read(MOST_READ_BYTES))
    if document is not None:
        spool.save(document, POWER)
    forget(path)
    return document is not None


STAMP_EVERY_S = 30.0
STAMP_RETRY_S = 5.0
RETRY_S = 1.0
PATIENCE_S = 10.0


class Companion:
    """A thread that takes stamps, and sends the spool if it has a ``watch``."""

    def __init__(
        self, path: TimePath, watch: Optional[Watch], report: Callable[[str], None]
    ) -> None:
        self.path, self.watch, self.report = path, watch, report
        self._stamps: List[Stamp] = []
        self._silence = ""
        self._stop = Stop()
        self._thread = threading.Thread(target=self._go_on, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stamps(self) -> List[Stamp]:
        """Return the stamps since the last call."""
        taken = []
        while self._stamps:
            # One by one: the other thread may append meanwhile.
            taken.append(self._stamps.pop(0))
        return taken

    def stop(self) -> None:
        """End the thread and take a last stamp."""
        self._stop.set()
        self._thread.join(PATIENCE_S)
        # A hanging thread still uses these sockets; it ends with the process.
        if not self._thread.is_alive():
            self._stop.close()
            self._stamp()

    def _go_on(self) -> None:
        pause_s = 0.0
        while not self._stop.wait(pause_s):
            pause_s = self._stamp()
            if self.watch is not None:
                self.watch.look(lambda: self._stop.is_set)

    def _stamp(self) -> float:
        """Take a stamp; return the pause before the next one."""
        try:
            self._stamps.append(self.path.stamp())
        except NoTimeError as error:
            if str(error) != self._silence:
                self._silence = str(error)
                self.report("No stamp, so the log waits for one: %s" % error)
            return STAMP_RETRY_S
        self._silence = ""
        return STAMP_EVERY_S


class Recorder:
    """Record one meter of one machine until stopped."""

    def __init__(
        self,
        source: Source,
        host: str,
        folder: str,
        spool: Spool,
        companion: Companion,
        console: Console,
    ) -> None:
        self.source, self.host, self.folder = source, host, folder
        self.spool, self.companion, self.console = spool, companion, console
        self.piece_samples = MOST_SAMPLES
        self.readings = 0
        self._missed = ""
        self._last: Optional[Reading] = None
        self._journal = Journal(folder, log_of(source, host))

    def go_on_until(self, stop: Stop, seconds: float = 0.0) -> None:
        """Read until told to stop, or for so long."""
        end_s = time.monotonic() + seconds if seconds else float("inf")
        due_s = time.monotonic()
        while not stop.is_set and time.monotonic() < end_s:
            pause_s = self.source.every_s if self._read() else RETRY_S
            self._keep_stamps()
            if self._journal.samples >= self.piece_samples:
                for note in self.source.notes():
                    self._journal.note(note)
                    self.console.say(note)
                self._begin(self._journal.log, self._journal.number + 1)
            # Count from the due time, not from now, to keep the pace.
            due_s = max(due_s + pause_s, time.monotonic())
            stop.wait(max(0.0, min(due_s, end_s) - time.monotonic()))

    def finish(self) -> None:
        """Take the last stamp and save the last piece."""
        self.companion.stop()
        self._keep_stamps()
        self._journal.save(self.spool)

    def _read(self) -> bool:
        """Write one reading; return False if the meter gave none."""
        try:
            reading = self.source.read()
        except MissedError as missed:
            if str(missed) != self._missed:
                self._missed = str(missed)
                self._journal.note(self._missed)
                self.console.say("No reading: %s. Trying again." % missed)
            return False
        except CounterLostError as lost:
            self.console.say(str(lost))
            self._journal.note(str(lost))
            self._begin(log_of(self.source, self.host))
            return True  # the counter itself can be read
        if self._missed:
            self._missed = ""
            self.console.say("The meter reads again.")
        self._journal.add(reading)
        if self.console.is_terminal:
            watts = watts_between(self.source, self._last, reading)
            shown = "" if watts is None else "%.1f W, " % watts
            self.console.progress("%s%d readings" % (shown, self.readings + 1))
        self._last = reading
        self.readings += 1
        return True

    def _keep_stamps(self) -> None:
        for stamp in self.companion.stamps():
            self._journal.add_stamp(stamp)

    def _begin(self, log: Log, number: int = 1) -> None:
        """Begin another piece and save the one before."""
        # Open the new one first, so that there is an open piece whatever fails.
        piece, self._journal = self._journal, Journal(self.folder, log, number)
        try:
            piece.save(self.spool)
        except SpoolFullError as error:
            self.console.say(str(error))  # the next recorder saves the piece


def watts_between(
    source: Source, before: Optional[Reading], reading: Reading
) -> Optional[float]:
    """Return the power of a reading; for a counter, since the one before."""
    is_counted = [name in source.total for name in source.channels]
    now = sum(compress(reading.values, is_counted))
    if source.measures == "power":
        return now
    if before is None or reading.moment_us <= before.moment_us:
        return None
    then = sum(compress(before.values, is_counted))
    return (now - then) / (reading.moment_us - before.moment_us) * 1e6
