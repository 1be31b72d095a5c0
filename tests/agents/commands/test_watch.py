"""watch: sends whenever it can, and rests in between."""

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
from agents.home import Enrolment, open_spool, save_enrolment
from agents.processes import Stop
from agents.sending import Watch
from agents.spool import Spool
from tests.agents.stage import LIMIT_BYTES, TOKEN, bare_bytes

ROOT = Path(__file__).parents[3]


@pytest.fixture
def said():
    return []


@pytest.fixture
def watch(spool, client, said):
    return Watch(spool, client, said.append, every_s=5.0)


def save(spool):
    return spool.save({"key": str(uuid.uuid4())})


def test_it_asks_nothing_of_the_server_while_nothing_waits(watch, server):
    assert watch.look() == 5.0
    assert server.requests == []


def test_it_sends_what_waits(watch, spool, server):
    key = save(spool)

    assert watch.look() == 5.0
    assert list(server.stored) == [key]


def test_it_waits_longer_after_each_failure_and_says_it_once(
    watch, spool, server, said
):
    save(spool)
    server.faults = [503] * 4

    pauses = [watch.look() for _ in range(4)]

    assert pauses[3] > pauses[0]
    assert said == ["1 wait: the server answered HTTP 503"]
    assert watch.look() == 5.0
    assert watch.failures == 0


def test_it_waits_as_long_as_the_server_asks(watch, spool, server):
    save(spool)
    server.faults = [(429, {"Retry-After": "40"}, {})]

    assert watch.look() >= 40


def test_a_full_spool_is_loud(spool, said):
    save(spool)
    full = Spool(spool.folder, most_bytes=spool.bytes_held())
    away = Client("http://127.0.0.1:9", TOKEN)

    Watch(full, away, said.append).look()

    assert "THE SPOOL IS FULL TO 100 %" in said[0]


def test_told_to_stop_it_ends_after_what_is_being_sent(watch, spool, server, said):
    for _ in range(20):
        save(spool)
    stop = Stop()
    told = watch.report
    watch.report = lambda sentence: (told(sentence), stop.set())

    watch.go_on_until(stop)

    stop.close()
    assert (len(server.stored), len(said)) == (1, 1)
    assert len(spool.waiting()) == 19


def test_as_a_service_it_sends_and_ends_by_sigterm(home, server):
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
    assert lines[0].endswith(f"Z watching, for {server.url}")
    assert lines[-1].endswith("Z stopped")
    assert "Warning" not in log
