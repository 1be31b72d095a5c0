"""A bracketed run: the external time beside the local one, load and steal around it."""

import pytest

from agents.measuring.bracket import (
    Surroundings,
    changes,
    look_around,
    measure,
    unfitness,
)
from agents.measuring.runners import Step
from agents.timing import asking
from agents.timing.asking import TimePath
from agents.timing.clocks import Clocks, own_clocks


def step(script):
    return Step("hackbench", "process", ["sh", "-c", script], 10)


def test_a_true_clock_agrees_with_the_time_server(time_server):
    measured = measure(step("sleep 0.1; echo done"), time_server)

    clock = measured.facts["clock"]
    assert measured.execution.output == b"done\n"
    assert 100_000 <= clock["external_us"] < 5_000_000
    assert measured.execution.local_us <= clock["local_us"]
    assert clock["suspicions"] == []
    # Which of both is narrower hangs on how busy this machine is.
    assert 0 < clock["interval_bound_us"] < 100_000
    assert 0 < clock["interval_hard_bound_us"] < 100_000


def test_a_lying_clock_is_found_and_the_external_time_is_right(
    time_server, monkeypatch
):
    true = own_clocks()
    zero_us = true.monotonic_us()

    def slow_us():
        return zero_us + (true.monotonic_us() - zero_us) // 2

    lying = Clocks("guest", true.wall_us, slow_us)
    monkeypatch.setattr(asking, "own_clocks", lambda: lying)

    measured = measure(step("sleep 0.3"), time_server)

    clock = measured.facts["clock"]
    assert clock["external_us"] >= 300_000
    # As near as two round trips allow, however long they took.
    off_us = abs(clock["local_us"] - clock["external_us"] / 2)
    assert off_us <= clock["interval_hard_bound_us"]
    assert abs(clock["drift_ppm"] + 500_000) <= clock["drift_bound_ppm"]
    assert "The clock ran" in measured.warnings[-1]


def test_the_shortest_round_trip_ever_seen_makes_the_bound_honest(time_server):
    time_server.shortest_us = 3

    clock = measure(step("true"), time_server).facts["clock"]

    trips_us = clock["start"]["round_trip_us"] + clock["end"]["round_trip_us"]
    assert clock["shortest_round_trip_us"] == 3
    assert clock["interval_bound_us"] >= trips_us - 6 + 2


def test_every_stamp_remembers_the_shortest(time_server):
    trips_us = [time_server.stamp().round_trip_us for _ in range(5)]

    assert time_server.shortest_us == min(trips_us)


def test_without_a_time_server_the_run_is_still_a_run():
    measured = measure(step("echo done"), TimePath("tcp://127.0.0.1:9"))

    assert measured.execution.output == b"done\n"
    assert "does not answer" in measured.facts["clock"]["unknown"]


def test_arguments_locale_and_load_are_kept(time_server):
    execution = measure(step("true"), time_server).facts["execution"]

    assert execution["argv"] == ["sh", "-c", "true"]
    assert execution["environment"] == {"LC_ALL": "C.UTF-8"}
    assert execution["exit code"] == 0
    assert execution["load before"] >= 0


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


def test_a_single_stolen_tick_is_chance():
    """Of one CPU the pause before a step has thirty ticks."""
    before = Surroundings([100, 0, 100, 700, 50, 0, 0, 50], 0.0, 0.5)
    once = Surroundings([100, 0, 100, 729, 50, 0, 0, 51], 0.0, 0.5)
    twice = Surroundings([100, 0, 100, 728, 50, 0, 0, 52], 0.0, 0.5)

    assert unfitness(before, once) == []
    [robbed] = unfitness(before, twice)
    assert "takes 7 %" in robbed


def test_a_busy_robbed_or_full_machine_is_not():
    before = Surroundings([100, 0, 100, 700, 50, 0, 0, 50], 0.0, 0.5)
    now = Surroundings([130, 0, 120, 740, 50, 0, 0, 60], 0.0, 0.05)

    busy, robbed, full = unfitness(before, now)
    assert busy == "The machine is busy: 60 %."
    assert "takes 10 %" in robbed
    assert "5 % of memory" in full
