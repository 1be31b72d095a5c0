"""watch: sends whenever possible and is idle otherwise."""

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import psutil
import pytest

from agents.client import Client
from agents.local_state import Enrolment, open_spool, save_enrolment
from agents.processes import StopFlag
from agents.spool import Spool
from agents.spool_delivery import SpoolWatcher
from tests.agents.packed_agent import LIMIT_BYTES, TOKEN, bare_bytes

ROOT = Path(__file__).parents[3]


@pytest.fixture
def messages():
    return []


@pytest.fixture
def watch(spool, client, messages):
    return SpoolWatcher(spool, client, messages.append, every_s=5.0)


def save(spool):
    return spool.save({"key": str(uuid.uuid4())})


def test_idle_watch_sends_no_request(watch, server):
    assert watch.send_waiting() == 5.0
    assert server.requests == []


def test_waiting_runs_are_sent(watch, spool, server):
    key = save(spool)

    assert watch.send_waiting() == 5.0
    assert list(server.stored) == [key]


def test_failures_lengthen_pauses_and_are_reported_once(watch, spool, server, messages):
    save(spool)
    server.faults = [503] * 4

    pauses = [watch.send_waiting() for _ in range(4)]

    assert pauses[3] > pauses[0]
    assert messages == ["1 waiting: the server answered HTTP 503"]
    assert watch.send_waiting() == 5.0
    assert watch.failures == 0


def test_retry_after_is_respected(watch, spool, server):
    save(spool)
    server.faults = [(429, {"Retry-After": "40"}, {})]

    assert watch.send_waiting() >= 40


def test_full_spool_is_reported(spool, messages):
    save(spool)
    full = Spool(spool.folder, most_bytes=spool.size_bytes())
    away = Client("http://127.0.0.1:9", TOKEN)

    SpoolWatcher(full, away, messages.append).send_waiting()

    assert "THE SPOOL IS 100% FULL" in messages[0]


def test_stop_ends_after_the_current_request(watch, spool, server, messages):
    for _ in range(20):
        save(spool)
    stop = StopFlag()
    report = watch.report
    watch.report = lambda sentence: (report(sentence), stop.set())

    watch.run_until(stop)

    stop.close()
    assert (len(server.stored), len(messages)) == (1, 1)
    assert len(spool.waiting()) == 19


def test_service_sends_and_ends_on_sigterm(home, server):
    save_enrolment(Enrolment(server.url, TOKEN))
    key = save(open_spool())
    program = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "agents",
        "watch",
        "--every",
        "0.05",
    ]

    with subprocess.Popen(
        program, cwd=ROOT, env=dict(os.environ), stderr=subprocess.PIPE, text=True
    ) as service:
        deadline = time.monotonic() + 60
        while not server.stored and time.monotonic() < deadline:
            time.sleep(0.02)
        resident_bytes = psutil.Process(service.pid).memory_info().rss
        service.send_signal(signal.SIGTERM)
        _, log = service.communicate(timeout=60)

    assert service.returncode == 0
    assert resident_bytes < bare_bytes() + LIMIT_BYTES
    assert list(server.stored) == [key]
    lines = log.splitlines()
    assert lines[0].endswith(f"Z watching the spool for {server.url}")
    assert lines[-1].endswith("Z stopped")
    assert "Warning" not in log
