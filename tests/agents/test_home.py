"""Silence while a tool runs."""

import signal
import subprocess
import sys
import textwrap
import uuid
from pathlib import Path

import pytest

from agents.home import Quiet, is_quiet
from agents.sending import Watch

ROOT = Path(__file__).parents[2]
HOLDER = """
    import time
    from agents.home import Quiet

    with Quiet():
        print("held", flush=True)
        time.sleep(60)
"""


@pytest.fixture(autouse=True)
def own_home(home):
    return home


def test_it_is_quiet_while_somebody_measures():
    assert not is_quiet()
    with Quiet():
        assert is_quiet()
    assert not is_quiet()


def test_several_may_measure_at_once():
    with Quiet():
        with Quiet():
            assert is_quiet()
        assert is_quiet()


def test_a_killed_one_leaves_no_silence_behind():
    program = [sys.executable, "-c", textwrap.dedent(HOLDER)]
    with subprocess.Popen(
        program, cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        assert is_quiet()
        holder.send_signal(signal.SIGKILL)

    assert not is_quiet()


def test_the_watch_sends_nothing_meanwhile(spool, client, server):
    key = spool.save({"key": str(uuid.uuid4())})
    watch = Watch(spool, client, print)

    with Quiet():
        watch.look()
        assert server.requests == []
    watch.look()

    assert list(server.stored) == [key]
