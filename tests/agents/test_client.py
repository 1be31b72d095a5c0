"""The client: retries, permanent errors, and trusted certificates."""

import gzip
import json
import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from agents.client import (
    Client,
    RefusedError,
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


def test_uploads_are_compressed_batches_with_progress(server, client):
    runs = [{"key": str(number), "note": f"{number}" * 50} for number in range(450)]
    server.answers = [(202, {})] * 3

    assert list(client.upload(runs)) == [200, 400, 450]

    _, path, body, headers = server.requests[0]
    assert (path, headers["Content-Encoding"]) == ("/api/v1/runs/bulk/", "gzip")
    lines = gzip.decompress(body).splitlines()
    assert [json.loads(line) for line in lines] == runs[:200]


def test_suspiciously_compressible_body_is_not_compressed(server, client):
    server.answers = [(202, {})]

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
