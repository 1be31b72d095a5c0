"""Limits on what clients may hold: connections, and bodies that are not complete."""

import socket
import threading
from contextlib import ExitStack

import pytest
from django.contrib.auth import get_user_model
from waitress import wasyncore

from benchmarks.errors import UnauthenticatedError
from config import http_server
from config.http_server import BoundedServer, is_known_client

WAIT_S = 10


class Running:
    def __init__(self):
        listener = socket.create_server(("0.0.0.0", 0), backlog=512)
        self.port = listener.getsockname()[1]
        self.server = BoundedServer(
            self.answer, listener, threads=2, asyncore_use_poll=True, ident=None
        )
        self.is_stopped = False
        self.turns = threading.Condition()
        self.loop = threading.Thread(target=self.run, daemon=True)
        self.loop.start()

    def run(self):
        while not self.is_stopped:
            wasyncore.loop(timeout=0.05, use_poll=True, map=self.server._map, count=1)
            with self.turns:
                self.turns.notify_all()

    def answer(self, environ, start_response):
        body = environ["wsgi.input"].read()
        dropped = environ.get("HTTP_X_BODY_DROPPED", "")
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [f"{len(body)} {dropped}".encode()]

    def until(self, is_true):
        with self.turns:
            assert self.turns.wait_for(is_true, WAIT_S)

    def stop(self):
        self.is_stopped = True
        self.loop.join(WAIT_S)
        self.server.task_dispatcher.shutdown(timeout=1)
        for channel in list(self.server.active_channels.values()):
            channel.close()
        self.server.close()


@pytest.fixture
def running(monkeypatch, settings):
    settings.UPLOAD_LIMIT_BYTES = 1_000_000
    monkeypatch.setattr(http_server, "is_known_client", lambda headers: True)
    running = Running()
    yield running
    running.stop()


@pytest.fixture
def connect(running):
    with ExitStack() as stack:

        def connect(address="127.0.0.1", begun=b""):
            client = socket.create_connection(
                ("127.0.0.1", running.port), WAIT_S, source_address=(address, 0)
            )
            stack.enter_context(client)
            client.sendall(begun)
            return client

        yield connect


def head(length, path="/api/v1/runs/"):
    return (
        f"POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


def reply(client):
    """Return what the application answered."""
    text = b""
    while more := client.recv(4096):
        text += more
    return text.partition(b"\r\n\r\n")[2].decode()


def is_open(client):
    client.setblocking(False)
    try:
        return client.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


def test_the_oldest_silent_connection_of_an_address_makes_room(
    running, connect, monkeypatch
):
    monkeypatch.setattr(http_server, "MAX_ADDRESS_CONNECTIONS", 20)
    other = connect("127.0.0.9")
    silent = [connect("127.0.0.2") for _ in range(60)]
    running.until(lambda: len(running.server.active_channels) == 21)

    own, foreign = connect("127.0.0.2", head(2)), connect("127.0.0.3", head(2))
    own.sendall(b"{}")
    foreign.sendall(b"{}")

    assert (reply(own), reply(foreign)) == ("2 ", "2 ")
    assert is_open(other)
    assert sum(map(is_open, silent)) <= 20
    assert not any(map(is_open, silent[:39]))


def test_the_largest_holder_makes_room_when_all_connections_are_taken(
    running, connect, monkeypatch
):
    monkeypatch.setattr(http_server, "MAX_CONNECTIONS", 30)
    few = [connect("127.0.0.2") for _ in range(5)]
    many = [connect("127.0.0.3") for _ in range(25)]
    more = [connect(f"127.0.0.{n}") for n in range(10, 20)]
    # With 30 connections alone, some of `more` may still wait in the listening socket.
    running.until(lambda: len(running.server.channels.get("127.0.0.3", ())) == 15)

    assert all(map(is_open, [*few, *more]))
    assert sum(map(is_open, many)) == 15


def test_trusted_proxies_have_no_limit_of_connections(
    running, connect, monkeypatch, settings
):
    from ipaddress import ip_network

    settings.TRUSTED_PROXIES = [ip_network("127.0.0.2")]
    monkeypatch.setattr(http_server, "MAX_ADDRESS_CONNECTIONS", 3)

    clients = [connect("127.0.0.2") for _ in range(10)]

    running.until(lambda: len(running.server.active_channels) == 10)
    assert all(map(is_open, clients))


@pytest.mark.parametrize("chunked", [False, True])
def test_large_bodies_of_unknown_clients_are_not_kept(
    running, connect, monkeypatch, chunked
):
    asked = []
    monkeypatch.setattr(
        http_server, "is_known_client", lambda headers: asked.append(headers)
    )
    size = http_server.ANONYMOUS_BODY_BYTES + 1
    if chunked:
        begun = head(0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
        body = b"%x\r\n" % size + b"x" * size
        end = b"\r\n0\r\n\r\n"
    else:
        begun, body, end = head(size), b"x" * (size - 1), b"x"
    client = connect(begun=begun)
    running.until(lambda: asked)
    client.sendall(body)

    assert running.server._buffered_total == 0
    client.sendall(end)
    assert reply(client) == "0 "


def test_small_bodies_and_previews_need_no_identification(
    running, connect, monkeypatch
):
    monkeypatch.setattr(http_server, "is_known_client", lambda headers: False)
    size = http_server.ANONYMOUS_BODY_BYTES

    small = connect(begun=head(size) + b"x" * size)
    preview = connect(begun=head(size * 4, "/api/v1/parse/") + b"x" * size * 4)

    assert (reply(small), reply(preview)) == (f"{size} ", f"{size * 4} ")


def test_large_bodies_of_known_clients_are_complete(running, connect):
    size = 900_000

    assert reply(connect(begun=head(size) + b"x" * size)) == f"{size} "
    assert running.server._buffered_total == 0


def test_unfinished_bodies_of_an_address_are_bounded(running, connect, monkeypatch):
    limit = 300_000
    monkeypatch.setattr(http_server, "MAX_ADDRESS_BUFFERED_BYTES", limit)
    unfinished = [connect("127.0.0.2", head(100_000) + b"x" * 99_999) for _ in range(8)]
    running.until(lambda: running.server._buffered_total > limit - 100_000)

    assert reply(connect("127.0.0.3", head(99_000) + b"x" * 99_000)) == "99000 "
    assert running.server._buffered["127.0.0.2"] <= limit
    for client in unfinished:
        client.sendall(b"x")
    answers = sorted(map(reply, unfinished))
    assert answers.count("0 1") >= 5
    assert set(answers) <= {"0 1", "100000 "}
    running.until(lambda: running.server._buffered_total == 0)


def test_all_unfinished_bodies_are_bounded_and_closed_connections_give_room(
    running, connect, monkeypatch
):
    monkeypatch.setattr(http_server, "MAX_BUFFERED_BYTES", 250_000)
    clients = [
        connect(f"127.0.0.{n}", head(100_000) + b"x" * 99_999) for n in range(2, 9)
    ]
    running.until(lambda: running.server._buffered_total > 150_000)

    assert running.server._buffered_total <= 250_000
    for client in clients:
        client.close()
    running.until(lambda: running.server._buffered_total == 0)
    assert not running.server._buffered
    assert reply(connect(begun=head(100_000) + b"x" * 100_000)) == "100000 "


def test_dropped_bodies_are_503_and_may_be_repeated(db, client):
    for address in ("/api/v1/runs/", "/login/"):
        answer = client.post(address, headers={"x-body-dropped": "1"})

        assert answer.status_code == 503
        assert int(answer["Retry-After"]) > 0
    assert client.post("/api/v1/runs/", headers={"x-body-dropped": "1"}).json()["code"]


def test_valid_tokens_and_sessions_are_known(db, client, token, person):
    client.force_login(person)
    cookie = f"a=b; sessionid={client.cookies['sessionid'].value}"
    anonymous_cookie = "sessionid=wrong; csrftoken=x"

    assert is_known_client({"AUTHORIZATION": f"Token {token}"})
    assert is_known_client({"COOKIE": cookie})
    for headers in ({}, {"COOKIE": anonymous_cookie}, {"AUTHORIZATION": "Token"}):
        assert not is_known_client(headers)
    with pytest.raises(UnauthenticatedError):
        is_known_client({"AUTHORIZATION": "Bearer vl_0123456789_x"})
    get_user_model().objects.all().delete()


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_requests_with_two_lengths_are_refused_and_end_the_connection(connect, version):
    client = connect(
        begun=(
            f"POST /api/v1/runs/ HTTP/{version}\r\nHost: a\r\n"
            "Connection: keep-alive\r\nContent-Length: 5\r\n"
            "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n"
        ).encode()
    )

    text = b""
    while more := client.recv(4096):
        text += more

    assert text.startswith(f"HTTP/{version} 400 Bad Request".encode())
    assert text.count(b"HTTP/1.") == 1
