import gzip
import json
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from benchmarks.reference.study_documents import recorded_study
from testbed.virtlab_server import RecordingProxy, write_record

RUN = {"key": "a", "output": "text"}


@pytest.fixture
def server():
    """The server behind the proxy: answers 202, or 422 if the body contains `bad`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.server.heard.append((self.path, dict(self.headers), body))
            self.send_response(422 if b"bad" in body else 202)
            self.send_header("Retry-After", "7")
            self.end_headers()
            self.wfile.write(b'{"code": "it"}')

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as running:
        running.heard = []
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def post(port, path, body, **headers):
    address = f"http://127.0.0.1:{port}{path}"
    with urllib.request.urlopen(
        urllib.request.Request(address, body, headers)
    ) as answer:
        return answer.status, answer.read()


@pytest.fixture
def desk(server):
    return RecordingProxy(f"http://127.0.0.1:{server.server_address[1]}/")


def test_accepted_uploads_are_forwarded_and_recorded(desk, server):
    body = gzip.compress(json.dumps(RUN).encode())

    with desk.serve() as port:
        answer = post(
            *(port, "/api/v1/runs/", body),
            **{"Authorization": "Token t", "Content-Encoding": "gzip"},
        )

    assert answer == (202, b'{"code": "it"}')
    assert server.heard[0][1]["Authorization"] == "Token t"
    assert desk.uploads == {"a": RUN}


def test_bulk_upload_is_recorded_as_runs(desk):
    lines = b"\n".join(json.dumps(dict(RUN, key=key)).encode() for key in "abc")

    with desk.serve() as port:
        post(port, "/api/v1/runs/bulk/", lines)

    assert set(desk.uploads) == {"a", "b", "c"}


def test_refused_uploads_are_forwarded_but_not_recorded(desk):
    with desk.serve() as port, pytest.raises(urllib.error.HTTPError) as refused:
        post(port, "/api/v1/runs/", json.dumps(dict(RUN, output="bad")).encode())

    with refused.value as answer:
        assert (answer.code, answer.headers["Retry-After"]) == (422, "7")
    assert desk.uploads == {}


def test_unavailable_server_is_a_bad_gateway():
    with (
        RecordingProxy("http://127.0.0.1:1").serve() as port,
        pytest.raises(urllib.error.HTTPError) as failed,
    ):
        post(port, "/api/v1/runs/", b"{}")

    with failed.value as answer:
        assert answer.code == 502


SYSTEM = {
    "id": 7,
    "url": "http://there/",
    "host": "machine",
    "hypervisor": "QEMU TCG",
    "guest_os": "Debian",
    "vcpus": 1,
    "memory_bytes": None,
    "options": {"layers": "qemu-tcg"},
}
STATED = {
    "host": "machine",
    "hypervisor": "QEMU TCG",
    "guest_os": "Debian",
    "vcpus": 1,
    "options": {"layers": "qemu-tcg"},
}


class Server:
    def get(self, path):
        assert path == "studies/result/"
        return {"slug": "result", "title": "A result", "note": "", "lab": "first-lab"}

    def get_all(self, path, **_):
        hosts = [{"slug": "machine", "facts": {"cores": 2}, "id": 1}, {"slug": "other"}]
        return iter([SYSTEM] if path == "systems/" else hosts)


def upload(key, system, started_at):
    return {
        "key": key,
        "study": "result",
        "system": system,
        "output": "text",
        "started_at": started_at,
    }


def test_recorded_uploads_can_be_repeated(tmp_path):
    first = upload("a", 7, "2026-11-21T08:00:00Z")
    second = upload(
        "b", {"host": "machine", "hypervisor": "KVM"}, "2026-11-21T09:00:00Z"
    )

    write_record(tmp_path / "again.json.gz", Server(), "result", [second, first])

    study = recorded_study(tmp_path / "again.json.gz")
    assert study.document == {
        "slug": "again",
        "title": "A result",
        "visibility": "public",
    }
    assert study.hosts == ({"slug": "machine", "facts": {"cores": 2}},)
    parameters = {"study": "again"}
    assert study.runs == (
        {**first, "system": STATED, **parameters},
        {**second, **parameters},
    )
