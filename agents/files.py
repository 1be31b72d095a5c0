"""Small files, read and written so that what is missing or cut off is seen."""

import importlib
import os
from typing import Any, List, Optional

MOST_BYTES = 256 * 1024


def text_of(path: str, most_bytes: int = MOST_BYTES) -> Optional[str]:
    """Return a small file's text without the blanks around it, or None."""
    try:
        with open(path, "rb") as file:
            return file.read(most_bytes).decode("utf-8", "replace").strip()
    except (OSError, ValueError):
        return None


def names_in(folder: str) -> List[str]:
    """Return the sorted names in a folder; nothing if it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def whole_number_of(path: str) -> Optional[int]:
    """Return the whole number a file consists of, or None."""
    try:
        return int(text_of(path) or "")
    except ValueError:
        return None


def link_of(path: str) -> Optional[str]:
    """Return where a link leads, as it is written, or None."""
    try:
        return os.readlink(path)
    except OSError:
        return None


def write_durably(
    path: str, content: bytes, mode: int = 0o600, beside_in: str = ""
) -> None:
    """Replace a file atomically: written beside it (or in a folder of the disk),
    flushed, renamed."""
    name = "%s.%d.part" % (os.path.basename(path), os.getpid())
    # Two writers never share one.
    beside = os.path.join(beside_in or os.path.dirname(path), name)
    # Created with its mode: nobody else can read it, not even for a moment.
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            # The umask may have taken away more than was asked for.
            os.chmod(beside, mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    # Ctrl-C leaves no half of a file either.
    except BaseException:
        forget(beside)
        raise
    flush_folder(os.path.dirname(path) or ".")


def forget(path: str) -> None:
    """Remove a file that may not be there."""
    try:
        os.remove(path)
    except OSError:
        return


def flush_folder(folder: str) -> None:
    """Make renames in a folder outlive a crash; Windows has no such call."""
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
    """Lock an open file until it is closed; say whether that could be had."""
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
    except ImportError:  # no locks that could be shared
        return True

    class Place(ctypes.Structure):  # type: ignore[name-defined,misc]
        """An OVERLAPPED: where the locked byte lies."""

        _fields_ = (
            ("internal", ctypes.c_void_p),
            ("internal_high", ctypes.c_void_p),
            ("offset", ctypes.c_uint32),
            ("offset_high", ctypes.c_uint32),
            ("event", ctypes.c_void_p),
        )

    place = Place(offset=0, offset_high=_BEHIND_ALL)
    how = _FAIL_AT_ONCE | (0 if is_shared else _ALONE)
    lock = ctypes.windll.kernel32.LockFileEx
    lock.argtypes = [ctypes.c_void_p, *[ctypes.c_uint32] * 4, ctypes.c_void_p]
    return bool(lock(handle, how, 0, 1, 0, ctypes.byref(place)))
