"""Commands that start machines, and the shell scripts that guests run. PURE.

Scripts print lines on the console that begin with `lab:`. Only `lab: NAME is done`
shows that a system has completed all its work.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from testbed.schedule import FOLDER

# The network card gets the name eth0, which scripts use. A kernel panic reboots, and
# with -no-reboot that ends QEMU.
KERNEL_ARGUMENTS: Final = "net.ifnames=0 quiet panic=-1"
SVM: Final = "qemu64,+svm,+npt"  # `max` crashes Xen's dom0
XEN_ARGUMENTS: Final = "console=com1 com1=115200,8n1 dom0_mem=768M loglvl=warning"
AGENT: Final = "python3 virtlab-agent.pyz"
CLOCK_S: Final = 3
WARM_UP: Final = "sysbench memory --memory-total-size=1M run > /dev/null"
# Xen runs these scripts when a guest gets a disk or network card. Xen's own disk script
# takes a minute on a busy emulated processor.
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
class QemuMachine:
    """A machine of QEMU; its first disk is the root, ``raw`` is the measured disk."""

    kernel: str
    initrd: str
    disks: tuple[str, ...]
    raw: str = ""
    memory_mib: int = 512
    accel: str = "tcg"
    cpu: str = "qemu64"
    xen: str = ""
    network: str = "10.0.2.0/24"
    extra_arguments: tuple[str, ...] = ()


def qemu_command(machine: QemuMachine) -> list[str]:
    """Return a machine's command; only the measured disk keeps changes."""
    argv = ["qemu-system-x86_64", "-machine", "q35", "-accel", machine.accel]
    argv += ["-cpu", machine.cpu, "-smp", "1", "-m", str(machine.memory_mib)]
    argv += ["-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio"]
    root = f"root=/dev/vda {KERNEL_ARGUMENTS}"
    if machine.xen:
        # Commas separate multiboot modules, so dom0's arguments must not contain any.
        modules = f"{machine.kernel} console=hvc0 {root},{machine.initrd}"
        argv += ["-kernel", machine.xen, "-append", XEN_ARGUMENTS, "-initrd", modules]
    else:
        argv += ["-kernel", machine.kernel, "-initrd", machine.initrd]
        argv += ["-append", f"console=ttyS0 {root}"]
    for disk in machine.disks:
        argv += ["-drive", f"file={disk},if=virtio,format=raw,snapshot=on"]
    if machine.raw:
        argv += ["-drive", f"file={machine.raw},if=virtio,format=raw,cache=none"]
    argv += ["-nic", f"user,model=virtio-net-pci,net={machine.network}"]
    return [*argv, *machine.extra_arguments]


def xen_guest_config(name: str, kind: str) -> str:
    return f'''name = "{name}"
type = "{kind}"
kernel = "/run/job/vmlinuz"
ramdisk = "/run/job/initrd"
extra = "console=hvc0 root=/dev/xvda {KERNEL_ARGUMENTS}"
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


def container_command(root: str, job: str) -> list[str]:
    return [
        *("systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--as-pid2"),
        *("--directory", root, "--volatile=overlay", f"--bind={job}:/mnt"),
        *("/bin/sh", "/mnt/start"),
    ]


def chroot_command(root: str, job: str) -> list[str]:
    """Return a command that runs a job natively in the guests' root file system.

    Its mounts are private.
    """
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
class GuestNetwork:
    address: str = ""
    gateway: str = ""
    disk: str = ""


@dataclass(frozen=True)
class GuestEnrolment:
    """The agent's enrolment, with addresses at which the guest reaches the servers."""

    server: str
    time_server: str
    study: str
    machine: str


def measuring_script(
    name: str,
    network: GuestNetwork,
    enrolment: GuestEnrolment,
    commands: Sequence[Sequence[str]],
) -> str:
    enroll = ["enroll", "--server", enrolment.server, "--token", "-"]
    enroll += ["--study", enrolment.study, "--host", enrolment.machine]
    enroll += ["--time-server", enrolment.time_server]
    clock = f"python3 clock.py check {enrolment.time_server} {CLOCK_S}"
    steps = [f"mkdir -p {FOLDER}"]
    steps += [f"mount {network.disk} {FOLDER}"] if network.disk else []
    steps += [f"{AGENT} {shlex.join(enroll)} < token", clock, WARM_UP]
    steps += [f"{AGENT} {shlex.join(command)}" for command in commands]
    setup = []
    if network.address:
        setup = _interface("eth0", network)
        setup.append(f"python3 clock.py set {enrolment.time_server}")
    # Through a pipe, the agent prints its progress as lines.
    return "\n".join(
        [
            "{",
            'cd "$(dirname "$0")"',
            "export VIRTLAB_AGENT=$PWD/agent",
            *setup,
            f"echo 'lab: {name} is up'",
            " &&\n    ".join([*steps, f"echo 'lab: {name} is done'"]),
            "} 2>&1 | cat",
            "",
        ]
    )


def _interface(name: str, network: GuestNetwork) -> list[str]:
    return [
        "ip link set lo up",
        f"ip link set {name} up",
        f"ip addr add {network.address}/24 dev {name}",
        f"ip route add default via {network.gateway}",
    ]


def kvm_host_script(machine: QemuMachine) -> str:
    return "\n".join(
        [
            "cd /run/job",
            *_interface("eth0", GuestNetwork("10.0.2.15", "10.0.2.2")),
            "modprobe kvm_amd",
            f"exec {shlex.join(qemu_command(machine))} < /dev/null",
            "",
        ]
    )


def xen_host_script(guests: Sequence[tuple[str, str]]) -> str:
    """Return a script that runs guests one after another, in a dom0 without systemd."""
    starts = [
        line
        for name, kind in guests
        for line in (
            f"losetup /dev/loop0 {name}.tar",
            f"cat > {name}.cfg <<'END'\n{xen_guest_config(name, kind)}END",
            # xl waits for the end of the attached guest.
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
            *_interface("xenbr0", GuestNetwork("10.0.2.15", "10.0.2.2")),
            *starts,
            "",
        ]
    )
