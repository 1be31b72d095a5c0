"""Ask a time server over TCP, UDP or HTTP, and compare its clock with ours.

A stamp is an instant on both clocks, with the round trip between them.
"""

import http.client
import json
import socket
import uuid
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple
from urllib.parse import urlsplit

from agents.client import host_of, open_way
from agents.timing.clocks import Clocks, own_clocks
from agents.timing.server import PORT, ServerTime, read_reply, stamp_request

PATIENCE_S = 2.0
LONGEST_REPLY = 512
LONGEST_PAGE = 16 * 1024
MOST_LATE_REPLIES = 32
EXCHANGES = 8
# Errors of an answer that is not HTTP, not JSON, nested too deep, or without a time.
_NO_TIME = (
    *(http.client.HTTPException, LookupError, TypeError, ValueError),
    *(OverflowError, RecursionError),
)
ENOUGH_FAILURES = 3  # each costs a time-out


class NoTimeError(Exception):
    """No time server answered."""


class Asking:
    """An open connection to a time server; ``ask`` returns the answer to a nonce."""

    def __init__(
        self, ask: Callable[[str], Optional[ServerTime]], close: Callable[[], Any]
    ):
        self.ask = ask
        self._close = close

    def __enter__(self) -> "Asking":
        return self

    def __exit__(self, *_: Any) -> None:
        self._close()


def open_asking(address: str, patience_s: float = PATIENCE_S) -> Asking:
    """Open ``tcp://host:port``, ``udp://host:port`` or ``http(s)://server``.

    Raises NoTimeError.
    """
    opened = {"tcp": _over_tcp, "udp": _over_udp, "http": _over_http}
    try:
        parts = urlsplit(address if "://" in address else "tcp://" + address)
        is_known = bool(parts.hostname)
    except ValueError:  # an IPv6 address whose bracket is not closed
        is_known = False
    way = is_known and opened.get(parts.scheme.replace("https", "http"))
    if not way:
        raise NoTimeError("%s is no address: tcp://host:port, udp:, http:" % address)
    try:
        return way(parts, patience_s)
    except (OSError, ValueError) as error:  # ValueError: a port that is no number
        raise NoTimeError("%s does not answer: %s" % (address, error)) from error


class Stamp(NamedTuple):
    """The exchange with the shortest round trip; ``local`` times are in its middle.

    Resolutions are the steps of our clock, our wall clock and the server's clock.
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

    def with_steps(self) -> Dict[str, Any]:
        """Return the stamp with the resolutions included in the round trip."""
        longest_us = (
            self.round_trip_us + 2 * self.resolution_us + self.server_resolution_us
        )
        known = dict(self._asdict(), round_trip_us=longest_us)
        return {name: known[name] for name in self._fields[:7]}


def take_stamp(
    asking: Asking, clocks: Optional[Clocks] = None, exchanges: int = EXCHANGES
) -> Stamp:
    """Ask several times and keep the shortest round trip; raise NoTimeError."""
    local = clocks or own_clocks()
    stamps: List[Stamp] = []
    for number in range(exchanges):
        wall_us, before_us = local.wall_us(), local.monotonic_us()
        try:
            answer = asking.ask(uuid.uuid4().hex[:16])
        except OSError:
            answer = None
        after_us = local.monotonic_us()
        if answer is not None:
            half_us = (after_us - before_us) // 2
            stamp = Stamp(
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
        elif not stamps and number + 1 >= ENOUGH_FAILURES:
            break
    if not stamps:
        raise NoTimeError("The time server answered none of our questions.")
    best = min(stamps, key=lambda stamp: stamp.round_trip_us)
    return best._replace(exchanges=len(stamps))


def _over_tcp(parts: Any, patience_s: float) -> Asking:
    place = (host_of(parts), parts.port or PORT)
    sock = socket.create_connection(place, patience_s)
    # Delayed requests would make the round trip longer.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(nonce: str) -> Optional[ServerTime]:
        sock.sendall(stamp_request(nonce))
        reply = b""
        while not reply.endswith(b"\n"):
            heard = sock.recv(512)
            if not heard or len(reply) > LONGEST_REPLY:
                raise ConnectionError("what answers there is not a time server")
            reply += heard
        return read_reply(reply, nonce)

    return Asking(ask, sock.close)


def _over_udp(parts: Any, patience_s: float) -> Asking:
    address = (host_of(parts), parts.port or PORT)
    family, kind, number, _, place = socket.getaddrinfo(
        *address, type=socket.SOCK_DGRAM
    )[0]
    sock = socket.socket(family, kind, number)
    sock.settimeout(patience_s)
    # A connected socket receives from this address only.
    sock.connect(place)

    def ask(nonce: str) -> Optional[ServerTime]:
        sock.send(stamp_request(nonce))
        for _ in range(MOST_LATE_REPLIES):  # to earlier requests that timed out
            answer = read_reply(sock.recv(LONGEST_REPLY), nonce)
            if answer is not None:
                return answer
        return None

    return Asking(ask, sock.close)


def _over_http(parts: Any, patience_s: float) -> Asking:
    """Ask a Virtlab server over one open connection, through its proxy."""
    url = "%s/api/v1/time/?nonce=" % parts.geturl().rstrip("/")
    ways = [open_way(url, patience_s)]

    def ask(nonce: str) -> Optional[ServerTime]:
        if not ways[0].is_open:  # the server may close after each answer
            ways[0] = open_way(url, patience_s)
        try:
            headers = {"Accept": "application/json"}
            response = ways[0].ask("GET", url + nonce, None, headers, patience_s)
            with response:
                answer = json.loads(response.read(LONGEST_PAGE).decode())
            if answer["nonce"] != nonce:
                return None
            times = (int(answer["wall_us"]), int(answer["monotonic_us"]))
            step_us = int(answer.get("resolution_us", 1))
            return ServerTime(str(answer["clock"]), *times, resolution_us=step_us)
        except _NO_TIME:
            # Do not read the rest of this answer as the next one.
            ways[0].close()
            return None

    return Asking(ask, lambda: ways[0].close())


class TimePath:
    """The way to a time server, with the shortest round trip seen so far.

    Every stamp of a session improves the bounds of the later ones.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.shortest_us: Optional[int] = None

    def stamp(self) -> Stamp:
        """Take a stamp; raise NoTimeError without an answer."""
        with open_asking(self.address) as asking:
            stamp = take_stamp(asking)
        known_us, trip_us = self.shortest_us, stamp.round_trip_us
        self.shortest_us = trip_us if known_us is None else min(known_us, trip_us)
        return stamp


def stamp_or_silence(path: TimePath) -> Tuple[Optional[Stamp], str]:
    """Return a stamp, or why there is none."""
    try:
        return path.stamp(), ""
    except NoTimeError as error:
        return None, str(error)


OFFSET_LIMIT_US = 50000
DRIFT_LIMIT_PPM = 500.0


class ClocksDifferError(Exception):
    """Two stamps of different clocks cannot be subtracted."""


class Offset(NamedTuple):
    """How far our wall clock is ahead of the server's, within ``bound_us``."""

    us: int
    bound_us: int


class Interval(NamedTuple):
    """The time between two stamps on the server's clock and on ours."""

    external_us: int
    local_us: int
    bound_us: int
    hard_bound_us: int
    wall_step_us: int

    @property
    def drift_ppm(self) -> Optional[float]:
        """How much faster our clock runs; None over an empty interval."""
        return _ppm(self.local_us - self.external_us, self.external_us)

    @property
    def drift_bound_ppm(self) -> Optional[float]:
        """Bound of the drift's error, whatever the path did."""
        return _ppm(self.hard_bound_us, self.external_us)


def offset_of(stamp: Stamp) -> Offset:
    """Compare the wall clocks; half the round trip and the steps bound the error."""
    behind_us = stamp.server_wall_us - stamp.local_wall_us
    steps_us = stamp.resolution_us + stamp.wall_resolution_us
    bound_us = stamp.round_trip_us // 2 + steps_us + stamp.server_resolution_us
    return Offset(-behind_us, bound_us)


def interval_of(
    start: Stamp, end: Stamp, shortest_us: Optional[int] = None
) -> Interval:
    """Subtract two stamps of one server; raise ClocksDifferError.

    ``shortest_us`` is the shortest round trip known of the path.
    """
    if start.clock != end.clock:
        raise ClocksDifferError("The time server was started anew during the run.")
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


def suspicions(start: Stamp, end: Stamp) -> List[str]:
    """Return reasons not to trust our clock that exceed the error of asking."""
    reasons = []
    for when, stamp in (("start", start), ("end", end)):
        offset = offset_of(stamp)
        if abs(offset.us) - offset.bound_us > OFFSET_LIMIT_US:
            off = (when, offset.us / 1e6)
            reasons.append("At the %s the clock was %+.3f s off." % off)
    interval = interval_of(start, end)
    drift, bound = interval.drift_ppm, interval.drift_bound_ppm
    if drift is not None and bound is not None and abs(drift) - bound > DRIFT_LIMIT_PPM:
        reasons.append("The clock ran %+.0f ppm against the server's." % drift)
    return reasons


def clock_report(
    start: Stamp, end: Stamp, shortest_us: Optional[int] = None
) -> Dict[str, Any]:
    """Return the clock section of an upload: both stamps and the derived values."""
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
        "suspicions": suspicions(start, end),
    }


def _ppm(part_us: float, whole_us: float) -> Optional[float]:
    return part_us / whole_us * 1e6 if whole_us > 0 else None
