"""Stopping by a signal at any time, without a deadlock."""

import signal
import time

import pytest

from agents.processes import StopFlag


@pytest.fixture
def stop():
    stop = StopFlag()
    yield stop
    stop.close()


def test_wait_lasts_as_long_as_requested(stop):
    began = time.monotonic()

    assert stop.wait(0.05) is False
    assert time.monotonic() - began >= 0.05


def test_set_ends_the_wait_and_stays_set(stop):
    stop.set()

    assert stop.wait(60) is True
    assert stop.wait(60) is True


def test_thousand_signals_during_a_wait_do_not_block(stop):
    """threading.Event hangs here: the handler waits for a lock that is held."""
    received = 0
    before = signal.signal(signal.SIGALRM, stop.set)
    try:
        for _ in range(1000):
            stop.is_set = False
            signal.setitimer(signal.ITIMER_REAL, 0.00003)
            while not stop.wait(0.01):
                pass
            received += 1
        assert received == 1000
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_signal_sets_the_flag(stop):
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    stop.install_signal_handlers()
    try:
        signal.raise_signal(signal.SIGTERM)
        assert stop.wait(60) is True
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])


def test_other_signal_wakes_only_once(stop):
    stop._wake_writer.send(b"\x1c")

    assert stop.wait(60) is False
    began = time.monotonic()
    assert stop.wait(0.05) is False
    assert time.monotonic() - began >= 0.05


def test_unread_wake_ups_are_no_error(stop):
    for _ in range(100_000):
        stop.set()

    assert stop.wait(0) is True
