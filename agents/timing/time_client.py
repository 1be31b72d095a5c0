"""Query a time server, and compare its clock with ours.

A stamp is one moment on both clocks, with the round trip of the query.
"""

import http.client
import json
import socket
import uuid
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple
from urllib.parse import urlsplit

from agents.client import host_of, open_connection
from agents.timing.clocks import Clocks, own_clocks
from agents.timing.time_server import PORT, ServerTime, read_reply, stamp_request

TIMEOUT_S = 2.0
MAX_REPLY_BYTES = 512
MAX_PAGE_BYTES = 16 * 1024
MAX_LATE_REPLIES = 32
EXCHANGES = 8
# Errors if a response is not HTTP or JSON, is nested too deeply, or has no time.
_NO_TIME = (
    *(http.client.HTTPException, LookupError, TypeError, ValueError),
    *(OverflowError, RecursionError),
)
MAX_FAILURES = 3  # each failure costs a time-out


class TimeServerError(Exception):
    """The time server did not answer."""


class TimeServerConnection:
    """An open connection; ``ask`` sends a nonce and returns the server's time."""

    def __init__(
        self, ask: Callable[[str], Optional[ServerTime]], close: Callable[[], Any]
    ):
        self.ask = ask
        self._close = close

    def __enter__(self) -> "TimeServerConnection":
        return self

    def __exit__(self, *_: Any) -> None:
        self._close()


def connect_time_server(
    address: str, timeout_s: float = TIMEOUT_S
) -> TimeServerConnection:
    """Connect to ``tcp://host:port``, ``udp://host:port`` or ``http(s)://server``.

    Raise TimeServerError.
    """
    openers = {"tcp": _over_tcp, "udp": _over_udp, "http": _over_http}
    try:
        parts = urlsplit(address if "://" in address else "tcp://" + address)
        is_valid = bool(parts.hostname)
    except ValueError:  # e.g. IPv6 without a closing bracket
        is_valid = False
    opener = is_valid and openers.get(parts.scheme.replace("https", "http"))
    if not opener:
        raise TimeServerError(
            "%s is not a URL: use tcp://host:port, udp:// or http://" % address
        )
    try:
        return opener(parts, timeout_s)
    except (OSError, ValueError) as error:  # ValueError: the port is not a number
        raise TimeServerError("%s does not answer: %s" % (address, error)) from error


class ClockStamp(NamedTuple):
    """The exchange with the shortest round trip of several.

    ``local`` times are the middle of the round trip. The resolutions are those of our
    monotonic, our wall and the server's monotonic clock.
    """

    clock: str
    server_wall_us: int
    server_monotonic_us: int
    local_wall_us: int
    local_monotonic_us: int
    round_trip_us: int
    exchanges: int
    resolution_us: int = 1
    wall_resolution_us: int = 1
    server_resolution_us: int = 1

    def with_resolution(self) -> Dict[str, Any]:
        """Return the fields for a power log; round trips include the resolutions."""
        longest_us = (
            self.round_trip_us + 2 * self.resolution_us + self.server_resolution_us
        )
        fields = dict(self._asdict(), round_trip_us=longest_us)
        return {name: fields[name] for name in self._fields[:7]}


def take_stamp(
    connection: TimeServerConnection,
    clocks: Optional[Clocks] = None,
    exchanges: int = EXCHANGES,
) -> ClockStamp:
    """Return the shortest exchange; raise TimeServerError if the first ones fail."""
    local = clocks or own_clocks()
    stamps: List[ClockStamp] = []
    for number in range(exchanges):
        wall_us, before_us = local.wall_us(), local.monotonic_us()
        try:
            answer = connection.ask(uuid.uuid4().hex[:16])
        except OSError:
            answer = None
        after_us = local.monotonic_us()
        if answer is not None:
            half_us = (after_us - before_us) // 2
            stamp = ClockStamp(
                clock=answer.clock,
                server_wall_us=answer.wall_us,
                server_monotonic_us=answer.monotonic_us,
                local_wall_us=wall_us + half_us,
                local_monotonic_us=before_us + half_us,
                round_trip_us=after_us - before_us,
                exchanges=1,
                resolution_us=local.resolution_us,
                wall_resolution_us=local.wall_resolution_us,
                server_resolution_us=answer.resolution_us,
            )
            stamps.append(stamp)
        elif not stamps and number + 1 >= MAX_FAILURES:
            break
    if not stamps:
        raise TimeServerError("The time server did not answer.")
    best = min(stamps, key=lambda stamp: stamp.round_trip_us)
    return best._replace(exchanges=len(stamps))


def _over_tcp(parts: Any, timeout_s: float) -> TimeServerConnection:
    address = (host_of(parts), parts.port or PORT)
    sock = socket.create_connection(address, timeout_s)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(nonce: str) -> Optional[ServerTime]:
        sock.sendall(stamp_request(nonce))
        reply = b""
        while not reply.endswith(b"\n"):
            received = sock.recv(512)
            if not received or len(reply) > MAX_REPLY_BYTES:
                raise ConnectionError("the answer is not from a time server")
            reply += received
        return read_reply(reply, nonce)

    return TimeServerConnection(ask, sock.close)


def _over_udp(parts: Any, timeout_s: float) -> TimeServerConnection:
    address = (host_of(parts), parts.port or PORT)
    family, kind, protocol, _, peer = socket.getaddrinfo(
        *address, type=socket.SOCK_DGRAM
    )[0]
    sock = socket.socket(family, kind, protocol)
    sock.settimeout(timeout_s)
    # Receive only from this address.
    sock.connect(peer)

    def ask(nonce: str) -> Optional[ServerTime]:
        sock.send(stamp_request(nonce))
        for _ in range(MAX_LATE_REPLIES):  # skips late replies to earlier requests
            answer = read_reply(sock.recv(MAX_REPLY_BYTES), nonce)
            if answer is not None:
                return answer
        return None

    return TimeServerConnection(ask, sock.close)


def _over_http(parts: Any, timeout_s: float) -> TimeServerConnection:
    url = "%s/api/v1/time/?nonce=" % parts.geturl().rstrip("/")
    connections = [open_connection(url, timeout_s)]

    def ask(nonce: str) -> Optional[ServerTime]:
        if not connections[0].is_open:  # the server may have closed it
            connections[0] = open_connection(url, timeout_s)
        try:
            headers = {"Accept": "application/json"}
            response = connections[0].request(
                "GET", url + nonce, None, headers, timeout_s
            )
            with response:
                answer = json.loads(response.read(MAX_PAGE_BYTES).decode())
            if answer["nonce"] != nonce:
                return None
            times = (int(answer["wall_us"]), int(answer["monotonic_us"]))
            step_us = int(answer.get("resolution_us", 1))
            return ServerTime(str(answer["clock_id"]), *times, resolution_us=step_us)
        except _NO_TIME:
            # The rest of this response would be read as the next response.
            connections[0].close()
            return None

    return TimeServerConnection(ask, lambda: connections[0].close())


class TimeServerPath:
    """A time server and the shortest round trip to it so far."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.shortest_us: Optional[int] = None

    def stamp(self) -> ClockStamp:
        with connect_time_server(self.address) as connection:
            stamp = take_stamp(connection)
        trips_us = [stamp.round_trip_us]
        if self.shortest_us is not None:
            trips_us.append(self.shortest_us)
        self.shortest_us = min(trips_us)
        return stamp


def try_stamp(path: TimeServerPath) -> Tuple[Optional[ClockStamp], str]:
    """Return a stamp and "", or None and why the time server did not answer."""
    try:
        return path.stamp(), ""
    except TimeServerError as error:
        return None, str(error)


OFFSET_LIMIT_US = 50000
DRIFT_LIMIT_PPM = 500.0


class ClocksDifferError(Exception):
    """Two stamps of different clocks cannot be subtracted."""


class Offset(NamedTuple):
    """How far our wall clock is ahead of the server's, with the bound of its error."""

    us: int
    bound_us: int


class Interval(NamedTuple):
    """The time between two stamps on both clocks.

    ``bound_us`` is the maximum error if both stamps have equal delays apart from longer
    round trips; ``hard_bound_us`` in any case. ``wall_step_us`` is how far our wall
    clock was set in between.
    """

    external_us: int
    local_us: int
    bound_us: int
    hard_bound_us: int
    wall_step_us: int

    @property
    def drift_ppm(self) -> Optional[float]:
        """How much faster our clock ran than the server's; None if no time passed."""
        return _ppm(self.local_us - self.external_us, self.external_us)

    @property
    def drift_bound_ppm(self) -> Optional[float]:
        return _ppm(self.hard_bound_us, self.external_us)


def offset_of(stamp: ClockStamp) -> Offset:
    """Compare our wall clock with the server's.

    The bound of the error is half a round trip plus the resolutions.
    """
    behind_us = stamp.server_wall_us - stamp.local_wall_us
    steps_us = stamp.resolution_us + stamp.wall_resolution_us
    bound_us = stamp.round_trip_us // 2 + steps_us + stamp.server_resolution_us
    return Offset(-behind_us, bound_us)


def interval_of(
    start: ClockStamp, end: ClockStamp, shortest_us: Optional[int] = None
) -> Interval:
    """Return the time between stamps; raise ClocksDifferError if clocks differ."""
    if start.clock != end.clock:
        raise ClocksDifferError("The time server was restarted during the run.")
    external_us = end.server_monotonic_us - start.server_monotonic_us
    local_us = end.local_monotonic_us - start.local_monotonic_us
    trips_us = (start.round_trip_us, end.round_trip_us)
    floor_us = min(trips_us) if shortest_us is None else min(*trips_us, shortest_us)
    slowness = max(1.0, external_us / local_us) if local_us > 0 else 1.0
    step_us = max(start.resolution_us, end.resolution_us)
    server_us = max(start.server_resolution_us, end.server_resolution_us)
    excess_us = sum(trips_us) - 2 * floor_us + 4 * step_us
    bound_us = round(excess_us * slowness) + server_us
    hard_us = round((sum(trips_us) / 2 + 2 * step_us) * slowness) + server_us
    wall_us = end.local_wall_us - start.local_wall_us
    return Interval(external_us, local_us, bound_us, hard_us, wall_us - local_us)


def clock_warnings(start: ClockStamp, end: ClockStamp) -> List[str]:
    """Return sentences about errors of our clock that certainly exceed the limits."""
    reasons = []
    for when, stamp in (("start", start), ("end", end)):
        offset = offset_of(stamp)
        if abs(offset.us) - offset.bound_us > OFFSET_LIMIT_US:
            values = (when, offset.us / 1e6)
            reasons.append("At the %s the clock was off by %+.3f s." % values)
    interval = interval_of(start, end)
    drift, bound = interval.drift_ppm, interval.drift_bound_ppm
    if drift is not None and bound is not None and abs(drift) - bound > DRIFT_LIMIT_PPM:
        reasons.append("The clock ran %+.0f ppm relative to the server's." % drift)
    return reasons


def clock_report(
    start: ClockStamp, end: ClockStamp, shortest_us: Optional[int] = None
) -> Dict[str, Any]:
    first, last = offset_of(start), offset_of(end)
    interval = interval_of(start, end, shortest_us)
    return {
        "start": dict(start._asdict()),
        "end": dict(end._asdict()),
        "offset_start_us": first.us,
        "offset_start_bound_us": first.bound_us,
        "offset_end_us": last.us,
        "offset_end_bound_us": last.bound_us,
        "shortest_round_trip_us": shortest_us,
        "resolution_us": max(start.resolution_us, end.resolution_us),
        "external_us": interval.external_us,
        "local_us": interval.local_us,
        "interval_bound_us": interval.bound_us,
        "interval_hard_bound_us": interval.hard_bound_us,
        "drift_ppm": interval.drift_ppm,
        "drift_bound_ppm": interval.drift_bound_ppm,
        "wall_step_us": interval.wall_step_us,
        "suspicions": clock_warnings(start, end),
    }


def _ppm(part_us: float, whole_us: float) -> Optional[float]:
    return part_us / whole_us * 1e6 if whole_us > 0 else None
