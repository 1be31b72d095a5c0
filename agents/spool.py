"""The spool: what was saved here reaches the server, once, whatever dies in between.

    spool/<key>.json             waiting; the file is the body that will be sent
    spool/new/<key>.json.<pid>.part  being written; never sent, forgotten after an hour
    spool/rejected/<key>.json    refused by the server, with <key>.reason beside it
    spool/held                   how many bytes are held, as of the last change

What is no run has its kind behind its key: <key>.power.json is a piece of a power log.

A run is saved when `save` has returned: written, flushed, renamed, folder flushed. It
is removed only when the server has it. When the spool is full, new runs are refused
loudly and the old ones stay.

However much waits, saving takes the same time, and nobody holds a list of it all: a
hundred thousand runs wait where an agent was away from its server for a year.
"""

import json
import os
import re
import time
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from agents.errors import SpoolFullError
from agents.files import flush_folder, forget, names_in, take, text_of, write_durably

MOST_BYTES = 512 * 1024 * 1024
# So many are known at a time; then the folder is looked through again.
KNOWN_AT_ONCE = 4000
_ABANDONED_S = 3600
POWER = ".power"
_KEY = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.power)?"
_WAITING = re.compile(_KEY + r"\.json")
_PART = re.compile(_KEY + r"\.\w+\.\d+\.part")


class Waiting(NamedTuple):
    """The oldest of what waits, each with its size, and how many wait in all."""

    oldest: List[Tuple[str, int]]
    number: int


class Rejected(NamedTuple):
    """A run that the server refused, and why."""

    key: str
    reason: str


class Spool:
    """A folder of runs that wait to be sent."""

    def __init__(self, folder: str, most_bytes: int = MOST_BYTES) -> None:
        self.folder = folder
        self.rejected_folder = os.path.join(folder, "rejected")
        self.new_folder = os.path.join(folder, "new")
        self.most_bytes = most_bytes
        for each in (self.rejected_folder, self.new_folder):
            os.makedirs(each, mode=0o700, exist_ok=True)
        self._forget_abandoned(self.new_folder)

    def save(self, document: Dict[str, Any], kind: str = "") -> str:
        """Keep a run (or another ``kind``) durably and return its key, or raise
        SpoolFullError."""
        content = json.dumps(document).encode()
        # Counted anew before a run is refused: files may have come and gone by hand.
        held = self._count(len(content))
        if held > self.most_bytes:
            held = self.bytes_held() + len(content)
        if held > self.most_bytes:
            self._count(-len(content))
            raise SpoolFullError(
                "The spool is full: %s holds %.1f of %.1f MB. The run was NOT saved; "
                "what is in it stays. Send it (spool send) or make room."
                % (self.folder, (held - len(content)) / 1e6, self.most_bytes / 1e6)
            )
        key = str(document["key"]) + kind
        try:
            write_durably(self.path(key), content, beside_in=self.new_folder)
        except OSError as error:
            self._count(-len(content))
            raise SpoolFullError(
                "The run was NOT saved: %s: %s. What was saved before stays."
                % (self.folder, error.strerror)
            ) from error
        return key

    def path(self, key: str) -> str:
        return os.path.join(self.folder, key + ".json")

    def waiting(self) -> List[str]:
        """Return the keys of all that waits, the oldest first."""
        found = self._files(self.folder)
        return [name[:-5] for _, name, _ in sorted(found) if _WAITING.fullmatch(name)]

    def is_empty(self) -> bool:
        """Say whether nothing waits, without a look at all that does."""
        with os.scandir(self.folder) as entries:
            return not any(_WAITING.fullmatch(entry.name) for entry in entries)

    def number(self) -> int:
        """Return how many wait."""
        return sum(map(bool, map(_WAITING.fullmatch, names_in(self.folder))))

    def look(self, most: int = KNOWN_AT_ONCE) -> Waiting:
        """Return what to send next (of ``most`` the folder's first), and how much
        waits."""
        found: List[Tuple[int, str, int]] = []
        number = 0
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if _WAITING.fullmatch(entry.name):
                    number += 1
                    if len(found) < most:
                        found += _file_of(entry)
        return Waiting([(name[:-5], size) for _, name, size in sorted(found)], number)

    def read(self, key: str) -> bytes:
        """Return the body as it was saved; FileNotFoundError if it was sent by now."""
        with open(self.path(key), "rb") as file:
            return file.read()

    def remove(self, keys: List[str]) -> None:
        """Forget runs that the server has; OSError if that cannot be done."""
        removed = 0
        try:
            for key in keys:
                try:
                    size = os.stat(self.path(key)).st_size
                    os.remove(self.path(key))
                    removed += size
                except FileNotFoundError:  # another process of ours has sent it
                    continue
        finally:
            self._count(-removed)

    def reject(self, key: str, reason: str) -> None:
        """Lay a run aside; its reason is there before it."""
        # What cannot be shown is a server's mistake; the run shall not wait for it.
        content = reason.encode("utf-8", "backslashreplace")
        write_durably(self._reason_path(key), content)
        self._count(len(content))
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
        self._forget_abandoned(self.folder)  # agents of before wrote them there
        held = self._sum()
        self._count(0, held)
        return held

    def _sum(self) -> int:
        folders = (self.folder, self.rejected_folder)
        return sum(file[2] for folder in folders for file in self._files(folder))

    def fullness(self) -> float:
        """Return how full the spool is, as of the last change: 1 is full."""
        return self._count(0) / max(self.most_bytes, 1)

    def _count(self, more: int, held: int = -1) -> int:
        """Add to what is held, or set it; return it. Not flushed: a wrong count is
        recounted."""
        path = os.path.join(self.folder, "held")
        try:
            with open(path, "r+b" if os.path.exists(path) else "w+b") as file:
                take(file)
                known = file.read(32)
                # Nineteen digits are more than any disk holds.
                if held < 0 and not (known.isdigit() and len(known) < 19):
                    held = self._sum()
                now = max(0, (held if held >= 0 else int(known)) + more)
                file.seek(0)
                file.write(b"%d" % now)
                file.truncate()
        except OSError:  # a full disk: what follows says so
            return max(0, held) + more
        return now

    def _rejected_path(self, key: str) -> str:
        return os.path.join(self.rejected_folder, key + ".json")

    def _reason_path(self, key: str) -> str:
        return os.path.join(self.rejected_folder, key + ".reason")

    def _forget_abandoned(self, folder: str) -> None:
        """Remove halves of files whose writer died; one at work is younger."""
        for name in names_in(folder):
            path = os.path.join(folder, name)
            if _PART.fullmatch(name) and time.time() - _changed_at(path) > _ABANDONED_S:
                forget(path)

    def _files(self, folder: str) -> Iterator[Tuple[int, str, int]]:
        """Yield when each file was changed, its name and its bytes, one by one."""
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name != "held":
                    yield from _file_of(entry)


def _file_of(entry: Any) -> List[Tuple[int, str, int]]:
    """Return when a file was changed, its name and its bytes; [] of what is none."""
    try:
        if entry.is_file(follow_symlinks=False):
            known = entry.stat(follow_symlinks=False)
            return [(known.st_mtime_ns, entry.name, known.st_size)]
    except OSError:  # sent by another process meanwhile
        pass
    return []


def _runs_in(folder: str) -> List[str]:
    # Files that others put here are neither sent nor counted as runs.
    return [name for name in names_in(folder) if _WAITING.fullmatch(name)]


def _changed_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:  # sent by another process meanwhile
        return 0.0
