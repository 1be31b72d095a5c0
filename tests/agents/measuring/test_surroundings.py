"""Load and steal around a run, from the kernel's counters."""

import pytest

from agents.measuring.surroundings import (
    Surroundings,
    changes,
    look_around,
    unfitness,
)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text("cpu  10 0 10 60 10 0 0 10 5 5\ncpu0 1 1\n")
    (tmp_path / "proc/loadavg").write_text("1.50 1.00 0.50 1/100 4711\n")
    (tmp_path / "proc/meminfo").write_text("MemTotal: 1000 kB\nMemAvailable: 250 kB\n")
    return tmp_path


def test_it_reads_the_kernels_files(root):
    found = look_around(str(root))

    assert found.ticks == [10, 0, 10, 60, 10, 0, 0, 10]
    assert (found.load, found.memory_share) == (1.5, 0.25)


def test_where_nothing_is_told_nothing_is_said(tmp_path):
    empty = look_around(str(tmp_path))

    assert empty == Surroundings(None, None, None)
    assert changes(empty, empty) == {}
    assert unfitness(empty, empty) == []


def test_shares_are_of_all_cpus_time_in_between():
    before = Surroundings([100, 0, 100, 700, 50, 0, 0, 50], 0.1, 0.5)
    after = Surroundings([150, 0, 110, 720, 60, 0, 0, 60], 0.9, 0.5)

    found = changes(before, after)

    assert found["steal share"] == pytest.approx(0.1)
    assert found["busy share"] == pytest.approx(0.7)
    assert (found["load before"], found["load after"]) == (0.1, 0.9)


def test_no_time_between_has_no_share():
    now = Surroundings([1, 0, 0, 0, 0, 0, 0, 0], 0.1, 0.5)

    assert "steal share" not in changes(now, now)


def test_a_machine_that_rests_is_fit():
    before = Surroundings([100, 0, 100, 700, 50, 0, 0, 50], 9.0, 0.5)
    now = Surroundings([105, 0, 105, 800, 50, 0, 0, 51], 9.0, 0.5)

    assert unfitness(before, now) == []


def test_a_busy_robbed_or_full_machine_is_not():
    before = Surroundings([100, 0, 100, 700, 50, 0, 0, 50], 0.0, 0.5)
    now = Surroundings([130, 0, 120, 740, 50, 0, 0, 60], 0.0, 0.05)

    busy, robbed, full = unfitness(before, now)
    assert busy == "The machine is busy: 60 %."
    assert "takes 10 %" in robbed
    assert "5 % of memory" in full
