"""Return of freed memory to the operating system."""

import psutil

from benchmarks.memory_trimming import (
    MAX_GROWTH_BYTES,
    TRIM_GROWTH_BYTES,
    MemoryTrimmer,
)


def resident():
    return psutil.Process().memory_info().rss


def test_large_free_memory_is_returned():
    memory = MemoryTrimmer()
    memory.trim()
    # Freed blocks between used ones: the C library keeps these holes.
    pieces = [bytes(2000) for _ in range(40_000)]
    stored = pieces[::100]
    grown = resident()
    assert grown > memory.held_bytes + 2 * TRIM_GROWTH_BYTES
    del pieces

    assert memory.trim()

    assert resident() < grown - TRIM_GROWTH_BYTES
    assert len(stored) == 400


def test_memory_is_not_trimmed_after_small_growth():
    memory = MemoryTrimmer()
    memory.trim()

    assert not memory.trim()


def test_process_has_grown_too_much_far_above_its_start():
    memory = MemoryTrimmer()
    stored = b"x" * (MAX_GROWTH_BYTES // 2)
    memory.trim()
    assert not memory.has_grown_too_much

    stored += b"y" * MAX_GROWTH_BYTES
    memory.trim()

    assert memory.has_grown_too_much
