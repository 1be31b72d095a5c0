"""The spool: what was saved here reaches the server, once, whatever dies in between.

    spool/<key>.json             waiting; the file is the body that will be sent
    spool/<key>.json.<pid>.part  being written; never sent, forgotten after an hour
    spool/rejected/<key>.json    refused by the server, with <key>.reason beside it

What is no run has its kind behind its key: <key>.power.json is a piece of a power log.

A run is saved when `save` has returned: written, flushed, renamed, folder flushed. It
is removed only when the server has it. When the spool is full, new runs are refused
loudly and the old ones stay.
"""

import json
import os
import re
import time
from typing import Any, Dict, Iterator, List, NamedTuple

from agents.errors import SpoolFullError
from agents.files import flush_folder, forget, names_in, text_of, write_durably

MOST_BYTES = 512 * 1024 * 1024
_ABANDONED_S = 3600
POWER = ".power"
_KEY = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.power)?"
_WAITING = re.compile(_KEY + r"\.json")
_PART = re.compile(_KEY + r"\.\w+\.\d+\.part")


class Rejected(NamedTuple):
    """A run that the server refused, and why."""

    key: str
    reason: str


class Spool:
    """A folder of runs that wait to be sent."""

    def __init__(self, folder: str, most_bytes: int = MOST_BYTES) -> None:
        self.folder = folder
        self.rejected_folder = os.path.join(folder, "rejected")
        self.most_bytes = most_bytes
        os.makedirs(self.rejected_folder, mode=0o700, exist_ok=True)
        self._forget_abandoned()

    def save(self, document: Dict[str, Any], kind: str = "") -> str:
        """Keep a run for good and return its key, or raise SpoolFullError.

        What is no run says its ``kind``, which is then part of the key here.
        """
        content = json.dumps(document).encode()
        held = self.bytes_held()
        if held + len(content) > self.most_bytes:
            raise SpoolFullError(
                "The spool is full: %s holds %.1f of %.1f MB. The run was NOT saved; "
                "what is in it stays. Send it (spool send) or make room."
                % (self.folder, held / 1e6, self.most_bytes / 1e6)
            )
        key = str(document["key"]) + kind
        try:
            write_durably(self.path(key), content)
        except OSError as error:
            raise SpoolFullError(
                "The run was NOT saved: %s: %s. What was saved before stays."
                % (self.folder, error.strerror)
            ) from error
        return key

    def path(self, key: str) -> str:
        return os.path.join(self.folder, key + ".json")

    def waiting(self) -> List[str]:
        """Return the keys of what waits, the oldest first. A clock that jumped can
        change this order and nothing else."""
        names = _runs_in(self.folder)
        ages = {name: _changed_at(os.path.join(self.folder, name)) for name in names}
        return [name[:-5] for name in sorted(names, key=ages.__getitem__)]

    def read(self, key: str) -> bytes:
        """Return the body as it was saved; FileNotFoundError if it was sent by now."""
        with open(self.path(key), "rb") as file:
            return file.read()

    def remove(self, key: str) -> None:
        """Forget a run that the server has."""
        forget(self.path(key))

    def reject(self, key: str, reason: str) -> None:
        """Lay a run aside; its reason is there before it."""
        write_durably(self._reason_path(key), reason.encode())
        os.replace(self.path(key), self._rejected_path(key))
        flush_folder(self.rejected_folder)

    def rejected(self) -> List[Rejected]:
        """Return what the server refused."""
        keys = [name[:-5] for name in _runs_in(self.rejected_folder)]
        return [Rejected(key, text_of(self._reason_path(key)) or "") for key in keys]

    def retry(self, key: str) -> None:
        """Let a rejected run wait again."""
        # The reason goes last: killed in between, it is one too many, not one too few.
        os.replace(self._rejected_path(key), self.path(key))
        flush_folder(self.folder)
        forget(self._reason_path(key))

    def bytes_held(self) -> int:
        """Return the size of all that is kept here, rejected runs included."""
        held = 0
        for path in self._paths():
            try:
                held += os.stat(path).st_size if os.path.isfile(path) else 0
            except OSError:  # sent by another process meanwhile
                continue
        return held

    def _rejected_path(self, key: str) -> str:
        return os.path.join(self.rejected_folder, key + ".json")

    def _reason_path(self, key: str) -> str:
        return os.path.join(self.rejected_folder, key + ".reason")

    def _forget_abandoned(self) -> None:
        """Remove halves of files whose writer died; one at work is younger."""
        for path in self._paths():
            is_part = _PART.fullmatch(os.path.basename(path))
            if is_part and time.time() - _changed_at(path) > _ABANDONED_S:
                forget(path)

    def _paths(self) -> Iterator[str]:
        for folder in (self.folder, self.rejected_folder):
            for name in names_in(folder):
                yield os.path.join(folder, name)


def _runs_in(folder: str) -> List[str]:
    # Files that others put here are neither sent nor counted as runs.
    return [name for name in names_in(folder) if _WAITING.fullmatch(name)]


def _changed_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:  # sent by another process meanwhile
        return 0.0
