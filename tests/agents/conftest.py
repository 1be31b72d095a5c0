"""A server that keeps runs as Virtlab does, and fails as it is told."""

import gzip
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from agents.client import Client
from agents.measuring.bracket import TimePath
from agents.spool import Spool
from agents.timing.server import TimeServer

TOKEN = "vl_abcdef_secret"


class KeepingServer(HTTPServer):
    """Stores each key once; ``faults`` are used up first, one a request.

    A fault is a status, a (status, headers, answer), or what is done after storing:
    "lose" answers nothing, "page" answers a web page and stores nothing.
    """

    daemon_threads = True

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), KeepingHandler)
        self.stored, self.requests, self.faults = {}, [], []
        self.refused_keys = {}

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_):
        """Clients that were killed are no news."""


class KeepingHandler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.reply(200, {"status": "ok", "version": "1.0", "database": True})

    def do_POST(self):
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        packed = self.headers.get("Content-Encoding") == "gzip"
        body = gzip.decompress(raw) if packed else raw
        self.server.requests.append((self.path, dict(self.headers), body))
        if self.headers.get("Authorization") != f"Token {TOKEN}":
            return self.reply(401, {"code": "wrong_token", "detail": "Unknown token."})
        return self.fail_or_store(json.loads(body))

    def fail_or_store(self, document):
        fault = self.server.faults.pop(0) if self.server.faults else None
        if isinstance(fault, int):
            return self.reply(fault, {"code": "told", "detail": f"Told {fault}."})
        if isinstance(fault, tuple):
            return self.reply(fault[0], fault[2], fault[1])
        if fault == "page":
            return self.reply(200, {})
        if "key" not in document:
            return self.reply(400, {"code": "invalid", "detail": "Send a key."})
        status, answer = self.store(document)
        if fault != "lose":
            self.reply(status, answer)
        return None

    def store(self, document):
        key = document["key"]
        if key in self.server.refused_keys:
            return self.server.refused_keys[key]
        known = key in self.server.stored
        if known and self.server.stored[key] != document:
            return 409, {"code": "key_reused", "detail": "Used for another run."}
        self.server.stored[key] = document
        return 200 if known else 202, {"id": 1, "key": key, "status": "received"}

    def reply(self, status, answer, headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_):
        """Say nothing."""


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


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The agent's own folder, for a test alone."""
    folder = tmp_path / "agent"
    for name in ("VIRTLAB_SERVER", "VIRTLAB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VIRTLAB_AGENT", str(folder))
    return folder
