"""Programs whose output is logged with times, and reports in their output."""

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

from testbed import TestbedError

STOP_TIMEOUT_S: Final = 20
LAST_LINES: Final = 15
_MAX_WAIT_S: Final = 60.0
_UP: Final = re.compile(r"lab: (\S+) is up$")
_DONE: Final = re.compile(r"lab: (\S+) is done$")
_MOMENT: Final = re.compile(r"lab: clock (opens|begins|ends|closes)$")
_TIMES: Final = re.compile(r"lab: clock external (\d+) local (\d+)$")


class ConsoleLine(NamedTuple):
    """A line of a console and its time by this machine's clock."""

    at_s: float
    text: str


class LoggedProgram:
    def __init__(
        self,
        argv: Sequence[str],
        log: Path,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log = log
        self.started_s = time.monotonic()
        self.deadline_s = math.inf
        self.lines: list[ConsoleLine] = []
        self.new: queue.SimpleQueue[ConsoleLine | None] = queue.SimpleQueue()
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
                text = "".join(c for c in text if c.isprintable() or c == "\t")
                line = ConsoleLine(time.monotonic(), text.strip())
                file.write(f"{line.at_s - self.started_s:8.3f} {line.text}\n")
                file.flush()
                self.lines.append(line)
                self.new.put(line)
        self.new.put(None)

    def follow(self) -> Iterator[ConsoleLine]:
        """Yield the lines of the program until it ends.

        Raise TimeoutError at ``deadline_s`` (monotonic time).
        """
        while True:
            left_s = self.deadline_s - time.monotonic()
            try:
                line = self.new.get(timeout=min(max(0.0, left_s), _MAX_WAIT_S))
            except queue.Empty:
                if time.monotonic() < self.deadline_s:
                    continue
                raise TimeoutError from None
            if line is None:
                self._process.wait()
                return
            yield line

    def wait_for_line(self, text: str, within_s: float) -> None:
        """Read until a line is ``text``; raise TestbedError if none is in time."""
        self.deadline_s = time.monotonic() + within_s
        try:
            if any(line.text == text for line in self.follow()):
                return
            end = f"ended without printing `{text}`"
        except TimeoutError:
            end = f"did not print `{text}` within {within_s:g} s"
        raise TestbedError("\n".join([f"{self.log.stem} {end}.", *self.last_lines()]))

    def last_lines(self, count: int = LAST_LINES) -> list[str]:
        last = [line.text for line in self.lines[-count:]]
        return [f"  the end of {self.log}:", *(f"    {text}" for text in last)]

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def stop(self) -> None:
        for number, timeout_s in (
            (signal.SIGTERM, STOP_TIMEOUT_S),
            (signal.SIGKILL, STOP_TIMEOUT_S),
        ):
            if self._process.poll() is not None:
                break
            self._signal(number)
            try:
                self._process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                continue
        self._reader.join(STOP_TIMEOUT_S)

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return


@dataclass(frozen=True)
class ClockCheck:
    """The duration of some work by three clocks, in seconds.

    ``truth_s`` is of this machine, exact within ``bound_s``; ``external_s`` of the time
    server; ``local_s`` of the measured system.
    """

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
    up_s: float
    done_s: float | None = None
    clocks: list[ClockCheck] = field(default_factory=list)


def read_console(lines: Iterable[ConsoleLine]) -> dict[str, ConsoleReport]:
    """Return the reports on a console by system. PURE.

    Systems report one after another.
    """
    reports: dict[str, ConsoleReport] = {}
    moments: dict[str, float] = {}
    report = None
    for line in lines:
        if up := _UP.search(line.text):
            report = reports.setdefault(up[1], ConsoleReport(line.at_s))
        elif moment := _MOMENT.search(line.text):
            moments[moment[1]] = line.at_s
        # Skip an incomplete check.
        elif (times := _TIMES.search(line.text)) and report and len(moments) == 4:
            external_s, local_s = (int(text) / 1e6 for text in times.groups())
            # The time between the stamps is at least that between the two inner lines,
            # and at most that between the two outer lines.
            upper_s = moments["closes"] - moments["opens"]
            lower_s = moments["ends"] - moments["begins"]
            truth_s, bound_s = (upper_s + lower_s) / 2, (upper_s - lower_s) / 2
            report.clocks.append(ClockCheck(truth_s, bound_s, external_s, local_s))
            moments.clear()
        elif (done := _DONE.search(line.text)) and done[1] in reports:
            reports[done[1]].done_s = line.at_s
    return reports
