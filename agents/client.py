"""A client for the Virtlab API that needs nothing but Python 3.6 and this file.

    client = Client("http://127.0.0.1:8000", "vl_...")
    client.create_study({"slug": "my-study", "title": "My study"})
    client.register_host({"slug": "my-host"})
    for done in client.upload(runs):
        print(done, "of", len(runs))

Uploading twice is safe: a run is known by its key. What may pass by itself (a server
that restarts, a full queue) is tried again; everything else raises `RefusedError`, with
the sentence in which the server says what to do.
"""

import gzip
import http.client
import json
import os
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Dict, Iterable, Iterator, List, Optional

Document = Dict[str, Any]

TIMEOUT_S = 60
PATIENCE_S = 300  # how long an answer may be out of reach before we give up
LONGEST_PAUSE_S = 15
# Whatever Retry-After says: a proxy may ask for anything.
MOST_WAIT_S = 3600.0
# Well inside what the server takes in one piece (8 MiB unpacked, 10,000 lines).
BATCH_LINES = 200
BATCH_BYTES = 2 * 1024 * 1024
PASSING = (408, 425, 429, 500, 502, 503, 504)
# A certificate's file among the trusted ones, as OpenSSL looks for it.
_HASHED = re.compile(r"[0-9a-f]{8}\.\d+")
# Empty until `trusted` is asked for the first time.
_CONTEXTS: List[Any] = []


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
        # urllib then raises the 3xx as an HTTPError, which is a RefusedError here.
        return None


class Client:
    """Speaks to one Virtlab server in the name of one token."""

    def __init__(self, url: str, token: str = "", patience_s: float = PATIENCE_S):
        self.url = url.rstrip("/") + "/api/v1/"
        self.token = token
        self.patience_s = patience_s
        handlers: List[Any] = [_NoRedirections]
        if url.startswith("https:"):  # the certificates are read once, if at all
            handlers.append(urllib.request.HTTPSHandler(context=trusted()))
        self._opener = urllib.request.build_opener(*handlers)

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
        address = path + "?" + urllib.parse.urlencode(query) if query else path
        return self.request("GET", address)

    def get_all(self, path: str, **query: Any) -> Iterator[Document]:
        """Read a list to its end, page by page."""
        page = self.get(path, **query)
        while True:
            yield from page["results"]
            if not page["next"]:
                return
            # Only the query: the server may know itself under another name than we.
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
            raise _error_of(error) from None
        except (OSError, http.client.HTTPException) as error:
            # A URLError hides the socket's own error, whose text is the useful one.
            reason = getattr(error, "reason", error)
            sentence = getattr(reason, "strerror", None) or str(reason)
            raise PassingError(sentence or type(error).__name__) from None

    def _request(
        self, method: str, path: str, body: Optional[bytes], content_type: str
    ) -> urllib.request.Request:
        request = urllib.request.Request(self.url + path, body, method=method)
        request.add_header("Accept", "application/json")
        if self.token:
            request.add_header("Authorization", "Token " + self.token)
        if body is not None:
            request.add_header("Content-Type", content_type)
            packed = gzip.compress(body, 6)
            # The server takes a body that was packed to 1 % for a bomb.
            if len(body) // 90 < len(packed) < len(body):
                request.data = packed
                request.add_header("Content-Encoding", "gzip")
        return request


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


def _error_of(error: urllib.error.HTTPError) -> Exception:
    """Return the PassingError or the RefusedError that an answer stands for."""
    with error:
        try:
            text = error.read()
        except (OSError, http.client.HTTPException):
            text = b""  # it broke off: the status says enough
    if error.code not in PASSING:
        return RefusedError(error.code, _json_object(text))
    try:
        wait_s = float(error.headers.get("Retry-After") or 0)
    except ValueError:  # a date, as proxies send it
        wait_s = 0.0
    sentence = "the server answered HTTP %d" % error.code
    return PassingError(sentence, min(max(wait_s, 0.0), MOST_WAIT_S))


def _json_object(text: bytes) -> Document:
    try:
        # A portal's page is no error here: whoever reads the answer misses our keys.
        answer = json.loads(text.decode())
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def trusted() -> Any:
    """Return an SSL context of the certificates this machine trusts, for all alike.

    Python reads the whole of them anew for every connection that is given none: 25 ms
    and a megabyte, which a daemon pays with each run that it sends.
    """
    # A Python that was built without ssl still speaks to http:// servers.
    import ssl

    if not _CONTEXTS:
        # Named by their hashes, they are read one by one when a server shows one.
        folder = folder_of(ssl.get_default_verify_paths()) or None
        _CONTEXTS.append(ssl.create_default_context(capath=folder))
    return _CONTEXTS[0]


def folder_of(paths: Any) -> str:
    """Return the folder of all trusted certificates by their hashes; empty without one.

    It must have as many as the file that OpenSSL would read, and nobody may have named
    another file or folder (``SSL_CERT_FILE``, ``SSL_CERT_DIR``).
    """
    named = (paths.openssl_cafile_env, paths.openssl_capath_env)
    if not (paths.cafile and paths.capath) or any(map(os.environ.get, named)):
        return ""
    try:
        with open(paths.cafile, "rb") as file:
            wanted = sum(line.startswith(b"-----BEGIN") for line in file)
        hashed = sum(map(bool, map(_HASHED.fullmatch, os.listdir(paths.capath))))
    except OSError:
        return ""
    return str(paths.capath) if 0 < wanted <= hashed else ""
