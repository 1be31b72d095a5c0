import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from running.errors import StartError


class FileLock:
    """A lock that is held while any process has the descriptor open.

    A server keeps it after its parent process was killed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor: int | None = None

    def try_acquire(self) -> bool:
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self.descriptor = descriptor
        return True

    def acquire(self, *, timeout_s: float, pause: Callable[[], None], what: str) -> int:
        """Wait for the previous holder, then lock; return the descriptor.

        Raise StartError after the timeout.
        """
        deadline = time.monotonic() + timeout_s
        while not self.try_acquire():
            if time.monotonic() > deadline:
                raise StartError(
                    f"{what} of an earlier start is still running in "
                    f"{self.path.parent}. Stop it or choose another folder: "
                    "VAR=/path/to/folder make run"
                )
            pause()
        assert self.descriptor is not None
        return self.descriptor

    def write_pid(self) -> None:
        assert self.descriptor is not None
        # Replacing the file by a rename would lose the lock.
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, f"process {os.getpid()}\n".encode(), 0)

    def holder_pid(self) -> str:
        return self.path.read_text().strip() or "another process"

    def release(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None
