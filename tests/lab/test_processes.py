import time

import pytest

from lab.processes import Program


def soon():
    return time.monotonic() + 60


def test_it_keeps_every_line_with_its_time(tmp_path):
    program = Program(["sh", "-c", "echo one; echo two"], tmp_path / "log")

    assert [line.text for line in program.lines_until(soon())] == ["one", "two"]
    assert program.exit_code == 0
    assert (tmp_path / "log").read_text().split()[1::2] == ["one", "two"]


def test_it_gives_up_at_the_limit_and_stops_all_it_started(tmp_path):
    program = Program(["sh", "-c", "sleep 60 & sleep 60"], tmp_path / "log")

    with pytest.raises(TimeoutError):
        list(program.lines_until(time.monotonic() + 0.2))
    program.stop()

    assert program.exit_code is not None
    assert list(program.lines_until(soon())) == []


def test_it_takes_what_moves_a_cursor_out_of_a_line(tmp_path):
    program = Program(["printf", "\\033c\\rhere\\r\\n"], tmp_path / "log")

    (line,) = program.lines_until(soon())

    assert line.text.endswith("here")
    assert line.text.isprintable()
