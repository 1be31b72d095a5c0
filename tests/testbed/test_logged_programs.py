import time

import pytest

from testbed import TestbedError
from testbed.logged_programs import ClockCheck, ConsoleLine, LoggedProgram, read_console


def test_every_line_is_stored_with_its_time(tmp_path):
    program = LoggedProgram(["sh", "-c", "echo one; echo two"], tmp_path / "log")

    assert [line.text for line in program.follow()] == ["one", "two"]
    assert program.exit_code == 0
    assert (tmp_path / "log").read_text().split()[1::2] == ["one", "two"]


def test_deadline_stops_the_program_and_its_children(tmp_path):
    program = LoggedProgram(["sh", "-c", "sleep 60 & sleep 60"], tmp_path / "log")

    program.deadline_s = time.monotonic() + 0.2
    with pytest.raises(TimeoutError):
        list(program.follow())
    program.stop()

    assert program.exit_code is not None
    assert list(program.follow()) == []


def test_deadline_can_be_extended(tmp_path):
    script = "echo up; sleep 0.6; echo done"
    program = LoggedProgram(["sh", "-c", script], tmp_path / "log")
    program.deadline_s = time.monotonic() + 30
    received = []

    for line in program.follow():
        received.append(line.text)
        program.deadline_s = time.monotonic() + 30

    assert received == ["up", "done"]


def test_line_can_be_awaited(tmp_path):
    program = LoggedProgram(
        ["sh", "-c", "echo one; echo two; sleep 60"], tmp_path / "log"
    )

    program.wait_for_line("two", 30)
    with pytest.raises(TestbedError, match=r"did not print `three` within 0\.1 s"):
        program.wait_for_line("three", 0.1)
    program.stop()


def test_end_before_the_awaited_line_shows_the_output(tmp_path):
    program = LoggedProgram(
        ["sh", "-c", "echo no rights; exit 1"], tmp_path / "peer.log"
    )

    with pytest.raises(TestbedError, match=r"peer ended without(.|\n)*no rights"):
        program.wait_for_line("ready", 30)


def test_cursor_movements_are_removed(tmp_path):
    program = LoggedProgram(["printf", "\\033c\\rhere\\r\\n"], tmp_path / "log")

    (line,) = program.follow()

    assert line.text.endswith("here")
    assert line.text.isprintable()


def lines(*texts):
    return [ConsoleLine(float(at), text) for at, text in enumerate(texts)]


def test_console_is_split_by_system():
    report = read_console(
        lines(
            "[    0.1] booting",
            "lab: xen-pv is up",
            "lab: clock opens",
            "lab: clock begins",
            "lab: clock ends",
            "lab: clock closes",
            "lab: clock external 2000000 local 500000",
            "lab: xen-pv is done",
            "lab: xen-pvh is up",
        )
    )

    assert report["xen-pv"].clocks == [ClockCheck(2.0, 1.0, 2.0, 0.5)]
    assert (report["xen-pv"].up_s, report["xen-pv"].done_s) == (1.0, 7.0)
    assert report["xen-pvh"].done_s is None


def test_errors_are_relative_to_the_truth():
    check = ClockCheck(truth_s=4.0, bound_s=0.1, external_s=4.04, local_s=1.0)

    assert round(check.external_error, 6) == 0.01
    assert check.local_error == -0.75
    assert check.bound == 0.025


def test_incomplete_check_is_skipped():
    report = read_console(
        lines(
            "lab: kvm is up",
            "lab: clock begins",
            "lab: clock external 2000000 local 500000",
        )
    )

    assert report["kvm"].clocks == []


def test_silent_system_is_missing():
    assert read_console(lines("Kernel panic")) == {}
