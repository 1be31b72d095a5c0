"""The system kernel, compiled here: every result is checked."""

import re
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from agents.kernels import compilation
from benchmarks.parsing import run_extraction

ROW = re.compile(
    r"^row (?P<operation>\S+) +(?P<bytes>\d+) +(?P<turns>\d+) +(?P<turn>\d+) +"
    r"(?P<local>\S+) +(?P<external>\S+) +(?P<bound>\S+) +(?P<rate>\S+) +\S+ +"
    r"(?P<check>\w+)$",
    re.MULTILINE,
)
KERNEL = ("system-call", "context-switch", "fork", "spawn", "page-fault", "pipe")
DISK = ("file-create", "random-read", "random-write")
NETWORK = ("round-trip", "send", "receive")
SHORT = ("--seconds", "0.002", "--repetitions", "2", "--file-mib", "1")


def rows(output):
    return [found.groupdict() for found in ROW.finditer(output)]


def test_all_operations_are_measured_and_right(kernel, tmp_path):
    found = rows(kernel("system", *SHORT, "--folder", tmp_path))

    assert [row["operation"] for row in found] == [
        name for name in (*KERNEL, *DISK, *NETWORK) for _ in range(2)
    ]
    assert {row["check"] for row in found} == {"right"}
    assert all(float(row["local"]) >= 0.002 for row in found)
    assert list(tmp_path.iterdir()) == []


def test_rates_are_operations_per_time(kernel, tmp_path):
    bytes_per_turn = {
        "context-switch": 2,
        **dict.fromkeys(("pipe", "send", "receive"), 0.065536),
    }

    for row in rows(kernel("system", *SHORT, "--folder", tmp_path)):
        done = int(row["turns"]) * bytes_per_turn.get(row["operation"], 1)
        assert float(row["rate"]) == pytest.approx(done / float(row["local"]), rel=5e-3)


def test_longer_minimum_gives_more_turns(kernel):
    """A loop that the compiler removed would take no time."""

    def turns(least_s):
        words = ("--operations", "system-call", "--repetitions", 1)
        (row,) = rows(kernel("system", *words, "--seconds", least_s))
        return int(row["turns"])

    assert turns(0.2) > 2 * turns(0.005)


def test_wrong_answer_of_the_peer_is_not_a_result(kernel, liar):
    words = ("--operations", "round-trip", "--peer", liar, *SHORT)

    output = kernel("system", *words)
    (run,) = run_extraction.extract_runs(output)

    assert "failed round-trip: a wrong answer" in output
    assert run.status == "rejected"


def test_served_peer_is_another_machine(kernel, served):
    output = kernel(
        "system", "--operations", ",".join(NETWORK), "--peer", served, *SHORT
    )

    assert {row["check"] for row in rows(output)} == {"right"}
    assert f"network: {served}" in output


def test_missing_peer_is_reported(kernel):
    output = kernel("system", "--operations", "send", "--peer", "127.0.0.1:9", *SHORT)

    assert "skipped send: the peer does not answer" in output


def test_silent_peer_times_out(kernel, silent):
    begun_s = time.monotonic()

    output = kernel("system", "--operations", "send", "--peer", silent, *SHORT)

    assert "skipped send: the peer does not answer" in output
    assert time.monotonic() - begun_s < 60  # Linux by default gives up after 130 s


def test_unwritable_folder_is_reported(kernel, tmp_path):
    output = kernel("system", "--folder", tmp_path / "none", *SHORT)

    assert "skipped file-create: no file can be created in the folder" in output
    assert "skipped random-read: the file cannot be written" in output


def test_file_system_in_memory_uses_the_page_cache(kernel):
    words = ("--operations", "random-read", "--folder", "/dev/shm", *SHORT)

    assert "page cache: yes" in kernel("system", *words)


def test_unknown_operation_is_refused(kernel):
    output = kernel("system", "--operations", "fork,swap", code=2)

    assert output == "--operations: there is no swap.\n"


def test_time_server_times_every_row(kernel, time_server):
    words = ("--operations", "system-call,pipe", *SHORT)

    found = rows(kernel("system", *words, "--time-server", f"[::1]:{time_server.port}"))
    lines = rows(
        kernel("system", *words, "--time-server", f"127.0.0.1:{time_server.port}")
    )

    assert {row["external"] for row in found} == {"-"}  # it listens on IPv4 only
    assert {row["external"] == "-" for row in lines} == {False}


@pytest.mark.parametrize(
    "request_line", [b"take x\n", b"take -1\n", b"give 1e99\n", b"hi\n"]
)
def test_peer_closes_invalid_connections(served, request_line):
    host, port = served.rsplit(":", 1)
    with socket.create_connection((host, int(port)), 10) as sock:
        sock.sendall(request_line)

        assert sock.recv(100) == b""


@pytest.fixture
def served(at_home):
    program = compilation.program_path("system")
    with subprocess.Popen(
        [program, "serve", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True
    ) as server:
        line = server.stdout.readline()
        yield re.fullmatch(r"serving at (\S+)\n", line)[1]
        server.kill()


@pytest.fixture
def silent():
    """Return a port with a full queue, for which Linux drops connection attempts."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
        address = listening.getsockname()
        with socket.create_connection(address):
            yield f"127.0.0.1:{address[1]}"


@pytest.fixture
def liar():
    """Start a peer that returns what it receives."""

    def attend():
        with listening.accept()[0] as sock:
            sock.recv(5)
            while byte := sock.recv(1):
                sock.sendall(byte)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=attend, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        thread.join(10)


def test_all_sources_are_in_the_agent():
    folder = Path(compilation.__file__).parent
    text = "".join(
        (folder / name).read_text() for name in compilation.SOURCES["system"]
    )

    included = set(re.findall(r'#include "(\S+)"', text))
    assert included <= set(compilation.SOURCES["system"])
