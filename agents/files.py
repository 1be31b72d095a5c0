"""Reading of small files, durable writes and file locks."""

import importlib
import os
import re
from typing import Any, Dict, List, Optional

MAX_BYTES = 256 * 1024


def read_text_file(path: str, most_bytes: int = MAX_BYTES) -> Optional[str]:
    """Return the start of a file as stripped text; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(most_bytes).decode("utf-8", "replace").strip()
    except (OSError, ValueError):
        return None


def list_names(folder: str) -> List[str]:
    """Return the sorted names in a folder; [] if it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def read_whole_number(path: str) -> Optional[int]:
    try:
        return int(read_text_file(path) or "")
    except ValueError:
        return None


def memory_fields(text: Optional[str]) -> Dict[str, int]:
    """Parse /proc/meminfo into bytes (kB are 1024 bytes) and counts."""
    fields = re.findall(r"^(\S+):\s+(\d+)( kB)?$", text or "", re.MULTILINE)
    return {name: int(n) * (1024 if unit else 1) for name, n, unit in fields}


def cpu_ticks(text: Optional[str]) -> Optional[List[int]]:
    """Parse /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal ticks."""
    match = re.search(r"^cpu +(.+)$", text or "", re.MULTILINE)
    ticks = [int(count) for count in match.group(1).split()[:8]] if match else []
    return ticks if len(ticks) == 8 else None


def read_link(path: str) -> Optional[str]:
    try:
        return os.readlink(path)
    except OSError:
        return None


def write_durably(
    path: str, content: bytes, mode: int = 0o600, temporary_folder: str = ""
) -> None:
    """Create or replace a file atomically and flush it to disk."""
    name = "%s.%d.part" % (os.path.basename(path), os.getpid())
    temporary = os.path.join(temporary_folder or os.path.dirname(path), name)
    # Set the mode from the start: no other user may read the file, even briefly.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            # The umask may have removed bits.
            os.chmod(temporary, mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        remove_if_exists(temporary)
        raise
    sync_folder(os.path.dirname(path) or ".")


def remove_if_exists(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        return


def sync_folder(folder: str) -> None:
    """Flush a folder to disk, so that renames survive a crash (not on Windows)."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# Flags of LockFileEx.
_FAIL_IMMEDIATELY, _EXCLUSIVE = 1, 2
_LOCKED_OFFSET = 0x7FFFFFFF  # beyond the end of the file


def try_lock(file: Any, is_shared: bool = False) -> bool:
    """Lock a file until it is closed; return False if another process has locked it.

    Return True on systems without file locks.
    """
    if os.name == "nt":
        return _try_lock_on_windows(file, is_shared)
    try:
        fcntl = importlib.import_module("fcntl")
    except ImportError:
        return True
    kind = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _try_lock_on_windows(file: Any, is_shared: bool) -> bool:
    try:
        ctypes = importlib.import_module("ctypes")
        handle = importlib.import_module("msvcrt").get_osfhandle(file.fileno())
    except ImportError:
        return True

    class Overlapped(ctypes.Structure):  # type: ignore[name-defined,misc]
        _fields_ = (
            ("internal", ctypes.c_void_p),
            ("internal_high", ctypes.c_void_p),
            ("offset", ctypes.c_uint32),
            ("offset_high", ctypes.c_uint32),
            ("event", ctypes.c_void_p),
        )

    position = Overlapped(offset=0, offset_high=_LOCKED_OFFSET)
    flags = _FAIL_IMMEDIATELY | (0 if is_shared else _EXCLUSIVE)
    lock = ctypes.windll.kernel32.LockFileEx
    lock.argtypes = [ctypes.c_void_p, *[ctypes.c_uint32] * 4, ctypes.c_void_p]
    return bool(lock(handle, flags, 0, 1, 0, ctypes.byref(position)))
