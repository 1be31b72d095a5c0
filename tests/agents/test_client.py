"""The client: retries, permanent errors, and trusted certificates."""

import gzip
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from agents.client import (
    Client,
    RefusedError,
    TemporaryError,
    UnreachableError,
    certificate_folder,
    ssl_context,
)
from tests.agents.conftest import serving


class Server(HTTPServer):
    """Gives answers from a list and records requests."""

    answers: list[tuple[int, dict[str, Any]]]
    requests: list[tuple[str, str, bytes, Any]]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append((self.command, self.path, body, self.headers))
        status, answer = self.server.answers.pop(0)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    do_GET = do_POST = do_PATCH = answer  # noqa: N815 - names of the base class

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Handler)
    server.answers, server.requests = [], []
    yield from serving(server)


@pytest.fixture
def client(server: Server) -> Client:
    return Client(f"http://127.0.0.1:{server.server_port}", "vl_x_y", retry_for_s=5)


def test_token_and_json_are_sent(server, client):
    server.answers = [(201, {"slug": "study"})]

    assert client.create_study({"slug": "study"}) == {"slug": "study"}

    method, path, body, headers = server.requests[0]
    assert (method, path) == ("POST", "/api/v1/studies/")
    assert json.loads(body) == {"slug": "study"}
    assert headers["Authorization"] == "Token vl_x_y"


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_temporary_failures_are_retried(server, client, status):
    server.answers = [(status, {}), (200, {"id": 1})]

    assert client.get("runs/1/") == {"id": 1}


def test_permanent_failure_raises_with_the_servers_message(server, client):
    server.answers = [(409, {"code": "key_reused", "detail": "Used.", "fields": {}})]

    with pytest.raises(RefusedError, match="Used") as refused:
        client.register_host({"slug": "alpha"})

    assert (refused.value.status, refused.value.code) == (409, "key_reused")
    assert len(server.requests) == 1


@pytest.mark.parametrize("header", ["soon", "-5", ""])
def test_invalid_retry_after_is_ignored(server, client, header):
    server.answers = [(503, {"Retry-After": header}), (200, {"id": 1})]

    assert client.get("runs/1/") == {"id": 1}


def test_unresponsive_server_is_given_up():
    with pytest.raises(UnreachableError, match="did not answer"):
        Client("http://127.0.0.1:9", retry_for_s=0.5).get("health/")


def test_compressed_files_are_not_compressed_again(server, client):
    # gzip would make this gzip file smaller.
    content = gzip.compress(b" " * 100_000, 0)
    server.answers = [(202, {"slug": "study"})]

    client.import_study(content)

    [(_, _, body, headers)] = server.requests
    assert (body, "Content-Encoding" in headers) == (content, False)


def test_uploads_are_compressed_batches_with_progress(server, client):
    runs = [{"key": str(number), "note": f"{number}" * 50} for number in range(450)]
    sizes = [200, 200, 50]
    server.answers = [(202, {"runs": [{}] * size}) for size in sizes]

    assert list(client.upload(runs)) == [200, 400, 450]

    _, path, body, headers = server.requests[0]
    assert (path, headers["Content-Encoding"]) == ("/api/v1/runs/bulk/", "gzip")
    lines = gzip.decompress(body).splitlines()
    assert [json.loads(line) for line in lines] == runs[:200]


def test_suspiciously_compressible_body_is_not_compressed(server, client):
    server.answers = [(202, {"runs": [{}]})]

    list(client.upload([{"note": "0" * 500_000}]))

    assert "Content-Encoding" not in server.requests[0][3]


def test_paginated_list_is_read_completely(server, client):
    second = "http://elsewhere/api/v1/runs/?cursor=abc&study=study"
    server.answers = [
        (200, {"results": [{"id": 1}], "next": second}),
        (200, {"results": [{"id": 2}], "next": None}),
    ]

    ids = [run["id"] for run in client.get_all("runs/", study="study")]

    assert ids == [1, 2]
    assert server.requests[1][1] == "/api/v1/runs/?cursor=abc&study=study"


def test_certificates_are_loaded_once():
    assert ssl_context() is ssl_context()


CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"


@pytest.fixture
def paths(tmp_path, monkeypatch):
    """A file with two certificates and a folder that has both by their hashes."""
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "certs"
    folder.mkdir()
    for name in ("0a1b2c3d.0", "0a1b2c3d.1", "readme.txt"):
        (folder / name).write_text(CERTIFICATE)
    file = folder / "all.crt"
    file.write_text(2 * CERTIFICATE)
    paths = ssl.get_default_verify_paths()
    return paths._replace(cafile=str(file), capath=str(folder))


def test_complete_certificate_folder_is_used(paths):
    assert certificate_folder(paths) == paths.capath


def test_incomplete_certificate_folder_is_ignored(paths, tmp_path):
    (tmp_path / "certs" / "0a1b2c3d.1").unlink()

    assert certificate_folder(paths) == ""


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_environment_overrides_certificates(paths, monkeypatch, name):
    monkeypatch.setenv(name, "/elsewhere")

    assert certificate_folder(paths) == ""


@pytest.mark.parametrize("absent", ["cafile", "capath"])
def test_missing_certificate_paths_use_the_default(paths, absent):
    assert certificate_folder(paths._replace(**{absent: None})) == ""


def test_unreadable_certificate_file_uses_the_default(paths):
    assert certificate_folder(paths._replace(cafile=f"{paths.cafile}.gone")) == ""


KEY = "6f1f6a5e-3b1c-4f0e-9a51-0c2d3e4f5a6b"
RECEIPT = json.dumps({"id": 1, "key": KEY, "status": "received"}).encode()
BULK_RECEIPT = json.dumps({"accepted": 1, "runs": [{"id": 1, "key": KEY}]}).encode()


def raw_response(body: bytes, *, declared: str = "length") -> bytes:
    head = b"HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\n"
    if declared == "chunked":
        chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks
    if declared == "length":
        head += b"Content-Length: %d\r\n" % len(body)
    return head + b"Connection: close\r\n\r\n" + body


class RawServer:
    """Sends one byte string per connection, then closes it."""

    def __init__(self, responses: list[bytes]) -> None:
        self.responses, self.bodies = responses, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def _serve(self) -> None:
        for response in self.responses:
            connection, _ = self.listener.accept()
            with connection, connection.makefile("rb") as file:
                length = 0
                while (line := file.readline()) not in (b"\r\n", b""):
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.partition(b":")[2])
                self.bodies.append(file.read(length))
                connection.sendall(response)

    def close(self) -> None:
        self.listener.close()
        self.thread.join(5)


@pytest.mark.parametrize("declared", ["length", "chunked", "none"])
@pytest.mark.parametrize("bulk", [False, True])
def test_an_answer_cut_at_any_byte_is_repeated_with_the_same_body(
    monkeypatch, declared, bulk
):
    monkeypatch.setattr("agents.client.time.sleep", lambda _seconds: None)
    receipt = BULK_RECEIPT if bulk else RECEIPT
    whole = raw_response(receipt, declared=declared)
    # The answer is complete at the last chunk, whose only digit is 0.
    ends = len(whole) - (4 if declared == "chunked" else 0)
    server = RawServer([*(whole[:end] for end in range(ends)), whole])
    try:
        client = Client(server.url, "vl_x_y", retry_for_s=3600)
        run = {"key": KEY, "study": "a"}
        if bulk:
            assert list(client.upload([run])) == [1]
        else:
            assert client.request("POST", "runs/", run) == json.loads(receipt)
    finally:
        server.close()

    assert len(server.bodies) == ends + 1
    assert set(server.bodies) == {json.dumps(run).encode()}


FOREIGN = [
    b"",
    b"{}",
    b"[]",
    b"null",
    b'"ok"',
    b"<html>Sign in</html>",
    b'{"ok": true}',
    b'{"key": "00000000-3b1c-4f0e-9a51-0c2d3e4f5a6b"}',
]


@pytest.mark.parametrize("body", FOREIGN)
def test_an_empty_or_foreign_answer_is_temporary(body):
    server = RawServer([raw_response(body)])
    try:
        with pytest.raises(TemporaryError, match="not from a Virtlab server"):
            Client(server.url, "vl_x_y").send_once(
                "POST", "runs/", json.dumps({"key": KEY}).encode()
            )
    finally:
        server.close()


def test_an_answer_without_content_is_complete():
    server = RawServer([b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"])
    try:
        client = Client(server.url, "vl_x_y", retry_for_s=0)
        assert client.request("DELETE", "webhooks/1/") == {}
    finally:
        server.close()
