"""Offset, drift and bounds, against clocks that lie by a known amount."""

import random

import pytest

from agents.timing.asking import Asking, NoTimeError, Stamp, take_stamp
from agents.timing.clocks import Clocks
from agents.timing.intervals import (
    ClocksDifferError,
    clock_report,
    interval_of,
    offset_of,
    suspicions,
)
from agents.timing.protocol import ServerTime


class World:
    """True time, a guest's clock that lies about it, and a path with queues.

    ``rate`` is guest seconds a true second; ``offset_us`` what its wall clock is ahead.
    """

    def __init__(self, rate=1.0, offset_us=0, floor_us=200, queue_us=300, seed=1):
        self.true_us = 10_000_000.0
        self.began_us = self.true_us
        self.rate, self.offset_us = rate, offset_us
        self.floor_us, self.queue_us = floor_us, queue_us
        self.random = random.Random(seed)
        self.local = Clocks("guest", self._wall_us, self._guest_us)
        self.asking = Asking(self._ask, lambda: None)

    def _guest_us(self):
        return int((self.true_us - self.began_us) * self.rate)

    def _wall_us(self):
        return 1_700_000_000_000_000 + self._guest_us() + self.offset_us

    def _travel(self):
        queued = self.queue_us * self.random.random() ** 3
        self.true_us += self.floor_us / 2 + queued

    def _ask(self, _nonce):
        self._travel()
        wall_us = 1_700_000_000_000_000 + int(self.true_us - self.began_us)
        answer = ServerTime("truth", wall_us, int(self.true_us))
        self._travel()
        return answer

    def stamp(self, exchanges=8):
        return take_stamp(self.asking, self.local, exchanges)


@pytest.mark.parametrize("seed", range(20))
def test_a_true_clock_is_found_true_within_the_bound(seed):
    world = World(seed=seed)
    start = world.stamp()
    world.true_us += 1_000_000
    end = world.stamp()

    interval = interval_of(start, end, shortest_us=world.floor_us)
    assert abs(interval.external_us - interval.local_us) <= interval.bound_us
    assert abs(interval.drift_ppm) <= interval.drift_bound_ppm
    assert suspicions(start, end) == []


@pytest.mark.parametrize("rate", [1 / 2.18, 1 / 0.17, 1 / 1.37, 1.001])
def test_a_lying_clock_is_found_by_how_much_it_lies(rate):
    world = World(rate=rate)
    start = world.stamp()
    world.true_us += 20_000_000
    end = world.stamp()

    interval = interval_of(start, end)
    assert interval.external_us == pytest.approx(20_000_000, rel=1e-3)
    assert interval.drift_ppm == pytest.approx((rate - 1) * 1e6, rel=1e-3)
    assert "ppm" in suspicions(start, end)[-1]


@pytest.mark.parametrize("rate", [0.5, 0.73])
@pytest.mark.parametrize("seed", range(10))
def test_the_bound_holds_though_the_round_trips_are_timed_by_the_liar(rate, seed):
    world = World(rate=rate, seed=seed)
    start = world.stamp()
    began_us = world.true_us
    world.true_us += 5_000_000
    ended_us = world.true_us
    end = world.stamp()

    interval = interval_of(start, end, shortest_us=round(world.floor_us * rate))
    asked_us = (world.true_us - ended_us) + 8 * (world.floor_us + 2 * world.queue_us)
    assert ended_us - began_us <= interval.external_us + interval.bound_us
    assert interval.external_us <= ended_us - began_us + asked_us


@pytest.mark.parametrize("offset_us", [-3_600_000_000, -60_000, 0, 40_000, 60_000])
def test_the_offset_is_within_half_a_round_trip(offset_us):
    stamp = World(offset_us=offset_us).stamp()

    offset = offset_of(stamp)
    assert abs(offset.us - offset_us) <= offset.bound_us
    assert offset.bound_us <= stamp.round_trip_us


def test_an_offset_is_suspect_beyond_50_ms():
    world = World(offset_us=49_000)
    assert suspicions(world.stamp(), world.stamp()) == []

    world.offset_us = 52_000
    assert len(suspicions(world.stamp(), world.stamp())) == 2


def test_a_short_run_over_a_slow_path_is_not_called_suspect_for_its_noise():
    world = World(queue_us=20_000)
    start = world.stamp(exchanges=1)
    world.true_us += 10_000
    end = world.stamp(exchanges=1)

    assert interval_of(start, end).drift_bound_ppm > 500
    assert suspicions(start, end) == []


def test_a_wall_clock_set_during_the_run_shows_as_a_step():
    world = World()
    start = world.stamp()
    world.true_us += 1_000_000
    world.offset_us -= 86_400_000_000
    end = world.stamp()

    report = clock_report(start, end)
    assert report["wall_step_us"] == pytest.approx(-86_400_000_000, abs=2)
    assert abs(report["drift_ppm"]) <= report["drift_bound_ppm"]
    assert any("off" in each for each in report["suspicions"])


def test_the_best_of_many_round_trips_is_kept():
    world = World(queue_us=50_000)

    few, many = world.stamp(exchanges=1), world.stamp(exchanges=64)

    assert many.round_trip_us < few.round_trip_us
    assert many.exchanges == 64


def test_the_bound_is_what_the_round_trips_took_beyond_the_shortest():
    start = Stamp("c", 0, 0, 0, 0, 500, 8)
    end = Stamp("c", 0, 1_000_000, 0, 1_000_000, 300, 8)

    assert interval_of(start, end).bound_us == 200 + 2
    assert interval_of(start, end).hard_bound_us == 400 + 2
    assert interval_of(start, end, shortest_us=100).bound_us == 400 + 200 + 2


def test_round_trips_timed_by_a_slow_clock_are_lengthened():
    start = Stamp("c", 0, 0, 0, 0, 500, 8)
    end = Stamp("c", 0, 1_000_000, 0, 500_000, 300, 8)

    interval = interval_of(start, end, shortest_us=100)
    assert (interval.bound_us, interval.hard_bound_us) == (1200 + 2, 800 + 2)


def test_stamps_of_two_clocks_are_not_subtracted():
    start = Stamp("c", 0, 0, 0, 0, 500, 8)

    with pytest.raises(ClocksDifferError, match="started anew"):
        interval_of(start, start._replace(clock="d"))


def test_an_interval_of_no_length_has_no_drift():
    stamp = Stamp("c", 0, 0, 0, 0, 500, 8)

    assert interval_of(stamp, stamp).drift_ppm is None
    assert suspicions(stamp, stamp) == []


def test_unanswered_questions_are_left_out_and_none_is_an_error():
    world = World()
    answers = iter([None, ServerTime("truth", 1, 1), None, None])

    assert take_stamp(Asking(lambda _: next(answers), print), world.local, 4).exchanges
    with pytest.raises(NoTimeError, match="none"):
        take_stamp(Asking(lambda _: None, print), world.local)
