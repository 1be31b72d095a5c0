"""A client for the Virtlab API that needs only Python 3.6 and this file.

    client = Client("http://127.0.0.1:8000", "vl_...")
    client.create_study({"slug": "my-study", "title": "My study"})
    client.register_host({"slug": "my-host"})
    for done in client.upload(runs):
        print(done, "of", len(runs))

An upload can be repeated safely, because the server identifies each run by its key.
Temporary failures, and incomplete or foreign responses, are retried for `retry_for_s`
and then raise `UnreachableError`. A
permanent refusal raises `RefusedError`. Responses are limited in length and time. No
error message contains the token.
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
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Tuple,
    TypeVar,
)

Document = Dict[str, Any]
T = TypeVar("T")

READ_TIMEOUT_S = 60.0  # for each read from a connection
RESPONSE_TIMEOUT_S = 120.0  # from the first byte sent to the last one received
MAX_RESPONSE_BYTES = 32 * 1024 * 1024
RETRY_PERIOD_S = 300
MIN_PAUSE_S, MAX_PAUSE_S = 0.25, 15
MAX_RETRY_AFTER_S = 3600.0
# Batches stay below the server's limits (8 MiB unpacked, 10,000 lines).
BATCH_LINES = 200
BATCH_BYTES = 2 * 1024 * 1024
TEMPORARY_STATUSES = (408, 425, 429, 500, 502, 503, 504)
NOT_VIRTLAB = "the response is not from a Virtlab server"
_NO_CONTENT = 204
_PROXY_AUTHENTICATION_REQUIRED = 407
# Printable ASCII without spaces, as in HTTP headers.
_TOKEN = re.compile(r"[!-~]{1,512}")
_MAX_HEAD_BYTES = 16 * 1024
_HASHED_NAME = re.compile(r"[0-9a-f]{8}\.\d+")
_CONTEXTS: List[Any] = []  # cache of `ssl_context`


class RefusedError(Exception):
    """The server permanently refuses this request."""

    exit_code = 4  # agents.errors.ServerRefusedError, which this file cannot import

    def __init__(self, status: int, answer: Document) -> None:
        types = {"code": str, "detail": str, "fields": dict}
        # Any proxy can answer 404; Virtlab's errors always have these three fields.
        self.is_ours = all(
            isinstance(answer.get(name), kind) for name, kind in types.items()
        )
        self.status = status
        self.code = str(answer.get("code", "unknown"))
        default = (
            "The response is not from Virtlab, but from a proxy or another server."
        )
        self.detail = str(answer.get("detail", default))
        self.fields = answer.get("fields", {})
        super().__init__("%s (HTTP %d): %s" % (self.code, status, self.detail))


class UnreachableError(Exception):
    """The server did not answer within ``retry_for_s``."""

    exit_code = 5


class TemporaryError(Exception):
    """A request failed but may succeed later; ``wait_s`` is its Retry-After, or 0."""

    def __init__(self, sentence: str, wait_s: float = 0) -> None:
        self.wait_s = wait_s
        super().__init__(sentence)


def retry_pause_s(
    failures: int, retry_after_s: float, shortest_s: float, longest_s: float
) -> float:
    """Return the pause before the next attempt.

    It doubles with each failure up to ``longest_s``, times a random factor from 0.5 to
    1, and is at least ``retry_after_s``.
    """
    # 2.0 ** 1024 raises OverflowError.
    backoff_s = min(longest_s, shortest_s * 2.0 ** min(failures, 10))
    return max(retry_after_s, backoff_s * random.uniform(0.5, 1))


def token_error(token: str) -> str:
    """Return why a token is invalid, without quoting it; "" if valid."""
    if _TOKEN.fullmatch(token):
        return ""
    if not token:
        return "The token is empty."
    if "\0" in token or token.startswith(("\xff\xfe", "\xfe\xff")):
        what = "is UTF-16, the encoding of files written by PowerShell"
    elif token.startswith(("\ufeff", "\xef\xbb\xbf")):
        what = "begins with a byte order mark"
    elif "\r" in token or "\n" in token:
        what = "contains a line break"
    elif len(token) > 512:
        what = "is longer than 512 characters"
    else:
        what = "contains a space, a control character or a non-ASCII character"
    return "The token %s. Save it as one line of plain ASCII." % what


class Client:
    def __init__(self, url: str, token: str = "", retry_for_s: float = RETRY_PERIOD_S):
        problem = token_error(token) if token else ""
        if problem:
            raise ValueError(problem)
        self.url = url.rstrip("/") + "/api/v1/"
        self.token = token
        self.retry_for_s = retry_for_s
        self._idle: List[HttpConnection] = []
        self._keeps_alive = False

    def __enter__(self) -> "Client":
        """Keep connections open between requests."""
        self._keeps_alive = True
        return self

    def __exit__(self, *_: Any) -> None:
        self._keeps_alive = False
        while self._idle:
            self._idle.pop().close()

    def create_study(self, study: Document) -> Document:
        """Create a study, or return the existing identical one."""
        return self.request("POST", "studies/", study)

    def update_study(self, slug: str, changes: Document) -> Document:
        return self.request(
            "PATCH", "studies/%s/" % urllib.parse.quote(slug, safe=""), changes
        )

    def register_host(self, host: Document) -> Document:
        """Register a machine, or return the existing identical one."""
        return self.request("POST", "hosts/", host)

    def declare_tool(self, tool: Document) -> Document:
        """Declare a custom tool, or return the existing identical one."""
        return self.request("POST", "custom-tools/", tool)

    def register_system(self, system: Document) -> Document:
        """Register a system, or return the existing one; both have an ``id``."""
        return self.request("POST", "systems/", system)

    def upload(self, runs: Iterable[Document]) -> Iterator[int]:
        """Send runs in batches; yield the number stored so far."""
        stored = 0
        lines = (json.dumps(run).encode() for run in runs)
        for batch in batches(lines, BATCH_LINES, BATCH_BYTES):
            self._send("POST", "runs/bulk/", b"\n".join(batch), "application/x-ndjson")
            stored += len(batch)
            yield stored

    def import_study(self, content: bytes) -> Document:
        """Store a study file; it may be compressed with gzip."""
        return self.send_form("study-file/", content, "application/json")

    def send_form(self, path: str, body: bytes, content_type: str) -> Document:
        return self._send("POST", path, body, content_type)

    def get(self, path: str, **query: Any) -> Document:
        """Return a JSON object, as in ``get("runs/", study="my-study")``."""
        url = path + "?" + urllib.parse.urlencode(query) if query else path
        return self.request("GET", url)

    def get_file(self, path: str, **query: Any) -> bytes:
        """Return a file that the server makes."""
        url = path + "?" + urllib.parse.urlencode(query)

        def fetch() -> bytes:
            headers, _ = self._headers(None, "")
            response, content = self._exchange("GET", url, None, headers)
            if response.length:
                raise TemporaryError("the response ended early")
            return content

        return self._retried(fetch)

    def get_all(self, path: str, **query: Any) -> Iterator[Document]:
        """Yield all items of a paginated list."""
        page = self.get(path, **query)
        while True:
            yield from page["results"]
            if not page["next"]:
                return
            # The host name in this URL may differ from the one in `self.url`.
            cursor = urllib.parse.urlsplit(page["next"]).query
            page = self.request("GET", path + "?" + cursor)

    def request(
        self, method: str, path: str, body: Optional[Document] = None
    ) -> Document:
        """Send JSON to a path below /api/v1/, with retries; return the response."""
        encoded = None if body is None else json.dumps(body).encode()
        return self._send(method, path, encoded, "application/json")

    def _send(
        self, method: str, path: str, body: Optional[bytes], content_type: str
    ) -> Document:
        return self._retried(lambda: self.send_once(method, path, body, content_type))

    def _retried(self, attempt: Callable[[], T]) -> T:
        deadline = time.monotonic() + self.retry_for_s
        failures = 0
        while True:
            try:
                return attempt()
            except TemporaryError as error:
                message, retry_after_s = str(error), error.wait_s
            failures += 1
            wait_s = retry_pause_s(failures, retry_after_s, MIN_PAUSE_S, MAX_PAUSE_S)
            if time.monotonic() + wait_s > deadline:
                raise UnreachableError(
                    "%s did not answer for %g s: %s"
                    % (self.url, self.retry_for_s, message)
                )
            time.sleep(wait_s)

    def send_once(
        self,
        method: str,
        path: str,
        body: Optional[bytes] = None,
        content_type: str = "application/json",
        most_bytes: int = MAX_RESPONSE_BYTES,
    ) -> Document:
        """Send a request without retries; raise TemporaryError or RefusedError."""
        headers, packed = self._headers(body, content_type)
        response, text = self._exchange(method, path, packed, headers, most_bytes)
        return _checked_answer(response, text, body, content_type)

    def _exchange(
        self,
        method: str,
        path: str,
        packed: Optional[bytes],
        headers: Dict[str, str],
        most_bytes: int = MAX_RESPONSE_BYTES,
    ) -> Tuple[http.client.HTTPResponse, bytes]:
        connection: Optional[HttpConnection] = None
        try:
            while True:
                is_used = bool(self._idle)
                connection = self._idle.pop() if is_used else open_connection(self.url)
                try:
                    response = connection.request(
                        method, self.url + path, packed, headers
                    )
                    break
                except (OSError, http.client.HTTPException):
                    connection.close()
                    # The server may have closed an idle connection.
                    if not is_used:
                        raise
            with response:
                text = response.read(most_bytes + 1)
                is_complete = response.isclosed()
        except (OSError, http.client.HTTPException, ValueError) as error:
            if connection is not None:
                connection.close()
            raise TemporaryError(_error_text(error)) from None
        if self._keeps_alive and is_complete and connection.is_open:
            self._idle.append(connection)
        else:
            connection.close()
        if len(text) > most_bytes:
            raise TemporaryError("the response exceeds %d bytes" % most_bytes)
        if 200 <= response.status < 300:
            return response, text
        # Some proxies repeat the request in their response.
        if self.token:
            text = text.replace(self.token.encode(), b"***")
        raise _http_error(response, text, connection.proxy)

    def _headers(
        self, body: Optional[bytes], content_type: str
    ) -> Tuple[Dict[str, str], Optional[bytes]]:
        headers = {"Accept": "application/json", "User-Agent": "virtlab-agent"}
        if not self._keeps_alive:
            headers["Connection"] = "close"
        if self.token:
            headers["Authorization"] = "Token " + self.token
        if body is None:
            return headers, None
        headers["Content-Type"] = content_type
        if body.startswith(b"\x1f\x8b"):  # compressed before
            return headers, body
        packed = gzip.compress(body, 6)
        # The server rejects a body that unpacks to 100 times its size as a zip bomb.
        if len(body) // 90 < len(packed) < len(body):
            headers["Content-Encoding"] = "gzip"
            return headers, packed
        return headers, body


class Proxy(NamedTuple):
    """An HTTP proxy; ``name`` is its URL without the password."""

    name: str
    host: str
    port: int
    headers: Dict[str, str]


class HttpConnection:
    def __init__(
        self,
        connection: http.client.HTTPConnection,
        sock: "_DeadlineSocket",
        proxy: Any,
    ) -> None:
        self.connection, self.sock, self.proxy = connection, sock, proxy

    def request(
        self,
        method: str,
        url: str,
        body: Optional[bytes],
        headers: Dict[str, str],
        timeout_s: float = 0.0,
    ) -> http.client.HTTPResponse:
        """Send a request; return the response, whose body is not read yet."""
        self.sock.deadline_s = time.monotonic() + (timeout_s or RESPONSE_TIMEOUT_S)
        parts = urllib.parse.urlsplit(url)
        target = parts.path + ("?" + parts.query if parts.query else "")
        if self.proxy and parts.scheme == "http":
            target = url
            headers = dict(headers, **self.proxy.headers)
        self.connection.request(method, target, body, headers)
        return self.connection.getresponse()

    @property
    def is_open(self) -> bool:
        return self.connection.sock is not None

    def close(self) -> None:
        self.connection.close()
        self.sock.close()


class _DeadlineSocket:
    """A socket whose operations all end before one deadline."""

    def __init__(self, sock: Any, deadline_s: float) -> None:
        self.sock, self.deadline_s = sock, deadline_s

    def set_deadline(self) -> None:
        left_s = self.deadline_s - time.monotonic()
        if left_s <= 0:
            raise socket.timeout("the response did not end in time")
        self.sock.settimeout(min(READ_TIMEOUT_S, left_s))

    def sendall(self, content: bytes) -> None:
        self.set_deadline()
        self.sock.sendall(content)

    def makefile(self, *_: Any) -> io.BufferedReader:
        return io.BufferedReader(_SocketReader(self))

    def close(self) -> None:
        self.sock.close()


class _SocketReader(io.RawIOBase):
    def __init__(self, sock: _DeadlineSocket) -> None:
        super().__init__()
        # The connection is closed only after both the socket and this file are closed.
        self._socket, self._file = sock, sock.sock.makefile("rb", 0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Optional[int]:
        self._socket.set_deadline()
        count: Optional[int] = self._file.readinto(buffer)
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def open_connection(url: str, timeout_s: float = 0.0) -> HttpConnection:
    """Connect to the server of a URL, possibly through a proxy.

    Raise OSError, or ValueError for an invalid URL.
    """
    parts = urllib.parse.urlsplit(url)
    is_tls = parts.scheme == "https"
    host, port = host_of(parts), parts.port or (443 if is_tls else 80)
    server_name = host.partition("%")[0]  # without the zone of an IPv6 address
    deadline_s = time.monotonic() + (timeout_s or RESPONSE_TIMEOUT_S)
    proxy = proxy_of(parts.scheme, host)
    try:
        address = (proxy.host, proxy.port) if proxy else (host, port)
        sock = socket.create_connection(address, timeout_s or READ_TIMEOUT_S)
    except OSError as error:
        if proxy is None:
            raise
        raise OSError("the proxy %s: %s" % (proxy.name, _error_text(error))) from None
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    deadline_socket = _DeadlineSocket(sock, deadline_s)
    try:
        if is_tls:
            if proxy:
                _open_tunnel(deadline_socket, proxy, host, port)
            deadline_socket.set_deadline()
            deadline_socket.sock = ssl_context().wrap_socket(
                sock, server_hostname=server_name
            )
    except (OSError, ValueError):
        deadline_socket.close()
        raise
    connection = http.client.HTTPConnection(server_name, port)
    # Never reconnect automatically: that would bypass the proxy.
    connection.auto_open = 0
    connection.sock = deadline_socket  # type: ignore[assignment]  # only sends and makefiles
    if is_tls:
        # Keep the port out of the Host header.
        connection.default_port = 443  # type: ignore[misc]
    return HttpConnection(connection, deadline_socket, proxy)


def host_of(parts: urllib.parse.SplitResult) -> str:
    host = parts.hostname or ""
    return host if host.endswith("%25") else host.replace("%25", "%", 1)


def bracketed(host: str, port: int) -> str:
    """Return HOST:PORT, with brackets around an IPv6 address."""
    return "%s:%d" % ("[%s]" % host if ":" in host else host, port)


def _open_tunnel(sock: _DeadlineSocket, proxy: Proxy, host: str, port: int) -> None:
    target = bracketed(host, port)
    head = ["CONNECT %s HTTP/1.1" % target, "Host: " + target]
    head += ["%s: %s" % header for header in proxy.headers.items()]
    sock.sendall("\r\n".join([*head, "", ""]).encode("latin-1"))
    received = b""
    while b"\r\n\r\n" not in received:
        sock.set_deadline()
        # The bytes after the header belong to TLS and must stay unread.
        byte = sock.sock.recv(1)
        if not byte or len(received) > _MAX_HEAD_BYTES:
            raise OSError("the proxy %s closed the connection" % proxy.name)
        received += byte
    words = received.split(b"\r\n", 1)[0].decode("latin-1").split(None, 2)
    if len(words) < 2 or words[1] != "200":
        status = "HTTP " + words[1] if len(words) > 1 else "something other than HTTP"
        raise OSError("the proxy %s answered %s" % (proxy.name, status))


def proxy_of(scheme: str, host: str) -> Optional[Proxy]:
    """Return the HTTP proxy for a server, if any.

    Raise OSError if another kind of proxy is configured.
    """
    variables = [name for name in os.environ if name.lower().endswith("_proxy")]
    # Only Windows and macOS have other settings; importing urllib.request costs 1 MB.
    if not variables and os.name != "nt" and sys.platform != "darwin":
        return None
    from urllib import request

    proxies = request.getproxies()
    url = proxies.get(scheme) or proxies.get("all")
    if not url or request.proxy_bypass(host):
        return None
    try:
        parts = urllib.parse.urlsplit(url if "://" in url else "http://" + url)
        address = (host_of(parts), parts.port or 80)
    except ValueError:
        parts, address = urllib.parse.urlsplit("http:"), ("", 0)
    name = "%s://%s" % (parts.scheme, bracketed(*address))
    if parts.scheme != "http" or not address[0]:
        raise OSError(
            "%s is not an HTTP proxy: correct %s_proxy, or set no_proxy"
            % (name, scheme)
        )
    headers = {}
    if parts.username is not None:
        credentials = map(urllib.parse.unquote, (parts.username, parts.password or ""))
        secret = base64.b64encode(":".join(credentials).encode()).decode()
        headers["Proxy-Authorization"] = "Basic " + secret
    return Proxy(name, *address, headers=headers)


def _error_text(error: Exception) -> str:
    is_disconnect = isinstance(error, ConnectionError)
    if isinstance(error, http.client.BadStatusLine) and not is_disconnect:
        return "the response is not HTTP: %s" % str(error).strip()[:80]
    text = str(getattr(error, "strerror", None) or str(error) or type(error).__name__)
    # Without importing ssl, which a Python may lack.
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        text += ". For a private authority, set SSL_CERT_FILE to its certificate."
    return text


def batches(
    lines: Iterable[bytes], most_lines: int, most_bytes: int
) -> Iterator[List[bytes]]:
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


def _http_error(
    response: http.client.HTTPResponse, text: bytes, proxy: Optional[Proxy]
) -> Exception:
    status = response.status
    if proxy and status == _PROXY_AUTHENTICATION_REQUIRED:
        message = "the proxy %s requires a password (HTTP 407): set http://NAME:"
        return TemporaryError(message % proxy.name + "PASSWORD@... in its variable")
    if status not in TEMPORARY_STATUSES:
        return RefusedError(status, _json_object(text))
    try:
        wait_s = float(response.getheader("Retry-After") or 0)
    except ValueError:
        wait_s = 0.0
    wait_s = min(wait_s, MAX_RETRY_AFTER_S) if wait_s > 0 else 0.0  # 0 for NaN
    return TemporaryError("the server answered HTTP %d" % status, wait_s)


def _checked_answer(
    response: Any, text: bytes, body: Optional[bytes], content_type: str
) -> Document:
    """Return Virtlab's answer to a body; raise TemporaryError for any other answer.

    Login pages and proxies without their server also answer with 200.
    """
    # `length` is what is missing of Content-Length.
    if response.length:
        raise TemporaryError("the response ended early")
    answer = _json_object(text)
    if response.status == _NO_CONTENT:
        return answer
    is_ours = bool(answer)
    if body and content_type == "application/x-ndjson":
        runs = answer.get("runs")
        is_ours = isinstance(runs, list) and len(runs) == body.count(b"\n") + 1
    elif body and content_type == "application/json":
        sent = _json_object(body)
        for name in ("key", "slug"):
            same = str(answer.get(name)).lower() == str(sent.get(name)).lower()
            is_ours = is_ours and (same or name not in sent)
    if not is_ours:
        raise TemporaryError(NOT_VIRTLAB)
    return answer


def _json_object(text: bytes) -> Document:
    try:
        answer = json.loads(text.decode())
    except (ValueError, RecursionError):
        return {}  # e.g. a captive portal's page
    return answer if isinstance(answer, dict) else {}


def ssl_context() -> Any:
    """Return a shared SSL context; loading certificates again costs 25 ms and 1 MB."""
    # Imported here: a Python without the ssl module can still use http:// servers.
    import ssl

    if not _CONTEXTS:
        # From a folder of hashed names, OpenSSL reads only the certificates it needs.
        folder = certificate_folder(ssl.get_default_verify_paths()) or None
        _CONTEXTS.append(ssl.create_default_context(capath=folder))
    return _CONTEXTS[0]


def certificate_folder(paths: Any) -> str:
    """Return the system's folder of certificates, named by hash, if it is complete.

    Return "" if the folder is missing, has fewer certificates than the system's bundle,
    or may not be used because an environment variable names other certificates.
    """
    variables = (paths.openssl_cafile_env, paths.openssl_capath_env)
    if not (paths.cafile and paths.capath) or any(map(os.environ.get, variables)):
        return ""
    try:
        with open(paths.cafile, "rb") as file:
            bundled = sum(line.startswith(b"-----BEGIN") for line in file)
        hashed = sum(map(bool, map(_HASHED_NAME.fullmatch, os.listdir(paths.capath))))

    except OSError:
        return ""
    return str(paths.capath) if 0 < bundled <= hashed else ""
