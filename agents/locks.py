"""Locks of the operating system on open files: they end with who holds them.

None waits: whoever does not get one at once is told so. On Windows they lie on a byte
far behind the content, which stays readable and writable. Where a system has no such
locks nobody waits for anybody.
"""

import importlib
import os
from typing import Any

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
