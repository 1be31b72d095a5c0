"""Logs that grow for years: large ones are set aside, the oldest removed."""

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

LARGE_BYTES = 10 * 1024 * 1024
KEPT = 5
LOOK_S = 30.0


def set_aside(log: Path) -> None:
    """Rename a large log that nobody writes to yet; ``.1`` is the newest old one."""
    if _is_large(log):
        _shift(log)
        log.replace(_old(log, 1))


def set_aside_written(log: Path) -> None:
    """Copy a large log that programs hold open, and empty it.

    They append, so they go on at its new end. A line that is written between the copy
    and the emptying is lost.
    """
    if _is_large(log):
        _shift(log)
        draft = log.with_name(log.name + ".new")
        try:
            shutil.copyfile(log, draft)
        except OSError:  # a full disk: the log itself is what fills it
            draft.unlink(missing_ok=True)
        else:
            draft.chmod(0o600)
            draft.replace(_old(log, 1))
        with log.open("r+b") as file:
            file.truncate(0)


class Rotation:
    """Looks at a folder's logs every half minute, whenever it is called."""

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
            with suppress(OSError):  # the next look may do better
                set_aside_written(log)


def _is_large(log: Path) -> bool:
    return log.exists() and log.stat().st_size > LARGE_BYTES


def _old(log: Path, number: int) -> Path:
    return log.with_name(f"{log.name}.{number}")


def _shift(log: Path) -> None:
    """Make room for a new ``.1``; what would be one too many is overwritten."""
    for number in range(KEPT - 1, 0, -1):
        with suppress(FileNotFoundError):
            _old(log, number).replace(_old(log, number + 1))
