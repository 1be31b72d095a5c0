"""What starts each machine, and the shell script that each guest runs. PURE.

Scripts speak to us by lines on the console. A line that begins with `lab:` is meant for
the lab; `lab: NAME is done` is the only sign that a system did all that was asked.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lab.boots import FOLDER

# Scripts name eth0 (net.ifnames=0); with -no-reboot a kernel that panics ends QEMU.
WORDS: Final = "net.ifnames=0 quiet panic=-1"
SVM: Final = "qemu64,+svm,+npt"  # `max` crashes Xen's dom0
XEN_WORDS: Final = "console=com1 com1=115200,8n1 dom0_mem=768M loglvl=warning"
AGENT: Final = "python3 virtlab-agent.pyz"
CLOCK_S: Final = 3
WARM_UP: Final = "sysbench memory --memory-total-size=1M run > /dev/null"
# What Xen runs when a guest gets a disk or a network card, in a few programs only:
# its own script for disks takes a minute on a busy emulated processor.
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


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A QEMU machine; the first disk is its root, the ``raw`` one is measured."""

    kernel: str
    initrd: str
    disks: tuple[str, ...]
    raw: str = ""
    memory_mib: int = 512
    accel: str = "tcg"
    cpu: str = "qemu64"
    xen: str = ""
    network: str = "10.0.2.0/24"
    more: tuple[str, ...] = ()


def qemu(machine: Machine) -> list[str]:
    """Return its command line: one processor, and nothing written to the root disk."""
    argv = ["qemu-system-x86_64", "-machine", "q35", "-accel", machine.accel]
    argv += ["-cpu", machine.cpu, "-smp", "1", "-m", str(machine.memory_mib)]
    # The console is our standard output, and a machine that reboots is over.
    argv += ["-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio"]
    root = f"root=/dev/vda {WORDS}"
    if machine.xen:
        # Multiboot modules are parted by commas, so that dom0's words may hold none.
        modules = f"{machine.kernel} console=hvc0 {root},{machine.initrd}"
        argv += ["-kernel", machine.xen, "-append", XEN_WORDS, "-initrd", modules]
    else:
        argv += ["-kernel", machine.kernel, "-initrd", machine.initrd]
        argv += ["-append", f"console=ttyS0 {root}"]
    for disk in machine.disks:
        argv += ["-drive", f"file={disk},if=virtio,format=raw,snapshot=on"]
    if machine.raw:
        argv += ["-drive", f"file={machine.raw},if=virtio,format=raw,cache=none"]
    argv += ["-nic", f"user,model=virtio-net-pci,net={machine.network}"]
    return [*argv, *machine.more]


def xen_guest(name: str, kind: str) -> str:
    """Return the configuration of a Xen guest; its files lie in the job's folder."""
    return f'''name = "{name}"
type = "{kind}"
kernel = "/run/job/vmlinuz"
ramdisk = "/run/job/initrd"
extra = "console=hvc0 root=/dev/xvda {WORDS}"
memory = 384
vcpus = 1
disk = [ "{_xen_disk("xvda", "rw", "/dev/vdc")}",
         "{_xen_disk("xvdb", "ro", "/dev/loop0")}",
         "{_xen_disk("xvdc", "rw", "/dev/vdd")}" ]
vif = [ "bridge=xenbr0,script=/run/job/vif" ]
on_poweroff = "destroy"
on_reboot = "destroy"
on_crash = "destroy"
'''


def _xen_disk(name: str, access: str, target: str) -> str:
    return (
        f"format=raw, vdev={name}, access={access}, backendtype=phy, "
        f"script=/run/job/block, target={target}"
    )


def container(root: str, job: str) -> list[str]:
    """Return what starts a container on a root that it cannot change."""
    return [
        *("systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--as-pid2"),
        *("--directory", root, "--volatile=overlay", f"--bind={job}:/mnt"),
        *("/bin/sh", "/mnt/start"),
    ]


def bare(root: str, job: str) -> list[str]:
    """Return what runs natively in the guests' root: mounts end with the process."""
    steps = [
        f"mount --bind {shlex.quote(root)} {shlex.quote(root)}",
        f"cd {shlex.quote(root)}",
        "mount --rbind /proc proc",
        "mount --rbind /sys sys",
        "mount --rbind /dev dev",
        "mount -t tmpfs tmpfs tmp",
        f"mount --bind {shlex.quote(job)} mnt",
        "exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "
        "chroot . /bin/sh /mnt/start",
    ]
    return ["unshare", "--mount", "sh", "-c", " && ".join(steps)]


@dataclass(frozen=True)
class Place:
    """Where a guest stands in its network, and its raw disk."""

    address: str = ""
    gateway: str = ""
    disk: str = ""


@dataclass(frozen=True)
class Enrolment:
    """What an agent is enrolled with; addresses as its system sees them."""

    server: str
    time_server: str
    study: str
    machine: str


def measuring(
    name: str, place: Place, enrolment: Enrolment, commands: Sequence[Sequence[str]]
) -> str:
    """Return the script of a system that enrolls, detects and runs the agent."""
    enroll = ["enroll", "--server", enrolment.server, "--token", "-"]
    enroll += ["--study", enrolment.study, "--host", enrolment.machine]
    enroll += ["--time-server", enrolment.time_server]
    clock = f"python3 clock.py check {enrolment.time_server} {CLOCK_S}"
    done = [f"mkdir -p {FOLDER}"]
    done += [f"mount {place.disk} {FOLDER}"] if place.disk else []
    done += [f"{AGENT} {shlex.join(enroll)} < token", clock, WARM_UP]
    done += [f"{AGENT} {shlex.join(command)}" for command in commands]
    network = []
    if place.address:
        network = _interface("eth0", place)
        network.append(f"python3 clock.py set {enrolment.time_server}")
    # On a terminal the agent's progress would overwrite itself.
    return "\n".join(
        [
            "{",
            'cd "$(dirname "$0")"',
            "export VIRTLAB_AGENT=$PWD/agent",
            *network,
            f"echo 'lab: {name} is up'",
            " &&\n    ".join([*done, f"echo 'lab: {name} is done'"]),
            "} 2>&1 | cat",
            "",
        ]
    )


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
            f"exec {shlex.join(qemu(machine))} < /dev/null",
            "",
        ]
    )


def xen_tower(guests: Sequence[tuple[str, str]]) -> str:
    """Return the script of a dom0 (no systemd) that runs guests in turn."""
    starts = [
        line
        for name, kind in guests
        for line in (
            f"losetup /dev/loop0 {name}.tar",
            f"cat > {name}.cfg <<'END'\n{xen_guest(name, kind)}END",
            # -c follows the guest's console, and so waits for its end.
            f"xl create -c {name}.cfg",
            f"xl destroy {name} 2> /dev/null; sleep 1",
            "losetup -d /dev/loop0",
        )
    ]
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
