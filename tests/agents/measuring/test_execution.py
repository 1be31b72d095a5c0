"""Starting a program: its output, its time, and its end if it finds none."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from agents.measuring import bracket
from agents.measuring.bracket import execute

ROOT = Path(__file__).parents[3]
# A minute, in digits that nobody else's sleep on this machine has.
MINUTE = f"61.{os.getpid()}"


def shell(script, limit_s=10.0):
    return execute(["sh", "-c", script], limit_s)


def running(word):
    """The living processes that have this word in their command line."""
    found = [each.info for each in psutil.process_iter(["cmdline", "status"])]
    alive = [each for each in found if each["status"] != psutil.STATUS_ZOMBIE]
    return [each for each in alive if word in (each["cmdline"] or [])]


def test_both_streams_are_kept_as_a_terminal_shows_them():
    done = shell("echo result; echo metrics >&2; echo end")

    assert done.output == b"result\nmetrics\nend\n"
    assert (done.exit_code, done.problem) == (0, "")
    assert done.argv == ["sh", "-c", "echo result; echo metrics >&2; echo end"]


def test_it_is_timed():
    done = shell("sleep 0.1")

    assert 100_000 <= done.local_us < 5_000_000
    assert done.started_at.endswith("Z")


def test_it_prints_decimal_points_whatever_the_user_speaks(monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")

    assert shell("echo $LC_ALL-$LANGUAGE").output == b"C.UTF-8-\n"


def test_a_failure_is_no_result():
    assert shell("echo almost; exit 3").problem == "ended with 3"
    assert shell("kill -SEGV $$").problem == "ended with -11"


def test_what_hangs_is_ended_with_all_it_started():
    began = time.monotonic()

    done = shell(f"sleep {MINUTE} & sleep {MINUTE}", limit_s=0.2)

    assert done.is_timed_out
    assert "no end within" in done.problem
    assert time.monotonic() - began < 30
    assert not running(MINUTE)


def test_interrupting_us_ends_it_too(monkeypatch):
    class Interrupted(BaseException):
        pass

    def interrupt(self, timeout=None):
        if timeout is not None:
            raise Interrupted
        return waiting(self)

    waiting = bracket.subprocess.Popen.wait
    monkeypatch.setattr(bracket.subprocess.Popen, "wait", interrupt)

    with pytest.raises(Interrupted):
        shell(f"sleep {MINUTE}")
    assert not running(MINUTE)


def test_a_flood_is_cut_and_no_result(monkeypatch):
    monkeypatch.setattr(bracket, "MOST_OUTPUT_BYTES", 1000)

    done = execute([sys.executable, "-c", "print('x' * 5000)"], 10)

    assert len(done.output) == 1000
    assert "more than 1000 bytes" in done.problem


def test_a_flood_is_ended_long_before_the_limit(monkeypatch):
    monkeypatch.setattr(bracket, "MOST_OUTPUT_BYTES", 1000)
    monkeypatch.setattr(bracket, "_LOOK_AGAIN_S", 0.05)

    done = shell(f"seq 1000; sleep {MINUTE}", limit_s=60)

    assert "more than 1000 bytes" in done.problem
    assert done.local_us < 30_000_000
    assert not running(MINUTE)


def test_it_reads_nothing_from_us():
    assert shell("cat").output == b""


def test_somebody_may_end_it_sooner(monkeypatch):
    monkeypatch.setattr(bracket, "_LOOK_AGAIN_S", 0.05)
    answers = iter([False, True])
    began = time.monotonic()

    done = execute(["sleep", "60"], 90.0, is_enough=lambda: next(answers))

    assert time.monotonic() - began < 30
    assert not done.is_timed_out
    assert done.exit_code == -9


def test_it_dies_with_an_agent_that_is_killed():
    agent = (
        "from agents.measuring.bracket import execute; "
        f"execute(['sleep', '{MINUTE}'], 90)"
    )
    parent = subprocess.Popen([sys.executable, "-c", agent], cwd=ROOT)
    deadline = time.monotonic() + 60
    while not running(MINUTE) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert running(MINUTE)

    parent.kill()
    parent.wait()

    while running(MINUTE) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not running(MINUTE)
