"""What a process no longer uses goes back to the machine."""

import psutil

from benchmarks.memory import GROWTH_BYTES, Memory


def resident():
    return psutil.Process().memory_info().rss


def test_what_is_free_is_given_back_once_it_is_much():
    memory = Memory()
    memory.give_back()
    # Small pieces between others that stay: the C library keeps the holes.
    pieces = [bytes(2000) for _ in range(40_000)]
    kept = pieces[::100]
    grown = resident()
    assert grown > memory.held_bytes + 2 * GROWTH_BYTES
    del pieces

    assert memory.give_back()

    assert resident() < grown - GROWTH_BYTES
    assert len(kept) == 400


def test_nothing_is_looked_through_while_little_was_taken():
    memory = Memory()
    memory.give_back()

    assert not memory.give_back()
