"""POST to an address that somebody typed in, and to nothing inside our own network.

The name is looked up once, every address it has must be public, and the connection goes
to one of these: a name that changes its mind in between leads nowhere. No redirect is
followed, no proxy of the environment asked, and all of it ends at a deadline.
"""

import http.client
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from benchmarks.errors import InvalidError

DEADLINE_S: Final = 10.0
MOST_READ: Final = 64 * 1024
MOST_LETTERS: Final = 1_000
PORTS: Final = {"https": 443, "http": 80}
# Python calls these public, but an IPv4 address stands in each of them.
TRANSLATED: Final = tuple(
    ipaddress.ip_network(it) for it in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16")
)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class Reply:
    """What an address answered, or why nothing came of it."""

    status: int | None
    problem: str
    took_ms: int

    @property
    def is_taken(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def is_public(address: Address) -> bool:
    """Return whether an address is one of the open internet."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return is_public(address.ipv4_mapped)
        if any(address in network for network in TRANSLATED):
            return False
    return address.is_global and not address.is_multicast


def checked_url(url: str) -> SplitResult:
    """Return the parts of an address that may be posted to, or raise InvalidError."""
    problem = InvalidError(
        "webhook",
        "Send an address such as https://example.org/hook, without a password.",
    )
    if len(url) > MOST_LETTERS or not url.isascii() or not url.isprintable():
        raise problem
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise problem from None
    if parts.scheme not in PORTS or not parts.hostname or " " in url or port == 0:
        raise problem
    if parts.username is not None or parts.password is not None or "\\" in url:
        raise problem
    with suppress(ValueError):
        _require_public([ipaddress.ip_address(parts.hostname)])
    return parts


def _require_public(addresses: list[Address]) -> None:
    if settings.WEBHOOK_PRIVATE_ADDRESSES:
        return
    if not all(is_public(address) for address in addresses):
        raise InvalidError(
            "webhook", "The address leads into a private network: it is not asked."
        )


def post(url: str, body: bytes, headers: Mapping[str, str]) -> Reply:
    """Send a body once; return what came of it. Nothing others cause is raised."""
    began = time.monotonic()
    status, problem = None, ""
    try:
        status = _posted(checked_url(url), body, headers)
    except InvalidError as error:
        problem = str(error)
    except TimeoutError:
        problem = f"No answer within {DEADLINE_S:.0f} s."
    except (OSError, http.client.HTTPException, UnicodeError) as error:
        problem = f"{type(error).__name__}: {error}"
    if status is not None and 300 <= status < 400:
        problem = "Redirects are not followed."
    took_ms = round((time.monotonic() - began) * 1000)
    if status is None and took_ms >= DEADLINE_S * 1000:
        problem = f"No answer within {DEADLINE_S:.0f} s."
    return Reply(status, problem[:300], took_ms)


def _posted(parts: SplitResult, body: bytes, headers: Mapping[str, str]) -> int:
    host, port = str(parts.hostname), parts.port or PORTS[parts.scheme]
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # A link-local address may carry its interface: fe80::1%eth0.
    numbers = [str(place[0]).partition("%")[0] for *_, place in found]
    _require_public([ipaddress.ip_address(number) for number in numbers])
    opened = socket.create_connection((numbers[0], port), timeout=DEADLINE_S)
    # A socket's own timeout is for each read: who sends a byte now and then would
    # hold a worker for hours.
    deadline = threading.Timer(DEADLINE_S, _shut, [opened])
    deadline.daemon = True
    deadline.start()
    try:
        line: socket.socket = opened
        if parts.scheme == "https":
            context = ssl.create_default_context()
            line = context.wrap_socket(opened, server_hostname=host)
        connection = http.client.HTTPConnection(host, port, timeout=DEADLINE_S)
        connection.sock = line
        place = parts.path or "/"
        target = f"{place}?{parts.query}" if parts.query else place
        name = f"[{host}]" if ":" in host else host
        at = name if port == PORTS[parts.scheme] else f"{name}:{port}"
        connection.request(
            "POST", target, body, {**headers, "Host": at, "Connection": "close"}
        )
        answer = connection.getresponse()
        answer.read(MOST_READ)
        return answer.status
    finally:
        deadline.cancel()
        opened.close()


def _shut(opened: socket.socket) -> None:
    # It may be closed by now.
    with suppress(OSError):
        opened.shutdown(socket.SHUT_RDWR)
