"""What guests do, as shell scripts; they speak to us by lines on the console. PURE.

A line that begins with `lab:` is meant for the lab; `lab: NAME is done` is the only
sign that a system did all that it was asked to.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lab.machines import Machine, qemu, shown, xen_guest

AGENT: Final = "python3 virtlab-agent.pyz"
CLOCK_S: Final = 3
WARM_UP: Final = "sysbench memory --time=1 run > /dev/null"


@dataclass(frozen=True)
class Place:
    """Where a guest stands in its network; nothing for who shares the machine's."""

    address: str = ""
    gateway: str = ""


@dataclass(frozen=True)
class Desk:
    """What an agent is enrolled with; addresses as its system sees them."""

    server: str
    time_server: str
    study: str
    machine: str


def measuring(
    name: str, place: Place, desk: Desk, commands: Sequence[Sequence[str]]
) -> str:
    """Return the script of a system that enrolls, detects and runs the agent."""
    enroll = ["enroll", "--server", desk.server, "--token", "-"]
    enroll += ["--study", desk.study, "--host", desk.machine]
    enroll += ["--time-server", desk.time_server]
    clock = f"python3 clock.py check {desk.time_server} {CLOCK_S}"
    done = [f"{AGENT} {shlex.join(enroll)} < token", clock, WARM_UP]
    done += [f"{AGENT} {shlex.join(command)}" for command in commands]
    # On a terminal the agent's progress would overwrite itself.
    return "\n".join(
        [
            "{",
            'cd "$(dirname "$0")"',
            "export VIRTLAB_AGENT=$PWD/agent",
            *_network(place, desk),
            f"echo 'lab: {name} is up'",
            " &&\n    ".join([*done, f"echo 'lab: {name} is done'"]),
            "} 2>&1 | cat",
            "",
        ]
    )


def _network(place: Place, desk: Desk) -> list[str]:
    if not place.address:
        return []
    return [
        *_interface("eth0", place),
        f"python3 clock.py set {desk.time_server}",
    ]


def _interface(name: str, place: Place) -> list[str]:
    return [
        "ip link set lo up",
        f"ip link set {name} up",
        f"ip addr add {place.address}/24 dev {name}",
        f"ip route add default via {place.gateway}",
    ]


def kvm_tower(machine: Machine) -> str:
    """Return the script of a machine that carries one KVM guest."""
    return "\n".join(
        [
            "cd /run/job",
            *_interface("eth0", Place("10.0.2.15", "10.0.2.2")),
            "modprobe kvm_amd",
            f"exec {shown(qemu(machine))} < /dev/null",
            "",
        ]
    )


def xen_tower(guests: Sequence[tuple[str, str]]) -> str:
    """Return the script of a dom0 that carries guests (name, kind) one after another.

    There is no systemd in it: what xencommons does is done here.
    """
    starts = [line for name, kind in guests for line in _xen_guest(name, kind)]
    modules = ("evtchn", "gntdev", "gntalloc", "blkback", "netback")
    return "\n".join(
        [
            "cd /run/job",
            "mount -t xenfs xenfs /proc/xen",
            *(f"modprobe xen-{module}" for module in modules),
            "modprobe bridge; modprobe loop",
            "mkdir -p /run/xen /run/lock /run/xenstored /var/lib/xen /var/log/xen",
            "tools=$(echo /usr/lib/xen-[0-9]*/bin)",
            '"$tools/oxenstored" --pid-file /run/oxenstored.pid; sleep 1',
            '"$tools/xen-init-dom0"',
            '"$tools/xenconsoled"',
            "ip link add name xenbr0 type bridge",
            "ip link set eth0 master xenbr0; ip link set eth0 up",
            *_interface("xenbr0", Place("10.0.2.15", "10.0.2.2")),
            *starts,
            "",
        ]
    )


def _xen_guest(name: str, kind: str) -> list[str]:
    return [
        f"losetup /dev/loop0 {name}.tar",
        f"cat > {name}.cfg <<'END'\n{xen_guest(name, kind)}END",
        f"xl create -c {name}.cfg",
        f"xl destroy {name} 2> /dev/null; sleep 1",
        "losetup -d /dev/loop0",
    ]


HOTPLUG: Final = {
    "vif": """#!/bin/sh
[ "$1" = online ] || exit 0
ip link set "$vif" master xenbr0 up &&
    xenstore-write "$XENBUS_PATH/hotplug-status" connected
""",
    "block": """#!/bin/sh
[ "$1" = add ] || exit 0
device=$(xenstore-read "$XENBUS_PATH/params")
xenstore-write "$XENBUS_PATH/physical-device" "$(stat -L -c %t:%T "$device")" \\
    "$XENBUS_PATH/hotplug-status" connected
""",
}
"""What Xen runs when a guest gets a disk or a network card, in a few programs only."""
