"""Child processes that leave no descendants behind, and their logs."""

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

from running import child_process_setup

if TYPE_CHECKING:
    from running.os_accounts import OsAccount

ROOT = Path(__file__).resolve().parent.parent
POLL_S = 0.02
MAX_LOG_BYTES = 10 * 1024 * 1024
KEPT_LOGS = 5
ROTATION_CHECK_S = 30.0


@dataclass(frozen=True)
class Program:
    name: str
    command: Sequence[str]
    log: Path | None = None  # None: the terminal
    environment: Mapping[str, str] | None = None
    account: OsAccount | None = None
    folder: Path = ROOT
    inherit: Sequence[int] = ()  # file descriptors
    stop_signal: int = signal.SIGTERM
    fast_stop_signal: int = signal.SIGKILL
    death_signal: int = signal.SIGKILL  # sent by the kernel when this process is killed
    stop_timeout_s: float = 10.0


def launch_command(
    command: Sequence[str],
    *,
    account: OsAccount | None = None,
    reach: Sequence[str] = (),
    death_signal: int = signal.SIGKILL,
) -> list[str]:
    """Return a command that runs ``command`` through ``child_process_setup.py``."""
    account_fields = account and {
        "uid": account.uid,
        "gid": account.gid,
        "groups": [account.gid],
        "capabilities": list(account.capabilities),
    }
    leash = json.dumps(
        {
            "parent": os.getpid(),
            "account": account_fields,
            "reach": list(reach),
            "death_signal": int(death_signal),
        }
    )
    return [
        sys.executable,
        "-I",
        "-S",
        str(Path(child_process_setup.__file__)),
        leash,
        *command,
    ]


class Child:
    """A program in its own process group.

    Start it from a thread that lives as long as the program: the kernel kills the
    program when the starting *thread* ends.
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
        """Start the program in its own group, which Ctrl-C does not reach."""
        self.kill_group()  # descendants of a killed predecessor
        program = self.program
        command = launch_command(
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
        """Return the exit code (negative: a signal), None while the program runs."""
        return self.process.poll() if self.process else None

    def stop(self, immediately: Callable[[], bool] = lambda: False) -> None:
        """Stop the program, kill it after its time limit, then kill its group."""
        if self.process is None:
            return
        program, started = self.program, time.monotonic()
        self._signal(program.stop_signal)
        while self.process.poll() is None and not immediately():
            if time.monotonic() - started > program.stop_timeout_s:
                break
            time.sleep(POLL_S)
        for number in (program.fast_stop_signal, signal.SIGKILL):
            if self.process.poll() is None:
                self._signal(number)
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(timeout=5)
        self.kill_group()

    def kill_group(self) -> None:
        if self.process and self.process.poll() is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process = None

    def _signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)


@contextmanager
def open_log(path: Path | None) -> Iterator[IO[bytes] | None]:
    if path is None:
        yield None
        return
    rotate_log(path)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with open(descriptor, "ab") as file:
        yield file


def last_lines(log: Path | None, count: int = 5) -> str:
    if log is None or not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 4096))
        text = file.read().decode(errors="replace")
    return "\n".join(f"  {line}" for line in text.splitlines()[-count:])


def rotate_log(log: Path, move: Callable[[str, str], None] = os.replace) -> None:
    """Rename a large log that is not open to ``.1``, ``.1`` to ``.2``, and so on."""
    if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
        handler = RotatingFileHandler(log, backupCount=KEPT_LOGS, delay=True)
        handler.rotator = move
        handler.doRollover()


def copy_and_truncate(log: Path) -> None:
    """Copy a large log, which programs append to, and empty it.

    Lines written in between are lost.
    """
    rotate_log(log, _copy_and_empty)


def _copy_and_empty(log: str, old: str) -> None:
    temporary = Path(f"{log}.new")
    try:
        shutil.copyfile(log, temporary)
    except OSError:  # for example a full disk, which truncating relieves
        temporary.unlink(missing_ok=True)
    else:
        temporary.chmod(0o600)
        temporary.replace(old)
    os.truncate(log, 0)


class Rotation:
    """A rotation of the logs of a folder, at most every half minute."""

    def __init__(
        self, folder: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.folder = folder
        self.clock = clock
        self.next_check = clock()

    def __call__(self) -> None:
        if self.clock() < self.next_check:
            return
        self.next_check = self.clock() + ROTATION_CHECK_S
        for log in self.folder.glob("*.log"):
            with suppress(OSError):
                copy_and_truncate(log)
