"""Running other programs: their output or None, but never a hang."""

import subprocess
import time

import pytest

from agents import processes
from agents.processes import OutputTooLargeError, program_output, run_program


def test_output_is_returned_with_any_exit_code():
    assert program_output(["sh", "-c", "echo none; echo noise >&2; exit 1"]) == "none"


def test_missing_or_silent_program_returns_none():
    assert program_output(["no-such-program"]) is None
    assert program_output(["true"]) is None


def test_hanging_program_is_killed():
    began = time.monotonic()

    assert program_output(["sleep", "60"], timeout_s=0.1) is None
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("script", ["yes", "yes >&2", "trap '' PIPE; yes; sleep 60"])
def test_endless_output_is_killed(script):
    began = time.monotonic()

    with pytest.raises(OutputTooLargeError, match="it printed more than 1000 bytes"):
        run_program(["sh", "-c", script], 30, most_bytes=1000)

    assert time.monotonic() - began < 20
    assert program_output(["sh", "-c", script]) is None


def test_surviving_child_is_not_awaited():
    began = time.monotonic()

    with pytest.raises(subprocess.TimeoutExpired):
        run_program(["sh", "-c", "sleep 60 & echo begun"], 0.2)

    assert time.monotonic() - began < 30


def test_unstartable_program_returns_none(tmp_path, monkeypatch):
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)

    assert program_output([str(broken)]) is None


def test_locale_has_decimal_points(monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")

    assert processes.plain_environment()["LC_ALL"] == "C.UTF-8"
