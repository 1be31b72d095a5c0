"""Child processes that leave nothing behind, and their logs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO, TYPE_CHECKING

from running import launch

if TYPE_CHECKING:
    from running.accounts import Account

ROOT = Path(__file__).resolve().parent.parent
STEP_S = 0.02
LARGE_BYTES = 10 * 1024 * 1024
KEPT = 5
LOOK_S = 30.0


@dataclass(frozen=True)
class Program:
    """A command, and the signals that stop it."""

    name: str
    command: Sequence[str]
    log: Path | None = None  # none: writes to the terminal
    environment: Mapping[str, str] | None = None
    account: Account | None = None
    folder: Path = ROOT
    inherit: Sequence[int] = ()  # descriptors
    stop_signal: int = signal.SIGTERM
    hurry_signal: int = signal.SIGKILL
    death_signal: int = signal.SIGKILL  # sent by the kernel when we are killed
    patience_s: float = 10.0


def launched(
    command: Sequence[str],
    *,
    account: Account | None = None,
    reach: Sequence[str] = (),
    death_signal: int = signal.SIGKILL,
) -> list[str]:
    """Return the command line that runs a command by ``launch.py``, on a leash."""
    who = account and {
        "uid": account.uid,
        "gid": account.gid,
        "groups": [account.gid],
        "capabilities": list(account.capabilities),
    }
    leash = json.dumps(
        {
            "parent": os.getpid(),
            "account": who,
            "reach": list(reach),
            "death_signal": int(death_signal),
        }
    )
    return [sys.executable, "-I", "-S", str(Path(launch.__file__)), leash, *command]


class Child:
    """One program, started by us, in a process group of its own.

    Start it from a thread that lives as long as it shall: the kernel cuts the leash
    when the starting *thread* ends.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return self.program.name

    @property
    def log(self) -> Path | None:
        return self.program.log

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process else None

    def start(self, pass_fds: Sequence[int] = ()) -> None:
        """Start the program; its own group keeps a terminal's Ctrl-C away from it."""
        self.kill_group()  # whatever a killed predecessor left behind
        program = self.program
        command = launched(
            program.command,
            account=program.account,
            death_signal=program.death_signal,
        )
        with open_log(program.log) as output:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if output else None,
                env=program.environment,
                cwd=program.folder,
                start_new_session=True,
                pass_fds=[*program.inherit, *pass_fds],
            )

    def poll(self) -> int | None:
        """Return how it ended (negative: the signal), or None while it runs."""
        return self.process.poll() if self.process else None

    def stop(self, hurried: Callable[[], bool] = lambda: False) -> None:
        """Ask it to stop, insist after its patience, and sweep up its group."""
        if self.process is None:
            return
        program, begun = self.program, time.monotonic()
        self._signal(program.stop_signal)
        while self.process.poll() is None and not hurried():
            if time.monotonic() - begun > program.patience_s:
                break
            time.sleep(STEP_S)
        for insistence in (program.hurry_signal, signal.SIGKILL):
            if self.process.poll() is None:
                self._signal(insistence)
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(timeout=5)
        self.kill_group()

    def kill_group(self) -> None:
        """Kill what the program started and left; its group still carries its id."""
        if self.process and self.process.poll() is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process = None

    def _signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)


@contextmanager
def open_log(path: Path | None) -> Iterator[IO[bytes] | None]:
    """Open a log for a child to append to; a large old one is set aside first."""
    if path is None:
        yield None
        return
    set_aside(path)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with open(descriptor, "ab") as file:
        yield file


def last_lines(log: Path | None, count: int = 5) -> str:
    """Return the end of a log, to be shown when its program does not start."""
    if log is None or not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 4096))
        text = file.read().decode(errors="replace")
    return "\n".join(f"  {line}" for line in text.splitlines()[-count:])


def set_aside(log: Path, move: Callable[[str, str], None] = os.replace) -> None:
    """Rename a large log that nobody writes to yet; ``.1`` is the newest old one."""
    if log.exists() and log.stat().st_size > LARGE_BYTES:
        handler = RotatingFileHandler(log, backupCount=KEPT, delay=True)
        handler.rotator = move
        handler.doRollover()


def set_aside_written(log: Path) -> None:
    """Copy a large log that programs hold open, and empty it.

    Programs append, so they continue at the new end. A line that is written between
    the copy and the truncation is lost.
    """
    set_aside(log, _copy_and_empty)


def _copy_and_empty(log: str, old: str) -> None:
    draft = Path(f"{log}.new")
    try:
        shutil.copyfile(log, draft)
    except OSError:  # a full disk: the log itself is what fills it
        draft.unlink(missing_ok=True)
    else:
        draft.chmod(0o600)
        draft.replace(old)
    os.truncate(log, 0)


class Rotation:
    """Rotate a folder's logs at most every half minute, whenever it is called."""

    def __init__(
        self, folder: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.folder = folder
        self.clock = clock
        self.next = clock()

    def __call__(self) -> None:
        if self.clock() < self.next:
            return
        self.next = self.clock() + LOOK_S
        for log in self.folder.glob("*.log"):
            with suppress(OSError):  # try again at the next call
                set_aside_written(log)
