"""Offset, drift and bounds with clocks of known errors."""

import random

import pytest

from agents.timing.clocks import Clocks, clock_step_us
from agents.timing.time_client import (
    ClocksDifferError,
    ClockStamp,
    TimeServerConnection,
    TimeServerError,
    clock_report,
    clock_warnings,
    interval_of,
    offset_of,
    take_stamp,
)
from agents.timing.time_server import ServerTime
from tests.for_each import for_each


class World:
    """True time, a guest's inaccurate clock, and a path with queues.

    ``rate`` is guest seconds per true second; ``offset_us`` is how far its wall clock
    is ahead; its clocks and the server's have steps of ``clock_step_us`` and
    ``server_step_us``.
    """

    def __init__(
        self,
        rate=1.0,
        offset_us=0,
        floor_us=200,
        queue_us=300,
        seed=1,
        step_us=1,
        server_step_us=1,
    ):
        self.true_us = 10_000_000.0
        self.began_us = self.true_us
        self.rate, self.offset_us = rate, offset_us
        self.floor_us, self.queue_us = floor_us, queue_us
        self.random = random.Random(seed)
        self.step_us, self.server_step_us = step_us, server_step_us
        steps = (step_us, step_us)
        self.local = Clocks("guest", self._wall_us, self._guest_us, *steps)
        self.asking = TimeServerConnection(self._ask, lambda: None)

    def _guest_us(self):
        shown_us = int((self.true_us - self.began_us) * self.rate)
        return shown_us // self.step_us * self.step_us

    def _wall_us(self):
        return 1_700_000_000_000_000 + self._guest_us() + self.offset_us

    def _travel(self):
        queued = self.queue_us * self.random.random() ** 3
        self.true_us += self.floor_us / 2 + queued

    def _ask(self, _nonce):
        self._travel()
        step_us = self.server_step_us
        since_us = int(self.true_us - self.began_us) // step_us * step_us
        told_us = int(self.true_us) // step_us * step_us
        wall_us = 1_700_000_000_000_000 + since_us
        answer = ServerTime("truth", wall_us, told_us, step_us)
        self._travel()
        return answer

    def stamp(self, exchanges=8):
        return take_stamp(self.asking, self.local, exchanges)


@pytest.mark.parametrize("seed", range(20))
def test_correct_clock_is_confirmed_within_the_bound(seed):
    world = World(seed=seed)
    start = world.stamp()
    world.true_us += 1_000_000
    end = world.stamp()

    interval = interval_of(start, end, shortest_us=world.floor_us)
    assert abs(interval.external_us - interval.local_us) <= interval.bound_us
    assert abs(interval.drift_ppm) <= interval.drift_bound_ppm
    assert clock_warnings(start, end) == []


@pytest.mark.parametrize("rate", [1 / 2.18, 1 / 0.17, 1 / 1.37, 1.001])
def test_wrong_clocks_error_is_measured(rate):
    world = World(rate=rate)
    start = world.stamp()
    world.true_us += 20_000_000
    end = world.stamp()

    interval = interval_of(start, end)
    assert interval.external_us == pytest.approx(20_000_000, rel=1e-3)
    assert interval.drift_ppm == pytest.approx((rate - 1) * 1e6, rel=1e-3)
    assert "ppm" in clock_warnings(start, end)[-1]


@pytest.mark.parametrize("rate", [0.5, 0.73])
@pytest.mark.parametrize("seed", range(10))
def test_bound_holds_with_round_trips_timed_by_a_wrong_clock(rate, seed):
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


# 15.6 ms: Windows without `perf_counter`; 4 ms: a kernel with 250 ticks a second.
@pytest.mark.parametrize("steps", [(15_625, 1), (4_000, 1), (1, 4_000), (7, 15_625)])
@for_each("seed", range(20))
def test_coarse_clock_is_within_its_bounds(steps, seed):
    world = World(seed=seed, step_us=steps[0], server_step_us=steps[1])
    world.true_us += seed * 997
    start = world.stamp()
    began_us = world.true_us
    world.true_us += 1_000_000
    ended_us = world.true_us
    end = world.stamp()

    interval = interval_of(start, end, shortest_us=world.floor_us)
    least_us = ended_us - began_us
    most_us = least_us + 16 * (world.floor_us + 2 * world.queue_us)
    assert least_us - interval.bound_us <= interval.external_us
    assert interval.external_us <= most_us + interval.bound_us
    assert interval.bound_us >= 4 * steps[0] + steps[1]
    assert abs(interval.drift_ppm) <= interval.drift_bound_ppm
    assert abs(offset_of(start).us) <= offset_of(start).bound_us
    assert clock_warnings(start, end) == []


@pytest.mark.parametrize("step", [1, 7, 1000, 15_625])
def test_clock_steps_are_observed(step):
    # A reading takes less than a microsecond on any current machine.
    shown = iter(range(0, 10**9))

    assert clock_step_us(lambda: next(shown) // 3 // step * step) == step


def test_fractional_steps_are_rounded():
    shown = iter(range(10**9))

    assert clock_step_us(lambda: next(shown) // 156_25 * 156) == 156


def test_stopped_clock_has_a_step_of_a_day(monkeypatch):
    monkeypatch.setattr("agents.timing.clocks._MAX_READINGS", 1000)

    assert clock_step_us(lambda: 5) == 86_400_000_000


def test_unknown_resolution_lengthens_the_round_trip():
    stamp = ClockStamp("c", 0, 0, 0, 0, 500, 8, 15_625, 1, 4_000)

    fields = stamp.with_resolution()

    assert fields["round_trip_us"] == 500 + 2 * 15_625 + 4_000
    assert "resolution_us" not in fields


@pytest.mark.parametrize("offset_us", [-3_600_000_000, -60_000, 0, 40_000, 60_000])
def test_offset_is_within_half_a_round_trip(offset_us):
    stamp = World(offset_us=offset_us).stamp()

    offset = offset_of(stamp)
    assert abs(offset.us - offset_us) <= offset.bound_us
    assert offset.bound_us <= stamp.round_trip_us


def test_offset_beyond_50_ms_is_suspect():
    world = World(offset_us=49_000)
    assert clock_warnings(world.stamp(), world.stamp()) == []

    world.offset_us = 52_000
    assert len(clock_warnings(world.stamp(), world.stamp())) == 2


def test_noise_of_a_slow_path_is_not_suspect():
    world = World(queue_us=20_000)
    start = world.stamp(exchanges=1)
    world.true_us += 10_000
    end = world.stamp(exchanges=1)

    assert interval_of(start, end).drift_bound_ppm > 500
    assert clock_warnings(start, end) == []


def test_wall_clock_change_is_a_step():
    world = World()
    start = world.stamp()
    world.true_us += 1_000_000
    world.offset_us -= 86_400_000_000
    end = world.stamp()

    report = clock_report(start, end)
    assert report["wall_step_us"] == pytest.approx(-86_400_000_000, abs=2)
    assert abs(report["drift_ppm"]) <= report["drift_bound_ppm"]
    assert any("off" in suspicion for suspicion in report["suspicions"])


def test_shortest_round_trip_is_kept():
    world = World(queue_us=50_000)

    few, many = world.stamp(exchanges=1), world.stamp(exchanges=64)

    assert many.round_trip_us < few.round_trip_us
    assert many.exchanges == 64


def test_bound_is_the_excess_over_the_shortest_round_trip():
    start = ClockStamp("c", 0, 0, 0, 0, 500, 8)
    end = ClockStamp("c", 0, 1_000_000, 0, 1_000_000, 300, 8)

    assert interval_of(start, end).bound_us == 200 + 4 + 1
    assert interval_of(start, end).hard_bound_us == 400 + 2 + 1
    assert interval_of(start, end, shortest_us=100).bound_us == 400 + 200 + 4 + 1


def test_round_trips_of_a_slow_clock_are_lengthened():
    start = ClockStamp("c", 0, 0, 0, 0, 500, 8)
    end = ClockStamp("c", 0, 1_000_000, 0, 500_000, 300, 8)

    interval = interval_of(start, end, shortest_us=100)
    assert (interval.bound_us, interval.hard_bound_us) == (1200 + 8 + 1, 800 + 4 + 1)


def test_stamps_of_two_clocks_are_not_subtracted():
    start = ClockStamp("c", 0, 0, 0, 0, 500, 8)

    with pytest.raises(ClocksDifferError, match="restarted"):
        interval_of(start, start._replace(clock="d"))


def test_empty_interval_has_no_drift():
    stamp = ClockStamp("c", 0, 0, 0, 0, 500, 8)

    assert interval_of(stamp, stamp).drift_ppm is None
    assert clock_warnings(stamp, stamp) == []


def test_missing_answers_are_skipped_unless_all_are_missing():
    world = World()
    answers = iter([None, ServerTime("truth", 1, 1), None, None])

    assert take_stamp(
        TimeServerConnection(lambda _: next(answers), print), world.local, 4
    ).exchanges
    with pytest.raises(TimeServerError, match="did not answer"):
        take_stamp(TimeServerConnection(lambda _: None, print), world.local)
