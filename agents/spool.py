"""The spool: a folder of runs that wait to be sent.

The server gets each saved run exactly once, even if processes are killed.

    spool/<key>.json             waiting; the file is the request body
    spool/new/<key>.json.<pid>.part  being written; removed after an hour
    spool/rejected/<key>.json    refused by the server; <key>.reason has the reason
    spool/held                   total size in bytes after the last change

Documents other than runs have a suffix: <key>.power.json is a chunk of a power log.

`save` returns after flushing the file and its folder to disk. Runs are removed only
when the server has them; a full spool refuses new runs. Saving takes constant time and
memory, because a hundred thousand runs may be waiting.
"""

import json
import os
import re
import time
from typing import Any, Dict, Iterator, List, Tuple

from agents.errors import SpoolFullError
from agents.files import (
    list_names,
    read_text_file,
    remove_if_exists,
    sync_folder,
    try_lock,
    write_durably,
)

MAX_BYTES = 512 * 1024 * 1024
MAX_LISTED_KEYS = 4000
_ABANDONED_S = 3600
POWER_SUFFIX = ".power"
_KEY = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.power)?"
_WAITING = re.compile(_KEY + r"\.json")
_PART = re.compile(_KEY + r"\.\w+\.\d+\.part")


class Spool:
    def __init__(self, folder: str, most_bytes: int = MAX_BYTES) -> None:
        self.folder = folder
        self.rejected_folder = os.path.join(folder, "rejected")
        self.new_folder = os.path.join(folder, "new")
        self.most_bytes = most_bytes
        for path in (self.rejected_folder, self.new_folder):
            os.makedirs(path, mode=0o700, exist_ok=True)
        self._remove_abandoned(self.new_folder)

    def save(self, document: Dict[str, Any], kind: str = "") -> str:
        """Store a document durably; return its key or raise SpoolFullError.

        ``kind`` is the suffix of the key for documents other than runs.
        """
        content = json.dumps(document).encode()
        size = self._count(len(content))
        if size > self.most_bytes:  # files may have been removed manually
            size = self.size_bytes() + len(content)
        if size > self.most_bytes:
            self._count(-len(content))
            raise SpoolFullError(
                "The spool is full: %s has %.1f of %.1f MB. The run was NOT saved. "
                "Saved runs are unchanged. Send them (spool send) or free space."
                % (self.folder, (size - len(content)) / 1e6, self.most_bytes / 1e6)
            )
        key = str(document["key"]) + kind
        try:
            write_durably(self.path(key), content, temporary_folder=self.new_folder)
        except OSError as error:
            self._count(-len(content))
            raise SpoolFullError(
                "The run was NOT saved: %s: %s. Saved runs are unchanged."
                % (self.folder, error.strerror)
            ) from error
        return key

    def path(self, key: str) -> str:
        return os.path.join(self.folder, key + ".json")

    def waiting(self) -> List[str]:
        """Return all keys, oldest first."""
        files = sorted(_files(self.folder))
        return [name[:-5] for _, name, _ in files if _WAITING.fullmatch(name)]

    def is_empty(self) -> bool:
        with os.scandir(self.folder) as entries:
            return not any(_WAITING.fullmatch(entry.name) for entry in entries)

    def count(self) -> int:
        return sum(map(bool, map(_WAITING.fullmatch, list_names(self.folder))))

    def peek(self, limit: int = MAX_LISTED_KEYS) -> Tuple[List[Tuple[str, int]], int]:
        """Return keys and sizes, oldest first, and the number of all documents.

        Above ``limit``, the returned ones are not necessarily the oldest.
        """
        files: List[Tuple[int, str, int]] = []
        number = 0
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if _WAITING.fullmatch(entry.name):
                    number += 1
                    if len(files) < limit:
                        files += _file_info(entry)
        return [(name[:-5], size) for _, name, size in sorted(files)], number

    def read(self, key: str) -> bytes:
        """Return a document, or raise FileNotFoundError if another process sent it."""
        with open(self.path(key), "rb") as file:
            return file.read()

    def remove(self, keys: List[str]) -> None:
        removed = 0
        try:
            for key in keys:
                try:
                    size = os.stat(self.path(key)).st_size
                    os.remove(self.path(key))
                    removed += size
                except FileNotFoundError:
                    continue
        finally:
            self._count(-removed)

    def reject(self, key: str, reason: str) -> None:
        """Move a run to the rejected ones, after writing the reason."""
        content = reason.encode("utf-8", "backslashreplace")
        write_durably(self._rejected_path(key, ".reason"), content)
        self._count(len(content))
        os.replace(self.path(key), self._rejected_path(key))
        sync_folder(self.rejected_folder)

    def rejected(self) -> Dict[str, str]:
        names = filter(_WAITING.fullmatch, list_names(self.rejected_folder))
        keys = [name[:-5] for name in names]
        return {
            key: read_text_file(self._rejected_path(key, ".reason")) or ""
            for key in keys
        }

    def retry(self, key: str) -> None:
        # A process killed here leaves a reason without a run, never the opposite.
        os.replace(self._rejected_path(key), self.path(key))
        sync_folder(self.folder)
        remove_if_exists(self._rejected_path(key, ".reason"))

    def _rejected_path(self, key: str, ending: str = ".json") -> str:
        return os.path.join(self.rejected_folder, key + ending)

    def size_bytes(self) -> int:
        """Return the size of all documents, also rejected ones, and store it."""
        self._remove_abandoned(self.folder)  # earlier agents wrote here
        size = self._sum()
        self._count(0, size)
        return size

    def _sum(self) -> int:
        folders = (self.folder, self.rejected_folder)
        return sum(file[2] for folder in folders for file in _files(folder))

    def fullness(self) -> float:
        return self._count(0) / max(self.most_bytes, 1)

    def _count(self, change: int, size: int = -1) -> int:
        """Add ``change`` to the stored size, or to ``size`` if given; return the sum.

        If the stored size is damaged, measure all documents.
        """
        path = os.path.join(self.folder, "held")
        try:
            with open(path, "r+b" if os.path.exists(path) else "w+b") as file:
                try_lock(file)
                stored = file.read(32)
                # A number of nineteen digits is damaged.
                if size < 0 and not (stored.isdigit() and len(stored) < 19):
                    size = self._sum()
                now = max(0, (size if size >= 0 else int(stored)) + change)
                file.seek(0)
                file.write(b"%d" % now)
                file.truncate()
        except OSError:  # e.g. a full disk: the caller's next step fails
            return max(0, size) + change
        return now

    def _remove_abandoned(self, folder: str) -> None:
        for name in filter(_PART.fullmatch, list_names(folder)):
            path = os.path.join(folder, name)
            try:
                age_s = time.time() - os.stat(path).st_mtime
            except OSError:  # renamed by its writer
                continue
            if age_s > _ABANDONED_S:
                remove_if_exists(path)


def _files(folder: str) -> Iterator[Tuple[int, str, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name != "held":
                yield from _file_info(entry)


def _file_info(entry: Any) -> List[Tuple[int, str, int]]:
    """Return modification time (ns), name and size; [] for anything but a file."""
    try:
        if entry.is_file(follow_symlinks=False):
            status = entry.stat(follow_symlinks=False)
            return [(status.st_mtime_ns, entry.name, status.st_size)]
    except OSError:
        pass
    return []
