"""The kernels, and a time server for them."""

import socket
import subprocess
import threading
import time

import pytest

from agents.kernels import compilation
from tests.agents.conftest import telling_time


@pytest.fixture
def at_home(store, monkeypatch):
    monkeypatch.setenv("VIRTLAB_AGENT", str(store))
    return store


@pytest.fixture
def kernel(at_home):
    """Run a kernel with these arguments; return its output."""

    def run(name, *words, code=0):
        program = compilation.program_path(name)
        done = subprocess.run(
            [program, *map(str, words)], capture_output=True, text=True, timeout=20
        )
        assert done.returncode == code, done.stderr
        return done.stdout or done.stderr

    return run


@pytest.fixture
def time_server():
    with telling_time() as server:
        yield server


@pytest.fixture
def slow_server():
    """Start a time server with a delay of 10 ms; return its address and requests."""
    questions = []

    def attend():
        with listening.accept()[0] as sock, sock.makefile("rb") as requests:
            for word in requests:
                if word == b"start\n":
                    sock.sendall(b"start")
                elif word == b"time\n":
                    questions.append(word)
                    time.sleep(0.01)
                    sock.sendall(b"%d\n" % (time.monotonic_ns() // 1000))
                else:
                    break

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=attend, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}", questions
        thread.join(10)
