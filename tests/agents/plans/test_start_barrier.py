"""The start of a co-run, converted from the server's clock to inaccurate clocks."""

import pytest

from agents import plan_runner
from agents.measuring import timed_run
from agents.plan_runner import (
    AttemptCancelledError,
    Barrier,
    StartMissedError,
    clock_rate,
    program_window,
    wait_for,
)
from agents.timing.time_client import ClockStamp, TimeServerPath


class World:
    """A guest whose clock has its own rate, and the path to a time server.

    No real time passes, so a busy machine changes nothing. A sleep lasts as long as the
    guest's clock counts, plus 2 ms to wake up; reading the clock takes a microsecond.
    """

    def __init__(self, pace):
        self.slowdown, self.true_us = pace, 7e9

    def own_us(self):
        self.true_us += 1
        return int(self.true_us * self.slowdown)

    def sleep(self, seconds):
        self.true_us += seconds * 1e6 / self.slowdown + 2_000

    def stamp(self):
        asked_us = self.own_us()
        self.true_us += 60
        server_us = int(self.true_us)
        self.true_us += 40
        trip_us = self.own_us() - asked_us
        return stamp(server_us, asked_us + trip_us // 2, trip_us)


@pytest.fixture
def world(monkeypatch):
    """Use the barrier in a simulated world."""

    def run_at(pace=1.0):
        made = World(pace)
        monkeypatch.setattr(plan_runner, "monotonic_us", made.own_us)
        monkeypatch.setattr(plan_runner, "time", made)
        return made

    return run_at


def stamp(server_us, local_us, trip_us=100):
    return ClockStamp("clock", 10**15 + server_us, server_us, 0, local_us, trip_us, 8)


@pytest.mark.parametrize("pace", [1.0, 0.5, 1.25])
def test_start_is_on_time_at_any_clock_rate(world, pace):
    guest = world(pace)
    first = guest.stamp()
    moment_us = first.server_monotonic_us + 1_500_000

    wait_for(moment_us, first, guest)

    # Without correction it would be 300 ms early or 1,500 ms late.
    assert abs(guest.true_us - moment_us) < 200


def test_late_slot_misses_the_start(time_server):
    now = time_server.stamp()

    with pytest.raises(StartMissedError, match="missed the start"):
        wait_for(now.server_monotonic_us - 11_000_000, now, time_server)


def test_slot_that_is_a_little_late_starts_at_once(time_server):
    now = time_server.stamp()

    assert wait_for(now.server_monotonic_us - 500_000, now, time_server) == now


def test_round_trips_alone_do_not_change_the_rate():
    assert clock_rate(stamp(0, 0), stamp(1_000_150, 1_000_000)) == 1.0
    assert clock_rate(stamp(0, 0), stamp(1_000_150, 500_000)) == pytest.approx(2.0003)
    assert clock_rate(stamp(0, 0), stamp(0, 0)) == 1.0


def test_window_is_scaled_by_the_clock_rate():
    clock = {
        "start": stamp(1_000_000, 0)._asdict(),
        "end": stamp(3_000_000, 1_000_000)._asdict(),
        "external_us": 2_000_000,
    }

    window = program_window(clock, started_us=250_000, local_us=500_000)

    assert (window.started_us, window.ended_us) == (1_500_000, 2_500_000)
    assert window.started_wall_us == 10**15 + 1_500_000
    assert program_window({"unknown": "nobody answered"}, 0, 1) is None


class Server:
    """Gives these answers one after the other."""

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []

    def arrive(self, part, **fields):
        self.requests.append(fields)
        answer = {"message": "", "wait_s": 0.0, "starts_at_us": None}
        return {**answer, **self.answers.pop(0)}


def test_single_slot_starts_with_a_fresh_stamp(time_server):
    server = Server({"action": "start"})

    stamp, silence = Barrier(server, {}, 90.0, print)(time_server)

    assert (stamp.exchanges, silence) == (8, "")
    assert server.requests[0]["timeout_s"] == 90.0
    assert server.requests[0]["clock_id"] == stamp.clock


def test_slot_asks_until_the_start_is_set(world):
    guest = world()
    moment_us = guest.stamp().server_monotonic_us + 300_000
    waits = {"action": "wait", "message": "Waiting for slot 2 (vm-b)."}
    messages = []

    Barrier(
        Server(waits, waits, {"action": "start", "starts_at_us": moment_us}),
        {},
        1.0,
        messages.append,
    )(guest)

    assert messages == ["Waiting for slot 2 (vm-b)."] * 2
    assert abs(guest.true_us - moment_us) < 200


def test_cancelled_slot_starts_nothing(time_server):
    barrier = Barrier(
        Server({"action": "cancelled", "message": "Too late."}), {}, 1.0, print
    )

    with pytest.raises(AttemptCancelledError, match="Too late"):
        barrier(time_server)


def test_missing_time_server_is_stated():
    server = Server({"action": "start"})

    stamp, silence = Barrier(server, {}, 1.0, print)(
        TimeServerPath("tcp://127.0.0.1:9")
    )

    assert stamp is None
    assert "does not answer" in silence
    assert "clock_id" not in server.requests[0]


def test_slow_stamp_is_taken_earlier(world):
    guest = world()
    quick = guest.stamp

    def slow_stamp():
        guest.sleep(0.7)
        return quick()

    guest.stamp = slow_stamp
    first = quick()
    moment_us = first.server_monotonic_us + 1_500_000

    wait_for(moment_us, first, guest)

    assert abs(guest.true_us - moment_us) < 200


def test_program_of_a_corun_runs_with_normal_priority(world, monkeypatch):
    changes = []
    monkeypatch.setattr(plan_runner, "raise_priority", lambda: changes.append("up"))
    monkeypatch.setattr(timed_run, "restore_priority", lambda: changes.append("down"))
    guest = world()
    now = guest.stamp()

    wait_for(now.server_monotonic_us + 600_000, now, guest)
    timed_run.execute(["true"], 10)

    assert changes == ["up", "down"]
