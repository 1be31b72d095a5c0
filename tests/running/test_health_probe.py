"""Health check of a server."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from running.health_probe import is_healthy


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(int(self.path.strip("/")))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=[0.01])
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False)])
def test_only_200_is_healthy(server, status, healthy):
    assert is_healthy(f"{server}/{status}/") is healthy


def test_closed_port_is_not_healthy():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]

    assert not is_healthy(f"http://127.0.0.1:{port}/")


def test_proxy_is_never_used(server, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    assert is_healthy(f"{server}/200/")
