"""A bracketed run: the external time beside the local one."""

import pytest

from agents.measuring.bracket import TimePath, measure
from agents.measuring.runners import Step
from agents.timing import stamps
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
    assert clock["interval_bound_us"] <= clock["interval_hard_bound_us"]


def test_a_lying_clock_is_found_and_the_external_time_is_right(
    time_server, monkeypatch
):
    true = own_clocks()
    zero_us = true.monotonic_us()

    def slow_us():
        return zero_us + (true.monotonic_us() - zero_us) // 2

    lying = Clocks("guest", true.wall_us, slow_us)
    monkeypatch.setattr(stamps, "own_clocks", lambda: lying)

    measured = measure(step("sleep 0.3"), time_server)

    clock = measured.facts["clock"]
    assert clock["external_us"] >= 300_000
    assert clock["local_us"] == pytest.approx(clock["external_us"] / 2, rel=0.05)
    assert clock["drift_ppm"] == pytest.approx(-500_000, rel=0.05)
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
