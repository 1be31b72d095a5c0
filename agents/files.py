"""Read small files of the system, write files durably, and lock them."""

import importlib
import os
import re
from typing import Any, Dict, List, Optional

MOST_BYTES = 256 * 1024


def text_of(path: str, most_bytes: int = MOST_BYTES) -> Optional[str]:
    """Return the stripped text of a small file, or None."""
    try:
        with open(path, "rb") as file:
            return file.read(most_bytes).decode("utf-8", "replace").strip()
    except (OSError, ValueError):
        return None


def names_in(folder: str) -> List[str]:
    """Return the sorted names in a folder, or [] if it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def whole_number_of(path: str) -> Optional[int]:
    """Return the whole number in a file, or None."""
    try:
        return int(text_of(path) or "")
    except ValueError:
        return None


def memory_fields(text: Optional[str]) -> Dict[str, int]:
    """Read /proc/meminfo; its kB are 1024 bytes."""
    found = re.findall(r"^(\S+):\s+(\d+)( kB)?$", text or "", re.MULTILINE)
    return {name: int(n) * (1024 if unit else 1) for name, n, unit in found}


def cpu_ticks(text: Optional[str]) -> Optional[List[int]]:
    """Read the line of all CPUs in /proc/stat.

    Return the ticks of user, nice, system, idle, iowait, irq, softirq and steal.
    """
    match = re.search(r"^cpu +(.+)$", text or "", re.MULTILINE)
    ticks = [int(count) for count in match.group(1).split()[:8]] if match else []
    return ticks if len(ticks) == 8 else None


def link_of(path: str) -> Optional[str]:
    """Return the target of a symbolic link, or None."""
    try:
        return os.readlink(path)
    except OSError:
        return None


def write_durably(
    path: str, content: bytes, mode: int = 0o600, beside_in: str = ""
) -> None:
    """Replace a file atomically.

    The content is written to a second file (in ``beside_in``, on the same disk),
    flushed and renamed.
    """
    name = "%s.%d.part" % (os.path.basename(path), os.getpid())
    beside = os.path.join(beside_in or os.path.dirname(path), name)
    # Create it with its mode, so that other users can never read it.
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            # The umask may have removed bits of the mode.
            os.chmod(beside, mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:  # KeyboardInterrupt too
        forget(beside)
        raise
    flush_folder(os.path.dirname(path) or ".")


def forget(path: str) -> None:
    """Remove a file if it exists."""
    try:
        os.remove(path)
    except OSError:
        return


def flush_folder(folder: str) -> None:
    """Make renames in a folder survive a crash; Windows has no such call."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_FAIL_AT_ONCE, _ALONE = 1, 2
_BEHIND_ALL = 0x7FFFFFFF


def take(file: Any, is_shared: bool = False) -> bool:
    """Lock an open file until it is closed, without waiting.

    Return False if another process holds the lock.
    """
    if os.name == "nt":
        return _take_on_windows(file, is_shared)
    try:
        locks = importlib.import_module("fcntl")
    except ImportError:
        return True
    kind = locks.LOCK_SH if is_shared else locks.LOCK_EX
    try:
        locks.flock(file, kind | locks.LOCK_NB)
    except OSError:
        return False
    return True


def _take_on_windows(file: Any, is_shared: bool) -> bool:
    try:
        ctypes = importlib.import_module("ctypes")
        handle = importlib.import_module("msvcrt").get_osfhandle(file.fileno())
    except ImportError:
        return True

    class Overlapped(ctypes.Structure):  # type: ignore[name-defined,misc]
        """OVERLAPPED: the position of the locked byte."""

        _fields_ = (
            ("internal", ctypes.c_void_p),
            ("internal_high", ctypes.c_void_p),
            ("offset", ctypes.c_uint32),
            ("offset_high", ctypes.c_uint32),
            ("event", ctypes.c_void_p),
        )

    position = Overlapped(offset=0, offset_high=_BEHIND_ALL)
    how = _FAIL_AT_ONCE | (0 if is_shared else _ALONE)
    lock = ctypes.windll.kernel32.LockFileEx
    lock.argtypes = [ctypes.c_void_p, *[ctypes.c_uint32] * 4, ctypes.c_void_p]
    return bool(lock(handle, how, 0, 1, 0, ctypes.byref(position)))
