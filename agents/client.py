"""A client for the Virtlab API that needs nothing but Python 3.6 and this file.

    client = Client("http://127.0.0.1:8000", "vl_...")
    client.create_study({"slug": "my-study", "title": "My study"})
    client.register_host({"slug": "my-host"})
    for done in client.upload(runs):
        print(done, "of", len(runs))

Uploading twice is safe: a run is known by its key. What may pass by itself (a server
that restarts, a full queue) is tried again; everything else raises `RefusedError`, with
the sentence in which the server says what to do.

Whoever answers may be a stranger: a proxy, a portal, a server that never ends. Answers
are read up to a length and until a deadline, and the token stands in no sentence.
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
ANSWER_S = 120.0  # from the first sign sent to the last one heard
MOST_ANSWER_BYTES = 32 * 1024 * 1024
PATIENCE_S = 300  # how long an answer may be out of reach before we give up
LONGEST_PAUSE_S = 15
# Whatever Retry-After says: a proxy may ask for anything.
MOST_WAIT_S = 3600.0
# Well inside what the server takes in one piece (8 MiB unpacked, 10,000 lines).
BATCH_LINES = 200
BATCH_BYTES = 2 * 1024 * 1024
PASSING = (408, 425, 429, 500, 502, 503, 504)
_PROXY_WANTS_A_PASSWORD = 407
# What HTTP takes in a header, without the blank that would end it.
_TOKEN = re.compile(r"[!-~]{1,512}")
_LONGEST_HEAD = 16 * 1024
# A certificate's file among the trusted ones, as OpenSSL looks for it.
_HASHED = re.compile(r"[0-9a-f]{8}\.\d+")
# Empty until `trusted` is asked for the first time.
_CONTEXTS: List[Any] = []


class RefusedError(Exception):
    """The server will not take this request, however often it is sent."""

    exit_code = 4  # that of the agent's ServerRefusedError; this file stands alone

    def __init__(self, status: int, answer: Document) -> None:
        kinds = {"code": str, "detail": str, "fields": dict}
        # Any proxy can say 404. Only Virtlab says why, and always in these three words.
        self.is_ours = all(
            isinstance(answer.get(name), kind) for name, kind in kinds.items()
        )
        self.status = status
        self.code = str(answer.get("code", "unknown"))
        unsaid = (
            "A proxy or another server answers there: it says nothing about Virtlab."
        )
        self.detail = str(answer.get("detail", unsaid))
        self.fields = answer.get("fields", {})
        super().__init__("%s (HTTP %d): %s" % (self.code, status, self.detail))


class UnreachableError(Exception):
    """Nobody answered for as long as we were ready to wait."""

    exit_code = 5


class PassingError(Exception):
    """One attempt failed for a reason that may pass; ``wait_s`` is what was asked."""

    def __init__(self, sentence: str, wait_s: float = 0) -> None:
        self.wait_s = wait_s
        super().__init__(sentence)


def token_problem(token: str) -> str:
    """Say why this cannot be a token, without a sign of it; nothing if it can be."""
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
    """Speaks to one Virtlab server in the name of one token."""

    def __init__(self, url: str, token: str = "", patience_s: float = PATIENCE_S):
        problem = token_problem(token) if token else ""
        if problem:
            raise ValueError(problem)
        self.url = url.rstrip("/") + "/api/v1/"
        self.token = token
        self.patience_s = patience_s
        # Connections that wait for the next request. A list: threads can share it.
        self._idle: List[Way] = []
        self._stays_open = False

    def __enter__(self) -> "Client":
        """Send all requests of a `with` over one connection."""
        self._stays_open = True
        return self

    def __exit__(self, *_: Any) -> None:
        self._stays_open = False
        while self._idle:
            self._idle.pop().close()

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

    def declare_tool(self, tool: Document) -> Document:
        """Declare a tool of the lab; one that is there with these words is fine."""
        return self.request("POST", "own-tools/", tool)

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

    def send_form(self, path: str, body: bytes, content_type: str) -> Document:
        """Send a form that is encoded already."""
        return self._send("POST", path, body, content_type)

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
        most_bytes: int = MOST_ANSWER_BYTES,
    ) -> Document:
        """Send once and return the answer; raise PassingError or RefusedError."""
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
                    # A server may have hung up on one that waited: then call anew.
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
        # Some proxies answer with the question.
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
        # The server takes a body that was packed to 1 % for a bomb.
        if len(body) // 90 < len(packed) < len(body):
            headers["Content-Encoding"] = "gzip"
            return headers, packed
        return headers, body


class Proxy(NamedTuple):
    """What stands between us and the server; ``name`` is without its password."""

    name: str
    host: str
    port: int
    headers: Dict[str, str]


class Way:
    """A connection to a server, or to the proxy before it."""

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
        """Send a request and return the answer, of which the head was read."""
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
        """Whether another request can follow: http.client closes what cannot."""
        return self.connection.sock is not None

    def close(self) -> None:
        self.connection.close()
        self.line.close()


class _Line:
    """A socket with one deadline for all waiting together."""

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
        # Its own file: the socket stays open until both are closed.
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
    """Connect to an address's server, through its proxy; raise OSError, or ValueError
    for no address."""
    parts = urllib.parse.urlsplit(url)
    is_tls = parts.scheme == "https"
    host, port = host_of(parts), parts.port or (443 if is_tls else 80)
    # The other side knows nothing of our links.
    name = host.partition("%")[0]
    deadline_s = time.monotonic() + (patience_s or ANSWER_S)
    proxy = proxy_of(parts.scheme, host)
    limit_s = patience_s or SILENCE_S
    try:
        place = (proxy.host, proxy.port) if proxy else (host, port)
        sock = socket.create_connection(place, limit_s)
    except OSError as error:
        if proxy is None:
            raise
        raise OSError("the proxy %s: %s" % (proxy.name, _reason_of(error))) from None
    # A question that waits for more to send would look like a slow path.
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
    # Once it is closed, nobody calls behind our back, without the proxy.
    connection.auto_open = 0
    connection.sock = line  # type: ignore[assignment]  # it only sends and reads files
    if is_tls:
        connection.default_port = 443  # type: ignore[misc]  # else it stands in Host
    return Way(connection, line, proxy)


def host_of(parts: urllib.parse.SplitResult) -> str:
    """Return an address's host for a socket (``%25`` of an IPv6 zone is ``%``)."""
    host = parts.hostname or ""
    return host if host.endswith("%25") else host.replace("%25", "%", 1)


def bracketed(host: str, port: int) -> str:
    """Return both as one text, an IPv6 address in brackets."""
    return "%s:%d" % ("[%s]" % host if ":" in host else host, port)


def _ask_for_tunnel(line: _Line, proxy: Proxy, host: str, port: int) -> None:
    place = bracketed(host, port)
    head = ["CONNECT %s HTTP/1.1" % place, "Host: " + place]
    head += ["%s: %s" % header for header in proxy.headers.items()]
    line.sendall("\r\n".join([*head, "", ""]).encode("latin-1"))
    heard = b""
    while b"\r\n\r\n" not in heard:
        line.limit()
        # By single bytes: what follows the head belongs to TLS.
        byte = line.sock.recv(1)
        if not byte or len(heard) > _LONGEST_HEAD:
            raise OSError("the proxy %s hung up" % proxy.name)
        heard += byte
    words = heard.split(b"\r\n", 1)[0].decode("latin-1").split(None, 2)
    if len(words) < 2 or words[1] != "200":
        said = "HTTP " + words[1] if len(words) > 1 else "no HTTP"
        raise OSError("the proxy %s answered %s" % (proxy.name, said))


def proxy_of(scheme: str, host: str) -> Optional[Proxy]:
    """Return the proxy set for a server, if any; raise OSError for one that is not
    HTTP."""
    named = [name for name in os.environ if name.lower().endswith("_proxy")]
    # Windows and macOS have settings besides; elsewhere a megabyte is spared.
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
    """Return what went wrong in words; some errors have no text of their own."""
    is_silent = isinstance(error, ConnectionError)  # of the same kind: nothing came
    if isinstance(error, http.client.BadStatusLine) and not is_silent:
        return "what answers there does not speak HTTP: %s" % str(error).strip()[:80]
    sentence = getattr(error, "strerror", None) or str(error)
    return str(sentence or type(error).__name__)


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


def _error_of(
    response: http.client.HTTPResponse, text: bytes, proxy: Optional[Proxy]
) -> Exception:
    """Return the PassingError or the RefusedError that an answer stands for."""
    status = response.status
    if proxy and status == _PROXY_WANTS_A_PASSWORD:
        sentence = "the proxy %s wants a password (HTTP 407): set it as http://NAME:"
        return PassingError(sentence % proxy.name + "PASSWORD@... in its variable")
    if status not in PASSING:
        return RefusedError(status, _json_object(text))
    try:
        wait_s = float(response.getheader("Retry-After") or 0)
    except ValueError:  # a date, as proxies send it
        wait_s = 0.0
    # What is no number at all is compared with nothing.
    wait_s = min(wait_s, MOST_WAIT_S) if wait_s > 0 else 0.0
    return PassingError("the server answered HTTP %d" % status, wait_s)


def _json_object(text: bytes) -> Document:
    try:
        # A portal's page is no error here: whoever reads the answer misses our keys.
        answer = json.loads(text.decode())
    # Nested so deep that no Virtlab said it.
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def trusted() -> Any:
    """Return one shared SSL context: reading the certificates costs 25 ms and a
    megabyte."""
    # A Python that was built without ssl still speaks to http:// servers.
    import ssl

    if not _CONTEXTS:
        # Named by their hashes, they are read one by one when a server shows one.
        folder = folder_of(ssl.get_default_verify_paths()) or None
        _CONTEXTS.append(ssl.create_default_context(capath=folder))
    return _CONTEXTS[0]


def folder_of(paths: Any) -> str:
    """Return the folder of trusted certificates by hash, "" if it may not replace the
    file."""
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
