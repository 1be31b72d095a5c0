"""Return of freed memory to the operating system.

The C library keeps freed memory between live objects: 40 MB and more per process after
a study of 20,000 cells.
"""

import ctypes
import gc
from typing import Final

import psutil

TRIM_GROWTH_BYTES: Final = 16 * 1024 * 1024
MAX_GROWTH_BYTES: Final = 48 * 1024 * 1024
# Only in glibc.
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)


class MemoryTrimmer:
    def __init__(self) -> None:
        self.held_bytes = 0
        self.first_bytes = psutil.Process().memory_info().rss

    @property
    def has_grown_too_much(self) -> bool:
        """Whether memory stays so large after trimming that a new process is better."""
        return self.held_bytes > self.first_bytes + MAX_GROWTH_BYTES

    def trim(self) -> bool:
        """Trim memory after large growth; return whether it was done.

        Call this when idle, because it takes time.
        """
        process = psutil.Process()
        if process.memory_info().rss < self.held_bytes + TRIM_GROWTH_BYTES:
            return False
        gc.collect()
        if _trim is not None:
            _trim(0)
        self.held_bytes = process.memory_info().rss
        return True
