"""A proxy through which guests post to the server; it records each upload."""

import gzip
import json
import lzma
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from agents.client import Client

TIMEOUT_S: Final = 120
# Without Host: the server answers to its own names only.
PASSED: Final = ("Authorization", "Content-Type", "Content-Encoding", "Accept")
ANSWERED: Final = ("Content-Type", "Retry-After")
UPLOADS: Final = ("/api/v1/runs/", "/api/v1/runs/bulk/")

STUDY: Final = ("slug", "title", "published", "note", "visibility")
HOST: Final = ("slug", "title", "facts")
SYSTEM: Final = (
    *("host", "hypervisor", "hypervisor_version", "virtualization", "guest_os"),
    *("guest_bits", "vcpus", "memory_bytes", "options"),
)

Upload = dict[str, Any]


class Desk:
    """A server on this machine in front of another one."""

    def __init__(self, server: str) -> None:
        self.server = server.rstrip("/")
        self.uploads: dict[str, Upload] = {}
        self._lock = threading.Lock()

    def take(self, path: str, body: bytes, encoding: str) -> None:
        """Keep what was uploaded, each run once."""
        if path not in UPLOADS:
            return
        text = gzip.decompress(body) if encoding == "gzip" else body
        with self._lock:
            for line in text.splitlines() if path.endswith("bulk/") else [text]:
                document = json.loads(line)
                self.uploads[document["key"]] = document

    def passed_on(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        """Send a request to the server and return its answer."""
        request = urllib.request.Request(self.server + path, body, headers)
        request.method = method
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                answered = answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            with error:
                answered = error.code, dict(error.headers), error.read()
        # What was refused is no part of the record.
        if body is not None and answered[0] < 300:
            self.take(path, body, headers.get("Content-Encoding", ""))
        return answered

    @contextmanager
    def opened(self) -> Iterator[int]:
        """Serve on a free port of this machine, which is given."""
        with ThreadingHTTPServer(("127.0.0.1", 0), _handler(self)) as server:
            server.daemon_threads = True
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            try:
                yield int(server.server_address[1])
            finally:
                server.shutdown()
                thread.join()


def _handler(desk: Desk) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            length = self.headers.get("Content-Length")
            body = self.rfile.read(int(length)) if length else None
            headers = {
                name: self.headers[name] for name in PASSED if self.headers[name]
            }
            try:
                status, answered, content = desk.passed_on(
                    self.command, self.path, body, headers
                )
            except OSError:  # the agent's own patience decides
                status, answered, content = 502, {}, b"{}"
            self.send_response(status)
            for name in ANSWERED:
                if name in answered:
                    self.send_header(name, answered[name])
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = _serve  # noqa: N815 - http.server's names

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: the console belongs to the guests."""

    return Handler


def write_record(
    path: Path, client: Client, study: str, uploads: Iterable[Upload]
) -> None:
    """Write study, machine and uploads as sent, for any installation to load."""
    name = path.name.partition(".")[0]
    systems = {
        system["id"]: _kept(system, SYSTEM)
        for system in client.get_all("systems/", study=study)
    }
    runs = [{**_named(upload, systems), "study": name} for upload in uploads]
    runs.sort(key=lambda run: (run["started_at"], run["key"]))
    hosts = {run["system"]["host"] for run in runs}
    content = {
        "study": {
            **_kept(client.get(f"studies/{study}/"), STUDY),
            "slug": name,
        },
        "hosts": [
            _kept(host, HOST)
            for host in client.get_all("hosts/")
            if host["slug"] in hosts
        ],
        "runs": runs,
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def _named(upload: Upload, systems: dict[int, dict[str, Any]]) -> Upload:
    named = upload["system"]
    return {**upload, "system": systems[named] if isinstance(named, int) else named}


def _kept(document: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return what was stated of these; nothing is sent again as an empty field."""
    return {
        name: document[name] for name in names if document.get(name) not in (None, "")
    }
