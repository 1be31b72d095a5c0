"""Programs beside us: every line is kept with its time, and all of them are stopped."""

import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

END_S: Final = 20
LAST_LINES: Final = 15


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
                line = Line(time.monotonic(), _plain(raw))
                file.write(f"{line.at_s - self.begun_s:8.3f} {line.text}\n")
                file.flush()
                self.lines.append(line)
                self.new.put(line)
        self.new.put(None)

    def lines_until(self, deadline_s: float) -> Iterator[Line]:
        """Give its lines as they come, to its end; raise TimeoutError at the limit."""
        while True:
            try:
                line = self.new.get(timeout=max(0.0, deadline_s - time.monotonic()))
            except queue.Empty:
                raise TimeoutError from None
            if line is None:
                self._process.wait()
                return
            yield line

    def last_words(self, count: int = LAST_LINES) -> list[str]:
        """The end of what it said, and where all of it stands."""
        last = [line.text for line in self.lines[-count:]]
        return [f"  the end of {self.log}:", *(f"    {text}" for text in last)]

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


def _plain(raw: bytes) -> str:
    """Return a line of a console without what moves its cursor."""
    text = raw.decode("utf-8", "replace")
    return "".join(sign for sign in text if sign.isprintable() or sign == "\t").strip()
