"""Reads a meter again and again and keeps what it says, piece by piece.

A thread beside it takes the time server's stamps and sends the spool, so that no server
that hangs delays a reading; the readings' own thread only collects the stamps.
"""

import threading
import time
from itertools import compress
from typing import Callable, List, Optional

from agents.console import Console
from agents.errors import SpoolFullError
from agents.measuring.bracket import TimePath
from agents.power.journal import MOST_SAMPLES, Journal, Log, log_of
from agents.power.meters import CounterLostError, MissedError, Reading, Source
from agents.sending import Watch
from agents.spool import Spool
from agents.stopping import Stop
from agents.timing.asking import NoTimeError, Stamp

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
