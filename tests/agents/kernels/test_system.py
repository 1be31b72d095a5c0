"""System, disk and network, compiled here: every answer is looked at."""

import re
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from agents.kernels import building
from benchmarks.parsing import reading

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


def test_rates_are_what_was_done_over_time(kernel, tmp_path):
    each = {"context-switch": 2, **dict.fromkeys(("pipe", "send", "receive"), 0.065536)}

    for row in rows(kernel("system", *SHORT, "--folder", tmp_path)):
        done = int(row["turns"]) * each.get(row["operation"], 1)
        assert float(row["rate"]) == pytest.approx(done / float(row["local"]), rel=5e-3)


def test_more_time_is_more_turns(kernel):
    """A loop that a compiler left out would take none."""

    def turns(least_s):
        words = ("--operations", "system-call", "--repetitions", 1)
        (row,) = rows(kernel("system", *words, "--seconds", least_s))
        return int(row["turns"])

    assert turns(0.2) > 2 * turns(0.005)


def test_a_peer_that_answers_wrongly_is_wrong_and_no_result(kernel, liar):
    words = ("--operations", "round-trip", "--peer", liar, *SHORT)

    said = kernel("system", *words)
    (run,) = reading.read(said)

    assert "failed round-trip: a wrong answer" in said
    assert run.status == "rejected"


def test_the_peer_serves_and_the_network_is_another_machines(kernel, served):
    said = kernel("system", "--operations", ",".join(NETWORK), "--peer", served, *SHORT)

    assert {row["check"] for row in rows(said)} == {"right"}
    assert f"network: {served}" in said


def test_a_peer_that_is_away_is_said(kernel):
    said = kernel("system", "--operations", "send", "--peer", "127.0.0.1:9", *SHORT)

    assert "skipped send: the peer does not answer" in said


def test_a_peer_that_says_nothing_to_a_connection_is_not_awaited_for_long(
    kernel, silent
):
    begun_s = time.monotonic()

    said = kernel("system", "--operations", "send", "--peer", silent, *SHORT)

    assert "skipped send: the peer does not answer" in said
    assert time.monotonic() - begun_s < 60  # Linux by itself gives up after 130 s


def test_a_folder_that_takes_no_file_is_said(kernel, tmp_path):
    said = kernel("system", "--folder", tmp_path / "none", *SHORT)

    assert "skipped file-create: no file can be made in the folder" in said
    assert "skipped random-read: the file cannot be written" in said


def test_files_in_memory_are_not_called_a_disk(kernel):
    words = ("--operations", "random-read", "--folder", "/dev/shm", *SHORT)

    assert "page cache: yes" in kernel("system", *words)


def test_an_operation_that_it_does_not_have_is_refused(kernel):
    said = kernel("system", "--operations", "fork,swap", code=2)

    assert said == "--operations: there is no swap.\n"


def test_a_time_server_times_every_row(kernel, time_server):
    words = ("--operations", "system-call,pipe", *SHORT)

    found = rows(kernel("system", *words, "--time-server", f"[::1]:{time_server.port}"))
    told = rows(
        kernel("system", *words, "--time-server", f"127.0.0.1:{time_server.port}")
    )

    assert {row["external"] for row in found} == {"-"}  # it listens at IPv4 alone
    assert {row["external"] == "-" for row in told} == {False}


@pytest.mark.parametrize("said", [b"take x\n", b"take -1\n", b"give 1e99\n", b"hi\n"])
def test_the_peer_hangs_up_on_nonsense(served, said):
    host, port = served.rsplit(":", 1)
    with socket.create_connection((host, int(port)), 10) as sock:
        sock.sendall(said)

        assert sock.recv(100) == b""


@pytest.fixture
def served(at_home):
    program = building.program_of("system")
    with subprocess.Popen(
        [program, "serve", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True
    ) as server:
        line = server.stdout.readline()
        yield re.fullmatch(r"serving at (\S+)\n", line)[1]
        server.kill()


@pytest.fixture
def silent():
    """Where Linux drops who wants to connect: as many wait as may."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
        address = listening.getsockname()
        with socket.create_connection(address):
            yield f"127.0.0.1:{address[1]}"


@pytest.fixture
def liar():
    """A peer that sends back what it got."""

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


def test_its_sources_are_all_in_the_agent():
    folder = Path(building.__file__).parent
    text = "".join((folder / name).read_text() for name in building.SOURCES["system"])

    included = set(re.findall(r'#include "(\S+)"', text))
    assert included <= set(building.SOURCES["system"])
