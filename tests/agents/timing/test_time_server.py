"""The time server on real sockets: the studies' client, many clients, invalid ones."""

import contextlib
import socket
import time
from itertools import pairwise

import pytest

from agents.timing import time_server as server_module
from agents.timing.time_client import (
    TimeServerError,
    connect_time_server,
    interval_of,
    offset_of,
    take_stamp,
)
from tests.agents.conftest import serving, telling_time
from tests.agents.packed_agent import KeepingServer


@pytest.fixture
def server():
    with telling_time() as server:
        yield server


def connect(server):
    return contextlib.closing(socket.create_connection(("127.0.0.1", server.port), 5))


def test_studies_client_works_over_tcp(server):
    with connect(server) as client:
        client.sendall(b"start\n")
        assert client.recv(100) == b"start"
        client.sendall(b"time\n")
        first = client.recv(100)
        time.sleep(0.02)
        client.sendall(b"time\n")
        second = client.recv(100)
        client.sendall(b"quit\n")
        assert client.recv(100) == b"quit"
        assert client.recv(100) == b""

    assert first.endswith(b"\n")
    assert 20_000 <= int(second) - int(first) < 10_000_000


def test_studies_client_works_over_udp(server):
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(5)
    client.connect(("127.0.0.1", server.port))
    with contextlib.closing(client):
        replies = []
        for word in (b"time\n", b"start\n", b"time\n", b"quit\n", b"time\n"):
            client.send(word)
            replies.append(client.recv(100))

    assert replies[0].startswith(b"error")
    assert replies[1] == b"start"
    assert 0 <= int(replies[2]) < 10_000_000
    assert (replies[3], replies[4][:5]) == (b"quit", b"error")


def test_replies_are_not_delayed(server):
    with connect(server) as client:
        client.sendall(b"start\n")
        client.recv(100)
        (ours,) = server.connections
        assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_clients_have_independent_times(server):
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connect(server)) for _ in range(100)]
        for client in clients:
            client.sendall(b"start\n")
            assert client.recv(100) == b"start"
            time.sleep(0.001)
        times = []
        for client in reversed(clients):
            client.sendall(b"time\n")
            times.append(int(client.recv(100)))

    # Later clients ask sooner, so each has a longer time.
    assert all(later - earlier >= 1_000 for earlier, later in pairwise(times))


def test_split_and_joined_requests_are_understood(server):
    with connect(server) as client:
        client.sendall(b"sta")
        time.sleep(0.01)
        client.sendall(b"rt\ntime\nquit\n")
        received = b""
        while received[-4:] != b"quit":
            received += client.recv(100)

    assert received.startswith(b"start")


@pytest.mark.parametrize("flood", [b"x" * 5000, b"time" * 100])
def test_endless_line_is_disconnected(server, flood):
    with connect(server) as client:
        client.sendall(flood)
        with contextlib.suppress(ConnectionResetError):
            assert client.recv(100) == b""

    with connect(server) as client:
        client.sendall(b"start\n")
        assert client.recv(100) == b"start"


def test_excess_connection_is_closed_and_others_stay(server, monkeypatch):
    monkeypatch.setattr(server_module, "MAX_CONNECTIONS", 3)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connect(server)) for _ in range(3)]
        for client in clients:
            client.sendall(b"start\n")
            client.recv(100)
        with connect(server) as late:
            assert late.recv(100) == b""
        clients[0].sendall(b"time\n")

        assert clients[0].recv(100).endswith(b"\n")


@pytest.fixture
def connected(server):
    """Connect from an address of this machine."""
    with contextlib.ExitStack() as stack:

        def connect_from(address):
            sock = stack.enter_context(socket.socket())
            sock.settimeout(10)
            sock.bind((address, 0))
            sock.connect(("127.0.0.1", server.port))
            return sock

        yield connect_from


def ask(sock, word=b"start\n"):
    """Return the answer; empty if the connection was closed."""
    try:
        sock.sendall(word)
        return sock.recv(100)
    except OSError:
        return b""


def test_silent_connections_make_room_for_active_ones(connected, monkeypatch):
    monkeypatch.setattr(server_module, "MAX_CONNECTIONS", 3)
    for number in range(1, 9):
        connected(f"127.0.1.{number}")

    assert ask(connected("127.0.2.1")) == b"start"


def test_busiest_address_makes_room_for_others(connected, monkeypatch):
    monkeypatch.setattr(server_module, "MAX_CONNECTIONS", 4)
    crowd = [connected("127.0.1.1") for _ in range(3)]
    assert [ask(sock) for sock in crowd] == [b"start"] * 3

    guests = [connected("127.0.2.1")]
    assert ask(guests[0]) == b"start"
    guests.append(connected("127.0.2.2"))
    assert ask(guests[1]) == b"start"

    # The quietest of the largest group was closed; small groups lose none.
    assert [bool(ask(sock, b"time\n")) for sock in crowd] == [False, True, True]
    assert ask(connected("127.0.1.1")) == b""
    assert all(ask(sock, b"time\n") for sock in guests)


def test_idle_connections_make_room_for_new_ones(server, monkeypatch):
    monkeypatch.setattr(server_module, "MAX_CONNECTIONS", 1)
    monkeypatch.setattr(server_module, "IDLE_S", 0)
    with connect(server) as idle, connect(server) as late:
        late.sendall(b"start\n")

        assert late.recv(100) == b"start"
        assert idle.recv(100) == b""


def test_remembered_peers_are_limited(server, monkeypatch):
    monkeypatch.setattr(server_module, "MAX_PEERS", 2)
    for port in (1, 2, 3):
        assert server._reply_to(b"start\n", ("127.0.0.1", port)) == b"start"

    assert server._reply_to(b"time\n", ("127.0.0.1", 1)).startswith(b"error")
    assert server._reply_to(b"time\n", ("127.0.0.1", 3)).endswith(b"\n")
    assert len(server.peers) == 2


@pytest.mark.parametrize("scheme", ["tcp", "udp"])
def test_stamp_of_this_machine_has_no_offset(server, scheme):
    with connect_time_server(f"{scheme}://127.0.0.1:{server.port}") as asking:
        start = take_stamp(asking)
        time.sleep(0.05)
        end = take_stamp(asking)

    interval = interval_of(start, end)
    assert abs(offset_of(start).us) <= offset_of(start).bound_us
    # Not bound_us, which trusts the shortest round trip: on a busy machine both stamps
    # may have been delayed equally.
    assert abs(interval.external_us - interval.local_us) <= interval.hard_bound_us
    assert (start.exchanges, start.clock) == (8, server.clocks.name)


@pytest.mark.parametrize("scheme", ["tcp", "udp", "http"])
def test_missing_server_is_one_error(scheme):
    with pytest.raises(TimeServerError):  # noqa: SIM117 - opening or asking may fail
        with connect_time_server(f"{scheme}://127.0.0.1:9", timeout_s=0.1) as asking:
            take_stamp(asking)


def test_unknown_scheme_is_refused():
    with pytest.raises(TimeServerError, match="not a URL"):
        connect_time_server("ftp://127.0.0.1")
    with pytest.raises(TimeServerError, match="does not answer"):
        connect_time_server("tcp://127.0.0.1:time")


@pytest.mark.parametrize("babble", [b"x" * 4096, b"HTTP/1.1 200 OK\r\n"])
def test_foreign_server_gives_no_time(babble):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        with connect_time_server(address, timeout_s=0.1) as asking:
            received, _ = listener.accept()
            received.sendall(babble)
            with contextlib.closing(received), pytest.raises(TimeServerError):
                take_stamp(asking)


@pytest.fixture
def web_server():
    yield from serving(KeepingServer())


def test_foreign_web_server_gives_no_time(web_server):
    with connect_time_server(web_server.url) as asking, pytest.raises(TimeServerError):
        take_stamp(asking)


def test_late_reply_does_not_spoil_the_next(server):
    with connect_time_server(f"udp://127.0.0.1:{server.port}") as asking:
        early = server._reply_to(b"stamp early\n", ("127.0.0.1", 1))
        sock = asking._close.__self__
        server.datagrams.sendto(early, sock.getsockname())

        assert take_stamp(asking, exchanges=2).exchanges == 2


def test_incomplete_first_line_is_disconnected(monkeypatch):
    monkeypatch.setattr("agents.timing.time_server.IDLE_TIMEOUT_S", 0.3)
    with telling_time() as server:
        address = ("127.0.0.1", server.port)
        mute, half, honest = (socket.create_connection(address, 5) for _ in range(3))
        half.sendall(b"sta")
        honest.sendall(b"start\n")

        assert honest.recv(100) == b"start"
        assert (mute.recv(100), half.recv(100)) == (b"", b"")
        honest.sendall(b"time\n")
        assert honest.recv(100).strip().isdigit()
        for sock in (mute, half, honest):
            sock.close()


def test_unclosed_bracket_is_reported():
    with pytest.raises(TimeServerError, match=r"tcp://\[::1 is not a URL"):
        connect_time_server("tcp://[::1")
