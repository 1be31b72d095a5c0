"""Other programs: their output, or None; never a hang."""

import time

from agents import programs
from agents.programs import output_of


def test_it_returns_what_was_printed_whatever_the_exit_code():
    assert output_of(["sh", "-c", "echo none; echo noise >&2; exit 1"]) == "none"


def test_what_is_missing_or_silent_is_none():
    assert output_of(["no-such-program"]) is None
    assert output_of(["true"]) is None


def test_what_hangs_is_given_up():
    began = time.monotonic()

    assert output_of(["sleep", "60"], patience_s=0.1) is None
    assert time.monotonic() - began < 30


def test_what_cannot_be_started_is_none(tmp_path, monkeypatch):
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)

    assert output_of([str(broken)]) is None


def test_the_locale_has_decimal_points(monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")

    assert programs.plain_environment()["LC_ALL"] == "C.UTF-8"
