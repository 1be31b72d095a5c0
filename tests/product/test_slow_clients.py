"""Slow clients do not delay other clients."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

pytestmark = [pytest.mark.product, pytest.mark.timeout(300)]

# Eight threads serve requests: eight of each of these once blocked all pages.
MANY = 60
UNFINISHED = {
    "nothing at all": b"",
    "half a head": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
    "half a body": b"POST /api/v1/runs/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n{",
}


@pytest.fixture
def slow_clients(product) -> Iterator[list[socket.socket]]:
    """Connections that have sent a part of a request, of each kind."""
    address = urlsplit(product.url)
    with ExitStack() as stack:
        clients = []
        for begun in UNFINISHED.values():
            for _ in range(MANY):
                endpoint = (address.hostname, address.port)
                client = stack.enter_context(
                    closing(socket.create_connection(endpoint, timeout=10))
                )
                client.sendall(begun)
                clients.append(client)
        yield clients


def test_pages_and_api_respond_beside_many_slow_clients(product, slow_clients):
    paths = ("/", "/api/v1/health/", "/studies/first-lab/lmu-2010-xen/compare/")
    for path in paths * 3:
        for client in slow_clients[MANY:]:
            client.sendall(b"x")
        with urlopen(product.url.rstrip("/") + path, timeout=10) as answer:
            assert answer.status == 200


def status_of(product, chunks: bytes) -> int:
    """Send a request whose body arrives in these chunks; return the status."""
    with closing(HTTPConnection(urlsplit(product.url).netloc, timeout=10)) as client:
        client.putrequest("POST", "/api/v1/runs/")
        client.putheader("Content-Type", "application/json")
        client.putheader("Transfer-Encoding", "chunked")
        client.endheaders()
        client.send(chunks)
        with client.getresponse() as answer:
            answer.read()
            return answer.status


def test_chunked_body_is_read_completely(product):
    assert status_of(product, b"2\r\n{}\r\n0\r\n\r\n") == 401


def test_damaged_chunks_are_refused(product):
    assert status_of(product, b"zz\r\n{}\r\n0\r\n\r\n") == 400
