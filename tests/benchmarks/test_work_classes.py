import pytest

from benchmarks.work_classes import WORK_CLASSES, work_class


def test_every_class_of_the_method_is_there_under_its_area():
    assert {
        area: [known.kind for known in WORK_CLASSES.values() if known.area == area]
        for area in dict.fromkeys(known.area for known in WORK_CLASSES.values())
    } == {
        "cpu": ["floating-point", "integer"],
        "memory": ["read", "write", "copy", "latency"],
        "disk": [
            *("sequential-read", "sequential-write"),
            *("random-read", "random-write", "fsync"),
        ],
        "network": ["throughput-out", "throughput-in", "round-trip", "requests"],
        "system": ["process-creation", "system-call", "context-switch"],
        "application": ["web", "database", "build"],
        "energy": ["per-work"],
    }


def test_a_slug_says_both_levels_and_is_its_own_key():
    assert all(slug == known.slug for slug, known in WORK_CLASSES.items())
    assert "disk-random-write" in WORK_CLASSES


@pytest.mark.parametrize("name", ["cpu-integer", "CPU-Integer", " CPU:  integer "])
def test_a_class_is_found_by_slug_and_title_in_any_case(name):
    assert work_class(name) is WORK_CLASSES["cpu-integer"]


def test_an_unknown_class_is_refused_with_those_that_are_known():
    with pytest.raises(ValueError, match=r'"gaming" is no work class.*cpu-integer'):
        work_class("gaming")


def test_classes_are_said_in_english():
    assert WORK_CLASSES["memory-copy"].title == "memory: copy"
