"""Webhook requests go only to the public internet and end at a deadline."""

import ipaddress
import socket
import threading
import time
from contextlib import contextmanager

import pytest

from benchmarks.collaboration import webhooks
from benchmarks.collaboration.webhooks import is_public_address, post_once, validate_url
from benchmarks.errors import InvalidError


@contextmanager
def answering(*answers, pause_s=0.0):
    """Serve one connection; yield the port and the received bytes."""
    heard = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        for answer in answers:
            try:
                line, _ = listener.accept()
            except OSError:
                return  # closed: nobody came for this answer
            with line:
                text = line.recv(65_536)
                while b"\r\n\r\n" in text and text.count(b"}") == 0:
                    text += line.recv(65_536)
                heard.append(text)
                try:
                    for byte in answer if pause_s else ():
                        line.sendall(bytes([byte]))
                        time.sleep(pause_s)
                    if not pause_s:
                        line.sendall(answer)
                except OSError:
                    pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with listener:
        yield listener.getsockname()[1], heard
        # Wakes a blocked accept(), which close() alone does not.
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(10)


@pytest.fixture
def private(settings):
    settings.WEBHOOK_PRIVATE_ADDRESSES = True


OK = b"HTTP/1.1 204 No Content\r\n\r\n"


def test_a_body_arrives_with_its_headers(private):
    with answering(OK) as (port, heard):
        reply = post_once(f"http://localhost:{port}/a?b=c", b"{}", {"X-Sign": "1"})

    assert (reply.status, reply.problem, reply.is_success) == (204, "", True)
    assert heard[0].startswith(b"POST /a?b=c HTTP/1.1\r\n")
    assert f"Host: localhost:{port}".encode() in heard[0]
    assert b"X-Sign: 1" in heard[0]
    assert heard[0].endswith(b"{}")


@pytest.mark.parametrize(
    ("address", "is_open"),
    [
        ("93.184.216.34", True),
        ("2606:4700::1111", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1", False),
        ("fd00::1", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
        ("fec0::1", False),
        ("::127.0.0.1", False),
        ("192.88.99.1", False),
        ("5f00::1", False),
        ("3fff::1", False),
    ],
)
def test_only_internet_addresses_are_public(address, is_open):
    assert is_public_address(ipaddress.ip_address(address)) == is_open


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "file:///etc/passwd",
        "https://",
        "https://user@example.org/",
        "https://user:pass@example.org/",
        "https://example.org:99999/",
        "https://example.org:0/",
        "https://exa mple.org/",
        "https://example.org/\r\nX: y",
        "https://example.org\\@127.0.0.1/",
        "https://exämple.org/",
        "https://[::1",
        "http://127.0.0.1/",
        "http://[::1]:5432/",
        "http://169.254.169.254/latest/meta-data/",
        "x" * 1_001,
        "",
    ],
)
def test_private_addresses_are_rejected_on_input(url):
    with pytest.raises(InvalidError):
        validate_url(url)


@pytest.mark.parametrize("url", ["http://localhost:{}/", "http://2130706433:{}/"])
def test_names_with_private_addresses_are_not_connected(url):
    with answering(OK) as (port, heard):
        reply = post_once(url.format(port), b"{}", {})

    assert reply.status is None
    assert not heard


def test_one_private_address_is_enough_to_reject(monkeypatch):
    result = [(2, 1, 6, "", (item, 80)) for item in ("93.184.216.34", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: result)

    reply = post_once("http://two.example/", b"{}", {})

    assert "private network" in reply.problem


def test_redirects_are_not_followed(private):
    with answering(OK) as (inner, reached):
        target = f"Location: http://127.0.0.1:{inner}/\r\n"
        moved = f"HTTP/1.1 307 Moved\r\n{target}Content-Length: 0\r\n\r\n"
        with answering(moved.encode()) as (port, _):
            reply = post_once(f"http://127.0.0.1:{port}/", b"{}", {})

    assert (reply.status, reply.is_success) == (307, False)
    assert "Redirects" in reply.problem
    assert not reached


def test_slow_response_ends_at_the_deadline(private, monkeypatch):
    monkeypatch.setattr(webhooks, "DEADLINE_S", 0.6)
    with answering(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 99, pause_s=0.1) as (port, _):
        began = time.monotonic()
        reply = post_once(f"http://127.0.0.1:{port}/", b"{}", {})

    assert time.monotonic() - began < 9  # the whole response takes 9.9 s
    assert not reply.is_success
    assert "within 1 s" in reply.problem


def test_response_size_is_limited(private):
    with answering(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1_000_000) as (port, _):
        assert post_once(f"http://127.0.0.1:{port}/", b"{}", {}).is_success


@pytest.mark.parametrize(
    "answer", [b"", b"garbage\r\n\r\n", b"HTTP/1.1 999999 x\r\n\r\n"]
)
def test_invalid_response_is_a_failure_with_a_reason(private, answer):
    with answering(answer) as (port, _):
        reply = post_once(f"http://127.0.0.1:{port}/", b"{}", {})

    assert not reply.is_success
    assert reply.problem
