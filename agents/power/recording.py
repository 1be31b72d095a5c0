"""Record a power meter: kill -9 loses nothing, and nothing is kept twice.

    power/<log>.<number>.piece      lines of JSON: the head, then samples and stamps

Every reading is written when it is taken, so that it survives the process (but not a
crash of the machine: flushing each second would itself be measured). A full piece is
saved in the spool under a key derived from its name, then removed. The next recorder
saves the pieces of a killed one. A piece in use is locked.
"""

import calendar
import json
import os
import re
import threading
import time
import uuid
from itertools import compress
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from agents.console import Console
from agents.errors import SpoolFullError, UsageError
from agents.files import forget, names_in, take
from agents.measuring.bracket import TimePath
from agents.power.meters import CounterLostError, MissedError, Reading, Source
from agents.sending import Watch
from agents.spool import POWER, Spool
from agents.stopping import Stop
from agents.timing.asking import NoTimeError, Stamp

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


STAMP_EVERY_S = 30.0
STAMP_RETRY_S = 5.0
RETRY_S = 1.0
PATIENCE_S = 10.0


class Companion:
    """Takes a stamp now and then, and watches the spool if it is given one."""

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
        """Return the stamps taken since the last time this was asked."""
        taken = []
        while self._stamps:
            # The other thread may append meanwhile: taken one by one, none is lost.
            taken.append(self._stamps.pop(0))
        return taken

    def stop(self) -> None:
        """End the thread, if it can be ended, and take a last stamp."""
        self._stop.set()
        self._thread.join(PATIENCE_S)
        # One that hangs still uses these sockets; it ends with the process.
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
        """Take a stamp; return how long to wait before the next one."""
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
    """One meter of one machine, until it is stopped."""

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
            # From the time it was due, not from now: the readings keep their pace.
            due_s = max(due_s + pause_s, time.monotonic())
            stop.wait(max(0.0, min(due_s, end_s) - time.monotonic()))

    def finish(self) -> None:
        """Take the last stamp, and let the last piece go into the spool."""
        self.companion.stop()
        self._keep_stamps()
        self._journal.save(self.spool)

    def _read(self) -> bool:
        """Keep one reading; say whether there was one."""
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
            # No retry: the counter itself can be read.
            return True
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
        """Go on in another piece, and let the one before go into the spool."""
        # Opened first: whatever fails, what comes after finds an open piece.
        piece, self._journal = self._journal, Journal(self.folder, log, number)
        try:
            piece.save(self.spool)
        except SpoolFullError as error:
            # The piece stays where it is, and is saved when there is room.
            self.console.say(str(error))


def watts_between(
    source: Source, before: Optional[Reading], reading: Reading
) -> Optional[float]:
    """Return the power that a reading tells, of a counter since the one before."""
    is_counted = [name in source.total for name in source.channels]
    now = sum(compress(reading.values, is_counted))
    if source.measures == "power":
        return now
    if before is None or reading.moment_us <= before.moment_us:
        return None
    then = sum(compress(before.values, is_counted))
    return (now - then) / (reading.moment_us - before.moment_us) * 1e6


_MOST_AT_ONCE = 2000
_FIRST_DATE_S = 1e9  # the year 2001: no log counts so many seconds from its own start
_DATE = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)([.,]\d{1,9})?"
    r"(Z|[+-]\d\d:?\d\d)?$"
)


class Row(NamedTuple):
    """A moment in microseconds and the power; None where the meter said nothing."""

    moment_us: int
    watts: Optional[float]


class CsvLog(Source):
    """The meter that somebody else read."""

    kind = "csv"
    channels = ["power"]
    total = ["power"]


def rows_of(text: str, started_at: str = "", ahead_s: float = 0.0) -> List[Row]:
    """Return a log's rows on this machine's clock; the log's was ``ahead_s`` ahead."""
    lines = list(_rows(text))
    if not lines:
        raise UsageError("There is no row of a time and watts.")
    since_us = 0
    if lines[0][1] < _FIRST_DATE_S * 1e6:
        if not started_at:
            raise UsageError(
                "The times count from the log's own start: say when that was with "
                "--started-at 2026-03-14T09:26:53+01:00"
            )
        since_us = moment_us(started_at) - lines[0][1]
    rows: List[Row] = []
    for line, moment, watts in lines:
        row = Row(moment + since_us - round(ahead_s * 1e6), watts)
        if rows and row.moment_us <= rows[-1].moment_us:
            raise UsageError("Line %d: its time is not after the row before." % line)
        rows.append(row)
    return rows


def moment_us(text: str) -> int:
    """Return a written moment as microseconds since 1970."""
    match = _DATE.match(text)
    if match is None:
        raise UsageError('"%s" is no moment such as 2026-03-14T09:26:53+01:00' % text)
    seconds = calendar.timegm((*map(int, match.group(1, 2, 3, 4, 5, 6)), 0, 0, 0))
    zone = (match.group(8) or "Z").replace(":", "")
    if zone != "Z":
        ahead_s = int(zone[1:3]) * 3600 + int(zone[3:5]) * 60
        seconds -= ahead_s if zone[0] == "+" else -ahead_s
    part = (match.group(7) or ".0").replace(",", ".")
    return seconds * 1000000 + round(float("0" + part) * 1e6)


def pieces_of(rows: List[Row]) -> Iterator[List[List[float]]]:
    """Return the samples in pieces that the server takes."""
    samples = [[row.moment_us, row.watts] for row in rows if row.watts]
    for start in range(0, len(samples), _MOST_AT_ONCE):
        yield samples[start : start + _MOST_AT_ONCE]


def log_of_text(source: Source, host: str, text: str) -> Log:
    """Return the log of a text: the same text at the same meter is the same log."""
    named = "%s %s\n%s" % (host, source.name, text)
    log = str(uuid.uuid5(uuid.NAMESPACE_OID, named))
    return log_of(source, host, "wall", log)


class _Units(NamedTuple):
    """What a number of each column is, as the header says it."""

    microseconds: float = 1e6
    watts: float = 1.0


def _rows(text: str) -> Iterator[Tuple[int, int, Optional[float]]]:
    """Yield line, moment and watts; a first line without a moment is the header."""
    units = _Units()
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        # A comma separates only where nothing else does: it may be in the decimals.
        separator = next((sign for sign in ";\t" if sign in line), ",")
        cells = [cell.strip(' "\t') for cell in line.split(separator)]
        if _DATE.match(cells[0]):
            moment: Optional[int] = moment_us(cells[0])
        else:
            count = _number(cells[0])
            moment = None if count is None else round(count * units.microseconds)
        if moment is None and number == 1:
            is_ms = re.search(r"ms\W?$", cells[0].lower())
            prefix = re.search(r"milli|kilo|m(?=w)|k(?=w)", "".join(cells[1:2]).lower())
            scale = {"m": 1e-3, "k": 1e3}[prefix.group()[0]] if prefix else 1.0
            units = _Units(1e3 if is_ms else 1e6, scale)
            continue
        if moment is None or len(cells) < 2:
            raise UsageError("Line %d is no row of a time and watts." % number)
        power = _number(cells[1])
        if power is None and cells[1]:
            raise UsageError('Line %d: "%s" are no watts.' % (number, cells[1][:40]))
        # 0 W of a machine that runs is no reading.
        yield number, moment, (power or 0.0) * units.watts or None


def _number(cell: str) -> Optional[float]:
    if not re.match(r"\d{1,15}(?:[.,]\d{1,9})?$", cell):
        return None
    return float(cell.replace(",", "."))
