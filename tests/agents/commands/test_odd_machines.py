"""Machines that lack something: a Python without ctypes, a network of IPv6 alone."""

import json
import socket
import subprocess
import sys
import threading

import pytest

from agents import build
from agents.timing.server import TimeServer
from tests.agents.conftest import serving
from tests.agents.stage import HACKBENCH, TOKEN, KeepingServer

# As Debian's python3-minimal: whoever imports it is told that there is none.
WITHOUT_CTYPES = """
import sys
sys.modules["ctypes"] = sys.modules["_ctypes"] = None
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[0])
from agents.__main__ import main
sys.exit(main())
"""
STUDY = ("--study", "study", "--host", "alpha", "--hypervisor", "KVM")


class SixServer(KeepingServer):
    """The same on IPv6 alone, at each address of this machine."""

    address_family = socket.AF_INET6

    def __init__(self):
        super().__init__()

    def server_bind(self):
        self.server_address = ("::", 0)
        super().server_bind()

    @property
    def url(self):
        return f"http://[::1]:{self.server_port}"


@pytest.fixture
def six():
    yield from serving(SixServer())


@pytest.fixture
def six_time():
    server = TimeServer("::", 0)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    yield server
    server.stop()
    thread.join(5)
    server.close()


@pytest.fixture
def tool(tmp_path):
    path = tmp_path / "bin" / "hackbench"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{HACKBENCH}END\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def agent(tmp_path, server, tool):
    """The agent's one file under a Python that has no ctypes."""
    path = tmp_path / build.NAME
    path.write_bytes(build.build())

    def run(*words):
        return subprocess.run(
            [sys.executable, "-I", "-c", WITHOUT_CTYPES, str(path), *words],
            env={
                "PATH": f"{tool.parent}:/usr/bin:/bin",
                "VIRTLAB_AGENT": str(tmp_path / "home"),
                "VIRTLAB_SERVER": server.url,
                "VIRTLAB_TOKEN": TOKEN,
            },
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


def test_without_ctypes_a_machine_is_looked_at(agent):
    done = agent("detect", "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["platform"]["layers"] is not None


def test_without_ctypes_tools_are_run_and_their_results_sent(agent, server):
    done = agent("run", "hackbench", "--repetitions", "2", "--warm-up", "0", *STUDY)

    assert done.returncode == 0, done.stderr
    assert len(server.stored) == 2


@pytest.mark.parametrize(
    "words",
    [("list",), ("spool", "list"), ("push", "bin/hackbench", *STUDY)],
    ids=lambda words: words[0],
)
def test_without_ctypes_nothing_else_misses_it(agent, words):
    done = agent(*words)

    assert done.returncode == 0, done.stderr
    assert "ctypes" not in done.stderr


def test_enrolling_pushing_and_running_go_over_ipv6(
    call, home, machine, six, six_time, tool, monkeypatch
):
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    time_server = f"tcp://[::1]:{six_time.port}"

    words = ("--token", TOKEN, "--study", "study")
    enrolled = call("enroll", "--server", six.url, *words, "--time-server", time_server)
    pushed = call("push", tool, *STUDY)
    ran = call("run", "hackbench", "--repetitions", "1", "--warm-up", "0", *STUDY)

    assert [enrolled[0], pushed[0], ran[0]] == [0, 0, 0], (enrolled, pushed, ran)
    clocks = [run["facts"].get("clock", {}) for run in six.stored.values()]
    assert any("external_us" in clock for clock in clocks)


@pytest.fixture
def link(monkeypatch):
    """An address on a link that not every machine has: it leads to our own servers."""
    address, connect = "fe80::1%eth7", socket.create_connection

    def connect_here(place, *more, **named):
        host = "::1" if place[0] == address else place[0]
        return connect((host, place[1]), *more, **named)

    monkeypatch.setattr(socket, "create_connection", connect_here)
    return address


@pytest.mark.parametrize("sign", ["%", "%25"])
def test_an_address_on_one_link_names_the_link_to_us_alone(
    call, home, machine, six, six_time, tool, link, sign
):
    """A server refuses a Host that it does not know: links have names here only."""
    address = link.replace("%", sign)
    url = f"http://[{address}]:{six.server_port}"
    clock = f"tcp://[{address}]:{six_time.port}"

    words = ("--token", TOKEN, "--study", "study", "--time-server", clock)
    enrolled = call("enroll", "--server", url, *words)
    pushed = call("push", tool, *STUDY)

    assert [enrolled[0], pushed[0]] == [0, 0], (enrolled, pushed)
    hosts = {headers["Host"] for _, headers, _ in six.requests}
    assert hosts == {f"[fe80::1]:{six.server_port}"}


def test_the_studies_client_is_answered_over_ipv6(six_time):
    with socket.create_connection(("::1", six_time.port), 10) as sock:
        sock.sendall(b"start\ntime\n")
        heard = b""
        while b"\n" not in heard:
            heard += sock.recv(64)

    assert heard.startswith(b"start")
