"""Restarting what dies: at once, then ever more slowly, and saying so."""

import signal
from pathlib import Path

import pytest

from running.errors import ServiceError
from running.supervision import LONGEST_PAUSE_S, YOUNG_S, Keeper


class Frail:
    """A thing that dies as often as it is told to."""

    name = "worker"
    log = Path("var/log/worker.log")
    pid = 1

    def __init__(self) -> None:
        self.code: int | None = None
        self.starts = 0
        self.error: Exception | None = None

    def start(self) -> None:
        self.starts += 1
        if self.error:
            raise self.error
        self.code = None

    def poll(self) -> int | None:
        return self.code

    def stop(self, hurried: object) -> None:
        self.code = 0


class Bench:
    """A keeper with its thing, its clock, and what it said."""

    def __init__(self) -> None:
        self.now = 0.0
        self.said: list[str] = []
        self.thing = Frail()
        self.keeper = Keeper(self.thing, self.said.append, lambda: self.now)

    def die(self, code: int = 1) -> None:
        self.thing.code = code
        self.keeper.tend()

    def wait_for_restart(self) -> float:
        begun, starts = self.now, self.thing.starts
        while self.thing.starts == starts:
            self.now += 0.125
            self.keeper.tend()
        return self.now - begun


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_it_leaves_alone_what_runs(bench):
    bench.keeper.tend()

    assert (bench.thing.starts, bench.said) == (0, [])


def test_it_restarts_at_once_and_says_why(bench):
    bench.now = 60
    bench.die(-signal.SIGKILL)

    assert bench.wait_for_restart() < 0.2
    assert bench.said == ["worker was killed (SIGKILL); starting it again"]


def test_it_waits_longer_each_time_for_what_does_not_last(bench):
    waits = []
    for _ in range(7):
        bench.die()
        waits.append(bench.wait_for_restart())

    assert waits == [0.5, 1, 2, 4, 8, LONGEST_PAUSE_S, LONGEST_PAUSE_S]
    assert bench.said[2] == "worker ended (exit code 1); starting it in 2 s"


def test_after_five_deaths_in_a_minute_it_points_to_the_log_and_goes_on(bench):
    for _ in range(5):
        assert not bench.keeper.dies_too_often
        bench.die()
        bench.wait_for_restart()

    assert bench.keeper.dies_too_often
    assert "5 times within 60 s: see var/log/worker.log" in bench.said[-1]
    assert bench.thing.starts == 5


def test_what_is_killed_now_and_then_is_back_at_once(bench):
    for _ in range(20):
        bench.now += YOUNG_S
        bench.die(-signal.SIGKILL)
        assert bench.wait_for_restart() < 0.2


def test_rare_deaths_never_add_up(bench):
    for _ in range(8):
        bench.now += 61
        bench.die()
        bench.wait_for_restart()

    assert not bench.keeper.dies_too_often


@pytest.mark.parametrize("error", [ServiceError("no room"), OSError("no room")])
def test_what_does_not_start_is_tried_again(bench, error):
    bench.thing.error = error
    bench.die()
    bench.wait_for_restart()
    bench.thing.error = None

    assert bench.wait_for_restart() == 1
    assert bench.said[-1] == "worker did not start: no room; starting it in 1 s"
