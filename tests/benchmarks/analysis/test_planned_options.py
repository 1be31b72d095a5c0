"""Options become arguments of programs elsewhere: each has one narrow form."""

import pytest

from agents.measuring.runners import Wishes
from benchmarks.analysis.planned_options import KNOWN, checked_options
from benchmarks.analysis.planning import PlanError

GOOD = {
    "seconds": 30,
    "threads": 2,
    "file_mib": 256,
    "budget_s": 60,
    "bits": 32,
    "folder": "/mnt/disk",
    "peer": "192.168.1.7",
    "device": "/dev/vda",
    "sizes": "200,1000",
    "array_mib": 4,
    "blocks_kib": "1,32",
}


def test_it_takes_what_the_runners_take():
    assert checked_options(GOOD) == GOOD
    assert set(KNOWN) == set(Wishes._fields) - {"time_server"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seconds", 0),
        ("seconds", True),
        ("seconds", "10"),
        ("bits", 33),
        ("folder", "relative"),
        ("folder", "/mnt\n"),
        ("peer", "--file=/etc/passwd"),
        ("peer", "a b"),
        ("device", "/etc/passwd"),
        ("sizes", "1000,"),
        ("argv", "rm"),
    ],
)
def test_it_refuses_everything_else_in_words(name, value):
    with pytest.raises(PlanError, match=name):
        checked_options({name: value})


def test_it_asks_whether_another_option_was_meant():
    with pytest.raises(PlanError, match="Did you mean seconds"):
        checked_options({"second": 3})
