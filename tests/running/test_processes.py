"""One child process: its log, its end, and its end with the parent."""

import signal
import sys

import pytest

from running.processes import MAX_LOG_BYTES, Child, Program, last_lines, open_log

from .process_checks import wait_until


def python(code: str, **options: object) -> Program:
    return Program("dummy", [sys.executable, "-c", code], **options)


def test_output_is_appended_to_a_private_log(tmp_path):
    log = tmp_path / "dummy.log"
    for _ in range(2):
        child = Child(python("print('here')", log=log))
        child.start()
        wait_until(lambda child=child: child.poll() is not None)
        child.stop()

    assert log.read_text() == "here\nhere\n"
    assert log.stat().st_mode & 0o777 == 0o600


def test_large_log_is_rotated_before_a_start(tmp_path):
    log = tmp_path / "dummy.log"
    log.write_text("first" + " " * MAX_LOG_BYTES)

    with open_log(log):
        pass

    assert log.stat().st_size == 0
    assert (tmp_path / "dummy.log.1").read_text().startswith("first")


def test_only_the_end_of_a_log_is_shown(tmp_path):
    log = tmp_path / "dummy.log"
    log.write_text("".join(f"line {number}\n" for number in range(9999)))

    assert last_lines(log, 2) == "  line 9997\n  line 9998"
    assert last_lines(tmp_path / "none.log") == ""


def test_missing_program_is_reported_in_its_log(tmp_path):
    child = Child(Program("dummy", ["/not/there"], log=tmp_path / "dummy.log"))

    child.start()
    wait_until(lambda: child.poll() is not None)

    assert "/not/there" in (tmp_path / "dummy.log").read_text()
    child.stop()


def test_files_are_private_whatever_the_umask(tmp_path):
    child = Child(python(f"open({str(tmp_path / 'made')!r}, 'w').close()"))

    child.start()
    wait_until(lambda: child.poll() is not None)
    child.stop()

    assert (tmp_path / "made").stat().st_mode & 0o077 == 0


def test_stubborn_child_is_killed_after_its_time_limit(tmp_path):
    code = "import signal, time; signal.signal(15, lambda *_: 0); print(1, flush=True)"
    log = tmp_path / "dummy.log"
    child = Child(python(f"{code}; time.sleep(60)", log=log, stop_timeout_s=0.3))
    child.start()
    wait_until(lambda: log.read_text())

    process = child.process
    child.stop()

    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("moment", ["before the start", "after the end"])
def test_stopping_a_stopped_child_is_no_error(moment):
    child = Child(python("pass"))
    if moment == "after the end":
        child.start()
        wait_until(lambda: child.poll() is not None)

    child.stop()

    assert child.pid is None
