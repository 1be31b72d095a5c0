"""The time server: many clients over TCP and UDP, one thread, bounded memory.

The LINPACK of the LMU studies sends `start`, answered by `start`, then `time`, answered
by the microseconds since then and a newline, and `quit`, answered by `quit`. Its client
compares whole replies, so two of them have no newline. Agents send `stamp NONCE` and
get both clocks:

    stamp 6f1f 9c2b7a01d4e5f607 1795212926095357 93127446021
          nonce, name of the clock, wall and monotonic time in microseconds

A server whose clock has steps of more than a microsecond appends their length. Older
agents reject such a reply: better no time than a coarse one that looks fine.
"""

import contextlib
import re
import selectors
import socket
from collections import Counter, OrderedDict
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from agents.processes import Stop
from agents.timing.clocks import Clocks, own_clocks

PORT = 8037
LONGEST_REQUEST = 256
UNKNOWN = b"error: say start, time, quit or stamp NONCE\n"
NOT_STARTED = b"error: say start first\n"
_STAMP = re.compile(r"stamp ([A-Za-z0-9-]{1,64})")
_STAMPED = re.compile(
    r"stamp ([A-Za-z0-9-]{1,64}) (\w{1,64}) (\d{1,18}) (\d{1,18})(?: (\d{1,12}))?\n?"
)


class ServerTime(NamedTuple):
    """An answer of a time server, in microseconds of its clocks."""

    clock: str
    wall_us: int
    monotonic_us: int
    resolution_us: int = 1


class Session:
    """The state of one client: when it sent `start`."""

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks
        self.started_us: Optional[int] = None
        self.is_over = False

    def answer(self, request: bytes) -> bytes:
        """Return the reply to a request."""
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
        return stamp_reply(stamp.group(1), self.clocks) if stamp else UNKNOWN


def stamp_request(nonce: str) -> bytes:
    return b"stamp %s\n" % nonce.encode("ascii")


def stamp_reply(nonce: str, clocks: Clocks) -> bytes:
    """Return the reply with both clocks, read as late as possible."""
    times = (nonce, clocks.name, clocks.wall_us(), clocks.monotonic_us())
    coarse = " %d" % clocks.resolution_us if clocks.resolution_us > 1 else ""
    return ("stamp %s %s %d %d" % times + coarse + "\n").encode("ascii")


def read_reply(reply: bytes, nonce: str) -> Optional[ServerTime]:
    """Parse a reply; None if it is incomplete or has another nonce."""
    match = _STAMPED.fullmatch(reply.decode("latin-1"))
    if not match or match.group(1) != nonce:
        return None
    clock, wall_us, monotonic_us, step_us = match.groups()[1:]
    return ServerTime(clock, int(wall_us), int(monotonic_us), int(step_us or 1))


MOST_CONNECTIONS = 512
MOST_OF_AN_ADDRESS = 256  # a lab behind one address has many guests
SILENT_S = 10  # until the first request of a connection
# Floods of datagrams: many are read at once, few of them are answered.
DATAGRAMS_AT_ONCE, OF_A_PEER, OF_AN_ADDRESS = 1024, 4, 64
_RECEIVE_BYTES = 4 * 1024 * 1024
_BYTES_OF_A_TURN = 1024
MOST_PEERS = 4096
IDLE_S = 7200  # longer than the pauses of a LINPACK run


class Connection(NamedTuple):
    """A TCP client: its received bytes, and the time of its last request."""

    session: Session
    pending: bytearray
    spoke_us: int
    address: str


class TimeServer:
    """Answer over TCP and UDP on one port.

    Connections that flood, stay silent or are too many are closed; datagrams queue per
    peer.
    """

    def __init__(
        self, host: str = "", port: int = PORT, clocks: Optional[Clocks] = None
    ) -> None:
        self.clocks = clocks or own_clocks()
        self.peers: OrderedDict[Any, Session] = OrderedDict()
        self.connections: Dict[socket.socket, Connection] = {}
        self.of_address: Dict[str, int] = Counter()
        # Connections without a request so far, oldest first, and since when.
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
        # As much as the system allows, so that a flood does not fill it.
        room = (socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
        self.datagrams.setsockopt(*room)
        self.stopping = Stop()
        self._watch(self.listener, self._accept)
        self._watch(self.datagrams, self._answer_datagram)
        self._watch(self.stopping.wakened, self._look_up)

    def serve(self) -> None:
        """Answer until `stop`."""
        while not self.stopping.is_set:
            for key, _ in self.selector.select(self._hang_up_on_the_silent()):
                # A connection may have been closed meanwhile and its number reused.
                if self.selector.get_map().get(key.fd) is key:
                    key.data(key.fileobj)

    def stop(self) -> None:
        """End `serve`, from any thread or signal handler."""
        self.stopping.set()

    def close(self) -> None:
        for sock in list(self.connections):
            self._hang_up(sock)
        self.listener.close()
        self.datagrams.close()
        self.stopping.close()
        self.selector.close()

    def _watch(self, sock: socket.socket, react: Callable[[Any], None]) -> None:
        sock.setblocking(False)
        self.selector.register(sock, selectors.EVENT_READ, react)

    def _look_up(self, _: socket.socket) -> None:
        self.stopping.wait(0)

    def _accept(self, listener: socket.socket) -> None:
        try:
            sock, (address, *_) = listener.accept()
        except OSError:
            return
        is_too_many = self.of_address[address] >= MOST_OF_AN_ADDRESS
        if is_too_many or not self._has_room_for(address):
            sock.close()
            return
        # Delayed replies would make the round trip longer.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        now_us = self.clocks.monotonic_us()
        fresh = Connection(Session(self.clocks), bytearray(), now_us, address)
        self.connections[sock] = fresh
        self.of_address[address] += 1
        self.silent[sock] = now_us
        self._watch(sock, self._answer_connection)

    def _answer_connection(self, sock: socket.socket) -> None:
        connection = self.connections[sock]
        session, pending = connection.session, connection.pending
        answered = self.answered
        try:
            heard = sock.recv(_BYTES_OF_A_TURN)
            pending += heard
            is_over = not heard or not self._answer_lines(sock, session, pending)
        except OSError:
            is_over = True
        if is_over or session.is_over:
            self._hang_up(sock)
            return
        if self.answered > answered:  # half a line does not count
            self.silent.pop(sock, None)
        now_us = self.clocks.monotonic_us()
        self.connections[sock] = connection._replace(spoke_us=now_us)

    def _answer_lines(
        self, sock: socket.socket, session: Session, pending: bytearray
    ) -> bool:
        """Answer each whole line with one write; return False to close."""
        while b"\n" in pending and not session.is_over:
            line, _, rest = bytes(pending).partition(b"\n")
            pending[:] = rest
            reply = session.answer(line)
            if sock.send(reply) != len(reply):
                return False  # the client does not read its replies
            self.answered += 1
        return len(pending) <= LONGEST_REQUEST

    def _answer_datagram(self, sock: socket.socket) -> None:
        """Read all datagrams; answer each peer once before any peer twice."""
        queues: Dict[Any, List[bytes]] = {}
        of_address: Dict[str, int] = Counter()
        for _ in range(DATAGRAMS_AT_ONCE):
            try:
                # One more byte shows a request that is too long.
                request, peer = sock.recvfrom(LONGEST_REQUEST + 1)
            except OSError:
                break
            queue = queues.setdefault(peer, [])
            if len(queue) < OF_A_PEER and of_address[peer[0]] < OF_AN_ADDRESS:
                queue.append(request)
                of_address[peer[0]] += 1
        for turn in range(OF_A_PEER):
            for peer, queue in queues.items():
                if turn < len(queue):
                    with contextlib.suppress(OSError):
                        sock.sendto(self._reply_to(queue[turn], peer), peer)
                        self.answered += 1

    def _reply_to(self, request: bytes, peer: Any) -> bytes:
        if len(request) > LONGEST_REQUEST:
            return UNKNOWN
        session = self.peers.pop(peer, None) or Session(self.clocks)
        reply = session.answer(request)
        if session.started_us is not None and not session.is_over:
            self.peers[peer] = session
        # UDP has no end of a connection: drop the peer that has asked least recently.
        if len(self.peers) > MOST_PEERS:
            self.peers.popitem(last=False)
        return reply

    def _has_room_for(self, address: str) -> bool:
        """Return whether there is room, after closing other connections if needed."""
        if len(self.connections) >= MOST_CONNECTIONS:
            oldest_us = self.clocks.monotonic_us() - IDLE_S * 1000000
            for sock, connection in list(self.connections.items()):
                if connection.spoke_us < oldest_us:
                    self._hang_up(sock)
        if len(self.connections) < MOST_CONNECTIONS:
            return True
        if self.silent:
            self._hang_up(next(iter(self.silent)))
            return True
        crowd = max(self.of_address, key=self.of_address.__getitem__)
        if self.of_address[crowd] <= self.of_address[address] + 1:
            return False
        of_crowd = [
            sock
            for sock, connection in self.connections.items()
            if connection.address == crowd
        ]
        self._hang_up(min(of_crowd, key=lambda sock: self.connections[sock].spoke_us))
        return True

    def _hang_up_on_the_silent(self) -> Optional[float]:
        """Close silent connections; return the seconds until the next one is due."""
        while self.silent:
            sock, since_us = next(iter(self.silent.items()))
            left_us = since_us + SILENT_S * 1000000 - self.clocks.monotonic_us()
            if left_us > 0:
                return left_us / 1e6
            self._hang_up(sock)
        return None

    def _hang_up(self, sock: socket.socket) -> None:
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
        if kind == socket.SOCK_STREAM:  # for UDP it would let two servers share a port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
    except OSError:
        sock.close()
        raise
    return sock
