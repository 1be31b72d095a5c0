"""Settings of a provider and of mail: whole and safe, or the start stops."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env

PROVIDER = {
    "OIDC_ISSUER": "https://id.example.org/realms/lab/",
    "OIDC_CLIENT_ID": "virtlab",
    "OIDC_CLIENT_SECRET": "secret",
    "OIDC_NAME": "Uni login",
}
MAIL = {
    "EMAIL_HOST": "mail.example.org",
    "EMAIL_FROM": "Virtlab <lab@example.org>",
    "SITE_URL": "https://lab.example.org/",
}


def given(monkeypatch, values):
    for name, value in values.items():
        monkeypatch.setenv(name, value)


def test_nothing_set_is_nothing(monkeypatch):
    assert env.oidc() is None
    assert env.email() is None


def test_a_provider_is_known_by_its_issuer(monkeypatch):
    given(monkeypatch, PROVIDER)
    first = env.oidc()
    monkeypatch.setenv("OIDC_ISSUER", "https://other.example.org")

    assert first.accounts == "invited"
    assert first.app["settings"]["server_url"] == "https://id.example.org/realms/lab"
    assert first.app["provider_id"] != env.oidc().app["provider_id"]


def test_mail_has_a_port_by_its_security(monkeypatch):
    given(monkeypatch, MAIL)

    assert (env.email().port, env.email().site) == (587, "https://lab.example.org")
    monkeypatch.setenv("EMAIL_SECURITY", "tls")
    assert env.email().port == 465


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OIDC_CLIENT_ID", ""),
        ("OIDC_NAME", " "),
        ("OIDC_ISSUER", "http://id.example.org"),
        ("OIDC_ISSUER", "id.example.org"),
        ("OIDC_ACCOUNTS", "all"),
        ("OIDC_LAB", "alpha-lab"),
    ],
)
def test_half_a_provider_stops_the_start(monkeypatch, name, value):
    given(monkeypatch, {**PROVIDER, name: value})

    with pytest.raises(ImproperlyConfigured, match="OIDC_"):
        env.oidc()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EMAIL_FROM", ""),
        ("EMAIL_FROM", "nobody"),
        ("EMAIL_FROM", "a@b.org\nBcc: c@d.org"),
        ("SITE_URL", ""),
        ("SITE_URL", "http://lab.example.org"),
        ("EMAIL_SECURITY", "ssl"),
        ("EMAIL_PORT", "smtp"),
    ],
)
def test_half_of_mail_stops_the_start(monkeypatch, name, value):
    given(monkeypatch, {**MAIL, name: value})

    with pytest.raises(ImproperlyConfigured, match=name):
        env.email()


def test_no_password_goes_out_in_clear(monkeypatch):
    given(monkeypatch, {**MAIL, "EMAIL_SECURITY": "none", "EMAIL_USER": "lab"})

    with pytest.raises(ImproperlyConfigured, match="EMAIL_SECURITY"):
        env.email()
    monkeypatch.setenv("EMAIL_HOST", "127.0.0.1")
    assert env.email().user == "lab"
