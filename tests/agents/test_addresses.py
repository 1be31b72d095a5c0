"""Addresses of servers as people write them."""

from urllib.parse import urlsplit

import pytest

from agents.client import bracketed, host_of
from agents.home import is_address, without_password


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
def test_it_knows_an_address(server):
    assert is_address(server)


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
def test_what_cannot_be_one_is_known_without_an_error(server):
    assert not is_address(server)


def test_a_password_is_not_shown():
    shown = without_password("http://alice:pass/w@rd@virtlab.example.org/x")

    assert shown == "http://***@virtlab.example.org/x"
    assert without_password("http://virtlab/") == "http://virtlab/"


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("tcp://[fe80::1%eth0]:1", "fe80::1%eth0"),
        ("tcp://[fe80::1%25eth0]:1", "fe80::1%eth0"),
        ("tcp://[fe80::1%25]:1", "fe80::1%25"),  # the twenty-fifth link of a Windows
        ("tcp://vm-a:1", "vm-a"),
    ],
)
def test_the_zone_of_a_host_is_written_in_two_ways(address, host):
    assert host_of(urlsplit(address)) == host
    assert bracketed(host, 1) == (f"[{host}]:1" if ":" in host else f"{host}:1")
