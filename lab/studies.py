"""The study of a lab and its machine, written to the server before anything runs."""

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Final

from agents.client import Client, RefusedError
from lab.errors import LabError
from lab.images import codename
from lab.jobs import agents_files, write_job
from lab.machines import bare
from lab.servers import Server

# What is of the moment, or of the program that asked, is no fact of the machine.
NOT_OF_THE_MACHINE: Final = ("platform", "evidence", "agent", "steal")

TITLE: Final = "Native, container, QEMU, KVM and Xen on one machine, emulated"
NOTE: Final = (
    "Real guests of an ordinary machine without special hardware, by make lab "
    "(docs/lab.md). Every guest runs on QEMU's software emulation of a processor, "
    "KVM's and Xen's on an emulated one that has AMD-V, so that their figures show "
    "that the chain works, not which hypervisor is faster. Native and container "
    "share this machine's kernel, and all share one user space (Debian {codename}) and "
    "the same static programs. {beneath}"
)


def facts_of_machine(agent: Path, root: Path, folder: Path) -> dict[str, Any]:
    """Return what the agent finds out about this machine in the guests' own root."""
    start = "cd /mnt && exec python3 virtlab-agent.pyz detect --json\n"
    job = write_job(folder / "jobs" / "detect", start, agents_files(agent), {})
    done = subprocess.run(
        bare(str(root), str(job)), capture_output=True, text=True, timeout=60
    )
    if done.returncode != 0:
        raise LabError(f"The agent cannot look at this machine: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def found_study(
    server: Server, facts: dict[str, Any], slug: str, machine: str
) -> tuple[str, ...]:
    """Write study and machine to the server; return what this machine stands on."""
    layers = tuple(facts["platform"]["layers"])
    client = Client(server.url, server.token, patience_s=30)
    reader = Client(server.url, server.read_token, patience_s=30)
    if any(each["slug"] == slug for each in reader.get_all("studies/")):
        raise LabError(
            f"There is a study {slug} already, and every pass is one of its own: "
            "name another one (STUDY=...)."
        )
    client.create_study(
        {
            "slug": slug,
            "title": TITLE,
            "published": time.strftime("%Y-%m-%d"),
            "note": NOTE.format(codename=codename(), beneath=_beneath(layers)),
            "visibility": "public",
        }
    )
    kept = {name: facts[name] for name in facts if name not in NOT_OF_THE_MACHINE}
    # Register the machine; what it stated at an earlier time stays.
    host = {"slug": machine, "title": "Lab machine", "facts": kept}
    try:
        client.register_host(host)
    except RefusedError as refused:
        if refused.code != "host_exists":
            raise
    return layers


def _beneath(layers: tuple[str, ...]) -> str:
    if not layers:
        return "The machine itself is bare metal."
    named = " > ".join(layers)
    return f"The machine itself is a guest ({named}): native is without another layer."


def versions_here() -> dict[str, str]:
    """Return the versions of what this machine lends its guests, by layer."""
    found = {}
    for layer, argv, place in (
        ("qemu-tcg", ("qemu-system-x86_64", "--version"), 3),
        ("systemd-nspawn", ("systemd-nspawn", "--version"), 1),
    ):
        if shutil.which(argv[0]):
            words = subprocess.run(argv, capture_output=True, text=True).stdout.split()
            found[layer] = words[place]
    return found
