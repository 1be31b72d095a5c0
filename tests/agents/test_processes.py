"""Other programs: their output, or None; never a hang."""

import subprocess
import time

import pytest

from agents import processes
from agents.processes import FloodError, ended, output_of


def test_it_returns_what_was_printed_whatever_the_exit_code():
    assert output_of(["sh", "-c", "echo none; echo noise >&2; exit 1"]) == "none"


def test_what_is_missing_or_silent_is_none():
    assert output_of(["no-such-program"]) is None
    assert output_of(["true"]) is None


def test_what_hangs_is_given_up():
    began = time.monotonic()

    assert output_of(["sleep", "60"], patience_s=0.1) is None
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("script", ["yes", "yes >&2", "trap '' PIPE; yes; sleep 60"])
def test_what_prints_without_end_is_ended(script):
    began = time.monotonic()

    with pytest.raises(FloodError, match="it printed more than 1000 bytes"):
        ended(["sh", "-c", script], 30, most_bytes=1000)

    assert time.monotonic() - began < 20
    assert output_of(["sh", "-c", script]) is None


def test_what_it_left_behind_is_not_awaited_for_ever():
    began = time.monotonic()

    with pytest.raises(subprocess.TimeoutExpired):
        ended(["sh", "-c", "sleep 60 & echo begun"], 0.2)

    assert time.monotonic() - began < 30


def test_what_cannot_be_started_is_none(tmp_path, monkeypatch):
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)

    assert output_of([str(broken)]) is None


def test_the_locale_has_decimal_points(monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")

    assert processes.plain_environment()["LC_ALL"] == "C.UTF-8"
