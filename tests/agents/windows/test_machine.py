"""What Windows answers, cut into facts; answers are made up as Microsoft has them."""

import struct

import pytest

from agents import windows


def record(kind, body):
    return struct.pack("<2I", kind, 8 + len(body)) + body


def test_records_of_processors_are_cut_by_their_lengths():
    core, package = bytes([1]) + bytes(39), bytes(40)
    content = record(0, core) + record(0, core) + record(3, package)

    assert [kind for kind, _ in windows.records_of(content)] == [0, 0, 3]
    assert list(windows.records_of(content[:70])) == [(0, core), (0, core[:14])]
    assert list(windows.records_of(bytes(16))) == []


def descriptor(vendor=b"Msft    ", product=b"Virtual Disk", bus=10):
    texts = vendor + b"\0" + product + b"\0"
    first = 36
    second = first + len(vendor) + 1
    head = struct.pack("<2I4B", 36 + len(texts), 0, 0, 0, 0, 0)
    return (head + struct.pack("<5I", first, second, 0, 0, bus)).ljust(
        36, b"\0"
    ) + texts


def test_a_disk_is_told_by_its_descriptors():
    answers = {
        0: descriptor(),
        4: struct.pack("<4I", 28, 28, 2, 2),
        7: struct.pack("<2IB", 12, 12, 0),
    }
    geometry = bytes(24) + struct.pack("<Q", 128 * 2**30)

    facts = windows.disk_facts(answers.get, geometry)

    assert facts == {
        **{"bytes": 128 * 2**30, "rotational": "no", "write cache": "write back"},
        **{"vendor": "Msft", "model": "Virtual Disk", "driver": "SAS"},
    }


def test_a_disk_that_tells_nothing_has_no_facts():
    facts = windows.disk_facts(lambda which: b"", b"")

    assert set(facts.values()) == {None}


@pytest.mark.parametrize(
    ("identifier", "told"),
    [
        ("AMD64 Family 25 Model 17 Stepping 1", "25/17/1"),
        ("Intel64 Family 6 Model 85 Stepping 7", "6/85/7"),
        ("ARMv8 (64-bit)", None),
        (None, None),
    ],
)
def test_a_processor_is_identified_as_linux_does(identifier, told):
    assert windows.identity(identifier) == told


@pytest.mark.parametrize(
    ("revision", "told"),
    [
        (bytes(4) + b"\x5e\x03\x00\x0b", "0xb00035e"),
        (bytes(8), None),
        (b"short", None),
        (7, None),
    ],
)
def test_microcode_stands_in_the_upper_half(revision, told):
    assert windows.microcode(revision) == told


@pytest.mark.parametrize(
    ("name", "build", "told"),
    [
        ("Windows 10 Pro", "22631", "Windows 11 Pro"),
        ("Windows 10 Pro", "19045", "Windows 10 Pro"),
        ("Windows Server 2022 Datacenter", "20348", "Windows Server 2022 Datacenter"),
        (None, None, None),
    ],
)
def test_windows_11_is_called_by_its_name(name, build, told):
    assert windows.product(name, build) == told
