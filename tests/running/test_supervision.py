"""Supervised processes are restarted when killed, and end with their supervisor."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from running.processes import ROOT
from running.supervision import SECOND_SIGNAL_S

from .process_checks import is_alive, wait_until, wait_until_gone

NAMES = ("web", "worker", "sweeper")


class Dummies:
    """A supervisor with three dummies, each of which has a child."""

    def __init__(self, folder: Path, behaviour: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.running.dummy_product", folder, behaviour],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            start_new_session=True,
        )
        wait_until(lambda: all(map(self.pid_file_exists, NAMES)))
        self.pids = [self.pid(name) for name in self.all_names()]

    def all_names(self) -> list[str]:
        return [*NAMES, *(f"{name}-child" for name in NAMES)]

    def pid_file_exists(self, name: str) -> bool:
        return (self.folder / f"{name}-child.pid").exists()

    def pid(self, name: str) -> int:
        return int((self.folder / f"{name}.pid").read_text())

    def stopped(self) -> list[str]:
        return (self.folder / "stopped").read_text().split()

    def ask(self, *numbers: int) -> int:
        """Send the signals, with a short pause after each.

        The pause starts when the signal was handled: the first dummy is told to stop.
        """
        for index, number in enumerate(numbers):
            if index:
                wait_until((self.folder / "stopped").exists)
                time.sleep(SECOND_SIGNAL_S + 0.1)
            self.process.send_signal(number)
        return self.process.wait(timeout=60)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        for pid in self.pids:
            with suppress(psutil.NoSuchProcess):
                psutil.Process(pid).kill()


@pytest.fixture
def heard_signals() -> Iterator[None]:
    """Restore signals that the shell ignores, as all our children would ignore them.

    A background job starts with SIGINT ignored, one under nohup with SIGHUP ignored.
    """
    numbers = (signal.SIGINT, signal.SIGHUP)
    before = [signal.signal(number, signal.default_int_handler) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.fixture
def dummies(tmp_path: Path, heard_signals: None) -> Iterator[Callable[..., Dummies]]:
    made = []

    def make(behaviour: str = "obedient") -> Dummies:
        made.append(Dummies(tmp_path, behaviour))
        return made[-1]

    yield make
    for product in made:
        product.end()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_stop_is_ordered_and_complete(dummies, number):
    product = dummies()

    code = product.ask(number)

    assert (code, product.stopped()) == (0, list(NAMES))
    assert not any(map(is_alive, product.pids))
    assert product.process.stdout.read() == b"stopped\n"


def test_supervisor_started_in_the_background_stops_on_sigint(dummies):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as shells do for `command &`
    product = dummies()

    assert product.ask(signal.SIGINT) == 0
    assert product.stopped() == list(NAMES)


def test_terminals_ctrl_c_reaches_only_the_supervisor(dummies):
    product = dummies()

    os.killpg(product.process.pid, signal.SIGINT)

    assert product.process.wait(timeout=60) == 0
    assert product.stopped() == list(NAMES)


def test_killed_program_restarts_without_its_children(dummies):
    product = dummies()
    before, child = product.pid("worker"), product.pid("worker-child")

    os.kill(before, signal.SIGKILL)

    wait_until(lambda: product.pid("worker") != before)
    wait_until_gone(child)
    product.pids += [product.pid("worker"), product.pid("worker-child")]
    assert product.ask(signal.SIGTERM) == 0
    assert b"worker was killed (SIGKILL); starting" in product.process.stdout.read()
    assert not any(map(is_alive, product.pids))


def test_children_in_their_own_session_are_killed(dummies):
    product = dummies("orphans")

    os.kill(product.pid("web"), signal.SIGKILL)
    wait_until(lambda: product.pid("web") != product.pids[0])
    product.ask(signal.SIGTERM)

    assert not any(map(is_alive, product.pids))


def test_second_ctrl_c_does_not_wait_for_stubborn_programs(dummies):
    product = dummies("stubborn")
    begun = time.monotonic()

    code = product.ask(signal.SIGINT, signal.SIGINT)

    # One after another, the three of them would take ten seconds each.
    assert (code, time.monotonic() - begun < 25) == (0, True)
    assert not any(map(is_alive, product.pids))


def test_two_simultaneous_signals_are_one_request(dummies):
    product = dummies()

    # While stopped it handles no signal: so both arrive at once on a busy machine, too.
    product.process.send_signal(signal.SIGSTOP)
    product.process.send_signal(signal.SIGTERM)
    product.process.send_signal(signal.SIGINT)
    product.ask(signal.SIGCONT)

    assert product.stopped() == list(NAMES)


def test_kill_9_of_the_supervisor_kills_its_children(dummies):
    product = dummies()

    product.process.kill()

    wait_until_gone(*(product.pid(name) for name in NAMES))
    assert product.stopped() == ["web"], "web is asked, the others are killed"
