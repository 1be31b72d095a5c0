"""Return freed memory to the operating system.

The C library keeps freed memory in holes between live objects: 40 MB and more per
process after a study of 20,000 cells.
"""

import ctypes
import gc
from typing import Final

import psutil

GROWTH_BYTES: Final = 16 * 1024 * 1024
OUTGROWN_BYTES: Final = 48 * 1024 * 1024
# glibc's own; elsewhere memory goes back by itself, or not at all.
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)


class Memory:
    """What this process held when it last gave back."""

    def __init__(self) -> None:
        self.held_bytes = 0
        self.first_bytes = psutil.Process().memory_info().rss

    @property
    def is_outgrown(self) -> bool:
        """Whether a new process would hold much less."""
        return self.held_bytes > self.first_bytes + OUTGROWN_BYTES

    def give_back(self) -> bool:
        """Return free memory after large growth; call it while nobody waits."""
        process = psutil.Process()
        if process.memory_info().rss < self.held_bytes + GROWTH_BYTES:
            return False
        gc.collect()
        if _trim is not None:
            _trim(0)
        self.held_bytes = process.memory_info().rss
        return True
