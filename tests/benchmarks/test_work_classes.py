import pytest

from benchmarks.work_classes import WORK_CLASSES, find_work_class


def test_all_work_classes_exist_under_their_area():
    assert {
        area: [known.kind for known in WORK_CLASSES.values() if known.area == area]
        for area in dict.fromkeys(known.area for known in WORK_CLASSES.values())
    } == {
        "cpu": ["floating-point", "integer"],
        "memory": ["read", "write", "copy", "latency"],
        "disk": [
            *("sequential-read", "sequential-write"),
            *("random-read", "random-write", "fsync"),
            "tail-latency",
        ],
        "network": [
            *("throughput-out", "throughput-in", "round-trip", "requests"),
            "tail-latency",
        ],
        "system": ["process-creation", "system-call", "context-switch"],
        "application": ["web", "database", "build", "tail-latency"],
        "energy": ["per-work"],
    }


def test_slug_contains_both_levels():
    assert all(slug == known.slug for slug, known in WORK_CLASSES.items())
    assert "disk-random-write" in WORK_CLASSES


@pytest.mark.parametrize("name", ["cpu-integer", "CPU-Integer", " CPU:  integer "])
def test_work_class_is_found_by_slug_or_title(name):
    assert find_work_class(name) is WORK_CLASSES["cpu-integer"]


def test_unknown_class_error_lists_known_classes():
    with pytest.raises(ValueError, match=r'"gaming".*cpu-integer'):
        find_work_class("gaming")


def test_titles_are_english():
    assert WORK_CLASSES["memory-copy"].title == "memory: copy"
