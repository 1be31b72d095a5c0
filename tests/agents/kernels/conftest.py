"""The kernels, and a time server for them."""

import subprocess

import pytest

from agents.kernels import building
from tests.agents.conftest import telling_time


@pytest.fixture
def at_home(store, monkeypatch):
    monkeypatch.setenv("VIRTLAB_AGENT", str(store))
    return store


@pytest.fixture
def kernel(at_home):
    """Run a kernel with these words; return what it printed."""

    def run(name, *words, code=0):
        program = building.program_of(name)
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
