"""A web process that holds much memory makes room for a new one."""

import os
import subprocess
import sys
import time
import urllib.request

import pytest

from running.processes import ROOT
from running.product import free_port

PATIENCE_S = 30


@pytest.fixture
def answered():
    """Start a web process; yield what answers for an address."""
    port = free_port()
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "gunicorn", "--preload", "--workers", "1"),
            "--no-control-socket",
            *("--worker-class", "config.buffering.BufferingWorker", "--threads", "2"),
            *("--bind", f"127.0.0.1:{port}", "tests.config.growing:application"),
        ],
        cwd=ROOT,
        env=os.environ,
        stderr=subprocess.DEVNULL,
    )

    def ask(path):
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                address = f"http://127.0.0.1:{port}{path}"
                with urllib.request.urlopen(address, timeout=5) as answer:
                    return int(answer.read())
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    yield ask
    server.terminate()
    server.wait(PATIENCE_S)


def test_one_that_outgrew_its_beginning_is_followed_by_another(answered):
    first = answered("/0")
    assert answered("/80") == first

    end = time.monotonic() + PATIENCE_S
    while answered("/0") == first:
        assert time.monotonic() < end
        time.sleep(0.1)


def test_one_that_grew_a_little_stays(answered):
    first = answered("/20")

    # Some looks at its memory.
    for _ in range(10):
        time.sleep(0.1)
        assert answered("/0") == first
