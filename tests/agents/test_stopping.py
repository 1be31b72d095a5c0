"""Stopping: from a signal at any moment, without waiting for oneself."""

import signal
import time

import pytest

from agents.processes import Stop


@pytest.fixture
def stop():
    stop = Stop()
    yield stop
    stop.close()


def test_it_waits_as_long_as_told(stop):
    began = time.monotonic()

    assert stop.wait(0.05) is False
    assert time.monotonic() - began >= 0.05


def test_the_wish_ends_the_waiting_and_stays(stop):
    stop.set()

    assert stop.wait(60) is True
    assert stop.wait(60) is True


def test_a_thousand_signals_during_the_waiting_block_nobody(stop):
    """threading.Event hangs here: its lock is held when the handler wants it."""
    heard = 0
    before = signal.signal(signal.SIGALRM, stop.set)
    try:
        for _ in range(1000):
            stop.is_set = False
            signal.setitimer(signal.ITIMER_REAL, 0.00003)
            while not stop.wait(0.01):
                pass
            heard += 1
        assert heard == 1000
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_signal_is_a_wish(stop):
    before = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)]
    stop.listen_to_signals()
    try:
        signal.raise_signal(signal.SIGTERM)
        assert stop.wait(60) is True
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])


def test_another_signal_wakes_it_once_and_not_for_ever(stop):
    stop._waker.send(b"\x1c")

    assert stop.wait(60) is False
    began = time.monotonic()
    assert stop.wait(0.05) is False
    assert time.monotonic() - began >= 0.05


def test_more_wishes_than_anybody_reads_are_no_error(stop):
    for _ in range(100_000):
        stop.set()

    assert stop.wait(0) is True
