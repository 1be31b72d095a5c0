"""A lock that all agents of a machine share, so that one measurement runs at a time.

`run` takes it exclusively, slots of a co-run share it. The operating system releases
the lock of a killed process.
"""

import os
import re
import time
import zlib
from typing import Any, Callable, List, Optional, Tuple

from agents.files import read_text_file, try_lock

PATH_VARIABLE = "VIRTLAB_HOST_LOCK"
_NAME = "virtlab-measuring.lock"
# Folders that all users of a machine can write; services may see another /tmp.
_FOLDERS = ("/dev/shm", "/tmp")
_POLL_S = 0.3
_FLOCK = re.compile(r"\d+: FLOCK +ADVISORY +\S+ (\d+) [0-9a-f]+:[0-9a-f]+:(\d+)")
FORCED = "Another measurement ran on this host at the same time (--force)."


def lock_path(target: Optional[str] = None) -> str:
    """Return the path of this machine's lock, or of another one measured from here."""
    folders = [os.environ.get("PROGRAMDATA", "")] if os.name == "nt" else _FOLDERS
    existing = [folder for folder in folders if os.path.isdir(folder)]
    default = os.path.join((existing or ["."])[0], _NAME)
    path = os.environ.get(PATH_VARIABLE) or default
    return "%s.%08x" % (path, zlib.crc32(target.encode())) if target else path


class HostLock:
    """The lock as a context; entering waits for other measurements.

    With ``is_forced`` it does not wait; `is_ignored` is True if it had to.
    """

    def __init__(
        self,
        report: Callable[[str], None],
        is_shared: bool = False,
        is_forced: bool = False,
        target: Optional[str] = None,
    ) -> None:
        self.report, self.is_shared, self.is_forced = report, is_shared, is_forced
        self.path, self.is_ignored = lock_path(target), False

    def __enter__(self) -> "HostLock":
        self._file: Any = _open(self.path)
        if self._file is None or self._take():
            return self
        self.report(self._message())
        self.is_ignored = self.is_forced
        while not (self.is_forced or self._take()):
            time.sleep(_POLL_S)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._file is not None:
            self._file.close()

    def _take(self) -> bool:
        return try_lock(self._file, self.is_shared) and not self._containers()

    def _containers(self) -> List[int]:
        """Return the measuring agents in containers that this user can see."""
        own = os.fstat(self._file.fileno())
        measuring = []
        for pid, inode in _holders():
            try:
                other = os.stat("/proc/%d/root%s" % (pid, self.path))
            except OSError:  # the process has ended, or belongs to another user
                continue
            is_other = (other.st_dev, other.st_ino) != (own.st_dev, own.st_ino)
            if is_other and other.st_ino == inode:
                measuring.append(pid)
        return measuring

    def _message(self) -> str:
        own = os.fstat(self._file.fileno())
        pids = [pid for pid, inode in _holders() if inode == own.st_ino]
        others = [pid for pid in pids + self._containers() if pid != os.getpid()]
        command = "/proc/%d/cmdline" % others[0] if others else ""
        words = (read_text_file(command) or "").split("\0")[1:]
        message = "Another measurement runs on this host"
        if others:
            message += " (process %d: %s)" % (others[0], " ".join(words)[:100].strip())
        if self.is_forced:
            return message + ". Both are disturbed."
        return message + (
            ". Waiting for its end; with --force, this one would run at the same time "
            "and be marked."
        )


def _open(path: str) -> Optional[Any]:
    """Open or create the file; return None if both are impossible.

    Another user may have made it a link or a pipe: do not follow, block or write.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    for extra in (0, os.O_CREAT):
        try:
            return os.fdopen(os.open(path, flags | extra, 0o644), "rb")
        except OSError:
            continue
    return None


def _holders() -> List[Tuple[int, int]]:
    found = _FLOCK.findall(read_text_file("/proc/locks") or "")
    return [(int(pid), int(inode)) for pid, inode in found]
