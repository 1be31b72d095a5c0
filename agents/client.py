"""A client for the Virtlab API; needs only Python 3.6 and this file.

    client = Client("http://127.0.0.1:8000", "vl_...")
    client.create_study({"slug": "my-study", "title": "My study"})
    client.register_host({"slug": "my-host"})
    for done in client.upload(runs):
        print(done, "of", len(runs))

Uploading twice is safe: a run is identified by its key. Temporary failures (a server
that restarts, a full queue) are retried; others raise `RefusedError` with the server's
sentence.

The other side may be a proxy, a portal or a server that never ends its answer: answers
are read up to a length and a deadline, and no error contains the token.
"""

import base64
import gzip
import http.client
import io
import json
import os
import random
import re
import socket
import sys
import time
import urllib.parse
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

Document = Dict[str, Any]

SILENCE_S = 60.0  # between two pieces of an answer
ANSWER_S = 120.0  # from the first byte sent to the last one received
MOST_ANSWER_BYTES = 32 * 1024 * 1024
PATIENCE_S = 300  # how long failures are retried
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 15
MOST_WAIT_S = 3600.0  # limit for Retry-After
# Well below the server's limits (8 MiB unpacked, 10,000 lines).
BATCH_LINES = 200
BATCH_BYTES = 2 * 1024 * 1024
PASSING = (408, 425, 429, 500, 502, 503, 504)
_PROXY_WANTS_A_PASSWORD = 407
# Printable ASCII without blanks, as an HTTP header allows it.
_TOKEN = re.compile(r"[!-~]{1,512}")
_LONGEST_HEAD = 16 * 1024
# Name of a trusted certificate's file in OpenSSL's folder.
_HASHED = re.compile(r"[0-9a-f]{8}\.\d+")
_CONTEXTS: List[Any] = []  # filled by `trusted`


class RefusedError(Exception):
    """The server refuses this request permanently."""

    exit_code = 4  # as the agent's ServerRefusedError; this file has no imports of ours

    def __init__(self, status: int, answer: Document) -> None:
        kinds = {"code": str, "detail": str, "fields": dict}
        # Any proxy can answer 404; Virtlab's errors always have these three fields.
        self.is_ours = all(
            isinstance(answer.get(name), kind) for name, kind in kinds.items()
        )
        self.status = status
        self.code = str(answer.get("code", "unknown"))
        other = (
            "A proxy or another server answers there: it says nothing about Virtlab."
        )
        self.detail = str(answer.get("detail", other))
        self.fields = answer.get("fields", {})
        super().__init__("%s (HTTP %d): %s" % (self.code, status, self.detail))


class UnreachableError(Exception):
    """The server did not answer within the patience of the client."""

    exit_code = 5


class PassingError(Exception):
    """An attempt failed temporarily; ``wait_s`` is the server's Retry-After."""

    def __init__(self, sentence: str, wait_s: float = 0) -> None:
        self.wait_s = wait_s
        super().__init__(sentence)


def pause_s(
    failures: int, asked_s: float, shortest_s: float, longest_s: float
) -> float:
    """Return the pause after failures: doubling up to a limit, half of it random."""
    # 2.0 ** 1024 is an OverflowError, and a server can be away for days.
    grown_s = min(longest_s, shortest_s * 2.0 ** min(failures, 10))
    return max(asked_s, grown_s * random.uniform(0.5, 1))


def token_problem(token: str) -> str:
    """Return why this cannot be a token, without quoting it; empty if it can be."""
    if _TOKEN.fullmatch(token):
        return ""
    if not token:
        return "The token is empty."
    if "\0" in token or token.startswith(("\xff\xfe", "\xfe\xff")):
        what = "is UTF-16, as PowerShell writes files"
    elif token.startswith(("\ufeff", "\xef\xbb\xbf")):
        what = "begins with a byte order mark"
    elif "\r" in token or "\n" in token:
        what = "has a line end inside"
    elif len(token) > 512:
        what = "is longer than any token"
    else:
        what = "has a sign that no token has (a blank, a control, a letter with marks)"
    return "The token %s: save it as one line of plain ASCII." % what


class Client:
    """A connection to one Virtlab server with one token."""

    def __init__(self, url: str, token: str = "", patience_s: float = PATIENCE_S):
        problem = token_problem(token) if token else ""
        if problem:
            raise ValueError(problem)
        self.url = url.rstrip("/") + "/api/v1/"
        self.token = token
        self.patience_s = patience_s
        # Open connections for the next request; a list can be shared by threads.
        self._idle: List[Way] = []
        self._stays_open = False

    def __enter__(self) -> "Client":
        """Keep the connection open for all requests in the `with` block."""
        self._stays_open = True
        return self

    def __exit__(self, *_: Any) -> None:
        self._stays_open = False
        while self._idle:
            self._idle.pop().close()

    def create_study(self, study: Document) -> Document:
        """Create a study; an identical one may exist."""
        return self.request("POST", "studies/", study)

    def update_study(self, slug: str, changes: Document) -> Document:
        """Change some properties of a study."""
        return self.request(
            "PATCH", "studies/%s/" % urllib.parse.quote(slug, safe=""), changes
        )

    def register_host(self, host: Document) -> Document:
        """Register a machine; an identical one may exist."""
        return self.request("POST", "hosts/", host)

    def declare_tool(self, tool: Document) -> Document:
        """Declare a tool of the lab; an identical one may exist."""
        return self.request("POST", "own-tools/", tool)

    def register_system(self, system: Document) -> Document:
        """Register a system under test and return it with its id."""
        return self.request("POST", "systems/", system)

    def upload(self, runs: Iterable[Document]) -> Iterator[int]:
        """Send runs in batches; yield how many are stored so far."""
        stored = 0
        lines = (json.dumps(run).encode() for run in runs)
        for batch in batches(lines, BATCH_LINES, BATCH_BYTES):
            self._send("POST", "runs/bulk/", b"\n".join(batch), "application/x-ndjson")
            stored += len(batch)
            yield stored

    def send_form(self, path: str, body: bytes, content_type: str) -> Document:
        """Send an encoded form."""
        return self._send("POST", path, body, content_type)

    def get(self, path: str, **query: Any) -> Document:
        """Read one answer, for example ``get("runs/", study="my-study")``."""
        address = path + "?" + urllib.parse.urlencode(query) if query else path
        return self.request("GET", address)

    def get_all(self, path: str, **query: Any) -> Iterator[Document]:
        """Yield all items of a paginated list."""
        page = self.get(path, **query)
        while True:
            yield from page["results"]
            if not page["next"]:
                return
            # Only the query: the server may use another name for itself.
            cursor = urllib.parse.urlsplit(page["next"]).query
            page = self.request("GET", path + "?" + cursor)

    def request(
        self, method: str, path: str, body: Optional[Document] = None
    ) -> Document:
        """Send a request below /api/v1/ with retries; return the JSON object."""
        packed = None if body is None else json.dumps(body).encode()
        return self._send(method, path, packed, "application/json")

    def _send(
        self, method: str, path: str, body: Optional[bytes], content_type: str
    ) -> Document:
        deadline = time.monotonic() + self.patience_s
        failures = 0
        while True:
            try:
                return self.attempt(method, path, body, content_type)
            except PassingError as passing:
                sentence, asked_s = str(passing), passing.wait_s
            failures += 1
            wait_s = pause_s(failures, asked_s, SHORTEST_PAUSE_S, LONGEST_PAUSE_S)
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
        most_bytes: int = MOST_ANSWER_BYTES,
    ) -> Document:
        """Send a request once; raise PassingError or RefusedError."""
        headers, packed = self._headers(body, content_type)
        way: Optional[Way] = None
        try:
            while True:
                is_used = bool(self._idle)
                way = self._idle.pop() if is_used else open_way(self.url)
                try:
                    response = way.ask(method, self.url + path, packed, headers)
                    break
                except (OSError, http.client.HTTPException):
                    way.close()
                    # The server may have closed an idle connection: open a new one.
                    if not is_used:
                        raise
            with response:
                text = response.read(most_bytes + 1)
                is_whole = response.isclosed()
        except (OSError, http.client.HTTPException, ValueError) as error:
            if way is not None:
                way.close()
            raise PassingError(_reason_of(error)) from None
        if self._stays_open and is_whole and way.is_open:
            self._idle.append(way)
        else:
            way.close()
        if len(text) > most_bytes:
            raise PassingError("an answer of more than %d bytes" % most_bytes)
        if 200 <= response.status < 300:
            return _json_object(text)
        # Some proxies repeat the request in their answer.
        if self.token:
            text = text.replace(self.token.encode(), b"***")
        raise _error_of(response, text, way.proxy)

    def _headers(
        self, body: Optional[bytes], content_type: str
    ) -> Tuple[Dict[str, str], Optional[bytes]]:
        headers = {"Accept": "application/json", "User-Agent": "virtlab-agent"}
        if not self._stays_open:
            headers["Connection"] = "close"
        if self.token:
            headers["Authorization"] = "Token " + self.token
        if body is None:
            return headers, None
        headers["Content-Type"] = content_type
        packed = gzip.compress(body, 6)
        # The server rejects a body that was packed to 1 % as a bomb.
        if len(body) // 90 < len(packed) < len(body):
            headers["Content-Encoding"] = "gzip"
            return headers, packed
        return headers, body


class Proxy(NamedTuple):
    """A proxy before the server; ``name`` is without the password."""

    name: str
    host: str
    port: int
    headers: Dict[str, str]


class Way:
    """A connection to a server or its proxy."""

    def __init__(
        self, connection: http.client.HTTPConnection, line: "_Line", proxy: Any
    ) -> None:
        self.connection, self.line, self.proxy = connection, line, proxy

    def ask(
        self,
        method: str,
        url: str,
        body: Optional[bytes],
        headers: Dict[str, str],
        patience_s: float = 0.0,
    ) -> http.client.HTTPResponse:
        """Send a request; return the answer after its head."""
        self.line.deadline_s = time.monotonic() + (patience_s or ANSWER_S)
        parts = urllib.parse.urlsplit(url)
        target = parts.path + ("?" + parts.query if parts.query else "")
        if self.proxy and parts.scheme == "http":
            target = url
            headers = dict(headers, **self.proxy.headers)
        self.connection.request(method, target, body, headers)
        return self.connection.getresponse()

    @property
    def is_open(self) -> bool:
        """Whether another request can follow: http.client closes it otherwise."""
        return self.connection.sock is not None

    def close(self) -> None:
        self.connection.close()
        self.line.close()


class _Line:
    """A socket with one deadline for all operations together."""

    def __init__(self, sock: Any, deadline_s: float) -> None:
        self.sock, self.deadline_s = sock, deadline_s

    def limit(self) -> None:
        left_s = self.deadline_s - time.monotonic()
        if left_s <= 0:
            raise socket.timeout("the answer did not end in time")
        self.sock.settimeout(min(SILENCE_S, left_s))

    def sendall(self, content: bytes) -> None:
        self.limit()
        self.sock.sendall(content)

    def makefile(self, *_: Any) -> io.BufferedReader:
        return io.BufferedReader(_Heard(self))

    def close(self) -> None:
        self.sock.close()


class _Heard(io.RawIOBase):
    def __init__(self, line: _Line) -> None:
        super().__init__()
        # The socket stays open until it and this file are closed.
        self._line, self._file = line, line.sock.makefile("rb", 0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Optional[int]:
        self._line.limit()
        count: Optional[int] = self._file.readinto(buffer)
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def open_way(url: str, patience_s: float = 0.0) -> Way:
    """Connect to the server of an address, through a proxy if one is set.

    Raises OSError, or ValueError for an invalid address.
    """
    parts = urllib.parse.urlsplit(url)
    is_tls = parts.scheme == "https"
    host, port = host_of(parts), parts.port or (443 if is_tls else 80)
    name = host.partition("%")[0]  # without the zone of an IPv6 address
    deadline_s = time.monotonic() + (patience_s or ANSWER_S)
    proxy = proxy_of(parts.scheme, host)
    try:
        place = (proxy.host, proxy.port) if proxy else (host, port)
        sock = socket.create_connection(place, patience_s or SILENCE_S)
    except OSError as error:
        if proxy is None:
            raise
        raise OSError("the proxy %s: %s" % (proxy.name, _reason_of(error))) from None
    # Delayed requests would make the round trip of a stamp longer.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line = _Line(sock, deadline_s)
    try:
        if is_tls:
            if proxy:
                _ask_for_tunnel(line, proxy, host, port)
            line.limit()
            line.sock = trusted().wrap_socket(sock, server_hostname=name)
    except (OSError, ValueError):
        line.close()
        raise
    connection = http.client.HTTPConnection(name, port)
    # Never reconnect automatically: that would bypass the proxy.
    connection.auto_open = 0
    connection.sock = line  # type: ignore[assignment]  # it only sends and reads files
    if is_tls:
        connection.default_port = 443  # type: ignore[misc]  # else Host has the port
    return Way(connection, line, proxy)


def host_of(parts: urllib.parse.SplitResult) -> str:
    """Return the host of an address (``%25`` of an IPv6 zone becomes ``%``)."""
    host = parts.hostname or ""
    return host if host.endswith("%25") else host.replace("%25", "%", 1)


def bracketed(host: str, port: int) -> str:
    """Return HOST:PORT, an IPv6 address in brackets."""
    return "%s:%d" % ("[%s]" % host if ":" in host else host, port)


def _ask_for_tunnel(line: _Line, proxy: Proxy, host: str, port: int) -> None:
    place = bracketed(host, port)
    head = ["CONNECT %s HTTP/1.1" % place, "Host: " + place]
    head += ["%s: %s" % header for header in proxy.headers.items()]
    line.sendall("\r\n".join([*head, "", ""]).encode("latin-1"))
    heard = b""
    while b"\r\n\r\n" not in heard:
        line.limit()
        # Single bytes: the bytes after the head belong to TLS.
        byte = line.sock.recv(1)
        if not byte or len(heard) > _LONGEST_HEAD:
            raise OSError("the proxy %s hung up" % proxy.name)
        heard += byte
    words = heard.split(b"\r\n", 1)[0].decode("latin-1").split(None, 2)
    if len(words) < 2 or words[1] != "200":
        said = "HTTP " + words[1] if len(words) > 1 else "no HTTP"
        raise OSError("the proxy %s answered %s" % (proxy.name, said))


def proxy_of(scheme: str, host: str) -> Optional[Proxy]:
    """Return the proxy for a server, if any; raise OSError unless it is HTTP."""
    named = [name for name in os.environ if name.lower().endswith("_proxy")]
    # Only Windows and macOS have other settings; importing urllib.request costs 1 MB.
    if not named and os.name != "nt" and sys.platform != "darwin":
        return None
    from urllib import request

    known = request.getproxies()
    address = known.get(scheme) or known.get("all")
    if not address or request.proxy_bypass(host):
        return None
    try:
        parts = urllib.parse.urlsplit(
            address if "://" in address else "http://" + address
        )
        place = (host_of(parts), parts.port or 80)
    except ValueError:
        parts, place = urllib.parse.urlsplit("http:"), ("", 0)
    name = "%s://%s" % (parts.scheme, bracketed(*place))
    if parts.scheme != "http" or not place[0]:
        raise OSError(
            "%s is no HTTP proxy: set %s_proxy, or no_proxy to do without"
            % (name, scheme)
        )
    headers = {}
    if parts.username is not None:
        words = map(urllib.parse.unquote, (parts.username, parts.password or ""))
        secret = base64.b64encode(":".join(words).encode()).decode()
        headers["Proxy-Authorization"] = "Basic " + secret
    return Proxy(name, *place, headers=headers)


def _reason_of(error: Exception) -> str:
    """Return the text of an error; some errors have none."""
    is_silent = isinstance(error, ConnectionError)  # RemoteDisconnected is both
    if isinstance(error, http.client.BadStatusLine) and not is_silent:
        return "what answers there does not speak HTTP: %s" % str(error).strip()[:80]
    sentence = getattr(error, "strerror", None) or str(error)
    return str(sentence or type(error).__name__)


def batches(
    lines: Iterable[bytes], most_lines: int, most_bytes: int
) -> Iterator[List[bytes]]:
    """Group lines up to a number of lines and bytes."""
    batch: List[bytes] = []
    size = 0
    for line in lines:
        if batch and (len(batch) == most_lines or size + len(line) > most_bytes):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += len(line) + 1
    if batch:
        yield batch


def _error_of(
    response: http.client.HTTPResponse, text: bytes, proxy: Optional[Proxy]
) -> Exception:
    """Return the PassingError or RefusedError for an answer."""
    status = response.status
    if proxy and status == _PROXY_WANTS_A_PASSWORD:
        sentence = "the proxy %s wants a password (HTTP 407): set it as http://NAME:"
        return PassingError(sentence % proxy.name + "PASSWORD@... in its variable")
    if status not in PASSING:
        return RefusedError(status, _json_object(text))
    try:
        wait_s = float(response.getheader("Retry-After") or 0)
    except ValueError:  # a date, as some proxies send it
        wait_s = 0.0
    wait_s = min(wait_s, MOST_WAIT_S) if wait_s > 0 else 0.0  # 0 for NaN
    return PassingError("the server answered HTTP %d" % status, wait_s)


def _json_object(text: bytes) -> Document:
    try:
        answer = json.loads(text.decode())
    except (ValueError, RecursionError):
        return {}  # a portal's page: the caller misses the expected keys
    return answer if isinstance(answer, dict) else {}


def trusted() -> Any:
    """Return a shared SSL context: reading the certificates costs 25 ms and 1 MB."""
    # A Python that was built without ssl can still use http:// servers.
    import ssl

    if not _CONTEXTS:
        # From a folder by hash, OpenSSL reads only the needed certificates.
        folder = folder_of(ssl.get_default_verify_paths()) or None
        _CONTEXTS.append(ssl.create_default_context(capath=folder))
    return _CONTEXTS[0]


def folder_of(paths: Any) -> str:
    """Return the folder of certificates by hash, "" if it cannot replace the file."""
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
