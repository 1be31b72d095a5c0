"""The moment of a start, mapped from the time server's clock to clocks that lie."""

import pytest

from agents import plans
from agents.plans import (
    Barrier,
    LateError,
    ReleasedError,
    pace_of,
    wait_for,
    window_of,
)
from agents.timing.asking import Stamp, TimePath


class World:
    """A guest whose clock runs at a pace of its own, and the way to a time server.

    Nobody waits in truth, so that a busy machine changes nothing: a sleep lasts as long
    as the guest's clock counts, and 2 ms until it is woken; a look takes a microsecond.
    """

    def __init__(self, pace):
        self.pace, self.true_us = pace, 7e9

    def own_us(self):
        self.true_us += 1
        return int(self.true_us * self.pace)

    def sleep(self, seconds):
        self.true_us += seconds * 1e6 / self.pace + 2_000

    def stamp(self):
        asked_us = self.own_us()
        self.true_us += 60
        server_us = int(self.true_us)
        self.true_us += 40
        trip_us = self.own_us() - asked_us
        return stamp(server_us, asked_us + trip_us // 2, trip_us)


@pytest.fixture
def world(monkeypatch):
    """Let the barrier be passed in a made world."""

    def run_at(pace=1.0):
        made = World(pace)
        monkeypatch.setattr(plans, "monotonic_us", made.own_us)
        monkeypatch.setattr(plans, "time", made)
        return made

    return run_at


def stamp(server_us, local_us, trip_us=100):
    return Stamp("clock", 10**15 + server_us, server_us, 0, local_us, trip_us, 8)


@pytest.mark.parametrize("pace", [1.0, 0.5, 1.25])
def test_it_starts_in_time_whatever_the_pace_of_the_clock(world, pace):
    guest = world(pace)
    first = guest.stamp()
    moment_us = first.server_monotonic_us + 1_500_000

    wait_for(moment_us, first, guest)

    # Believing the clock, it would be 300 ms early or 1,500 late.
    assert abs(guest.true_us - moment_us) < 200


def test_who_learns_of_it_too_late_has_missed_it(time_server):
    now = time_server.stamp()

    with pytest.raises(LateError, match="after it"):
        wait_for(now.server_monotonic_us - 500_000, now, time_server)


def test_round_trips_are_no_reason_to_doubt_a_clock():
    assert pace_of(stamp(0, 0), stamp(1_000_150, 1_000_000)) == 1.0
    assert pace_of(stamp(0, 0), stamp(1_000_150, 500_000)) == pytest.approx(2.0003)
    assert pace_of(stamp(0, 0), stamp(0, 0)) == 1.0


def test_a_window_is_stretched_as_the_clock_ran():
    clock = {
        "start": stamp(1_000_000, 0)._asdict(),
        "end": stamp(3_000_000, 1_000_000)._asdict(),
        "external_us": 2_000_000,
    }

    window = window_of(clock, began_us=250_000, local_us=500_000)

    assert (window.began_us, window.ended_us) == (1_500_000, 2_500_000)
    assert window.began_wall_us == 10**15 + 1_500_000
    assert window_of({"unknown": "nobody answered"}, 0, 1) is None


class Server:
    """Answers what it is told to, one after the other."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def meet(self, part, **said):
        self.asked.append(said)
        told = {"sentence": "", "wait_s": 0.0, "starts_at_us": None}
        return {**told, **self.answers.pop(0)}


def test_a_slot_alone_starts_at_once_with_a_fresh_stamp(time_server):
    server = Server({"state": "start"})

    stamp, silence = Barrier(server, {}, 90.0, print)(time_server)

    assert (stamp.exchanges, silence) == (8, "")
    assert server.asked[0]["limit_s"] == 90.0
    assert server.asked[0]["clock"] == stamp.clock


def test_it_asks_until_the_moment_is_known(world):
    guest = world()
    moment_us = guest.stamp().server_monotonic_us + 300_000
    waits = {"state": "wait", "sentence": "Waiting for slot 2 (vm-b)."}
    said = []

    Barrier(
        Server(waits, waits, {"state": "start", "starts_at_us": moment_us}),
        {},
        1.0,
        said.append,
    )(guest)

    assert said == ["Waiting for slot 2 (vm-b)."] * 2
    assert abs(guest.true_us - moment_us) < 200


def test_a_released_slot_starts_nothing(time_server):
    barrier = Barrier(
        Server({"state": "released", "sentence": "Too late."}), {}, 1.0, print
    )

    with pytest.raises(ReleasedError, match="Too late"):
        barrier(time_server)


def test_without_a_time_server_it_says_so_and_names_no_clock():
    server = Server({"state": "start"})

    found, silence = Barrier(server, {}, 1.0, print)(TimePath("tcp://127.0.0.1:9"))

    assert found is None
    assert "does not answer" in silence
    assert "clock" not in server.asked[0]
