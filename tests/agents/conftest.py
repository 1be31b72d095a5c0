"""A server that keeps runs as Virtlab does, and fails as it is told."""

import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from agents.client import Client
from agents.kernels import building
from agents.spool import Spool
from agents.timing.asking import TimePath
from agents.timing.server import TimeServer
from tests.agents.stage import TOKEN, KeepingServer


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
    """A time server of this machine."""
    server = TimeServer("127.0.0.1", 0)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    yield server
    server.stop()
    thread.join(5)
    server.close()


@pytest.fixture
def time_server():
    """The way to a time server of this machine."""
    with telling_time() as server:
        yield TimePath(f"udp://127.0.0.1:{server.port}")


@pytest.fixture
def client(server):
    return Client(server.url, TOKEN)


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(str(tmp_path / "spool"))


@pytest.fixture(autouse=True)
def no_settling(monkeypatch):
    """Nobody waits for this machine to rest; it will not."""
    monkeypatch.setattr("agents.measuring.bracket.SETTLE_S", 0)


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """An agent's folder that keeps what was compiled, once for all tests."""
    return tmp_path_factory.mktemp("agent")


@pytest.fixture
def compiled(store, monkeypatch):
    """Take our kernels from there, for a test that only names them."""
    monkeypatch.setattr(building, "_store", lambda: str(store / "kernels"))


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The agent's own folder, for a test alone."""
    folder = tmp_path / "agent"
    for name in ("VIRTLAB_SERVER", "VIRTLAB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VIRTLAB_AGENT", str(folder))
    return folder
