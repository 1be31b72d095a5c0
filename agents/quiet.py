"""Silence while a tool runs: `watch` sends nothing then, for sending would be measured.

A lock of the operating system, so that it ends with the process that holds it, however
that ends. Without such locks (Windows) nobody waits for anybody.
"""

import importlib
import os
from typing import Any, Optional

from agents.home import home


class Quiet:
    """Held by `run` while it measures; several may hold it at once."""

    def __enter__(self) -> "Quiet":
        self._file = _lock("LOCK_SH")
        return self

    def __exit__(self, *_: Any) -> None:
        if self._file is not None:
            self._file.close()


def is_quiet() -> bool:
    """Say whether somebody measures now."""
    file = _lock("LOCK_EX")
    if file is not None:
        file.close()
    return file is None


def _lock(kind: str) -> Optional[Any]:
    """Return the locked file, or None if others hold it."""
    os.makedirs(home(), mode=0o700, exist_ok=True)
    file = open(os.path.join(home(), "measuring"), "ab")  # noqa: SIM115 - held open
    try:
        locks = importlib.import_module("fcntl")
        locks.flock(file, getattr(locks, kind) | locks.LOCK_NB)
    except ImportError:
        pass
    except OSError:
        file.close()
        return None
    return file
