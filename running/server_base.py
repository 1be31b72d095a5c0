"""Common base of PostgreSQL and Valkey."""

import importlib.util
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from running.errors import StartError, disk_full_message, explain_os_errors
from running.file_lock import FileLock
from running.processes import POLL_S, Child, last_lines
from running.var_folder import VarFolder

PREDECESSOR_TIMEOUT_S = 60.0
RECOVERY_TIMEOUT_S = 600.0  # replaying the log of a killed server may take minutes


def sleep_briefly() -> None:
    """Wait between two checks; a supervisor replaces this to react to signals."""
    time.sleep(POLL_S)


class Server(ABC):
    """A server with one child process, and a lock on its data folder."""

    name = ""
    title = ""
    child: Child

    def __init__(
        self, folder: VarFolder, pause: Callable[[], None] = sleep_briefly
    ) -> None:
        self.folder = folder
        self.pause = pause
        self.lock = FileLock(folder.runtime / f"{self.name}.lock")

    @abstractmethod
    def prepare(self) -> None:
        """Prepare the folder, and remove what a killed server left."""

    @abstractmethod
    def clean_up(self) -> None:
        """Remove the files that only a running server needs."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Return whether the server answers."""

    @abstractmethod
    def check(self) -> None:
        """Raise StartError if the server's settings could lose data."""

    @property
    def log(self) -> Path:
        return self.folder.logs / f"{self.name}.log"

    @property
    def pid(self) -> int | None:
        return self.child.pid

    def start(self) -> None:
        """Start the server; return when it answers and its settings are safe."""
        self.spawn()
        self.wait()

    def spawn(self) -> None:
        with explain_os_errors(self.folder.path):
            # The lock of our own last start would block this one.
            self.lock.release()
            descriptor = self.lock.acquire(
                timeout_s=PREDECESSOR_TIMEOUT_S, pause=self.pause, what=self.title
            )
            self.prepare()
            self.child.start(pass_fds=[descriptor])

    def wait(self) -> None:
        deadline = time.monotonic() + RECOVERY_TIMEOUT_S
        while not self.is_ready():
            if self.child.poll() is not None:
                raise StartError(self.failure_message())
            if time.monotonic() > deadline:
                raise StartError(f"{self.title} is not responding. See {self.log}.")
            self.pause()
        self.check()

    def failure_message(self) -> str:
        end = last_lines(self.log)
        if "No space left on device" in end:
            return disk_full_message(self.folder.path)
        return f"{self.title} does not start. The end of {self.log}:\n{end}"

    def poll(self) -> int | None:
        return self.child.poll()

    def stop(self, hurried: Callable[[], bool] = lambda: False) -> None:
        self.child.stop(hurried)
        self.clean_up()
        self.lock.release()

    def restart(self) -> None:
        self.stop()
        self.start()


def wheel_folder(module: str, distribution: str) -> Path:
    """Return the folder of an installed package, without importing it."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise StartError(
            f"The package {distribution} is missing from this Python. `make run` "
            "installs it. Or set DATABASE_URL and REDIS_URL to your own servers."
        )
    return Path(spec.origin).parent
