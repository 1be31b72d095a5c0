"""Server URLs in different spellings."""

from urllib.parse import urlsplit

import pytest

from agents.client import bracketed, host_of
from agents.local_state import is_server_url, redact_password


@pytest.mark.parametrize(
    "server",
    [
        "https://virtlab.example.org",
        "http://127.0.0.1:8000/virtlab",
        "http://[::1]:8000",
        "http://[fe80::1%eth0]:8000",
        "http://[fe80::1%25eth0]",
    ],
)
def test_valid_urls_are_accepted(server):
    assert is_server_url(server)


@pytest.mark.parametrize(
    "server",
    [
        "virtlab.example.org",
        "ftp://virtlab.example.org",
        "http://",
        "http://[::1",
        "http://::1]:8000",
        "http://virtlab.example.org:http",
        "http://virtlab.example.org:0",
        "http://alice:password@virtlab.example.org",
        "http://virtlab.example.org/?page=1",
        "http://virtlab.example.org/#runs",
        "http://virtlab example.org",
        "http://virtlab.example.org\n/x",
        "http://virtlab.example.org\t",
    ],
)
def test_invalid_urls_are_rejected_without_error(server):
    assert not is_server_url(server)


def test_password_is_redacted():
    shown = redact_password("http://alice:pass/w@rd@virtlab.example.org/x")

    assert shown == "http://***@virtlab.example.org/x"
    assert redact_password("http://virtlab/") == "http://virtlab/"


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("tcp://[fe80::1%eth0]:1", "fe80::1%eth0"),
        ("tcp://[fe80::1%25eth0]:1", "fe80::1%eth0"),
        # The twenty-fifth interface of a Windows.
        ("tcp://[fe80::1%25]:1", "fe80::1%25"),
        ("tcp://vm-a:1", "vm-a"),
    ],
)
def test_zone_of_a_host_has_two_spellings(address, host):
    assert host_of(urlsplit(address)) == host
    assert bracketed(host, 1) == (f"[{host}]:1" if ":" in host else f"{host}:1")
