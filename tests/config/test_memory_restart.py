"""A web process that uses too much memory is replaced by a new one."""

import os
import subprocess
import sys
import time
import urllib.request

import pytest

from running.processes import ROOT
from running.product_launcher import free_port

TIMEOUT_S = 30


@pytest.fixture
def ask():
    """Start a web process; yield a function that returns the response for a path."""
    port = free_port()
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "gunicorn", "--preload", "--workers", "1"),
            "--no-control-socket",
            *(
                "--worker-class",
                "config.gunicorn_worker.BufferingWorker",
                "--threads",
                "2",
            ),
            *("--bind", f"127.0.0.1:{port}", "tests.config.growing_app:application"),
        ],
        cwd=ROOT,
        env=os.environ,
        stderr=subprocess.DEVNULL,
    )

    def ask(path):
        end = time.monotonic() + TIMEOUT_S
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
    server.wait(TIMEOUT_S)


def test_process_that_has_grown_is_replaced(ask):
    first = ask("/0")
    assert ask("/80") == first

    end = time.monotonic() + TIMEOUT_S
    while ask("/0") == first:
        assert time.monotonic() < end
        time.sleep(0.1)


def test_process_that_has_grown_a_little_stays(ask):
    first = ask("/20")

    # Several checks of its memory.
    for _ in range(10):
        time.sleep(0.1)
        assert ask("/0") == first
