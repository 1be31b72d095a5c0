"""The client: patient with what passes, plain about what does not; what it trusts."""

import gzip
import json
import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from agents.client import Client, RefusedError, UnreachableError, folder_of, trusted
from tests.agents.conftest import serving


class Server(HTTPServer):
    """Answers from a list and remembers what it was asked."""

    answers: list[tuple[int, dict[str, Any]]]
    asked: list[tuple[str, str, bytes, Any]]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append((self.command, self.path, body, self.headers))
        status, answer = self.server.answers.pop(0)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    do_GET = do_POST = do_PATCH = answer  # noqa: N815 - names of the base class

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Handler)
    server.answers, server.asked = [], []
    yield from serving(server)


@pytest.fixture
def client(server: Server) -> Client:
    return Client(f"http://127.0.0.1:{server.server_port}", "vl_x_y", patience_s=5)


def test_it_shows_its_token_and_posts_json(server, client):
    server.answers = [(201, {"slug": "study"})]

    assert client.create_study({"slug": "study"}) == {"slug": "study"}

    method, path, body, headers = server.asked[0]
    assert (method, path) == ("POST", "/api/v1/studies/")
    assert json.loads(body) == {"slug": "study"}
    assert headers["Authorization"] == "Token vl_x_y"


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_it_tries_again_what_may_pass(server, client, status):
    server.answers = [(status, {}), (200, {"id": 1})]

    assert client.get("runs/1/") == {"id": 1}


def test_it_raises_what_will_never_pass_with_the_servers_sentence(server, client):
    server.answers = [(409, {"code": "key_reused", "detail": "Used.", "fields": {}})]

    with pytest.raises(RefusedError, match="Used") as refused:
        client.register_host({"slug": "alpha"})

    assert (refused.value.status, refused.value.code) == (409, "key_reused")
    assert len(server.asked) == 1


@pytest.mark.parametrize("asked", ["soon", "-5", ""])
def test_it_does_not_wait_for_nonsense(server, client, asked):
    server.answers = [(503, {"Retry-After": asked}), (200, {"id": 1})]

    assert client.get("runs/1/") == {"id": 1}


def test_it_gives_up_on_a_server_that_never_answers():
    with pytest.raises(UnreachableError, match="did not answer"):
        Client("http://127.0.0.1:9", patience_s=0.5).get("health/")


def test_it_uploads_in_packed_batches_and_says_how_far_it_is(server, client):
    runs = [{"key": str(number), "note": f"{number}" * 50} for number in range(450)]
    server.answers = [(202, {})] * 3

    assert list(client.upload(runs)) == [200, 400, 450]

    _, path, body, headers = server.asked[0]
    assert (path, headers["Content-Encoding"]) == ("/api/v1/runs/bulk/", "gzip")
    lines = gzip.decompress(body).splitlines()
    assert [json.loads(line) for line in lines] == runs[:200]


def test_it_does_not_pack_what_would_look_like_a_bomb(server, client):
    server.answers = [(202, {})]

    list(client.upload([{"note": "0" * 500_000}]))

    assert "Content-Encoding" not in server.asked[0][3]


def test_it_reads_a_list_to_its_end(server, client):
    second = "http://elsewhere/api/v1/runs/?cursor=abc&study=study"
    server.answers = [
        (200, {"results": [{"id": 1}], "next": second}),
        (200, {"results": [{"id": 2}], "next": None}),
    ]

    ids = [run["id"] for run in client.get_all("runs/", study="study")]

    assert ids == [1, 2]
    assert server.asked[1][1] == "/api/v1/runs/?cursor=abc&study=study"


def test_certificates_are_read_once_for_all_connections():
    assert trusted() is trusted()


CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"


@pytest.fixture
def paths(tmp_path, monkeypatch):
    """A file of two certificates beside a folder that has both by their hashes."""
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "certs"
    folder.mkdir()
    for name in ("0a1b2c3d.0", "0a1b2c3d.1", "readme.txt"):
        (folder / name).write_text(CERTIFICATE)
    file = folder / "all.crt"
    file.write_text(2 * CERTIFICATE)
    given = ssl.get_default_verify_paths()
    return given._replace(cafile=str(file), capath=str(folder))


def test_a_folder_that_has_all_certificates_is_read_as_needed(paths):
    assert folder_of(paths) == paths.capath


def test_a_folder_that_lacks_one_is_not_enough(paths, tmp_path):
    (tmp_path / "certs" / "0a1b2c3d.1").unlink()

    assert folder_of(paths) == ""


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_what_somebody_named_is_what_counts(paths, monkeypatch, name):
    monkeypatch.setenv(name, "/elsewhere")

    assert folder_of(paths) == ""


@pytest.mark.parametrize("absent", ["cafile", "capath"])
def test_without_a_file_or_a_folder_python_decides(paths, absent):
    assert folder_of(paths._replace(**{absent: None})) == ""


def test_a_file_that_cannot_be_read_decides_nothing(paths):
    assert folder_of(paths._replace(cafile=f"{paths.cafile}.gone")) == ""
