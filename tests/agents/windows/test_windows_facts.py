"""Parsing of Windows structures, constructed from Microsoft's documentation."""

import struct

import pytest

from agents import windows


def record(kind, body):
    return struct.pack("<2I", kind, 8 + len(body)) + body


def test_processor_records_are_split_by_length():
    core, package = bytes([1]) + bytes(39), bytes(40)
    content = record(0, core) + record(0, core) + record(3, package)

    assert [kind for kind, _ in windows.split_records(content)] == [0, 0, 3]
    assert list(windows.split_records(content[:70])) == [(0, core), (0, core[:14])]
    assert list(windows.split_records(bytes(16))) == []


def descriptor(vendor=b"Msft    ", product=b"Virtual Disk", bus=10):
    texts = vendor + b"\0" + product + b"\0"
    first = 36
    second = first + len(vendor) + 1
    head = struct.pack("<2I4B", 36 + len(texts), 0, 0, 0, 0, 0)
    return (head + struct.pack("<5I", first, second, 0, 0, bus)).ljust(
        36, b"\0"
    ) + texts


def test_disk_descriptors_are_parsed():
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


def test_empty_descriptors_give_no_facts():
    facts = windows.disk_facts(lambda which: b"", b"")

    assert set(facts.values()) == {None}


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("AMD64 Family 25 Model 17 Stepping 1", "25/17/1"),
        ("Intel64 Family 6 Model 85 Stepping 7", "6/85/7"),
        ("ARMv8 (64-bit)", None),
        (None, None),
    ],
)
def test_cpu_identity_is_written_as_in_linux(identifier, expected):
    assert windows.cpu_identity(identifier) == expected


@pytest.mark.parametrize(
    ("revision", "expected"),
    [
        (bytes(4) + b"\x5e\x03\x00\x0b", "0xb00035e"),
        (bytes(8), None),
        (b"short", None),
        (7, None),
    ],
)
def test_microcode_is_in_the_upper_half(revision, expected):
    assert windows.microcode(revision) == expected


@pytest.mark.parametrize(
    ("name", "build", "expected"),
    [
        ("Windows 10 Pro", "22631", "Windows 11 Pro"),
        ("Windows 10 Pro", "19045", "Windows 10 Pro"),
        ("Windows Server 2022 Datacenter", "20348", "Windows Server 2022 Datacenter"),
        (None, None, None),
    ],
)
def test_windows_11_has_its_name(name, build, expected):
    assert windows.product_name(name, build) == expected
