"""Memory that a process no longer uses, given back to the machine.

What Python frees stays with its process: the C library keeps it for the next time, in
holes between what lives on. After a study of 20,000 cells that was 40 MB and more of
each web process, worker and sweeper, for as long as they lived.
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
        """Whether a new process would hold much less, even after all was given back.

        What lives on lies among what was freed, and keeps whole pages of it.
        """
        return self.held_bytes > self.first_bytes + OUTGROWN_BYTES

    def give_back(self) -> bool:
        """Give back what is free, where much was taken since; return whether it was.

        For a moment in which nobody waits: a look through everything takes a while.
        """
        process = psutil.Process()
        if process.memory_info().rss < self.held_bytes + GROWTH_BYTES:
            return False
        gc.collect()
        if _trim is not None:
            _trim(0)
        self.held_bytes = process.memory_info().rss
        return True
