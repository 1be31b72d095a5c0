"""Running a program: its output, its time, and its end."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from agents.measuring import timed_run
from agents.measuring.timed_run import execute

ROOT = Path(__file__).parents[3]
# A minute, with digits that no other sleep on this machine has.
MINUTE = f"61.{os.getpid()}"


def shell(script, limit_s=10.0):
    return execute(["sh", "-c", script], limit_s)


def running(word):
    """Return the living processes with this word in their command line."""
    infos = [process.info for process in psutil.process_iter(["cmdline", "status"])]
    alive = [info for info in infos if info["status"] != psutil.STATUS_ZOMBIE]
    return [info for info in alive if word in (info["cmdline"] or [])]


def test_both_streams_are_merged():
    done = shell("echo result; echo metrics >&2; echo end")

    assert done.output == b"result\nmetrics\nend\n"
    assert (done.exit_code, done.problem) == (0, "")
    assert done.argv == ["sh", "-c", "echo result; echo metrics >&2; echo end"]


def test_program_is_timed():
    done = shell("sleep 0.1")

    assert 100_000 <= done.local_us < 5_000_000
    assert done.started_at.endswith("Z")


def test_decimal_points_do_not_depend_on_the_locale(monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")

    assert shell("echo $LC_ALL-$LANGUAGE").output == b"C.UTF-8-\n"


def test_failure_is_not_a_result():
    assert shell("echo almost; exit 3").problem == "ended with 3"
    assert shell("kill -SEGV $$").problem == "ended with -11"


def test_hanging_program_is_killed_with_its_children():
    began = time.monotonic()

    done = shell(f"sleep {MINUTE} & sleep {MINUTE}", limit_s=0.2)

    assert done.is_timed_out
    assert "did not end within" in done.problem
    assert time.monotonic() - began < 30
    assert not running(MINUTE)


def test_interrupt_kills_the_program(monkeypatch):
    class Interrupted(BaseException):
        pass

    def interrupt(self, timeout=None):
        if timeout is not None:
            raise Interrupted
        return waiting(self)

    waiting = timed_run.subprocess.Popen.wait
    monkeypatch.setattr(timed_run.subprocess.Popen, "wait", interrupt)

    with pytest.raises(Interrupted):
        shell(f"sleep {MINUTE}")
    assert not running(MINUTE)


def test_endless_output_is_cut_and_not_a_result(monkeypatch):
    monkeypatch.setattr(timed_run, "MAX_OUTPUT_BYTES", 1000)

    done = execute([sys.executable, "-c", "print('x' * 5000)"], 10)

    assert len(done.output) == 1000
    assert "more than 1000 bytes" in done.problem


def test_endless_output_is_killed_before_the_limit(monkeypatch):
    monkeypatch.setattr(timed_run, "MAX_OUTPUT_BYTES", 1000)
    monkeypatch.setattr(timed_run, "_POLL_S", 0.05)

    done = shell(f"seq 1000; sleep {MINUTE}", limit_s=60)

    assert "more than 1000 bytes" in done.problem
    assert done.local_us < 30_000_000
    assert not running(MINUTE)


def test_standard_input_is_empty():
    assert shell("cat").output == b""


def test_condition_stops_the_program(monkeypatch):
    monkeypatch.setattr(timed_run, "_POLL_S", 0.05)
    answers = iter([False, True])
    began = time.monotonic()

    done = execute(["sleep", "60"], 90.0, should_stop=lambda: next(answers))

    assert time.monotonic() - began < 30
    assert not done.is_timed_out
    assert done.exit_code == -9


def test_program_dies_with_a_killed_agent():
    agent = (
        "from agents.measuring.timed_run import execute; "
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
