"""waitress's HTTP server, with limits on connections and buffered bodies.

When an address has too many connections, or all have, the one that has been silent for
longest is closed. Bodies are buffered before a thread gets the request, in temporary
files above 512 KiB. Larger bodies of unknown clients (no session, no valid token) are
dropped, so that the application answers as if they were empty. All bodies together, and
those of one address, have a limit; above it the response is 503.
"""

import socket
import threading
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from io import BytesIO
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.db import Error as DatabaseError
from django.db import close_old_connections
from django.http import parse_cookie
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import TcpWSGIServer

from benchmarks.errors import BenchmarksError
from config.client_addresses import client_address, is_trusted_proxy

# Each connection needs a file descriptor and, while slow, a buffer. Clients may share
# an address.
MAX_CONNECTIONS: Final = 4_000
MAX_ADDRESS_CONNECTIONS: Final = 256
ACCEPTED_PER_TURN: Final = 64
# The API rejects bodies above its limit with a message. Bodies larger than the limit
# times this factor are not even read.
BODY_LIMIT_FACTOR: Final = 4
ANONYMOUS_BODY_BYTES: Final = 64 * 1024
MIB: Final = 1024 * 1024
# docker-compose.yml has room in /tmp for the bodies of two processes.
MAX_BUFFERED_BYTES: Final = 128 * MIB
MAX_ADDRESS_BUFFERED_BYTES: Final = 64 * MIB
# These accept long outputs from everybody.
ANONYMOUS_PATHS: Final = ("/api/v1/parse/", "/api/v1/parse/machine/")
# `config.middleware` answers requests with this header. A client that sends it is
# answered alike.
DROPPED_HEADER: Final = "X_BODY_DROPPED"


class DiscardingBuffer:
    def append(self, data: bytes) -> None:
        pass

    def getfile(self) -> BytesIO:
        return BytesIO()

    def close(self) -> None:
        pass

    def __len__(self) -> int:
        return 0


class BoundedRequest(HTTPRequestParser):  # type: ignore[misc]  # waitress has no types
    """A request that counts the bytes of its body."""

    def __init__(self, adjustments: Adjustments, *, channel: "BoundedChannel") -> None:
        super().__init__(adjustments)
        self.channel, self.address = channel, ""
        self.counted, self.is_closed = 0, False

    def parse_header(self, header_plus: bytes) -> None:
        super().parse_header(header_plus)
        self.headers.pop(DROPPED_HEADER, None)
        is_chunked = self.chunked or "TRANSFER_ENCODING" in self.headers
        if is_chunked and "CONTENT_LENGTH" in self.headers:
            # A proxy may use the other length. waitress closes the connection.
            raise ParsingError("Send Content-Length or Transfer-Encoding, not both.")
        forwarded = self.headers.get("X_FORWARDED_FOR", "")
        self.address = client_address(self.channel.addr[0], forwarded)
        may_be_large = self.chunked or self.content_length > ANONYMOUS_BODY_BYTES
        if may_be_large and self.path not in ANONYMOUS_PATHS:
            self.channel.identify_client(self)

    def received(self, data: bytes) -> int:
        consumed: int = super().received(data)
        if self.body_rcv is not None and not self.is_closed:
            size = len(self.body_rcv)
            server = self.channel.server
            if not server.reserve(self.address, size - self.counted):
                self.drop_body(is_busy=True)
            else:
                self.counted = size
        return consumed

    def drop_body(self, *, is_busy: bool) -> None:
        """Forget the body, and what follows of it."""
        if is_busy:
            self.headers[DROPPED_HEADER] = "1"
        kept = self.body_rcv.getbuf()
        self.body_rcv.buf = DiscardingBuffer()
        kept.close()
        self.headers["CONTENT_LENGTH"] = "0"
        self._release()

    def close(self) -> None:
        super().close()
        self.is_closed = True
        self._release()

    def _release(self) -> None:
        counted, self.counted = self.counted, 0
        self.channel.server.reserve(self.address, -counted)


class ClientIdentification:
    """A task of a thread: keep a large body only if its client is known."""

    def __init__(self, channel: "BoundedChannel", request: BoundedRequest) -> None:
        self.channel, self.request = channel, request

    def service(self) -> None:
        is_known = False
        close_old_connections()
        with suppress(BenchmarksError, DatabaseError):
            is_known = is_known_client(self.request.headers)
        close_old_connections()
        with self.channel.requests_lock:
            if not is_known and self.request is self.channel.request:
                self.request.drop_body(is_busy=False)
        self.cancel()
        self.channel.server.pull_trigger()

    def cancel(self) -> None:
        self.channel.is_identifying = False


class BoundedChannel(HTTPChannel):  # type: ignore[misc]
    """A connection. It does not read while a thread identifies its client."""

    is_identifying = False

    def __init__(
        self, server: "BoundedServer", sock: Any, addr: Any, adj: Any, map: Any = None
    ) -> None:
        super().__init__(server, sock, addr, adj, map)
        self.parser_class = partial(BoundedRequest, channel=self)
        server.channels[addr[0]].add(self)

    @property
    def is_silent(self) -> bool:
        is_served = self.requests or self.total_outbufs_len or self.is_identifying
        return not (is_served or self.will_close or self.close_when_flushed)

    def identify_client(self, request: BoundedRequest) -> None:
        self.is_identifying = True
        self.server.task_dispatcher.add_task(ClientIdentification(self, request))

    def readable(self) -> bool:
        return not self.is_identifying and bool(super().readable())

    def handle_close(self) -> None:
        super().handle_close()
        if self.request is not None:
            self.request.close()

    def del_channel(self, map: Any = None) -> None:
        super().del_channel(map)
        held = self.server.channels[self.addr[0]]
        held.discard(self)
        if not held:
            del self.server.channels[self.addr[0]]


class BoundedServer(TcpWSGIServer):  # type: ignore[misc]
    channel_class = BoundedChannel

    def __init__(self, application: Any, listener: socket.socket, **options: Any):
        self.channels: defaultdict[str, set[BoundedChannel]] = defaultdict(set)
        self._buffered: Counter[str] = Counter()
        self._buffered_total = 0
        self._buffer_lock = threading.Lock()
        description = (
            listener.family,
            listener.type,
            listener.proto,
            listener.getsockname(),
        )
        super().__init__(
            application,
            {},
            True,
            listener,
            adj=Adjustments(
                sockets=[listener],
                max_request_body_size=BODY_LIMIT_FACTOR * settings.UPLOAD_LIMIT_BYTES,
                # Above the limit, `handle_accept` makes room instead of waiting.
                connection_limit=2 * MAX_CONNECTIONS,
                **options,
            ),
            bind_socket=False,
            sockinfo=description,
        )

    def handle_accept(self) -> None:
        """Accept several connections, because each turn looks at all of them."""
        for _ in range(ACCEPTED_PER_TURN):
            before = len(self.active_channels)
            super().handle_accept()
            if len(self.active_channels) == before:
                return
            self._make_room(next(reversed(self.active_channels.values())))

    def reserve(self, address: str, size: int) -> bool:
        """Count bytes of bodies; return False if there is no room for them."""
        with self._buffer_lock:
            total = self._buffered_total + size
            own = self._buffered[address] + size
            is_full = total > MAX_BUFFERED_BYTES or own > MAX_ADDRESS_BUFFERED_BYTES
            if size > 0 and is_full:
                return False
            self._buffered_total, self._buffered[address] = total, own
            if not own:
                del self._buffered[address]
            return True

    def _make_room(self, newest: BoundedChannel) -> None:
        address = newest.addr[0]
        held = self.channels[address]
        if is_trusted_proxy(address) or len(held) <= MAX_ADDRESS_CONNECTIONS:
            if len(self.active_channels) <= MAX_CONNECTIONS:
                return
            held = max(self.channels.values(), key=len)
        silent = [channel for channel in held - {newest} if channel.is_silent]
        if silent:
            oldest = min(silent, key=lambda channel: channel.last_activity)
            oldest.will_close = True


def is_known_client(headers: Mapping[str, str]) -> bool:
    """Return whether a request has a valid token or session.

    Raises UnauthenticatedError for a wrong token.
    """
    # gunicorn imports this module before Django has loaded its models.
    from benchmarks.labs import tokens

    words = headers.get("AUTHORIZATION", "").split()
    if len(words) == 2:
        return tokens.authenticate(words[1]) is not None
    cookies = parse_cookie(headers.get("COOKIE", ""))
    key = cookies.get(settings.SESSION_COOKIE_NAME)
    store = import_module(settings.SESSION_ENGINE).SessionStore
    return bool(key) and SESSION_KEY in store(key)
