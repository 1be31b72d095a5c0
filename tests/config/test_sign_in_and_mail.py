"""Settings of sign-in providers and of mail: incomplete or unsafe ones are refused."""

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


def set_environment(monkeypatch, values):
    for name, value in values.items():
        monkeypatch.setenv(name, value)


def test_unset_variables_configure_nothing(monkeypatch):
    assert env.oidc_provider() is None
    assert env.mail_server() is None


def test_provider_is_identified_by_its_issuer(monkeypatch):
    set_environment(monkeypatch, PROVIDER)
    first = env.oidc_provider()
    monkeypatch.setenv("OIDC_ISSUER", "https://other.example.org")

    assert first.accounts == "invited"
    assert first.app["settings"]["server_url"] == "https://id.example.org/realms/lab"
    assert first.app["provider_id"] != env.oidc_provider().app["provider_id"]


def test_mail_port_depends_on_security(monkeypatch):
    set_environment(monkeypatch, MAIL)

    assert (env.mail_server().port, env.mail_server().site) == (
        587,
        "https://lab.example.org",
    )
    monkeypatch.setenv("EMAIL_SECURITY", "tls")
    assert env.mail_server().port == 465


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
def test_incomplete_provider_stops_the_start(monkeypatch, name, value):
    set_environment(monkeypatch, {**PROVIDER, name: value})

    with pytest.raises(ImproperlyConfigured, match="OIDC_"):
        env.oidc_provider()


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
def test_incomplete_mail_settings_stop_the_start(monkeypatch, name, value):
    set_environment(monkeypatch, {**MAIL, name: value})

    with pytest.raises(ImproperlyConfigured, match=name):
        env.mail_server()


def test_password_is_never_sent_unencrypted(monkeypatch):
    set_environment(
        monkeypatch, {**MAIL, "EMAIL_SECURITY": "none", "EMAIL_USER": "lab"}
    )

    with pytest.raises(ImproperlyConfigured, match="EMAIL_SECURITY"):
        env.mail_server()
    monkeypatch.setenv("EMAIL_HOST", "127.0.0.1")
    assert env.mail_server().user == "lab"
