"""A client for the Virtlab API that needs nothing but Python 3.6 and this file.

    client = Client("http://127.0.0.1:8000", "vl_...")
    client.create_study({"slug": "my-study", "title": "My study"})
    client.register_host({"slug": "my-host"})
    for done in client.upload(runs):
        print(done, "of", len(runs))

Uploading twice is safe: a run is known by its key. What can pass by itself (a server
that restarts, a full queue) is tried again; everything else raises `RefusedError`, with
the sentence in which the server says what to do.
"""

import gzip
import http.client
import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Dict, Iterable, Iterator, List, Optional

from agents.trust import trusted

Document = Dict[str, Any]

TIMEOUT_S = 60
PATIENCE_S = 300  # how long an answer may be out of reach before we give up
LONGEST_PAUSE_S = 15
MOST_WAIT_S = 3600.0
# Well inside what the server takes in one piece (8 MiB unpacked, 10,000 lines).
BATCH_LINES = 200
BATCH_BYTES = 2 * 1024 * 1024
PASSING = (408, 425, 429, 500, 502, 503, 504)


class RefusedError(Exception):
    """The server will not take this request, however often it is sent."""

    def __init__(self, status: int, answer: Document) -> None:
        self.status = status
        self.code = str(answer.get("code", "unknown"))
        self.detail = str(answer.get("detail", "The server gave no reason."))
        self.fields = answer.get("fields", {})
        super().__init__("%s (HTTP %d): %s" % (self.code, status, self.detail))


class UnreachableError(Exception):
    """Nobody answered for as long as we were ready to wait."""


class PassingError(Exception):
    """One attempt failed for a reason that may pass; ``wait_s`` is what was asked."""

    def __init__(self, sentence: str, wait_s: float = 0) -> None:
        self.wait_s = wait_s
        super().__init__(sentence)


class _NoRedirections(urllib.request.HTTPRedirectHandler):
    """A redirected upload would arrive as an empty question, and with our token."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Client:
    """Speaks to one Virtlab server in the name of one token."""

    def __init__(self, url: str, token: str = "", patience_s: float = PATIENCE_S):
        self.url = url.rstrip("/") + "/api/v1/"
        self.token = token
        self.patience_s = patience_s
        self._opener = urllib.request.build_opener(*_handlers(self.url))

    def create_study(self, study: Document) -> Document:
        """Create a study; one that is there already with these words is fine."""
        return self.request("POST", "studies/", study)

    def update_study(self, slug: str, changes: Document) -> Document:
        """Change some properties of a study."""
        return self.request(
            "PATCH", "studies/%s/" % urllib.parse.quote(slug, safe=""), changes
        )

    def register_host(self, host: Document) -> Document:
        """Register a machine; one that is there already with these facts is fine."""
        return self.request("POST", "hosts/", host)

    def register_system(self, system: Document) -> Document:
        """Register a system under test and return it with its id."""
        return self.request("POST", "systems/", system)

    def upload(self, runs: Iterable[Document]) -> Iterator[int]:
        """Send runs in batches; yield how many are safely stored so far."""
        stored = 0
        for lines in _batches(runs):
            self._send("POST", "runs/bulk/", b"\n".join(lines), "application/x-ndjson")
            stored += len(lines)
            yield stored

    def get(self, path: str, **query: Any) -> Document:
        """Read one answer, for example ``get("runs/", study="my-study")``."""
        return self.request("GET", _with_query(path, query))

    def get_all(self, path: str, **query: Any) -> Iterator[Document]:
        """Read a list to its end, page by page."""
        page = self.get(path, **query)
        while True:
            yield from page["results"]
            if not page["next"]:
                return
            cursor = urllib.parse.urlsplit(page["next"]).query
            page = self.request("GET", path + "?" + cursor)

    def request(
        self, method: str, path: str, body: Optional[Document] = None
    ) -> Document:
        """Send one request below /api/v1/ and return the answer's JSON object."""
        packed = None if body is None else json.dumps(body).encode()
        return self._send(method, path, packed, "application/json")

    def _send(
        self, method: str, path: str, body: Optional[bytes], content_type: str
    ) -> Document:
        deadline = time.monotonic() + self.patience_s
        pause_s = 0.25
        while True:
            try:
                return self.attempt(method, path, body, content_type)
            except PassingError as passing:
                sentence, wait_s = str(passing), passing.wait_s
            # Half of the pause is left to chance, so that many agents spread out.
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            wait_s = max(wait_s, pause_s * random.uniform(0.5, 1))
            if time.monotonic() + wait_s > deadline:
                raise UnreachableError(
                    "%s did not answer for %g s: %s"
                    % (self.url, self.patience_s, sentence)
                )
            time.sleep(wait_s)

    def attempt(
        self,
        method: str,
        path: str,
        body: Optional[bytes] = None,
        content_type: str = "application/json",
    ) -> Document:
        """Send once and return the answer; raise PassingError or RefusedError."""
        request = self._request(method, path, body, content_type)
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as response:
                return _json_object(response.read())
        except urllib.error.HTTPError as error:
            with error:
                answer = _json_object(_rest_of(error))
            if error.code not in PASSING:
                raise RefusedError(error.code, answer) from None
            sentence = "the server answered HTTP %d" % error.code
            raise PassingError(
                sentence, _seconds(error.headers.get("Retry-After"))
            ) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            said = getattr(reason, "strerror", None) or str(reason)
            raise PassingError(said or type(error).__name__) from None

    def _request(
        self, method: str, path: str, body: Optional[bytes], content_type: str
    ) -> urllib.request.Request:
        request = urllib.request.Request(self.url + path, body, method=method)
        request.add_header("Accept", "application/json")
        if self.token:
            request.add_header("Authorization", "Token " + self.token)
        if body is not None:
            request.add_header("Content-Type", content_type)
            # Compress what gains by it. The server takes a body packed to 1 % for a
            # bomb.
            packed = gzip.compress(body, 6)
            worthwhile = len(body) // 90 < len(packed) < len(body)
            request.data, encoding = (packed, "gzip") if worthwhile else (body, "")
            if encoding:
                request.add_header("Content-Encoding", encoding)
        return request


def _handlers(url: str) -> List[Any]:
    """Return what our requests go through: certificates are read once, if at all."""
    if not url.startswith("https:"):
        return [_NoRedirections]
    return [_NoRedirections, urllib.request.HTTPSHandler(context=trusted())]


def _batches(runs: Iterable[Document]) -> Iterator[List[bytes]]:
    lines: List[bytes] = []
    size = 0
    for run in runs:
        line = json.dumps(run).encode()
        if lines and (len(lines) == BATCH_LINES or size + len(line) > BATCH_BYTES):
            yield lines
            lines, size = [], 0
        lines.append(line)
        size += len(line) + 1
    if lines:
        yield lines


def _rest_of(error: urllib.error.HTTPError) -> bytes:
    """Read an error's text; it may break off, and the status says enough."""
    try:
        return error.read()
    except (OSError, http.client.HTTPException):
        return b""


def _json_object(text: bytes) -> Document:
    try:
        answer = json.loads(text.decode())
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _seconds(header: Optional[str]) -> float:
    try:
        return min(max(float(header or 0), 0.0), MOST_WAIT_S)
    except ValueError:
        return 0


def _with_query(path: str, query: Document) -> str:
    return path + "?" + urllib.parse.urlencode(query) if query else path
