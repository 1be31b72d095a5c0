"""The moment of a start, mapped from the time server's clock to clocks that lie."""

import time

import pytest

from agents.measuring.bracket import TimePath
from agents.planning import barrier
from agents.planning.barrier import (
    Gate,
    MissedError,
    ReleasedError,
    pace_of,
    wait_for,
    window_of,
)
from agents.timing import asking
from agents.timing.asking import Stamp
from agents.timing.clocks import Clocks, own_clocks

TRUE = own_clocks()


@pytest.fixture
def lie(monkeypatch):
    """Let this machine's clock, and its sleep, run at another pace."""

    def run_at(pace):
        zero_us = TRUE.monotonic_us()

        def lying_us():
            return int(zero_us + (TRUE.monotonic_us() - zero_us) * pace)

        clocks = Clocks("guest", TRUE.wall_us, lying_us)
        sleep = time.sleep
        monkeypatch.setattr(asking, "own_clocks", lambda: clocks)
        monkeypatch.setattr(barrier, "monotonic_us", lying_us)
        monkeypatch.setattr(barrier.time, "sleep", lambda s: sleep(s / pace))

    return run_at


def stamp(server_us, local_us, trip_us=100):
    return Stamp("clock", 10**15 + server_us, server_us, 0, local_us, trip_us, 8)


@pytest.mark.parametrize("pace", [1.0, 0.5, 1.25])
def test_it_starts_in_time_whatever_the_pace_of_the_clock(time_server, lie, pace):
    lie(pace)
    first = time_server.stamp()
    moment_us = first.server_monotonic_us + 1_500_000

    wait_for(moment_us, first, time_server)

    # Believing the clock, it would be 300 ms early or 1,500 late; a busy machine may
    # wake it some tenths late.
    assert -100_000 < TRUE.monotonic_us() - moment_us < 600_000


def test_who_learns_of_it_too_late_has_missed_it(time_server):
    now = time_server.stamp()

    with pytest.raises(MissedError, match="after it"):
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

    stamp, silence = Gate(server, {}, 90.0, print)(time_server)

    assert (stamp.exchanges, silence) == (8, "")
    assert server.asked[0]["limit_s"] == 90.0
    assert server.asked[0]["clock"] == stamp.clock


def test_it_asks_until_the_moment_is_known(time_server):
    moment_us = time_server.stamp().server_monotonic_us + 300_000
    waits = {"state": "wait", "sentence": "Waiting for slot 2 (vm-b)."}
    said = []

    Gate(
        Server(waits, waits, {"state": "start", "starts_at_us": moment_us}),
        {},
        1.0,
        said.append,
    )(time_server)

    assert said == ["Waiting for slot 2 (vm-b)."] * 2
    assert TRUE.monotonic_us() >= moment_us - 20_000


def test_a_released_slot_starts_nothing(time_server):
    gate = Gate(Server({"state": "released", "sentence": "Too late."}), {}, 1.0, print)

    with pytest.raises(ReleasedError, match="Too late"):
        gate(time_server)


def test_without_a_time_server_it_says_so_and_names_no_clock():
    server = Server({"state": "start"})

    found, silence = Gate(server, {}, 1.0, print)(TimePath("tcp://127.0.0.1:9"))

    assert found is None
    assert "does not answer" in silence
    assert "clock" not in server.asked[0]
