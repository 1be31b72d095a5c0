"""Addresses of servers as people write them."""

from urllib.parse import urlsplit


def is_address(server: str) -> bool:
    """Whether this can be the address of a Virtlab server."""
    try:
        parts = urlsplit(server)
        # urlsplit looks at the port only here, and raises if it is not a number.
        is_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    is_plain = parts.username is None  # names and passwords would stand in every log
    known = parts.scheme in ("http", "https")
    # Paths are put behind it.
    is_whole = server.isprintable() and not set(server) & set("?# ")
    return known and bool(parts.hostname) and is_port and is_plain and is_whole


def without_password(server: str) -> str:
    """Return what a person wrote, to be shown."""
    before, at, after = server.rpartition("@")
    return before.partition("//")[0] + "//***@" + after if at else server
