"""A large spool: saving takes constant time, sending is quick, `watch` needs little
memory.

VIRTLAB_TEST_SPOOLED=100000 runs the long test (`make test-faults`).
"""

import json
import os
import re
import signal
import time
import uuid
from pathlib import Path

import pytest

from agents.spool import Spool
from agents.spool_delivery import MAX_BATCH_RUNS
from tests.agents.packed_agent import await_true, staged

SPOOLED = int(os.environ.get("VIRTLAB_TEST_SPOOLED", "3000"))
# Runs per second over loopback, against a server that only stores them.
LEAST_RATE = 500
MOST_BYTES = 25_000_000
OUTPUT = "Triad:          25684.4     0.006283     0.006229     0.006360\n" * 5


def fill(folder, number):
    """Create the files of this many saves without flushing each."""
    folder.mkdir(parents=True, exist_ok=True)
    for _ in range(number):
        key = uuid.uuid4()
        text = json.dumps({"key": str(key), "output": OUTPUT})
        (folder / f"{key}.json").write_text(text)


@pytest.fixture
def stage(tmp_path):
    with staged(tmp_path) as stage:
        yield stage


def save_s(folder):
    """Return the shortest time of a few saves, each in its own process."""
    times = []
    for _ in range(15):
        began_s = time.perf_counter()
        Spool(str(folder)).save({"key": str(uuid.uuid4()), "output": OUTPUT})
        times.append(time.perf_counter() - began_s)
    return min(times)


def test_saving_time_does_not_depend_on_the_spool(tmp_path):
    fill(tmp_path / "full", SPOOLED)
    Spool(str(tmp_path / "full")).size_bytes()

    empty_s, full_s = save_s(tmp_path / "empty"), save_s(tmp_path / "full")

    print(
        f"{1000 * empty_s:.1f} ms empty, {1000 * full_s:.1f} ms of {SPOOLED}", end=" "
    )
    assert full_s < 3 * empty_s + 0.002


def test_watch_sends_many_runs_quickly_with_little_memory(stage):
    spool = stage.home / "spool"
    fill(spool, SPOOLED)
    began_s = time.perf_counter()

    watch = stage.begin("watch")
    await_true(lambda: stage.server.stored)
    first_s = time.perf_counter() - began_s
    await_true(lambda: len(stage.server.stored) == SPOOLED, 600)
    took_s = time.perf_counter() - began_s - first_s
    await_true(lambda: not list(spool.glob("*.json")))
    watch.send_signal(signal.SIGTERM)
    log = watch.communicate(timeout=60)[1]

    resident_bytes = int(re.search(r"VmHWM:\s*(\d+) kB", log)[1]) * 1024
    cpu_s = float(re.search(r"CPU: ([\d.]+) s", log)[1])
    rate = SPOOLED / took_s
    print(f"first after {first_s:.2f} s, {rate:.0f} runs/s,", end=" ")
    print(f"{SPOOLED / cpu_s:.0f} a second of its processor time,", end=" ")
    print(f"{resident_bytes / 1e6:.1f} MB, {stage.server.connections} connections")
    # Processor time, because other load affects the wall time.
    assert SPOOLED / cpu_s > 3 * LEAST_RATE
    assert resident_bytes < MOST_BYTES
    assert stage.server.connections <= 2
    assert "stopped" in log


def test_sigterm_stops_after_the_current_request(stage):
    fill(stage.home / "spool", SPOOLED)
    stage.server.slow_s = 0.2

    watch = stage.begin("watch")
    await_true(lambda: len(stage.server.stored) > MAX_BATCH_RUNS)
    sent, told_s = len(stage.server.stored), time.perf_counter()
    watch.send_signal(signal.SIGTERM)
    log = watch.communicate(timeout=60)[1]

    # Not by time, because of other load: the current request and no more.
    print(f"ended {time.perf_counter() - told_s:.2f} s after SIGTERM", end=" ")
    assert watch.returncode == 0
    assert len(stage.server.stored) - sent <= 2 * MAX_BATCH_RUNS
    assert len(stage.server.stored) < SPOOLED
    assert "stopped" in log


def test_push_beside_a_large_spool_is_quick(stage):
    fill(stage.home / "spool", SPOOLED)
    study = ("--study", "study", "--host", "alpha", "--hypervisor", "KVM")

    cost = stage.cost("push", str(Path(__file__)), "--later", *study)

    assert cost.exit_code == 0
    assert cost.resident_bytes < MOST_BYTES
