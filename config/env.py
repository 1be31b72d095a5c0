"""Read settings from the environment; a bad value stops the start with a sentence."""

import os
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from urllib.parse import parse_qs, urlsplit

from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off", ""}


def text(name: str, default: str | None = None) -> str:
    """Return a variable; one without a default must be set."""
    value = os.environ.get(name, default)
    if value is None:
        raise ImproperlyConfigured(
            f"{name} is not set. `make run` sets it by itself; a server of your own "
            f"must be given {name} in its environment (docs/operations.md)."
        )
    return value


def flag(name: str, default: bool) -> bool:
    """Return a yes/no variable."""
    value = os.environ.get(name, str(default)).strip().lower()
    if value not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name}={value!r} is neither on nor off.")
    return value in TRUE


def whole_number(name: str, default: int) -> int:
    """Return a variable that is a whole number."""
    value = os.environ.get(name, str(default))
    try:
        return int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={value!r} is not a whole number.") from None


def one_of(name: str, choices: Sequence[str]) -> str:
    """Return a variable that is one of a few words, the first by default."""
    value = os.environ.get(name) or choices[0]
    if value not in choices:
        raise ImproperlyConfigured(f"{name}={value!r} is none of {', '.join(choices)}.")
    return value


def words(name: str, default: str) -> list[str]:
    """Return the words of a comma-separated variable."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def networks(name: str, default: str) -> list[IPv4Network | IPv6Network]:
    """Return a comma-separated variable of addresses and networks (10.0.0.0/8)."""
    try:
        return [ip_network(word) for word in words(name, default)]
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}.") from None


def broker_url(redis_url: str) -> str:
    """Return what Celery calls the Redis of ``REDIS_URL``.

    Kombu wants the database of a Unix socket as ``virtual_host``.
    """
    parts = urlsplit(redis_url)
    if parts.scheme in {"redis", "rediss"}:
        return redis_url
    if parts.scheme in {"redis+socket", "unix"}:
        number = parse_qs(parts.query).get("db", ["0"])[0]
        return f"redis+socket://{parts.path}?virtual_host={number}"
    raise ImproperlyConfigured(
        f"REDIS_URL begins with {parts.scheme!r}; use redis://host:6379/0, "
        "rediss:// or redis+socket:///path/to/socket."
    )
