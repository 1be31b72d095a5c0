"""The time server: many clients over TCP and UDP, one thread, bounded memory.

The LINPACK of the LMU studies sends `start` (answer: `start`), `time` (answer: the
microseconds since then and a newline) and `quit` (answer: `quit`). It compares whole
replies, so those to `start` and `quit` have no newline. Agents send `stamp NONCE`:

    stamp 6f1f 9c2b7a01d4e5f607 1795212926095357 93127446021
          nonce, name of the clock, wall and monotonic time in microseconds

If the steps of the clock exceed a microsecond, their length follows. Older agents
reject such a reply, so they never trust a coarse time.
"""

import contextlib
import re
import selectors
import socket
from collections import Counter, OrderedDict
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from agents.processes import StopFlag
from agents.timing.clocks import Clocks, own_clocks

PORT = 8037
MAX_REQUEST_BYTES = 256
UNKNOWN_REQUEST = b"error: send start, time, quit or stamp NONCE\n"
NOT_STARTED = b"error: send start first\n"
_STAMP = re.compile(r"stamp ([A-Za-z0-9-]{1,64})")
_STAMPED = re.compile(
    r"stamp ([A-Za-z0-9-]{1,64}) (\w{1,64}) (\d{1,18}) (\d{1,18})(?: (\d{1,12}))?\n?"
)


class ServerTime(NamedTuple):
    clock: str
    wall_us: int
    monotonic_us: int
    resolution_us: int = 1


class ClientState:
    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks
        self.started_us: Optional[int] = None
        self.is_over = False

    def answer(self, request: bytes) -> bytes:
        word = request.decode("latin-1").strip("\r\n\0 ")
        if word == "time":
            if self.started_us is None:
                return NOT_STARTED
            return b"%d\n" % (self.clocks.monotonic_us() - self.started_us)
        if word == "start":
            self.started_us = self.clocks.monotonic_us()
            return b"start"
        if word == "quit":
            self.is_over = True
            return b"quit"
        stamp = _STAMP.fullmatch(word)
        return stamp_reply(stamp.group(1), self.clocks) if stamp else UNKNOWN_REQUEST


def stamp_request(nonce: str) -> bytes:
    return b"stamp %s\n" % nonce.encode("ascii")


def stamp_reply(nonce: str, clocks: Clocks) -> bytes:
    """Return the reply to a stamp request; the clocks are read as late as possible."""
    times = (nonce, clocks.name, clocks.wall_us(), clocks.monotonic_us())
    coarse = " %d" % clocks.resolution_us if clocks.resolution_us > 1 else ""
    return ("stamp %s %s %d %d" % times + coarse + "\n").encode("ascii")


def read_reply(reply: bytes, nonce: str) -> Optional[ServerTime]:
    """Parse the reply to a stamp request; None if incomplete or of another nonce."""
    match = _STAMPED.fullmatch(reply.decode("latin-1"))
    if not match or match.group(1) != nonce:
        return None
    clock, wall_us, monotonic_us, step_us = match.groups()[1:]
    return ServerTime(clock, int(wall_us), int(monotonic_us), int(step_us or 1))


MAX_CONNECTIONS = 512
MAX_CONNECTIONS_PER_ADDRESS = 256  # many guests of a lab may share an address
IDLE_TIMEOUT_S = 10  # from a connection to its first request
# Limits against floods: many datagrams are read at once, but few are answered.
MAX_DATAGRAMS, MAX_DATAGRAMS_PER_PEER, MAX_DATAGRAMS_PER_ADDRESS = 1024, 4, 64
_RECEIVE_BYTES = 4 * 1024 * 1024
_READ_BYTES = 1024
MAX_PEERS = 4096
IDLE_S = 7200  # longer than the pauses between requests of a LINPACK run


class TcpClient(NamedTuple):
    session: ClientState
    pending: bytearray
    last_request_us: int
    address: str


class TimeServer:
    """A time server on one port for TCP and UDP.

    Connections that flood it, stay silent or exceed limits are closed. Each peer has
    its own queue of datagrams.
    """

    def __init__(
        self, host: str = "", port: int = PORT, clocks: Optional[Clocks] = None
    ) -> None:
        self.clocks = clocks or own_clocks()
        self.peers: OrderedDict[Any, ClientState] = OrderedDict()
        self.connections: Dict[socket.socket, TcpClient] = {}
        self.of_address: Dict[str, int] = Counter()
        # Connections without a request yet, oldest first, with the time of their start.
        self.silent: OrderedDict[socket.socket, int] = OrderedDict()
        self.selector = selectors.DefaultSelector()
        self.answered = 0
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.listener = _bound(family, socket.SOCK_STREAM, host, port)
        self.listener.listen(128)
        self.port = int(self.listener.getsockname()[1])
        try:
            self.datagrams = _bound(family, socket.SOCK_DGRAM, host, self.port)
        except OSError:
            self.listener.close()
            raise
        # A large buffer, so that floods do not displace other datagrams.
        buffer_size = (socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
        self.datagrams.setsockopt(*buffer_size)
        self.stopping = StopFlag()
        self._watch(self.listener, self._accept)
        self._watch(self.datagrams, self._answer_datagram)
        self._watch(self.stopping.wakened, self._clear_wake_up)

    def serve(self) -> None:
        while not self.stopping.is_set:
            for key, _ in self.selector.select(self._close_silent()):
                # Skip events of closed connections: descriptors are used again.
                if self.selector.get_map().get(key.fd) is key:
                    key.data(key.fileobj)

    def stop(self) -> None:
        """Stop `serve`, from any thread or signal handler."""
        self.stopping.set()

    def close(self) -> None:
        for sock in list(self.connections):
            self._close(sock)
        self.listener.close()
        self.datagrams.close()
        self.stopping.close()
        self.selector.close()

    def _watch(self, sock: socket.socket, react: Callable[[Any], None]) -> None:
        sock.setblocking(False)
        self.selector.register(sock, selectors.EVENT_READ, react)

    def _clear_wake_up(self, _: socket.socket) -> None:
        self.stopping.wait(0)

    def _accept(self, listener: socket.socket) -> None:
        try:
            sock, (address, *_) = listener.accept()
        except OSError:
            return
        is_over_limit = self.of_address[address] >= MAX_CONNECTIONS_PER_ADDRESS
        if is_over_limit or not self._has_room_for(address):
            sock.close()
            return
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        now_us = self.clocks.monotonic_us()
        client = TcpClient(ClientState(self.clocks), bytearray(), now_us, address)
        self.connections[sock] = client
        self.of_address[address] += 1
        self.silent[sock] = now_us
        self._watch(sock, self._answer_connection)

    def _answer_connection(self, sock: socket.socket) -> None:
        connection = self.connections[sock]
        session, pending = connection.session, connection.pending
        answered = self.answered
        try:
            received = sock.recv(_READ_BYTES)
            pending += received
            is_over = not received or not self._answer_lines(sock, session, pending)
        except OSError:
            is_over = True
        if is_over or session.is_over:
            self._close(sock)
            return
        if self.answered > answered:  # an incomplete line does not count
            self.silent.pop(sock, None)
        now_us = self.clocks.monotonic_us()
        self.connections[sock] = connection._replace(last_request_us=now_us)

    def _answer_lines(
        self, sock: socket.socket, session: ClientState, pending: bytearray
    ) -> bool:
        """Answer each complete line; return False if the connection must be closed.

        Each reply is one `send`: a client that does not read its replies is not waited
        for.
        """
        while b"\n" in pending and not session.is_over:
            line, _, rest = bytes(pending).partition(b"\n")
            pending[:] = rest
            reply = session.answer(line)
            if sock.send(reply) != len(reply):
                return False  # the client does not read its replies
            self.answered += 1
        return len(pending) <= MAX_REQUEST_BYTES

    def _answer_datagram(self, sock: socket.socket) -> None:
        """Answer the waiting datagrams: every peer once before any peer twice."""
        queues: Dict[Any, List[bytes]] = {}
        of_address: Dict[str, int] = Counter()
        for _ in range(MAX_DATAGRAMS):
            try:
                request, peer = sock.recvfrom(MAX_REQUEST_BYTES + 1)
            except OSError:
                break
            queue = queues.setdefault(peer, [])
            if (
                len(queue) < MAX_DATAGRAMS_PER_PEER
                and of_address[peer[0]] < MAX_DATAGRAMS_PER_ADDRESS
            ):
                queue.append(request)
                of_address[peer[0]] += 1
        for turn in range(MAX_DATAGRAMS_PER_PEER):
            for peer, queue in queues.items():
                if turn < len(queue):
                    with contextlib.suppress(OSError):
                        sock.sendto(self._reply_to(queue[turn], peer), peer)
                        self.answered += 1

    def _reply_to(self, request: bytes, peer: Any) -> bytes:
        if len(request) > MAX_REQUEST_BYTES:
            return UNKNOWN_REQUEST
        session = self.peers.pop(peer, None) or ClientState(self.clocks)
        reply = session.answer(request)
        if session.started_us is not None and not session.is_over:
            self.peers[peer] = session
        # UDP has no end of a connection, so the oldest peer is forgotten.
        if len(self.peers) > MAX_PEERS:
            self.peers.popitem(last=False)
        return reply

    def _has_room_for(self, address: str) -> bool:
        """Return whether to accept a connection; close others to make room."""
        if len(self.connections) >= MAX_CONNECTIONS:
            oldest_us = self.clocks.monotonic_us() - IDLE_S * 1000000
            for sock, connection in list(self.connections.items()):
                if connection.last_request_us < oldest_us:
                    self._close(sock)
        if len(self.connections) < MAX_CONNECTIONS:
            return True
        if self.silent:
            self._close(next(iter(self.silent)))
            return True
        busiest = max(self.of_address, key=self.of_address.__getitem__)
        if self.of_address[busiest] <= self.of_address[address] + 1:
            return False
        sockets = [
            sock
            for sock, connection in self.connections.items()
            if connection.address == busiest
        ]
        self._close(
            min(sockets, key=lambda sock: self.connections[sock].last_request_us)
        )
        return True

    def _close_silent(self) -> Optional[float]:
        """Close connections whose first request is late.

        Return the seconds until the next one is late, or None.
        """
        while self.silent:
            sock, since_us = next(iter(self.silent.items()))
            left_us = since_us + IDLE_TIMEOUT_S * 1000000 - self.clocks.monotonic_us()
            if left_us > 0:
                return left_us / 1e6
            self._close(sock)
        return None

    def _close(self, sock: socket.socket) -> None:
        address = self.connections.pop(sock).address
        self.of_address[address] -= 1
        if not self.of_address[address]:
            del self.of_address[address]
        self.silent.pop(sock, None)
        self.selector.unregister(sock)
        sock.close()


def _bound(
    family: socket.AddressFamily, kind: socket.SocketKind, host: str, port: int
) -> socket.socket:
    sock = socket.socket(family, kind)
    try:
        if kind == socket.SOCK_STREAM:  # two UDP servers could share the port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
    except OSError:
        sock.close()
        raise
    return sock
