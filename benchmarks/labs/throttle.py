"""Bound how often a password is tried, in Redis; who signs in is not held up.

Counted before the password is looked at, so that trying in parallel gains nothing, and
given back when it was right. Without Redis nobody is locked out: the log says so.
"""

import logging
from hashlib import sha256

import redis

from benchmarks.broker import connection
from benchmarks.errors import TooManyAttemptsError

WINDOW_S = 15 * 60
# How many wrong attempts a window takes: from one address for one name, for a name from
# anywhere, and from one address. Behind a proxy all come from its address, so the last
# is generous; the first two are what guards a password.
HERE, ANYWHERE, FROM_ADDRESS = 10, 100, 1_000

log = logging.getLogger(__name__)


class Attempt:
    """One try of a person's password: ``count`` it before, say when it was right."""

    def __init__(self, name: str, address: str) -> None:
        known = name.casefold()
        self.limits = {
            _key("here", known, address): HERE,
            _key("anywhere", known): ANYWHERE,
            _key("address", address): FROM_ADDRESS,
        }

    def count(self) -> None:
        """Add one to each counter.

        Raises TooManyAttemptsError, which knows how long to wait, once one is full.
        """
        try:
            counted = {key: _added(key, 1) for key in self.limits}
        except redis.RedisError as error:
            log.warning("Attempts to sign in are not counted: %s", error)
            return
        full = [left for key, (n, left) in counted.items() if n > self.limits[key]]
        if full:
            raise TooManyAttemptsError(max(full))

    def succeeded(self) -> None:
        """Give the attempt back: only wrong ones count."""
        try:
            for key in self.limits:
                _added(key, -1)
        except redis.RedisError as error:
            log.warning("An attempt to sign in is not given back: %s", error)


def _added(key: str, number: int) -> tuple[int, int]:
    """Return what a counter is after adding, and for how many seconds it holds."""
    steps = connection().pipeline()
    steps.incrby(key, number)
    # Only where it has no end yet: a window does not grow with further attempts.
    steps.expire(key, WINDOW_S, nx=True)
    steps.ttl(key)
    count, _, left_s = steps.execute()
    return int(count), int(left_s)


def _key(*parts: str) -> str:
    # A digest, so that Redis tells no names and addresses.
    return f"attempts:{sha256(chr(0).join(parts).encode()).hexdigest()}"
