"""The lab's desk: guests post here, and it passes everything on to the server.

A guest reaches this machine under an address that the server does not answer to. What
the server took is kept, so that a whole result can be stored as it was uploaded.
"""

import gzip
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

TIMEOUT_S: Final = 120
PASSED: Final = ("Authorization", "Content-Type", "Content-Encoding", "Accept")
ANSWERED: Final = ("Content-Type", "Retry-After")
UPLOADS: Final = ("/api/v1/runs/", "/api/v1/runs/bulk/")

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
                found = answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            with error:
                found = error.code, dict(error.headers), error.read()
        if body is not None and found[0] < 300:
            self.take(path, body, headers.get("Content-Encoding", ""))
        return found

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
                status, told, content = desk.passed_on(
                    self.command, self.path, body, headers
                )
            except OSError:  # the agent's own patience decides
                status, told, content = 502, {}, b"{}"
            self.send_response(status)
            for name in ANSWERED:
                if name in told:
                    self.send_header(name, told[name])
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = _serve  # noqa: N815 - http.server's names

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: the console belongs to the guests."""

    return Handler
