"""Counters of several processes: summed, and kept when a process is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from benchmarks.monitoring import counters

COUNTING = """
import sys, time
from benchmarks.monitoring.counters import ACCEPTED
ACCEPTED.inc(int(sys.argv[1]))
print("counted", flush=True)
sys.stdin.read()
"""
FORKING = """
import os
from benchmarks.monitoring.counters import ACCEPTED
ACCEPTED.inc()
for _ in range(3):
    if os.fork() == 0:
        ACCEPTED.inc(10)
        os._exit(0)
    os.wait()
ACCEPTED.inc()
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, counters.DIRECTORY_VARIABLE: str(tmp_path / "counters")}


def counting(n: int, environment: dict[str, str]) -> subprocess.Popen[str]:
    """Start a process that increments counters and then waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", COUNTING, str(n)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "counted\n"
    return process


def accepted(environment: dict[str, str]) -> float:
    registry = CollectorRegistry()
    MultiProcessCollector(registry, environment[counters.DIRECTORY_VARIABLE])
    assert b'virtlab_uploads_total{outcome="accepted"}' in generate_latest(registry)
    return registry.get_sample_value("virtlab_uploads_total", {"outcome": "accepted"})


def end(process: subprocess.Popen[str], number: int = signal.SIGKILL) -> None:
    process.send_signal(number)
    process.wait()
    process.stdin.close()
    process.stdout.close()


def test_counters_of_all_processes_are_summed(environment):
    first, second = counting(3, environment), counting(4, environment)
    assert accepted(environment) == 7

    end(first)
    third = counting(5, environment)

    assert accepted(environment) == 12
    end(second)
    end(third)
    assert accepted(environment) == 12


def test_slots_are_reused(environment):
    for _ in range(4):
        end(counting(1, environment))

    files = sorted(
        path.name for path in Path(environment[counters.DIRECTORY_VARIABLE]).iterdir()
    )
    assert files == ["0.lock", "counter_0.db", "histogram_0.db"]
    assert accepted(environment) == 4


def test_forked_processes_count_for_themselves(environment):
    subprocess.run([sys.executable, "-c", FORKING], env=environment, check=True)

    assert accepted(environment) == 32


def test_files_are_preallocated(environment):
    """Otherwise a full disk would kill processes."""
    end(counting(1, environment))

    for path in Path(environment[counters.DIRECTORY_VARIABLE]).glob("*.db"):
        facts = path.stat()
        assert facts.st_size == counters.FILE_BYTES
        assert facts.st_blocks * 512 >= counters.FILE_BYTES, path
