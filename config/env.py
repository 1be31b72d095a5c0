"""Settings from the environment; an invalid one raises ImproperlyConfigured."""

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
    """Return a variable, which is required if there is no default."""
    value = os.environ.get(name, default)
    if value is None:
        raise ImproperlyConfigured(
            f"{name} is not set. `make run` sets it automatically; set {name} in the "
            "environment of your own server (docs/settings.md)."
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


def choice(name: str, choices: Sequence[str]) -> str:
    """Return a variable with one of these values; the first one is the default."""
    value = os.environ.get(name) or choices[0]
    if value not in choices:
        raise ImproperlyConfigured(
            f"{name}={value!r} is not one of {', '.join(choices)}."
        )
    return value


def text_list(name: str, default: str) -> list[str]:
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def networks(name: str, default: str) -> list[IPv4Network | IPv6Network]:
    """Parse a comma-separated list of addresses and networks (10.0.0.0/8)."""
    try:
        return [ip_network(word) for word in text_list(name, default)]
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}.") from None


def broker_url(redis_url: str) -> str:
    """Return REDIS_URL for Kombu, which takes a socket's database as a parameter."""
    parts = urlsplit(redis_url)
    if parts.scheme in {"redis", "rediss"}:
        return redis_url
    if parts.scheme in {"redis+socket", "unix"}:
        number = parse_qs(parts.query).get("db", ["0"])[0]
        return f"redis+socket://{parts.path}?virtual_host={number}"
    raise ImproperlyConfigured(
        f"REDIS_URL begins with {parts.scheme!r}. Use redis://host:6379/0, "
        "rediss:// or redis+socket:///path/to/socket."
    )


def log_format() -> str:
    return choice("LOG_FORMAT", ("line", "json"))


LOOPBACK_HOSTS = {"127.0.0.1", "::1", "localhost"}


@dataclass(frozen=True)
class OidcProvider:
    issuer: str
    client_id: str
    secret: str
    name: str
    accounts: str
    """People who get an account: ``invited`` ones only, or ``everybody``."""
    lab: str
    """With ``everybody``, the slug of a lab that new accounts can read, or ""."""

    @property
    def app(self) -> dict[str, Any]:
        """The provider's configuration for allauth."""
        return {
            "provider_id": f"oidc-{sha256(self.issuer.encode()).hexdigest()[:12]}",
            "name": self.name,
            "client_id": self.client_id,
            "secret": self.secret,
            "settings": {"server_url": self.issuer, "oauth_pkce_enabled": True},
        }


def oidc_provider() -> OidcProvider | None:
    issuer = text("OIDC_ISSUER", "").rstrip("/")
    if not issuer:
        return None
    validated_site_url("OIDC_ISSUER", issuer)
    accounts = choice("OIDC_ACCOUNTS", ("invited", "everybody"))
    lab = text("OIDC_LAB", "")
    if lab and accounts != "everybody":
        raise ImproperlyConfigured(
            "OIDC_LAB needs OIDC_ACCOUNTS=everybody: an invitation names its own lab."
        )
    return OidcProvider(
        issuer=issuer,
        client_id=_required_by("OIDC_ISSUER", "OIDC_CLIENT_ID"),
        secret=_required_by("OIDC_ISSUER", "OIDC_CLIENT_SECRET"),
        name=_required_by("OIDC_ISSUER", "OIDC_NAME"),
        accounts=accounts,
        lab=lab,
    )


@dataclass(frozen=True)
class MailServer:
    host: str
    port: int
    user: str
    password: str
    security: str
    sender: str
    site: str


def mail_server() -> MailServer | None:
    host = text("EMAIL_HOST", "")
    if not host:
        return None
    security = choice("EMAIL_SECURITY", ("starttls", "tls", "none"))
    ports = {"starttls": 587, "tls": 465, "none": 25}
    sender = _required_by("EMAIL_HOST", "EMAIL_FROM")
    if "@" not in parseaddr(sender)[1] or "\n" in sender or "\r" in sender:
        raise ImproperlyConfigured(f"EMAIL_FROM={sender!r} is not an email address.")
    user = text("EMAIL_USER", "")
    if user and security == "none" and host not in LOOPBACK_HOSTS:
        raise ImproperlyConfigured(
            "EMAIL_SECURITY=none would send EMAIL_PASSWORD unencrypted. "
            "Choose starttls or tls."
        )
    site = _required_by("EMAIL_HOST", "SITE_URL").rstrip("/")
    return MailServer(
        host=host,
        port=whole_number("EMAIL_PORT", ports[security]),
        user=user,
        password=text("EMAIL_PASSWORD", ""),
        security=security,
        sender=sender,
        site=validated_site_url("SITE_URL", site),
    )


def _required_by(other: str, name: str) -> str:
    value = text(name, "").strip()
    if not value:
        raise ImproperlyConfigured(f"{name} is not set, but {other} requires it.")
    return value


def validated_site_url(name: str, url: str) -> str:
    """Return the URL; it must use HTTPS unless the site is on this machine."""
    parts = urlsplit(url)
    is_safe = parts.scheme == "https" or (
        parts.scheme == "http" and parts.hostname in LOOPBACK_HOSTS
    )
    if not is_safe or not parts.hostname or parts.query or parts.fragment:
        raise ImproperlyConfigured(
            f"{name}={url!r} is not a URL such as https://lab.example.org "
            "(http:// is allowed only on this machine)."
        )
    return url
