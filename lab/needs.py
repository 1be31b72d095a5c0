"""What a lab needs of the machine it runs on: programs, their packages, and root."""

import os
import shutil
import subprocess
from collections.abc import Callable
from typing import Final

from lab.errors import LabError

PACKAGES: Final = {
    "mmdebstrap": "mmdebstrap",
    "mke2fs": "e2fsprogs",
    "qemu-system-x86_64": "qemu-system-x86",
    "systemd-nspawn": "systemd-container",
    "gcc": "gcc libc6-dev",
    "unshare": "util-linux",
    "ip": "iproute2",
}

Which = Callable[[str], str | None]


def missing_packages(which: Which = shutil.which) -> list[str]:
    """Return the Debian packages of the programs that are not there."""
    absent = (PACKAGES[name] for name in PACKAGES if which(name) is None)
    return [package for packages in absent for package in packages.split()]


def can_mount() -> bool:
    """Return whether mounts of our own are allowed; in many containers they are not."""
    argv = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(argv, capture_output=True).returncode == 0


def check(
    which: Which = shutil.which,
    user: Callable[[], int] = os.geteuid,
    mounts: Callable[[], bool] = can_mount,
) -> None:
    """Raise LabError with the command that makes the machine fit."""
    if packages := missing_packages(which):
        raise LabError(
            "The lab needs programs that are not here. On Debian 12, as root: "
            f"apt-get install --no-install-recommends {' '.join(packages)}"
        )
    if user() != 0:
        raise LabError(
            "The lab builds root file systems and enters them, which only root may. "
            "Run it as root: sudo make lab"
        )
    if not mounts():
        raise LabError(
            "This machine allows no mounts, which a root file system needs. In a "
            "container, run the lab outside of it, or in a privileged one."
        )
