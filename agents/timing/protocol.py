"""The time server's words, without any socket.

The LMU studies' LINPACK asks so: `start` is answered by `start`, then each `time` by
the microseconds since then and a newline, and `quit` by `quit`; its client compares
whole replies, so two of them have no newline. Agents say `stamp NONCE` and get both
clocks:

    stamp 6f1f 9c2b7a01d4e5f607 1795212926095357 93127446021
          nonce, name of the clock, wall and monotonic time in microseconds

A server whose clock moves in steps of more than a microsecond adds their length. Agents
that do not know it take such a reply for none: better no time than a coarse one that
looks fine.
"""

import re
from typing import NamedTuple, Optional

from agents.timing.clocks import Clocks

PORT = 8037
LONGEST_REQUEST = 256
UNKNOWN = b"error: say start, time, quit or stamp NONCE\n"
NOT_STARTED = b"error: say start first\n"
_STAMP = re.compile(r"stamp ([A-Za-z0-9-]{1,64})")
_STAMPED = re.compile(
    r"stamp ([A-Za-z0-9-]{1,64}) (\w{1,64}) (\d{1,18}) (\d{1,18})(?: (\d{1,12}))?\n?"
)


class ServerTime(NamedTuple):
    """One answer of a time server, in microseconds of its own clocks."""

    clock: str
    wall_us: int
    monotonic_us: int
    resolution_us: int = 1


class Session:
    """What a time server remembers of one client: when it said `start`."""

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks
        self.started_us: Optional[int] = None
        self.is_over = False

    def answer(self, request: bytes) -> bytes:
        """Return the reply to one request."""
        word = request.decode("latin-1").strip("\r\n\0 ")
        if word == "time":
            return self._time()
        if word == "start":
            self.started_us = self.clocks.monotonic_us()
            return b"start"
        if word == "quit":
            self.is_over = True
            return b"quit"
        stamp = _STAMP.fullmatch(word)
        return stamp_reply(stamp.group(1), self.clocks) if stamp else UNKNOWN

    def _time(self) -> bytes:
        if self.started_us is None:
            return NOT_STARTED
        return b"%d\n" % (self.clocks.monotonic_us() - self.started_us)


def stamp_request(nonce: str) -> bytes:
    """Return what an agent sends."""
    return b"stamp %s\n" % nonce.encode("ascii")


def stamp_reply(nonce: str, clocks: Clocks) -> bytes:
    """Return both clocks, read as late as possible."""
    times = (nonce, clocks.name, clocks.wall_us(), clocks.monotonic_us())
    coarse = " %d" % clocks.resolution_us if clocks.resolution_us > 1 else ""
    return ("stamp %s %s %d %d" % times + coarse + "\n").encode("ascii")


def read_reply(reply: bytes, nonce: str) -> Optional[ServerTime]:
    """Read a reply; None if it is cut off, or an old one to another question."""
    match = _STAMPED.fullmatch(reply.decode("latin-1"))
    if not match or match.group(1) != nonce:
        return None
    clock, wall_us, monotonic_us, step_us = match.groups()[1:]
    return ServerTime(clock, int(wall_us), int(monotonic_us), int(step_us or 1))
