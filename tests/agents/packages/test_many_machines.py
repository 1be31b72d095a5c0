"""deploy/install-agents.sh on twenty machines (make test-packages).

They are chroots that share one Debian by overlayfs; a program named `ssh` enters them.
"""

import json
import os
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from agents.packages.build import BUILDERS
from tests.agents.conftest import serving, telling_time
from tests.agents.packages.test_installed_packages import debian_root, run
from tests.agents.packed_agent import TOKEN, KeepingHandler, KeepingServer
from tests.agents.test_signatures import SIGNATURE

pytestmark = pytest.mark.packages

SCRIPT = Path(__file__).parents[3] / "deploy/install-agents.sh"
SSH = """\
#!/bin/sh
[ "$1 $2" = "-o BatchMode=yes" ] || exit 99
root={folder}/${{3#root@}}/root
[ -d "$root" ] || {{ echo "ssh: Could not resolve hostname $3" >&2; exit 255; }}
exec chroot "$root" sh -c "$4"
"""
NAMES = [f"vm-{number}" for number in range(20)]


class PackageHandler(KeepingHandler):
    def do_GET(self):  # noqa: N802
        name = self.path.removeprefix("/agent/")
        if name not in BUILDERS and not name.endswith(".minisig"):
            return super().do_GET()
        content = BUILDERS[name]() if name in BUILDERS else SIGNATURE.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        return None


@pytest.fixture
def server():
    server = KeepingServer()
    server.RequestHandlerClass = PackageHandler
    yield from serving(server)


@pytest.fixture
def machines(tmp_path, tmp_path_factory):
    base = debian_root(tmp_path_factory)
    with ExitStack() as stack:
        run("mount", "-t", "tmpfs", "none", str(tmp_path))
        stack.callback(run, "umount", str(tmp_path))
        for name in NAMES:
            folder = tmp_path / name
            for part in ("upper", "work", "root"):
                (folder / part).mkdir(parents=True)
            options = f"lowerdir={base},upperdir={folder}/upper,workdir={folder}/work"
            root = str(folder / "root")
            run("mount", "-t", "overlay", "overlay", "-o", options, root)
            stack.callback(run, "umount", root)
        program = tmp_path / "bin/ssh"
        program.parent.mkdir()
        program.write_text(SSH.format(folder=tmp_path))
        program.chmod(0o755)
        yield tmp_path


def install(machines, server, lines, **environment):
    (machines / "machines.txt").write_text("# all\n\n" + "\n".join(lines) + "\n")
    path = f"{machines}/bin:{os.environ['PATH']}"
    return subprocess.run(
        [str(SCRIPT), server.url, "study", str(machines / "machines.txt")],
        env={**os.environ, "PATH": path, **environment},
        input=TOKEN,
        capture_output=True,
        text=True,
        timeout=900,
    )


def test_twenty_machines_are_enrolled_and_a_missing_one_is_named(machines, server):
    with telling_time() as clock:
        address = f"udp://127.0.0.1:{clock.port}"
        lines = [f"root@{name} --time-server {address}" for name in NAMES]
        done = install(machines, server, [*lines, "root@gone"])

    assert done.returncode != 0
    assert done.stdout.count("installed: ") == 20, done.stdout + done.stderr
    assert "FAILED: root@gone: ssh: Could not resolve" in done.stdout
    assert TOKEN not in done.stdout + done.stderr
    for name in NAMES:
        root = machines / name / "root"
        home = root / "var/lib/virtlab-agent/.virtlab-agent"
        stored = json.loads((home / "agent.json").read_text())
        assert (stored["server"], stored["study"]) == (server.url, "study")
        assert stored["time_server"] == address
        wants = root / "etc/systemd/system/multi-user.target.wants"
        assert (wants / "virtlab-agent.service").is_symlink()


def test_unsigned_packages_are_not_installed(machines, server):
    key = "RWQCWvCRjD4lBPqd0AqAD2Nm9mqTknpLvkanDDpTdfy3CvysxT5c+Zb8"

    done = install(machines, server, ["root@vm-0"], KEY=key)

    assert done.returncode != 0
    assert "NOT VERIFIED" in done.stderr
    assert not (machines / "vm-0/root/usr/bin/virtlab-agent").exists()
