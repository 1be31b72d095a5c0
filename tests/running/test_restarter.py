"""Restarting a program that exits: immediately, then after increasing delays."""

import signal
from pathlib import Path

import pytest

from running.errors import StartError
from running.supervision import MAX_RESTART_PAUSE_S, MIN_UPTIME_S, Restarter


class FakeProgram:
    """A program that exits as often as it is told to."""

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


class RestarterBench:
    """A restarter with its program, its clock, and its messages."""

    def __init__(self) -> None:
        self.now = 0.0
        self.messages: list[str] = []
        self.program = FakeProgram()
        self.restarter = Restarter(self.program, self.messages.append, lambda: self.now)

    def die(self, code: int = 1) -> None:
        self.program.code = code
        self.restarter.check()

    def wait_for_restart(self) -> float:
        begun, starts = self.now, self.program.starts
        while self.program.starts == starts:
            self.now += 0.125
            self.restarter.check()
        return self.now - begun


@pytest.fixture
def bench() -> RestarterBench:
    return RestarterBench()


def test_running_program_is_not_touched(bench):
    bench.restarter.check()

    assert (bench.program.starts, bench.messages) == (0, [])


def test_dead_program_is_restarted_at_once_with_a_message(bench):
    bench.now = 60
    bench.die(-signal.SIGKILL)

    assert bench.wait_for_restart() < 0.2
    assert bench.messages == ["worker was killed (SIGKILL); starting it again"]


def test_short_lived_program_is_restarted_with_growing_pauses(bench):
    waits = []
    for _ in range(7):
        bench.die()
        waits.append(bench.wait_for_restart())

    assert waits == [0.5, 1, 2, 4, 8, MAX_RESTART_PAUSE_S, MAX_RESTART_PAUSE_S]
    assert bench.messages[2] == "worker ended (exit code 1); starting it in 2 s"


def test_five_deaths_in_a_minute_point_to_the_log(bench):
    for _ in range(5):
        assert not bench.restarter.dies_too_often
        bench.die()
        bench.wait_for_restart()

    assert bench.restarter.dies_too_often
    assert "5 times within 60 s: see var/log/worker.log" in bench.messages[-1]
    assert bench.program.starts == 5


def test_occasional_kills_are_restarted_at_once(bench):
    for _ in range(20):
        bench.now += MIN_UPTIME_S
        bench.die(-signal.SIGKILL)
        assert bench.wait_for_restart() < 0.2


def test_rare_deaths_do_not_add_up(bench):
    for _ in range(8):
        bench.now += 61
        bench.die()
        bench.wait_for_restart()

    assert not bench.restarter.dies_too_often


@pytest.mark.parametrize("error", [StartError("no room"), OSError("no room")])
def test_failed_start_is_retried(bench, error):
    bench.program.error = error
    bench.die()
    bench.wait_for_restart()
    bench.program.error = None

    assert bench.wait_for_restart() == 1
    assert bench.messages[-1] == "worker did not start: no room; starting it in 1 s"
