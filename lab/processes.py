"""Programs beside us: every line is kept with its time, and all of them are stopped.

`read_console` is PURE: what systems said on their consoles.
"""

import math
import os
import queue
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from lab import LabError

END_S: Final = 20
LAST_LINES: Final = 15
_LONGEST_WAIT_S: Final = 60.0
_UP: Final = re.compile(r"lab: (\S+) is up$")
_DONE: Final = re.compile(r"lab: (\S+) is done$")
_MOMENT: Final = re.compile(r"lab: clock (opens|begins|ends|closes)$")
_TIMES: Final = re.compile(r"lab: clock external (\d+) local (\d+)$")


class Line(NamedTuple):
    """A line of a console and when it came, by our clock."""

    at_s: float
    text: str


class Program:
    """One started program in a session of its own; its output goes to a file."""

    def __init__(
        self,
        argv: Sequence[str],
        log: Path,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log = log
        self.begun_s = time.monotonic()
        self.deadline_s = math.inf
        self.lines: list[Line] = []
        self.new: queue.SimpleQueue[Line | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout
        with (
            self._process.stdout as console,
            self.log.open("w", encoding="utf-8") as file,
        ):
            for raw in console:
                text = raw.decode("utf-8", "replace")
                # Without what moves a console's cursor.
                signs = (sign for sign in text if sign.isprintable() or sign == "\t")
                line = Line(time.monotonic(), "".join(signs).strip())
                file.write(f"{line.at_s - self.begun_s:8.3f} {line.text}\n")
                file.flush()
                self.lines.append(line)
                self.new.put(line)
        self.new.put(None)

    def follow(self) -> Iterator[Line]:
        """Yield lines to the end; raise TimeoutError at the (extensible) deadline."""
        while True:
            left_s = self.deadline_s - time.monotonic()
            try:
                line = self.new.get(timeout=min(max(0.0, left_s), _LONGEST_WAIT_S))
            except queue.Empty:
                if time.monotonic() < self.deadline_s:
                    continue
                raise TimeoutError from None
            if line is None:
                self._process.wait()
                return
            yield line

    def await_line(self, text: str, within_s: float) -> None:
        """Read on until a line is ``text``; raise LabError if none is in time."""
        self.deadline_s = time.monotonic() + within_s
        try:
            if any(line.text == text for line in self.follow()):
                return
            end = f"ended without saying `{text}`"
        except TimeoutError:
            end = f"did not say `{text}` within {within_s:g} s"
        raise LabError("\n".join([f"{self.log.stem} {end}.", *self.last_words()]))

    def last_words(self, count: int = LAST_LINES) -> list[str]:
        """The end of what it said, and where all of it stands."""
        last = [line.text for line in self.lines[-count:]]
        return [f"  the end of {self.log}:", *(f"    {text}" for text in last)]

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def stop(self) -> None:
        """End it and all it started, by asking first."""
        for number, patience_s in ((signal.SIGTERM, END_S), (signal.SIGKILL, END_S)):
            if self._process.poll() is not None:
                break
            self._signal(number)
            try:
                self._process.wait(patience_s)
            except subprocess.TimeoutExpired:
                continue
        self._reader.join(END_S)

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return


@dataclass(frozen=True)
class ClockCheck:
    """The same work timed by us (+- ``bound_s``), the time server and the system."""

    truth_s: float
    bound_s: float
    external_s: float
    local_s: float

    @property
    def external_error(self) -> float:
        return self.external_s / self.truth_s - 1

    @property
    def local_error(self) -> float:
        return self.local_s / self.truth_s - 1

    @property
    def bound(self) -> float:
        return self.bound_s / self.truth_s


@dataclass
class ConsoleReport:
    """What one system said."""

    up_s: float
    done_s: float | None = None
    clocks: list[ClockCheck] = field(default_factory=list)


def read_console(lines: Iterable[Line]) -> dict[str, ConsoleReport]:
    """Return what each system of a console said; they speak one after another."""
    reports: dict[str, ConsoleReport] = {}
    moments: dict[str, float] = {}
    report = None
    for line in lines:
        if up := _UP.search(line.text):
            report = reports.setdefault(up[1], ConsoleReport(line.at_s))
        elif moment := _MOMENT.search(line.text):
            moments[moment[1]] = line.at_s
        # A check that was cut lacks one of the four moments, and is none.
        elif (times := _TIMES.search(line.text)) and report and len(moments) == 4:
            external_s, local_s = (int(text) / 1e6 for text in times.groups())
            # What lay between the stamps: no less than between the lines inside of
            # them, no more than between those outside.
            most_s = moments["closes"] - moments["opens"]
            least_s = moments["ends"] - moments["begins"]
            truth_s, bound_s = (most_s + least_s) / 2, (most_s - least_s) / 2
            report.clocks.append(ClockCheck(truth_s, bound_s, external_s, local_s))
            moments.clear()
        elif (done := _DONE.search(line.text)) and done[1] in reports:
            reports[done[1]].done_s = line.at_s
    return reports
