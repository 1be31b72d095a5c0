"""Floods of the time server do not block honest guests.

VIRTLAB_TEST_FLOOD_S=60 runs the long test (`make test-faults`).
"""

import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from agents.timing.time_client import TimeServerError, connect_time_server, take_stamp
from tests.agents.packed_agent import answers

ROOT = Path(__file__).parents[3]
FLOOD_S = float(os.environ.get("VIRTLAB_TEST_FLOOD_S", "1.5"))
HEAD = """
    import socket, sys, time
    port, seconds = int(sys.argv[1]), float(sys.argv[2])
    end = time.monotonic() + seconds
    place = ("127.0.0.1", port)

    def udp():
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind(("127.0.0.2", 0))
        made.setblocking(False)
        return made

    def tcp():
        made = socket.create_connection(place, 5, ("127.0.0.2", 0))
        made.setblocking(False)
        return made

    def quietly(act, *words):
        try:
            act(*words)
        except OSError:
            pass
"""
FLOODS = {
    "datagrams of one port": """
        one = udp()
        while time.monotonic() < end:
            quietly(one.sendto, b"stamp abc\\n", place)
    """,
    "datagrams of many ports, too long": """
        many = [udp() for _ in range(200)]
        while time.monotonic() < end:
            for one in many:
                quietly(one.sendto, b"x" * 300, place)
    """,
    "connections that say nothing": """
        held = []
        while time.monotonic() < end:
            quietly(lambda: held.append(tcp()))
            held = held[-400:]
    """,
    "lines without end": """
        many = [tcp() for _ in range(20)]
        while time.monotonic() < end:
            for one in many:
                quietly(one.send, b"time\\n" * 200)
                quietly(one.recv, 65536)
    """,
    "questions whose answers nobody reads": """
        many = []
        while time.monotonic() < end:
            if len(many) < 60:
                quietly(lambda: many.append(tcp()))
            for one in list(many):
                try:
                    one.send(b"stamp abc\\n" * 100)
                except BlockingIOError:
                    pass
                except OSError:
                    many.remove(one)
    """,
}


@pytest.fixture
def port():
    """The port of a time server in its own process."""
    argv = [sys.executable, "-m", "agents", "timeserver", "--port", "0"]
    with subprocess.Popen(argv, cwd=ROOT, stderr=subprocess.PIPE, text=True) as server:
        try:
            yield int(re.search(r"on port (\d+),", server.stderr.readline())[1])
        finally:
            server.send_signal(signal.SIGTERM)
            assert server.wait(30) == 0


def stamps_taken(port, until_s):
    """Return how many of its stamps an honest guest got during a flood."""
    successful = requested = 0
    while time.monotonic() < until_s:
        requested += 1
        try:
            with connect_time_server(f"udp://127.0.0.1:{port}", 0.5) as asking:
                take_stamp(asking)
            successful += 1
        except TimeServerError:
            pass
        time.sleep(0.02)
    return successful, requested


@pytest.mark.parametrize("name", FLOODS)
def test_honest_guest_is_answered_during_a_flood(name, port):
    program = textwrap.dedent(HEAD) + textwrap.dedent(FLOODS[name])
    argv = [sys.executable, "-c", program, str(port), str(FLOOD_S)]

    with subprocess.Popen(argv) as flood:
        successful, requested = stamps_taken(port, time.monotonic() + FLOOD_S)

    print(f"{name}: {successful} of {requested} stamps", end=" ")
    assert flood.returncode == 0
    assert requested > 3
    assert successful >= 0.9 * requested
    assert answers(port)


def test_connections_per_address_are_limited(port):
    connections = [
        socket.create_connection(("127.0.0.1", port), 5, ("127.0.0.3", 0))
        for _ in range(300)
    ]
    for sock in connections:
        sock.settimeout(5)
        try:
            sock.sendall(b"start\n")
        except OSError:
            continue

    def is_answered(sock):
        try:
            return sock.recv(100) == b"start"
        except OSError:
            return False

    assert sum(map(is_answered, connections)) == 256
    assert answers(port)
    for sock in connections:
        sock.close()
