"""Packages in a booted systemd, and deploy/install-agents.sh over SSH.

systemd-nspawn boots the machine with this machine's network (make test-packages).
"""

import json
import os
import re
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from agents.packages import contents
from agents.packages.build import main
from running.product_launcher import free_port
from tests.agents.conftest import serving, telling_time
from tests.agents.packages.test_installed_packages import debian_root, ours, run
from tests.agents.packages.test_many_machines import SCRIPT, PackageHandler
from tests.agents.packed_agent import (
    HACKBENCH,
    PART,
    TOKEN,
    PlanningHandler,
    PlanningServer,
    await_true,
)

pytestmark = pytest.mark.packages

AGENT = ("runuser", "-u", contents.NAME, "--", "env", f"HOME={contents.HOME}")
EVERY_SECOND = """\
[Timer]
OnCalendar=
OnCalendar=*-*-* *:*:*
AccuracySec=100ms
"""
OPTIONS = "[Service]\nEnvironment='PLAN_OPTIONS=--system=17 --as a'\n"


class Machine:
    """A Debian booted by systemd-nspawn; ``ssh_port`` is that of its SSH server."""

    def __init__(self, root: Path) -> None:
        self.root, self.ssh_port = root, free_port()
        config = f"Port {self.ssh_port}\nListenAddress 127.0.0.1\n"
        self.write("etc/ssh/sshd_config.d/test.conf", config)
        self.write("etc/machine-id", "")
        words = ("--quiet", "--register=no", "--keep-unit", "--console=pipe")
        self.process = subprocess.Popen(
            ["systemd-nspawn", *words, "--boot", "-D", str(root)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        await_true(self._is_running)

    def write(self, name: str, text: str, mode: int = 0o644) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def call(self, *argv, check=True):
        pid = self.process.pid
        leader = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]
        return run("nsenter", "--all", "--target", leader, *argv, check=check)

    def _is_running(self) -> bool:
        time.sleep(0.2)
        try:
            state = self.call("systemctl", "is-system-running", check=False)
        except (OSError, IndexError):
            return False
        return state.stdout.strip() in ("running", "degraded")

    def show(self, unit: str, name: str) -> str:
        return self.call(
            "systemctl", "show", "--value", "-p", name, unit
        ).stdout.strip()

    def journal(self) -> str:
        return self.call("journalctl", "--no-pager", "-t", contents.NAME).stdout

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()


class FleetHandler(PackageHandler, PlanningHandler):
    """Serves packages and a plan."""


@pytest.fixture
def server():
    server = PlanningServer()
    server.RequestHandlerClass = FleetHandler
    yield from serving(server)


@pytest.fixture
def machine(tmp_path, tmp_path_factory):
    base = debian_root(tmp_path_factory)
    with ExitStack() as stack:
        run("mount", "-t", "tmpfs", "none", str(tmp_path))
        stack.callback(run, "umount", str(tmp_path))
        for part in ("upper", "work", "root"):
            (tmp_path / part).mkdir()
        folders = f"lowerdir={base},upperdir={tmp_path}/upper,workdir={tmp_path}/work"
        root = str(tmp_path / "root")
        run("mount", "-t", "overlay", "overlay", "-o", folders, root)
        stack.callback(run, "umount", root)
        booted = Machine(tmp_path / "root")
        stack.callback(booted.stop)
        yield booted


@pytest.fixture
def installed(machine, server, tmp_path):
    """Return the machine with the deb, enrolled."""
    main(str(tmp_path / "dist"))
    package = (tmp_path / "dist" / contents.DEB_NAME).read_bytes()
    (machine.root / "root/agent.deb").write_bytes(package)
    machine.call("dpkg", "--install", "/root/agent.deb")
    (machine.root / "root/agent.deb").unlink()
    with telling_time() as clock:
        words = ("--server", server.url, "--token", TOKEN, "--study", "study")
        clock_words = ("--time-server", f"udp://127.0.0.1:{clock.port}")
        machine.call(*AGENT, contents.NAME, "enroll", *words, *clock_words)
        yield machine


def users_of(machine, unit):
    """Return the users of a unit's processes."""
    pid = machine.show(unit, "MainPID")
    return machine.call("ps", "-o", "user:20=", "-p", pid).stdout.split()


def test_service_sends_runs_as_its_user_and_purge_leaves_nothing(installed, server):
    machine = installed
    machine.write("opt/hackbench.txt", HACKBENCH)
    words = ("--later", "--host", "alpha", "--hypervisor", "KVM")
    machine.call(*AGENT, contents.NAME, "push", "/opt/hackbench.txt", *words)
    assert not server.stored

    machine.call("systemctl", "enable", "--now", "virtlab-agent")

    await_true(lambda: server.stored)
    # systemd forks the process as root.
    await_true(lambda: users_of(machine, "virtlab-agent") == [contents.NAME])
    rated = machine.call("systemd-analyze", "security", "virtlab-agent").stdout
    assert float(re.findall(r"exposure level[^:]*: ([\d.]+)", rated)[0]) < 1.5

    machine.call("dpkg", "--purge", contents.NAME)

    units = machine.call("systemctl", "list-units", "--all", "virtlab*").stdout
    assert "0 loaded units" in units
    assert "virtlab" not in machine.call("ps", "-e", "-o", "user:20,args").stdout
    assert ours(machine.root) == set()


def test_timer_measures_the_plan(installed, server):
    machine = installed
    tool = f"#!/bin/sh\ncat <<'END'\n{HACKBENCH}END\n"
    machine.write("usr/local/bin/hackbench", tool, 0o755)
    units = "etc/systemd/system/virtlab-agent-plan@7"
    machine.write(f"{units}.timer.d/test.conf", EVERY_SECOND)
    machine.write(f"{units}.service.d/test.conf", OPTIONS)
    server.parts = [{**PART, "vms": 1}]
    machine.call("systemctl", "daemon-reload")

    machine.call("systemctl", "enable", "--now", "virtlab-agent-plan@7.timer")

    await_true(lambda: server.stored)
    (document,) = server.stored.values()
    assert document["output"] == HACKBENCH
    assert machine.show("virtlab-agent-plan@7.service", "User") == contents.NAME
    machine.call("dpkg", "--purge", contents.NAME)
    assert ours(machine.root) == set()


def test_erased_rpm_stops_its_service(machine, server, tmp_path):
    main(str(tmp_path / "dist"))
    package = (tmp_path / "dist" / contents.RPM_NAME).read_bytes()
    (machine.root / "root/agent.rpm").write_bytes(package)
    rpm = ("--nodeps", "--force-debian")
    machine.call("rpm", "--install", *rpm, "/root/agent.rpm")
    words = ("--server", server.url, "--token", TOKEN, "--study", "study")
    machine.call(*AGENT, contents.NAME, "enroll", *words)
    machine.call("systemctl", "enable", "--now", "virtlab-agent")
    assert machine.show("virtlab-agent", "ActiveState") == "active"

    machine.call("rpm", "--erase", *rpm, contents.NAME)

    units = machine.call("systemctl", "list-units", "--all", "virtlab*").stdout
    assert "0 loaded units" in units
    assert "virtlab" not in machine.call("ps", "-e", "-o", "user:20,args").stdout


def test_agents_are_installed_over_ssh_and_started(machine, server, tmp_path):
    key = tmp_path / "key"
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
    public = key.with_suffix(".pub").read_text()
    machine.write("root/.ssh/authorized_keys", public, 0o600)
    settings = (
        "Host vm-a",
        "HostName 127.0.0.1",
        f"Port {machine.ssh_port}",
        f"IdentityFile {key}",
        "StrictHostKeyChecking no",
        "UserKnownHostsFile /dev/null",
    )
    (tmp_path / "config").write_text("\n".join(settings) + "\n")
    program = tmp_path / "bin/ssh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {tmp_path}/config "$@"\n')
    program.chmod(0o755)

    with telling_time() as clock:
        line = f"root@vm-a --time-server udp://127.0.0.1:{clock.port}\n"
        (tmp_path / "machines.txt").write_text(line)
        done = subprocess.run(
            [str(SCRIPT), server.url, "study", str(tmp_path / "machines.txt")],
            env={**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"},
            input=TOKEN,
            capture_output=True,
            text=True,
            timeout=300,
        )

    assert done.returncode == 0, done.stdout + done.stderr
    assert machine.show("virtlab-agent", "ActiveState") == "active"
    # systemd forks the process as root.
    await_true(lambda: users_of(machine, "virtlab-agent") == [contents.NAME])
    home = machine.root / contents.HOME[1:] / ".virtlab-agent"
    assert json.loads((home / "agent.json").read_text())["study"] == "study"
