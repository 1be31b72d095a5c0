"""A timed run: external and local time, load and steal time."""

import pytest

from agents.measuring.command_lines import Step
from agents.measuring.timed_run import (
    SystemLoad,
    busiest_process,
    cpu_shares,
    load_warnings,
    measure,
    read_system_load,
)
from agents.timing import time_client
from agents.timing.clocks import Clocks, own_clocks
from agents.timing.time_client import TimeServerPath


def step(script):
    return Step("hackbench", "process", ["sh", "-c", script], 10)


def test_correct_clock_agrees_with_the_time_server(time_server):
    measured = measure(step("sleep 0.1; echo done"), time_server)

    clock = measured.facts["clock"]
    assert measured.execution.output == b"done\n"
    assert 100_000 <= clock["external_us"] < 5_000_000
    assert measured.execution.local_us <= clock["local_us"]
    assert clock["suspicions"] == []
    # Which of the two is narrower depends on the load of this machine.
    assert 0 < clock["interval_bound_us"] < 100_000
    assert 0 < clock["interval_hard_bound_us"] < 100_000


def test_wrong_clock_is_found_and_the_external_time_is_right(time_server, monkeypatch):
    true = own_clocks()
    zero_us = true.monotonic_us()

    def slow_us():
        return zero_us + (true.monotonic_us() - zero_us) // 2

    lying = Clocks("guest", true.wall_us, slow_us)
    monkeypatch.setattr(time_client, "own_clocks", lambda: lying)

    measured = measure(step("sleep 0.3"), time_server)

    clock = measured.facts["clock"]
    assert clock["external_us"] >= 300_000
    # As close as two round trips allow, however long they took.
    off_us = abs(clock["local_us"] - clock["external_us"] / 2)
    assert off_us <= clock["interval_hard_bound_us"]
    assert abs(clock["drift_ppm"] + 500_000) <= clock["drift_bound_ppm"]
    assert "The clock ran" in measured.warnings[-1]


def test_shortest_round_trip_tightens_the_bound(time_server):
    time_server.shortest_us = 3

    clock = measure(step("true"), time_server).facts["clock"]

    trips_us = clock["start"]["round_trip_us"] + clock["end"]["round_trip_us"]
    assert clock["shortest_round_trip_us"] == 3
    assert clock["interval_bound_us"] >= trips_us - 6 + 2


def test_every_stamp_updates_the_shortest_round_trip(time_server):
    trips_us = [time_server.stamp().round_trip_us for _ in range(5)]

    assert time_server.shortest_us == min(trips_us)


def test_missing_time_server_is_allowed():
    measured = measure(step("echo done"), TimeServerPath("tcp://127.0.0.1:9"))

    assert measured.execution.output == b"done\n"
    assert "does not answer" in measured.facts["clock"]["unknown"]


def test_arguments_locale_and_load_are_recorded(time_server):
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


def test_kernel_files_are_read(root):
    result = read_system_load(str(root))

    assert result.ticks == [10, 0, 10, 60, 10, 0, 0, 10]
    assert (result.load, result.memory_share) == (1.5, 0.25)


def test_missing_counters_give_no_shares(tmp_path):
    empty = read_system_load(str(tmp_path))

    assert empty == SystemLoad(None, None, None)
    assert cpu_shares(empty, empty) == {}
    assert load_warnings(empty, empty) == []


def test_shares_relate_to_the_time_of_all_cpus():
    before = SystemLoad([100, 0, 100, 700, 50, 0, 0, 50], 0.1, 0.5)
    after = SystemLoad([150, 0, 110, 720, 60, 0, 0, 60], 0.9, 0.5)

    result = cpu_shares(before, after)

    assert result["steal share"] == pytest.approx(0.1)
    assert result["busy share"] == pytest.approx(0.7)
    assert (result["load before"], result["load after"]) == (0.1, 0.9)


def test_empty_interval_has_no_shares():
    now = SystemLoad([1, 0, 0, 0, 0, 0, 0, 0], 0.1, 0.5)

    assert "steal share" not in cpu_shares(now, now)


def test_idle_machine_has_no_warnings():
    before = SystemLoad([100, 0, 100, 700, 50, 0, 0, 50], 9.0, 0.5)
    now = SystemLoad([105, 0, 105, 800, 50, 0, 0, 51], 9.0, 0.5)

    assert load_warnings(before, now) == []


def test_single_stolen_tick_is_noise():
    """The pause before a step has thirty ticks of one CPU."""
    before = SystemLoad([100, 0, 100, 700, 50, 0, 0, 50], 0.0, 0.5)
    once = SystemLoad([100, 0, 100, 729, 50, 0, 0, 51], 0.0, 0.5)
    twice = SystemLoad([100, 0, 100, 728, 50, 0, 0, 52], 0.0, 0.5)

    assert load_warnings(before, once) == []
    [robbed] = load_warnings(before, twice)
    assert "takes 7%" in robbed


def test_busy_stolen_or_full_machine_has_warnings():
    before = SystemLoad([100, 0, 100, 700, 50, 0, 0, 50], 0.0, 0.5)
    now = SystemLoad([130, 0, 120, 740, 50, 0, 0, 60], 0.0, 0.05)

    busy, robbed, full = load_warnings(before, now)
    assert busy == "The machine is busy: 60%."
    assert "takes 10%" in robbed
    assert "5% of memory" in full


def test_busiest_process_is_the_one_with_most_ticks(tmp_path, monkeypatch):
    def use(pid, name, ticks):
        folder = tmp_path / "proc" / str(pid)
        folder.mkdir(parents=True, exist_ok=True)
        fields = f"{pid} ({name}) S " + "0 " * 10 + f"{ticks} 0 0 0\n"
        (folder / "stat").write_text(fields)

    use(7, "idle", 5)
    use(8, "apt (x) y", 5)
    monkeypatch.setattr(
        "agents.measuring.timed_run.time.sleep", lambda _: use(8, "apt (x) y", 9)
    )

    assert busiest_process(str(tmp_path)) == ["The busiest process is 8 (apt (x) y)."]
    assert busiest_process(str(tmp_path / "missing")) == []
