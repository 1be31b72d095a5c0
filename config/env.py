"""Read settings from the environment; a bad value stops the start with a sentence."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import parseaddr
from hashlib import sha256
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any
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
    value = os.environ.get(name, str(default)).strip().lower()
    if value not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name}={value!r} is neither on nor off.")
    return value in TRUE


def whole_number(name: str, default: int) -> int:
    value = os.environ.get(name, str(default))
    try:
        return int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={value!r} is not a whole number.") from None


def one_of(name: str, choices: Sequence[str]) -> str:
    """Return a variable that is one of these words, the first by default."""
    value = os.environ.get(name) or choices[0]
    if value not in choices:
        raise ImproperlyConfigured(f"{name}={value!r} is none of {', '.join(choices)}.")
    return value


def words(name: str, default: str) -> list[str]:
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def networks(name: str, default: str) -> list[IPv4Network | IPv6Network]:
    """Return a comma-separated variable of addresses and networks (10.0.0.0/8)."""
    try:
        return [ip_network(word) for word in words(name, default)]
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}.") from None


def broker_url(redis_url: str) -> str:
    """Return ``REDIS_URL`` as Kombu wants it: the database is a parameter."""
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


def log_format() -> str:
    """Return how processes log: lines for people, or JSON for programs."""
    return one_of("LOG_FORMAT", ("line", "json"))


LOOPBACK = {"127.0.0.1", "::1", "localhost"}


@dataclass(frozen=True)
class Oidc:
    """The provider at which people sign in, and what becomes of whom it sends."""

    issuer: str
    client_id: str
    secret: str
    name: str
    accounts: str
    """Who gets an account: `invited` people only, or `everybody` it lets in."""
    lab: str
    """The slug of the lab that new people of `everybody` read; empty: none."""

    @property
    def app(self) -> dict[str, Any]:
        """The provider's configuration for allauth; people are identified by issuer."""
        return {
            "provider_id": f"oidc-{sha256(self.issuer.encode()).hexdigest()[:12]}",
            "name": self.name,
            "client_id": self.client_id,
            "secret": self.secret,
            "settings": {"server_url": self.issuer, "oauth_pkce_enabled": True},
        }


def oidc() -> Oidc | None:
    """Return the provider of OIDC_*; None where no issuer is named."""
    issuer = text("OIDC_ISSUER", "").rstrip("/")
    if not issuer:
        return None
    site_of("OIDC_ISSUER", issuer)
    accounts = one_of("OIDC_ACCOUNTS", ("invited", "everybody"))
    lab = text("OIDC_LAB", "")
    if lab and accounts != "everybody":
        raise ImproperlyConfigured(
            "OIDC_LAB is for OIDC_ACCOUNTS=everybody: an invitation names its own lab."
        )
    return Oidc(
        issuer=issuer,
        client_id=_needed_by("OIDC_ISSUER", "OIDC_CLIENT_ID"),
        secret=_needed_by("OIDC_ISSUER", "OIDC_CLIENT_SECRET"),
        name=_needed_by("OIDC_ISSUER", "OIDC_NAME"),
        accounts=accounts,
        lab=lab,
    )


@dataclass(frozen=True)
class Email:
    """The server that takes mail, and where its readers find this installation."""

    host: str
    port: int
    user: str
    password: str
    security: str
    sender: str
    site: str


def email() -> Email | None:
    """Return the server of EMAIL_*; None where none is named: no mail is sent."""
    host = text("EMAIL_HOST", "")
    if not host:
        return None
    security = one_of("EMAIL_SECURITY", ("starttls", "tls", "none"))
    ports = {"starttls": 587, "tls": 465, "none": 25}
    sender = _needed_by("EMAIL_HOST", "EMAIL_FROM")
    if "@" not in parseaddr(sender)[1] or "\n" in sender or "\r" in sender:
        raise ImproperlyConfigured(f"EMAIL_FROM={sender!r} is no e-mail address.")
    user = text("EMAIL_USER", "")
    if user and security == "none" and host not in LOOPBACK:
        raise ImproperlyConfigured(
            "EMAIL_SECURITY=none would send EMAIL_PASSWORD in clear: "
            "choose starttls or tls."
        )
    site = _needed_by("EMAIL_HOST", "SITE_URL").rstrip("/")
    return Email(
        host=host,
        port=whole_number("EMAIL_PORT", ports[security]),
        user=user,
        password=text("EMAIL_PASSWORD", ""),
        security=security,
        sender=sender,
        site=site_of("SITE_URL", site),
    )


def _needed_by(other: str, name: str) -> str:
    value = text(name, "").strip()
    if not value:
        raise ImproperlyConfigured(f"{name} is not set: {other} needs it.")
    return value


def site_of(name: str, url: str) -> str:
    """Return an address of a site that may be trusted: HTTPS, or of this machine."""
    parts = urlsplit(url)
    is_safe = parts.scheme == "https" or (
        parts.scheme == "http" and parts.hostname in LOOPBACK
    )
    if not is_safe or not parts.hostname or parts.query or parts.fragment:
        raise ImproperlyConfigured(
            f"{name}={url!r} is no address such as https://lab.example.org "
            "(http:// is for this machine alone)."
        )
    return url
