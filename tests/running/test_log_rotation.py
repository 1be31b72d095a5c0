"""Rotation of logs that grow for years."""

import subprocess
import sys

import pytest

from running.processes import (
    KEPT_LOGS,
    MAX_LOG_BYTES,
    Rotation,
    copy_and_truncate,
    rotate_log,
)

from .process_checks import wait_until

WRITER = """
import sys, time
with open(sys.argv[1], "ab", buffering=0) as log:
    for number in range(10**6):
        log.write(b"%d" % number + b" " * 200_000 + b"\\n")
        time.sleep(0.002)
"""


@pytest.mark.parametrize("put_away", [rotate_log, copy_and_truncate])
def test_old_logs_are_numbered_and_the_oldest_removed(tmp_path, put_away):
    log = tmp_path / "web.log"
    for number in range(KEPT_LOGS + 3):
        log.write_text(f"{number}" + " " * MAX_LOG_BYTES)
        put_away(log)

    old = [tmp_path / f"web.log.{number}" for number in range(1, KEPT_LOGS + 1)]
    assert [path.read_text().strip() for path in old] == ["7", "6", "5", "4", "3"]
    assert {*tmp_path.iterdir()} - {*old} <= {log}


def test_small_log_stays(tmp_path):
    log = tmp_path / "web.log"
    log.write_text("short")

    copy_and_truncate(log)

    assert [path.name for path in tmp_path.iterdir()] == ["web.log"]


def test_writing_program_continues_in_the_emptied_log(tmp_path):
    log = tmp_path / "web.log"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(log)])
    try:
        wait_until(lambda: log.exists() and log.stat().st_size > MAX_LOG_BYTES)
        Rotation(tmp_path)()
        size = log.stat().st_size
        wait_until(lambda: log.stat().st_size > size)
    finally:
        writer.kill()
        writer.wait()

    assert size < MAX_LOG_BYTES
    assert (tmp_path / "web.log.1").stat().st_size > MAX_LOG_BYTES
    # Appended at the new end: no hole of zeros where the old text was.
    assert b"\0" not in log.read_bytes()
    assert (tmp_path / "web.log.1").stat().st_mode & 0o777 == 0o600


def test_logs_are_checked_every_half_minute(tmp_path):
    now = [0.0]
    rotation = Rotation(tmp_path, clock=lambda: now[0])
    rotation()
    (tmp_path / "web.log").write_text(" " * (MAX_LOG_BYTES + 1))

    rotation()
    assert not (tmp_path / "web.log.1").exists()

    now[0] = 31
    rotation()
    assert (tmp_path / "web.log.1").exists()
