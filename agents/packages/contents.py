"""The files and scripts that the deb and the rpm install."""

import os
from typing import Dict, NamedTuple

from agents import build

NAME = "virtlab-agent"
SUMMARY = "Measure what a hypervisor costs and send the runs to Virtlab"
DESCRIPTION = (
    "The agent detects the platform, runs benchmark tools and sends their output.",
    "The service virtlab-agent sends waiting runs; the timer virtlab-agent-plan@N",
    "follows plan N every night. Both run as the user virtlab-agent.",
)
DEB_NAME, RPM_NAME = "virtlab-agent.deb", "virtlab-agent.rpm"
MAINTAINER = "Virtlab <virtlab@localhost>"
HOME = "/var/lib/virtlab-agent"
PROGRAM = "/usr/share/virtlab-agent/" + build.NAME
CONFIGURATION = "/etc/virtlab-agent/allow.conf"
# Date of each file: the same sources give the same bytes (2010-07-29).
DATE_S = 1280361600

_FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "files")
_UNITS = (
    "virtlab-agent.service",
    "virtlab-agent-plan@.service",
    "virtlab-agent-plan@.timer",
)

CREATE_USER = """\
if ! getent passwd virtlab-agent >/dev/null; then
    useradd --system --user-group --home-dir {home} --no-create-home \\
        --shell /usr/sbin/nologin --comment "Virtlab agent" virtlab-agent
fi
install -d -o virtlab-agent -g virtlab-agent -m 0700 {home}
""".format(home=HOME)
RELOAD = """\
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
fi
"""
RESTART = """\
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
    systemctl try-restart virtlab-agent.service || true
fi
"""
STOP = """\
if [ -d /run/systemd/system ]; then
    systemctl stop virtlab-agent.service 'virtlab-agent-plan@*' || true
fi
rm -f /etc/systemd/system/*.wants/virtlab-agent.service \\
    /etc/systemd/system/*.wants/virtlab-agent-plan@*.timer
"""
PURGE = """\
rm -rf {home} /etc/virtlab-agent /etc/systemd/system/virtlab-agent*.d \\
    /var/lib/systemd/timers/stamp-virtlab-agent-plan@*.timer
if getent passwd virtlab-agent >/dev/null; then
    userdel virtlab-agent
fi
""".format(home=HOME)


class PackedFile(NamedTuple):
    """A file (mode 0644 or 0755), or a link if ``target`` is given."""

    content: bytes = b""
    mode: int = 0o644
    target: str = ""


def package_files() -> Dict[str, PackedFile]:
    files = {
        PROGRAM: PackedFile(build.build_archive(), 0o755),
        "/usr/bin/" + NAME: PackedFile(mode=0o777, target=PROGRAM),
        CONFIGURATION: PackedFile(_content("allow.conf")),
        "/usr/share/doc/virtlab-agent/copyright": PackedFile(licence()),
    }
    for name in _UNITS:
        files["/usr/lib/systemd/system/" + name] = PackedFile(_content(name))
    return files


def parent_folders(paths: Dict[str, PackedFile]) -> Dict[str, bool]:
    """Return all folders above the paths; the value states whether they are ours."""
    folders = {}
    for path in paths:
        while path.count("/") > 1:
            path = path.rpartition("/")[0]
            folders[path] = path.rpartition("/")[2] == NAME
    return folders


def _content(name: str) -> bytes:
    with open(os.path.join(_FILES, name), "rb") as file:
        return file.read()


def licence() -> bytes:
    with open(os.path.join(os.path.dirname(build.FOLDER), "LICENSE"), "rb") as file:
        return file.read()
