"""A server that stores runs like Virtlab and fails on request."""

import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from agents.client import Client
from agents.kernels import compilation
from agents.spool import Spool
from agents.timing.time_client import TimeServerPath
from agents.timing.time_server import TimeServer
from tests.agents.packed_agent import TOKEN, KeepingServer


def serving(server):
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def server():
    yield from serving(KeepingServer())


@contextmanager
def telling_time():
    """Run a time server on this machine."""
    server = TimeServer("127.0.0.1", 0)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    yield server
    server.stop()
    thread.join(5)
    server.close()


@pytest.fixture
def time_server():
    """The path to a time server on this machine."""
    with telling_time() as server:
        yield TimeServerPath(f"udp://127.0.0.1:{server.port}")


@pytest.fixture
def client(server):
    return Client(server.url, TOKEN)


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(str(tmp_path / "spool"))


@pytest.fixture(autouse=True)
def no_settling(monkeypatch):
    """Skip the idle check, because the machine that runs the tests is not idle."""
    monkeypatch.setattr("agents.measuring.timed_run.IDLE_CHECK_S", 0)


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """An agent folder with compiled kernels, shared by all tests."""
    return tmp_path_factory.mktemp("agent")


@pytest.fixture
def compiled(store, monkeypatch):
    """Use shared compiled kernels in a test that only needs their names."""
    monkeypatch.setattr(compilation, "_store", lambda: str(store / "kernels"))


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The agent's folder for one test."""
    folder = tmp_path / "agent"
    for name in ("VIRTLAB_SERVER", "VIRTLAB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VIRTLAB_AGENT", str(folder))
    monkeypatch.setenv("VIRTLAB_HOST_LOCK", str(tmp_path / "host.lock"))
    return folder
