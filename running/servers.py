"""What PostgreSQL and Valkey have in common: start, ask until ready, stop, restart."""

import importlib.util
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from running.errors import ServiceError, full_disk, in_words
from running.folders import HeldLock, VarFolder
from running.processes import STEP_S, Child, last_lines

OLD_SERVER_S = 60.0
RECOVERY_S = 600.0  # replaying the log of a killed server may take minutes


def step() -> None:
    """Wait a moment; a supervisor passes its own, which also listens to signals."""
    time.sleep(STEP_S)


class Server(ABC):
    """A server of our own: one child process, one data folder, one lock on it."""

    name = ""
    title = ""
    child: Child

    def __init__(self, folder: VarFolder, pause: Callable[[], None] = step) -> None:
        self.folder = folder
        self.pause = pause
        self.lock = HeldLock(folder.runtime / f"{self.name}.lock")

    @abstractmethod
    def make_ready_to_start(self) -> None:
        """Clean up after an earlier end."""

    @abstractmethod
    def clear_up(self) -> None:
        """Remove what only a running server needs."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether the server answers."""

    @abstractmethod
    def check(self) -> None:
        """Refuse a server whose settings could lose data."""

    @property
    def log(self) -> Path:
        return self.folder.logs / f"{self.name}.log"

    @property
    def pid(self) -> int | None:
        return self.child.pid

    def start(self) -> None:
        """Start the server and return when it answers and is safe to use."""
        self.spawn()
        self.wait()

    def spawn(self) -> None:
        """Start the process, once every process of its predecessor has ended."""
        with in_words(self.folder.path):
            # That of our own last start: held still, we would wait for ourselves.
            self.lock.release()
            descriptor = self.lock.take(
                timeout_s=OLD_SERVER_S, pause=self.pause, what=self.title
            )
            self.make_ready_to_start()
            self.child.start(pass_fds=[descriptor])

    def wait(self) -> None:
        """Wait until the server answers, then check it."""
        deadline = time.monotonic() + RECOVERY_S
        while not self.is_ready():
            if self.child.poll() is not None:
                raise ServiceError(self.failure())
            if time.monotonic() > deadline:
                raise ServiceError(f"{self.title} does not answer; see {self.log}.")
            self.pause()
        self.check()

    def failure(self) -> str:
        """Return why the server did not start, in the words of its log."""
        end = last_lines(self.log)
        if "No space left on device" in end:
            return full_disk(self.folder.path)
        return f"{self.title} does not start. The end of {self.log}:\n{end}"

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self.child.poll()

    def stop(self, hurried: Callable[[], bool] = lambda: False) -> None:
        self.child.stop(hurried)
        self.clear_up()
        self.lock.release()

    def restart(self) -> None:
        self.stop()
        self.start()


def wheel_folder(module: str, distribution: str) -> Path:
    """Return where a wheel lies, without importing it."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ServiceError(
            f"The package {distribution} is missing from this Python. `make run` "
            "installs it; or set DATABASE_URL and REDIS_URL to servers of your own."
        )
    return Path(spec.origin).parent
