"""The spool: saved runs reach the server exactly once, whatever process is killed.

    spool/<key>.json             waiting; the file is the body of the request
    spool/new/<key>.json.<pid>.part  being written; never sent, removed after an hour
    spool/rejected/<key>.json    refused by the server, with <key>.reason beside it
    spool/held                   the number of bytes held after the last change

Documents other than runs have their kind behind the key: <key>.power.json is a piece of
a power log.

A run is saved when `save` returns: written, flushed, renamed, folder flushed. It is
removed only when the server has it. A full spool refuses new runs and keeps the old
ones.

Time and memory for saving do not depend on how much waits: an agent that was away from
its server for a year may hold a hundred thousand runs.
"""

import json
import os
import re
import time
from typing import Any, Dict, Iterator, List, Tuple

from agents.errors import SpoolFullError
from agents.files import flush_folder, forget, names_in, take, text_of, write_durably

MOST_BYTES = 512 * 1024 * 1024
# Runs listed at a time.
KNOWN_AT_ONCE = 4000
_ABANDONED_S = 3600
POWER = ".power"
_KEY = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.power)?"
_WAITING = re.compile(_KEY + r"\.json")
_PART = re.compile(_KEY + r"\.\w+\.\d+\.part")


class Spool:
    """A folder of runs that wait to be sent."""

    def __init__(self, folder: str, most_bytes: int = MOST_BYTES) -> None:
        self.folder = folder
        self.rejected_folder = os.path.join(folder, "rejected")
        self.new_folder = os.path.join(folder, "new")
        self.most_bytes = most_bytes
        for path in (self.rejected_folder, self.new_folder):
            os.makedirs(path, mode=0o700, exist_ok=True)
        self._remove_abandoned(self.new_folder)

    def save(self, document: Dict[str, Any], kind: str = "") -> str:
        """Store a run (or another ``kind``) durably; return its key.

        Raises SpoolFullError.
        """
        content = json.dumps(document).encode()
        held = self._count(len(content))
        if held > self.most_bytes:  # count again: files may have been removed by hand
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
        """Return the keys of all waiting documents, oldest first."""
        found = sorted(_files(self.folder))
        return [name[:-5] for _, name, _ in found if _WAITING.fullmatch(name)]

    def is_empty(self) -> bool:
        with os.scandir(self.folder) as entries:
            return not any(_WAITING.fullmatch(entry.name) for entry in entries)

    def number(self) -> int:
        """Return how many documents wait."""
        return sum(map(bool, map(_WAITING.fullmatch, names_in(self.folder))))

    def look(self, most: int = KNOWN_AT_ONCE) -> Tuple[List[Tuple[str, int]], int]:
        """Return keys and sizes of the oldest documents, and how many wait.

        "Oldest" refers to the first ``most`` documents in the folder.
        """
        found: List[Tuple[int, str, int]] = []
        number = 0
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if _WAITING.fullmatch(entry.name):
                    number += 1
                    if len(found) < most:
                        found += _file_of(entry)
        return [(name[:-5], size) for _, name, size in sorted(found)], number

    def read(self, key: str) -> bytes:
        """Return the saved body; raise FileNotFoundError if it was sent meanwhile."""
        with open(self.path(key), "rb") as file:
            return file.read()

    def remove(self, keys: List[str]) -> None:
        """Remove runs that the server has; raise OSError if that fails."""
        removed = 0
        try:
            for key in keys:
                try:
                    size = os.stat(self.path(key)).st_size
                    os.remove(self.path(key))
                    removed += size
                except FileNotFoundError:  # another process has sent it
                    continue
        finally:
            self._count(-removed)

    def reject(self, key: str, reason: str) -> None:
        """Set a run aside, after writing the reason."""
        content = reason.encode("utf-8", "backslashreplace")
        write_durably(self._rejected_path(key, ".reason"), content)
        self._count(len(content))
        os.replace(self.path(key), self._rejected_path(key))
        flush_folder(self.rejected_folder)

    def rejected(self) -> Dict[str, str]:
        """Return the reasons of refused runs by their keys."""
        names = filter(_WAITING.fullmatch, names_in(self.rejected_folder))
        keys = [name[:-5] for name in names]
        return {key: text_of(self._rejected_path(key, ".reason")) or "" for key in keys}

    def retry(self, key: str) -> None:
        """Let a rejected run wait again."""
        # Remove the reason last: if killed in between, one too many remains, not one
        # too few.
        os.replace(self._rejected_path(key), self.path(key))
        flush_folder(self.folder)
        forget(self._rejected_path(key, ".reason"))

    def _rejected_path(self, key: str, ending: str = ".json") -> str:
        return os.path.join(self.rejected_folder, key + ending)

    def bytes_held(self) -> int:
        """Return the size of all documents, rejected ones included."""
        self._remove_abandoned(self.folder)  # earlier agents wrote them there
        held = self._sum()
        self._count(0, held)
        return held

    def _sum(self) -> int:
        folders = (self.folder, self.rejected_folder)
        return sum(file[2] for folder in folders for file in _files(folder))

    def fullness(self) -> float:
        """Return the share of the allowed bytes held after the last change."""
        return self._count(0) / max(self.most_bytes, 1)

    def _count(self, more: int, held: int = -1) -> int:
        """Add to the number of held bytes, or set it; return it.

        The file is not flushed: a wrong number is counted again.
        """
        path = os.path.join(self.folder, "held")
        try:
            with open(path, "r+b" if os.path.exists(path) else "w+b") as file:
                take(file)
                known = file.read(32)
                # No disk holds a number of nineteen digits.
                if held < 0 and not (known.isdigit() and len(known) < 19):
                    held = self._sum()
                now = max(0, (held if held >= 0 else int(known)) + more)
                file.seek(0)
                file.write(b"%d" % now)
                file.truncate()
        except OSError:  # a full disk: the caller's next step fails
            return max(0, held) + more
        return now

    def _remove_abandoned(self, folder: str) -> None:
        """Remove partial files of killed writers; files being written are younger."""
        for name in filter(_PART.fullmatch, names_in(folder)):
            path = os.path.join(folder, name)
            try:
                age_s = time.time() - os.stat(path).st_mtime
            except OSError:  # renamed by its writer
                continue
            if age_s > _ABANDONED_S:
                forget(path)


def _files(folder: str) -> Iterator[Tuple[int, str, int]]:
    """Yield time of change, name and size of each file but `held`."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name != "held":
                yield from _file_of(entry)


def _file_of(entry: Any) -> List[Tuple[int, str, int]]:
    """Return time of change, name and size of a file; [] for anything else."""
    try:
        if entry.is_file(follow_symlinks=False):
            known = entry.stat(follow_symlinks=False)
            return [(known.st_mtime_ns, entry.name, known.st_size)]
    except OSError:  # sent by another process meanwhile
        pass
    return []
