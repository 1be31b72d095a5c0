"""Reads a meter again and again and keeps what it says, piece by piece."""

import time
from typing import Optional

from agents.console import Console
from agents.errors import SpoolFullError
from agents.power.companion import Companion
from agents.power.journal import MOST_SAMPLES, Journal, Log, log_of
from agents.power.source import CounterLostError, MissedError, Reading, Source
from agents.spool import Spool
from agents.stopping import Stop

RETRY_S = 1.0


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
        self._journal = Journal(folder, self._log())

    def go_on_until(self, stop: Stop, seconds: float = 0.0) -> None:
        """Read until told to stop, or for so long."""
        end_s = time.monotonic() + seconds if seconds else float("inf")
        due_s = time.monotonic()
        while not stop.is_set and time.monotonic() < end_s:
            pause_s = self.source.every_s if self._read() else RETRY_S
            self._keep_stamps()
            if self._journal.samples >= self.piece_samples:
                self._journal = self._next()
            # From the time it was due, not from now: the readings keep their pace.
            due_s = max(due_s + pause_s, time.monotonic())
            stop.wait(max(0.0, min(due_s, end_s) - time.monotonic()))

    def finish(self) -> None:
        """Take the last stamp, and let the last piece go into the spool."""
        self.companion.stop()
        self._keep_stamps()
        self._journal.save(self.spool)

    def _log(self) -> Log:
        return log_of(self.source, self.host)

    def _read(self) -> bool:
        """Keep one reading; say whether there was one."""
        try:
            reading = self.source.read()
        except MissedError as missed:
            self._say_missed(str(missed))
            return False
        except CounterLostError as lost:
            self.console.say(str(lost))
            self._journal.note(str(lost))
            self._journal.save(self.spool)
            self._journal = Journal(self.folder, self._log())
            return True
        if self._missed:
            self._missed = ""
            self.console.say("The meter reads again.")
        self._journal.add(reading)
        self._show(reading)
        self._last = reading
        self.readings += 1
        return True

    def _say_missed(self, sentence: str) -> None:
        if sentence != self._missed:
            self._missed = sentence
            self._journal.note(sentence)
            self.console.say("No reading: %s. Trying again." % sentence)

    def _keep_stamps(self) -> None:
        for stamp in self.companion.stamps():
            self._journal.add_stamp(stamp)

    def _next(self) -> Journal:
        for note in self.source.notes():
            self._journal.note(note)
            self.console.say(note)
        try:
            return self._journal.next(self.spool)
        except SpoolFullError as error:
            # The piece stays where it is, and is saved when there is room.
            self.console.complain(str(error))
            return Journal(self.folder, self._journal.log, self._journal.number + 1)

    def _show(self, reading: Reading) -> None:
        if self.console.is_terminal:
            watts = watts_between(self.source, self._last, reading)
            told = "" if watts is None else "%.1f W, " % watts
            self.console.progress("%s%d readings" % (told, self.readings + 1))


def watts_between(
    source: Source, before: Optional[Reading], reading: Reading
) -> Optional[float]:
    """Return the power that a reading tells, of a counter since the one before."""
    counted = [at for at, name in enumerate(source.channels) if name in source.total]
    now = sum(reading.values[at] for at in counted)
    if source.measures == "power":
        return now
    if before is None or reading.moment_us <= before.moment_us:
        return None
    then = sum(before.values[at] for at in counted)
    return (now - then) / (reading.moment_us - before.moment_us) * 1e6
