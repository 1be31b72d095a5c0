"""Incomplete machines: Python without ctypes, a network with IPv6 only."""

import json
import socket
import subprocess
import sys
import threading

import pytest

from agents import build
from agents.timing.time_server import TimeServer
from tests.agents.conftest import serving
from tests.agents.packed_agent import HACKBENCH, TOKEN, KeepingServer

# As in Debian's python3-minimal: the import fails.
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
    """The same server on IPv6 only, on all addresses of this machine."""

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
    """The packed agent with a Python that has no ctypes."""
    path = tmp_path / build.NAME
    path.write_bytes(build.build_archive())

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


def test_detection_works_without_ctypes(agent):
    done = agent("detect", "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["platform"]["layers"] is not None


def test_running_and_sending_work_without_ctypes(agent, server):
    done = agent("run", "hackbench", "--repetitions", "2", "--warm-up", "0", *STUDY)

    assert done.returncode == 0, done.stderr
    assert len(server.stored) == 2


@pytest.mark.parametrize(
    "words",
    [("list",), ("spool", "list"), ("push", "bin/hackbench", *STUDY)],
    ids=lambda words: words[0],
)
def test_other_commands_work_without_ctypes(agent, words):
    done = agent(*words)

    assert done.returncode == 0, done.stderr
    assert "ctypes" not in done.stderr


def test_enroll_push_and_run_work_over_ipv6(
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
    """A link-local address of this machine; not every machine has one."""
    address, connect = "fe80::1%eth7", socket.create_connection

    def connect_here(endpoint, *args, **kwargs):
        host = "::1" if endpoint[0] == address else endpoint[0]
        return connect((host, endpoint[1]), *args, **kwargs)

    monkeypatch.setattr(socket, "create_connection", connect_here)
    return address


@pytest.mark.parametrize("sign", ["%", "%25"])
def test_zone_of_a_link_local_address_is_not_sent(
    call, home, machine, six, six_time, tool, link, sign
):
    """Servers refuse an unknown Host; zones have a meaning only on this machine."""
    address = link.replace("%", sign)
    url = f"http://[{address}]:{six.server_port}"
    clock = f"tcp://[{address}]:{six_time.port}"

    words = ("--token", TOKEN, "--study", "study", "--time-server", clock)
    enrolled = call("enroll", "--server", url, *words)
    pushed = call("push", tool, *STUDY)

    assert [enrolled[0], pushed[0]] == [0, 0], (enrolled, pushed)
    hosts = {headers["Host"] for _, headers, _ in six.requests}
    assert hosts == {f"[fe80::1]:{six.server_port}"}


def test_studies_client_is_answered_over_ipv6(six_time):
    with socket.create_connection(("::1", six_time.port), 10) as sock:
        sock.sendall(b"start\ntime\n")
        received = b""
        while b"\n" not in received:
            received += sock.recv(64)

    assert received.startswith(b"start")
