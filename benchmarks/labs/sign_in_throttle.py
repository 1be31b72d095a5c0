"""Rate limits for sign-in attempts, in Redis, that do not lock out the owner.

An attempt is counted before the check, so that parallel attempts have no advantage. It
is subtracted again if it was correct or over a limit. Limits are per name and network,
and lower while a name is under attack. Browsers in which the owner has signed in have
their own limits. Without Redis there are no limits, and a warning is logged.
"""

import ipaddress
import logging
from contextlib import suppress
from contextvars import ContextVar
from hashlib import sha256
from typing import Final

import redis
from django.core import signing

from benchmarks.errors import TooManyAttemptsError
from benchmarks.redis_connection import connection

WINDOW_S = 15 * 60
# Wrong attempts per window: for a name from one network (or known browser), the same
# while the name is under attack, for a name from anywhere (more are an attack), and for
# a network.
TRIES_PER_NAME, TRIES_UNDER_ATTACK, ATTACK_TRIES, TRIES_PER_NETWORK = 10, 3, 100, 1_000
# For second factors, from all networks together: the attacker already has the password,
# and a code has only six digits. Known browsers are counted separately.
FACTOR_TRIES: Final = 10
KNOWN_BROWSER_S: Final = 365 * 24 * 3600
KNOWN_BROWSER_SALT: Final = "virtlab.known-browser"

log = logging.getLogger(__name__)

current_attempt: ContextVar["SignInAttempt | None"] = ContextVar(
    "current_attempt", default=None
)
"""The attempt whose password this thread checks."""


class SignInAttempt:
    """An attempt with a password or second factor.

    Call ``count`` before the check, and ``give_back`` after a correct one. Without a
    name, only the network is limited.
    """

    def __init__(
        self, name: str, address: str, browser_cookie: str = "", is_factor: bool = False
    ) -> None:
        name, network = name.casefold(), network_of(address)
        self.name, self.network = name, network
        self.is_known_browser = False
        parts = ("factor", name) if is_factor else (name,)
        self.attacked = ""
        with suppress(signing.BadSignature):
            if (
                signing.loads(
                    browser_cookie, salt=KNOWN_BROWSER_SALT, max_age=KNOWN_BROWSER_S
                )
                == name
            ):
                self.is_known_browser = True
                self.limits = {_key("browser", *parts, browser_cookie): TRIES_PER_NAME}
                return
        self.limits = {_key("network", network): TRIES_PER_NETWORK}
        if name:
            self.attacked = _key("anywhere", *parts)
            self.limits = {_key("here", *parts, network): TRIES_PER_NAME, **self.limits}
        if is_factor:
            self.limits[_key("all", *parts)] = FACTOR_TRIES

    def count(self) -> None:
        """Raise TooManyAttemptsError if a counter is full."""
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

    def give_back(self) -> None:
        """Subtract a correct attempt: only wrong ones count."""
        try:
            self._give_back()
        except redis.RedisError as error:
            log.warning("A correct attempt to sign in is still counted: %s", error)

    @property
    def _keys(self) -> tuple[str, ...]:
        return (*self.limits, self.attacked) if self.attacked else tuple(self.limits)

    def _full(self, counted: dict[str, tuple[int, int]]) -> list[int]:
        """Return the seconds until each counter that is above its limit expires."""
        limits = dict(self.limits)
        if self.attacked and counted[self.attacked][0] > ATTACK_TRIES:
            first_key = next(iter(limits))
            limits[first_key] = TRIES_UNDER_ATTACK
        return [
            counted[key][1] for key, limit in limits.items() if counted[key][0] > limit
        ]

    def _give_back(self) -> None:
        for key in self._keys:
            _added(key, -1)


def known_browser_cookie(name: str) -> str:
    """Return a signed cookie for a browser in which this person has signed in."""
    return signing.dumps(name.casefold(), salt=KNOWN_BROWSER_SALT)


def network_of(address: str) -> str:
    """Return an IPv4 address unchanged, and the /64 network of an IPv6 address."""
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
    """Return the new value and the seconds until it expires."""
    steps = connection().pipeline()
    steps.incrby(key, number)
    # Further attempts do not extend the window.
    steps.expire(key, WINDOW_S, nx=True)
    steps.ttl(key)
    count, _, left_s = steps.execute()
    return int(count), int(left_s)


def _key(*parts: str) -> str:
    # Hashed, so that Redis contains no names and addresses.
    return f"attempts:{sha256(chr(0).join(parts).encode()).hexdigest()}"
