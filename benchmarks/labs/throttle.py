"""Bound how often a password is tried, in Redis, without locking its owner out.

An attempt is counted before the password is checked, so that parallel attempts gain
nothing, and given back if it was right or refused. A name has few tries from each
network, fewer while it is attacked; a browser in which the owner has signed in before
has tries of its own. Without Redis nothing is bounded, and a warning is logged.
"""

import ipaddress
import logging
from contextlib import suppress
from hashlib import sha256
from typing import Final

import redis
from django.core import signing

from benchmarks.broker import connection
from benchmarks.errors import TooManyAttemptsError

WINDOW_S = 15 * 60
# Wrong attempts in a window: from one network (or known browser) for one name; the same
# while it is attacked; from anywhere until then; from one network for all names.
HERE, UNDER_ATTACK, ATTACK, FROM_NETWORK = 10, 3, 100, 1_000
# For a second factor, from all networks together: an attacker has the password by then,
# and a code has six digits. Known browsers of the owner are counted apart.
FACTORS: Final = 10
KNOWN_S: Final = 365 * 24 * 3600
SALT: Final = "virtlab.known-browser"

log = logging.getLogger(__name__)


class Attempt:
    """One try of a password or second factor: ``count`` it before, ``succeeded`` after.

    Without a name only the network is bounded. ``known`` is from ``known_browser``.
    """

    def __init__(
        self, name: str, address: str, known: str = "", is_factor: bool = False
    ) -> None:
        name, network = name.casefold(), network_of(address)
        what = ("factor", name) if is_factor else (name,)
        self.attacked = ""
        with suppress(signing.BadSignature):
            if signing.loads(known, salt=SALT, max_age=KNOWN_S) == name:
                self.limits = {_key("browser", *what, known): HERE}
                return
        self.limits = {_key("network", network): FROM_NETWORK}
        if name:
            self.attacked = _key("anywhere", *what)
            self.limits = {_key("here", *what, network): HERE, **self.limits}
        if is_factor:
            self.limits[_key("all", *what)] = FACTORS

    def count(self) -> None:
        """Add one to each counter; raise TooManyAttemptsError if one is full."""
        try:
            counted = {key: _added(key, 1) for key in self._keys}
            full = self._full(counted)
            if full:
                self._give_back()
        except redis.RedisError as error:
            log.warning("Attempts to sign in are not counted: %s", error)
            return
        if full:
            raise TooManyAttemptsError(max(full))

    def succeeded(self) -> None:
        """Give the attempt back: only wrong ones count."""
        try:
            self._give_back()
        except redis.RedisError as error:
            log.warning("An attempt to sign in is not given back: %s", error)

    @property
    def _keys(self) -> tuple[str, ...]:
        return (*self.limits, self.attacked) if self.attacked else tuple(self.limits)

    def _full(self, counted: dict[str, tuple[int, int]]) -> list[int]:
        """Return for how long each counter is full that is."""
        limits = dict(self.limits)
        if self.attacked and counted[self.attacked][0] > ATTACK:
            here = next(iter(limits))
            limits[here] = UNDER_ATTACK
        return [
            counted[key][1] for key, most in limits.items() if counted[key][0] > most
        ]

    def _give_back(self) -> None:
        for key in self._keys:
            _added(key, -1)


def known_browser(name: str) -> str:
    """Return what a browser keeps in which somebody has signed in: a signed text."""
    return signing.dumps(name.casefold(), salt=SALT)


def network_of(address: str) -> str:
    """Return whose addresses are counted as one: of IPv6 everybody has a /64."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv4Address):
        return address
    if ip.ipv4_mapped:
        return str(ip.ipv4_mapped)
    return str(ipaddress.ip_network((ip, 64), strict=False))


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
