"""Recording of a power meter that loses and repeats no reading, even after kill -9.

    power/<log>.<number>.piece      JSON lines: the head, then samples and stamps

Each file is a chunk of a log. Readings are written immediately but not flushed to disk,
because the power for flushing would be measured too. A full chunk is saved in the spool
under a key derived from its name. The next recorder saves the chunks of a killed one,
which it recognizes because files in use are locked.
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
from agents.files import list_names, remove_if_exists, try_lock
from agents.power.meters import (
    CounterWrappedError,
    MeterSource,
    Reading,
    ReadingMissedError,
)
from agents.processes import StopFlag
from agents.spool import POWER_SUFFIX, Spool
from agents.spool_delivery import SpoolWatcher
from agents.timing.time_client import ClockStamp, TimeServerError, TimeServerPath

MAX_SAMPLES = 300
MAX_READ_BYTES = 16 * 1024 * 1024
_PIECE = re.compile(r"[0-9a-f-]{36}\.\d+\.piece")


LogProperties = Dict[str, Any]


def log_properties(
    source: MeterSource, host: str, axis: str = "monotonic", log: str = ""
) -> LogProperties:
    """Return the properties of all chunks of a log.

    ``axis`` is the clock of the samples; ``log`` is the ID, by default new.
    """
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


class ChunkFile:
    def __init__(self, folder: str, log: LogProperties, number: int = 1) -> None:
        self.folder, self.log, self.number = folder, log, number
        self.samples = 0
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.path = os.path.join(folder, "%s.%d.piece" % (log["log"], number))
        self._file = open(self.path, "ab", 0)  # noqa: SIM115 - open until `close`
        # Unlocked files are taken for those of a killed recorder.
        try_lock(self._file)
        self._write(dict(log, number=number))

    def add(self, reading: Reading) -> None:
        # Six digits, because RAPL counts microjoules.
        values = [round(value, 6) for value in reading.values]
        self._write([reading.moment_us, *values])
        self.samples += 1

    def add_stamp(self, stamp: ClockStamp) -> None:
        self._write({"stamp": stamp.with_resolution()})

    def note(self, sentence: str) -> None:
        self._write({"note": sentence[:500]})

    def save(self, spool: Spool) -> None:
        """Move this chunk to the spool; keep it on SpoolFullError."""
        try:
            _save(self.path, spool)
        finally:
            self.close()

    def close(self) -> None:
        self._file.close()

    def _write(self, line: Any) -> None:
        # With a single write, kill -9 leaves no partial line.
        try:
            self._file.write(json.dumps(line).encode() + b"\n")
        except OSError as error:
            raise SpoolFullError(
                "The reading was NOT saved: %s: %s. Saved readings are unchanged."
                % (self.path, error.strerror)
            ) from error


def recover_chunks(folder: str, spool: Spool) -> int:
    """Save the chunks of killed recorders in the spool; return their number."""
    saved = 0
    for name in list_names(folder):
        path = os.path.join(folder, name)
        if _PIECE.fullmatch(name):
            with open(path, "rb") as file:
                if try_lock(file):  # free: the recorder was killed
                    saved += _save(path, spool)
    return saved


def chunk_document(content: bytes) -> Optional[Dict[str, Any]]:
    """Return the upload document of a chunk file; None without samples."""
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
        key=chunk_key(head["log"], head["number"]),
        stamps=[line["stamp"] for line in remarks if "stamp" in line],
        samples=samples,
    )
    return dict(document, facts={"notes": notes}) if notes else document


def chunk_key(log: str, number: int) -> str:
    return str(uuid.uuid5(uuid.UUID(log), "piece %d" % number))


def _save(path: str, spool: Spool) -> bool:
    with open(path, "rb") as file:
        document = chunk_document(file.read(MAX_READ_BYTES))
    if document is not None:
        spool.save(document, POWER_SUFFIX)
    remove_if_exists(path)
    return document is not None


STAMP_EVERY_S = 30.0
STAMP_RETRY_S = 5.0
RETRY_S = 1.0
STAMP_TIMEOUT_S = 10.0


class StampThread:
    """A thread that takes stamps and, if ``watch`` is given, sends the spool."""

    def __init__(
        self,
        path: TimeServerPath,
        watch: Optional[SpoolWatcher],
        report: Callable[[str], None],
    ) -> None:
        self.path, self.watch, self.report = path, watch, report
        self._stamps: List[ClockStamp] = []
        self._last_error = ""
        self._stop = StopFlag()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stamps(self) -> List[ClockStamp]:
        """Return and forget the stamps taken so far."""
        taken = []
        while self._stamps:
            # One by one, because the thread may append others meanwhile.
            taken.append(self._stamps.pop(0))
        return taken

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(STAMP_TIMEOUT_S)
        # If the thread still runs, it uses these sockets.
        if not self._thread.is_alive():
            self._stop.close()
            self._stamp()

    def _run(self) -> None:
        pause_s = 0.0
        while not self._stop.wait(pause_s):
            pause_s = self._stamp()
            if self.watch is not None:
                self.watch.send_waiting(lambda: self._stop.is_set)

    def _stamp(self) -> float:
        """Take a stamp; return the pause before the next one in seconds."""
        try:
            self._stamps.append(self.path.stamp())
        except TimeServerError as error:
            if str(error) != self._last_error:
                self._last_error = str(error)
                self.report("No stamp: the log waits for the time server: %s" % error)
            return STAMP_RETRY_S
        self._last_error = ""
        return STAMP_EVERY_S


class Recorder:
    def __init__(
        self,
        source: MeterSource,
        host: str,
        folder: str,
        spool: Spool,
        stamp_thread: StampThread,
        console: Console,
    ) -> None:
        self.source, self.host, self.folder = source, host, folder
        self.spool, self.stamp_thread, self.console = spool, stamp_thread, console
        self.chunk_samples = MAX_SAMPLES
        self.readings = 0
        self._missed = ""
        self._last: Optional[Reading] = None
        self._chunk = ChunkFile(folder, log_properties(source, host))

    def run_until(self, stop: StopFlag, seconds: float = 0.0) -> None:
        """Record until stopped or, unless ``seconds`` is 0, for this time."""
        end_s = time.monotonic() + seconds if seconds else float("inf")
        due_s = time.monotonic()
        while not stop.is_set and time.monotonic() < end_s:
            pause_s = self.source.interval_s if self._read() else RETRY_S
            self._add_stamps()
            if self._chunk.samples >= self.chunk_samples:
                for note in self.source.warnings():
                    self._chunk.note(note)
                    self.console.message(note)
                self._start_chunk(self._chunk.log, self._chunk.number + 1)
            # Readings are due at fixed times; their duration must not add up.
            due_s = max(due_s + pause_s, time.monotonic())
            stop.wait(max(0.0, min(due_s, end_s) - time.monotonic()))

    def finish(self) -> None:
        self.stamp_thread.stop()
        self._add_stamps()
        self._chunk.save(self.spool)

    def _read(self) -> bool:
        try:
            reading = self.source.read()
        except ReadingMissedError as missed:
            if str(missed) != self._missed:
                self._missed = str(missed)
                self._chunk.note(self._missed)
                self.console.message("No reading: %s. Retrying." % missed)
            return False
        except CounterWrappedError as lost:
            self.console.message(str(lost))
            self._chunk.note(str(lost))
            self._start_chunk(log_properties(self.source, self.host))
            return True  # the counter itself is readable
        if self._missed:
            self._missed = ""
            self.console.message("Readings have resumed.")
        self._chunk.add(reading)
        if self.console.is_terminal:
            watts = watts_between(self.source, self._last, reading)
            shown = "" if watts is None else "%.1f W, " % watts
            self.console.progress("%s%d readings" % (shown, self.readings + 1))
        self._last = reading
        self.readings += 1
        return True

    def _add_stamps(self) -> None:
        for stamp in self.stamp_thread.stamps():
            self._chunk.add_stamp(stamp)

    def _start_chunk(self, log: LogProperties, number: int = 1) -> None:
        # Open the new chunk first, so that recording continues even if saving fails.
        chunk, self._chunk = self._chunk, ChunkFile(self.folder, log, number)
        try:
            chunk.save(self.spool)
        except SpoolFullError as error:
            self.console.message(str(error))  # the next recorder saves the chunk


def watts_between(
    source: MeterSource, before: Optional[Reading], reading: Reading
) -> Optional[float]:
    """Return the power in watts; None for energy without a reading ``before``."""
    is_total = [name in source.total for name in source.channels]
    now = sum(compress(reading.values, is_total))
    if source.measures == "power":
        return now
    if before is None or reading.moment_us <= before.moment_us:
        return None
    then = sum(compress(before.values, is_total))
    return (now - then) / (reading.moment_us - before.moment_us) * 1e6
