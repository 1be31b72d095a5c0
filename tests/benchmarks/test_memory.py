"""What a process no longer uses goes back to the machine."""

import psutil

from benchmarks.memory import GROWTH_BYTES, OUTGROWN_BYTES, Memory


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


def test_a_process_is_outgrown_once_it_keeps_much_more_than_at_its_start():
    memory = Memory()
    kept = b"x" * (OUTGROWN_BYTES // 2)
    memory.give_back()
    assert not memory.is_outgrown

    kept += b"y" * OUTGROWN_BYTES
    memory.give_back()

    assert memory.is_outgrown
