"""Nothing is sent while a tool runs."""

import signal
import subprocess
import sys
import textwrap
import uuid
from pathlib import Path

import pytest

from agents.local_state import MeasuringLock, is_measuring, sends_unencrypted
from agents.spool_delivery import SpoolWatcher

ROOT = Path(__file__).parents[2]
HOLDER = """
    import time
    from agents.local_state import MeasuringLock

    with MeasuringLock():
        print("held", flush=True)
        time.sleep(60)
"""


@pytest.fixture(autouse=True)
def own_home(home):
    return home


def test_nothing_is_sent_while_measuring():
    assert not is_measuring()
    with MeasuringLock():
        assert is_measuring()
    assert not is_measuring()


def test_several_processes_may_measure():
    with MeasuringLock():
        with MeasuringLock():
            assert is_measuring()
        assert is_measuring()


def test_killed_process_releases_its_lock():
    program = [sys.executable, "-c", textwrap.dedent(HOLDER)]
    with subprocess.Popen(
        program, cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        assert is_measuring()
        holder.send_signal(signal.SIGKILL)

    assert not is_measuring()


def test_watch_waits_for_the_measurement(spool, client, server):
    key = spool.save({"key": str(uuid.uuid4())})
    watch = SpoolWatcher(spool, client, print)

    with MeasuringLock():
        watch.send_waiting()
        assert server.requests == []
    watch.send_waiting()

    assert list(server.stored) == [key]


@pytest.mark.parametrize(
    ("server", "is_unencrypted"),
    [
        ("https://virtlab.example.org", False),
        ("http://virtlab.example.org", True),
        ("http://192.168.1.9:8000", True),
        ("http://127.0.0.1:8000", False),
        ("http://localhost", False),
        ("http://[::1]:8000", False),
    ],
)
def test_only_requests_to_another_machine_need_encryption(server, is_unencrypted):
    assert sends_unencrypted(server) is is_unencrypted
