import time

import pytest

from lab import LabError
from lab.processes import ClockCheck, Line, Program, read_console


def test_it_keeps_every_line_with_its_time(tmp_path):
    program = Program(["sh", "-c", "echo one; echo two"], tmp_path / "log")

    assert [line.text for line in program.follow()] == ["one", "two"]
    assert program.exit_code == 0
    assert (tmp_path / "log").read_text().split()[1::2] == ["one", "two"]


def test_it_gives_up_at_the_limit_and_stops_all_it_started(tmp_path):
    program = Program(["sh", "-c", "sleep 60 & sleep 60"], tmp_path / "log")

    program.deadline_s = time.monotonic() + 0.2
    with pytest.raises(TimeoutError):
        list(program.follow())
    program.stop()

    assert program.exit_code is not None
    assert list(program.follow()) == []


def test_a_limit_can_be_put_off_by_what_is_read(tmp_path):
    script = "echo up; sleep 0.6; echo done"
    program = Program(["sh", "-c", script], tmp_path / "log")
    program.deadline_s = time.monotonic() + 30
    heard = []

    for line in program.follow():
        heard.append(line.text)
        program.deadline_s = time.monotonic() + 30

    assert heard == ["up", "done"]


def test_a_line_can_be_awaited(tmp_path):
    program = Program(["sh", "-c", "echo one; echo two; sleep 60"], tmp_path / "log")

    program.await_line("two", 30)
    with pytest.raises(LabError, match=r"did not say `three` within 0\.1 s"):
        program.await_line("three", 0.1)
    program.stop()


def test_one_that_ends_without_the_awaited_line_is_told_with_its_words(tmp_path):
    program = Program(["sh", "-c", "echo no rights; exit 1"], tmp_path / "peer.log")

    with pytest.raises(LabError, match=r"peer ended without(.|\n)*no rights"):
        program.await_line("ready", 30)


def test_it_takes_what_moves_a_cursor_out_of_a_line(tmp_path):
    program = Program(["printf", "\\033c\\rhere\\r\\n"], tmp_path / "log")

    (line,) = program.follow()

    assert line.text.endswith("here")
    assert line.text.isprintable()


def lines(*texts):
    return [Line(float(at), text) for at, text in enumerate(texts)]


def test_each_system_of_a_console_has_its_own_words():
    found = read_console(
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

    assert found["xen-pv"].clocks == [ClockCheck(2.0, 1.0, 2.0, 0.5)]
    assert (found["xen-pv"].up_s, found["xen-pv"].done_s) == (1.0, 7.0)
    assert found["xen-pvh"].done_s is None


def test_errors_are_of_the_truth():
    check = ClockCheck(truth_s=4.0, bound_s=0.1, external_s=4.04, local_s=1.0)

    assert round(check.external_error, 6) == 0.01
    assert check.local_error == -0.75
    assert check.bound == 0.025


def test_a_check_that_was_cut_is_none():
    found = read_console(
        lines(
            "lab: kvm is up",
            "lab: clock begins",
            "lab: clock external 2000000 local 500000",
        )
    )

    assert found["kvm"].clocks == []


def test_who_said_nothing_is_not_there():
    assert read_console(lines("Kernel panic")) == {}
