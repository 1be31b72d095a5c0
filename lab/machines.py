"""What starts each machine: command lines and configurations. PURE."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

INIT: Final = "rw init=/virtlab/init net.ifnames=0 quiet panic=-1"
SVM: Final = "qemu64,+svm,+npt"  # `max` crashes Xen's dom0
XEN_WORDS: Final = "console=com1 com1=115200,8n1 dom0_mem=768M loglvl=warning"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A QEMU machine: disks in order, of which the first is its root."""

    kernel: str
    initrd: str
    disks: tuple[str, ...]
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
    argv += ["-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio"]
    argv += _boot(machine)
    for disk in machine.disks:
        argv += ["-drive", f"file={disk},if=virtio,format=raw,snapshot=on"]
    argv += ["-nic", f"user,model=virtio-net-pci,net={machine.network}"]
    return [*argv, *machine.more]


def _boot(machine: Machine) -> list[str]:
    root = f"root=/dev/vda {INIT}"
    if not machine.xen:
        words = ["-kernel", machine.kernel, "-initrd", machine.initrd]
        return [*words, "-append", f"console=ttyS0 {root}"]
    # Multiboot modules are parted by commas, so that dom0's words may hold none.
    modules = f"{machine.kernel} console=hvc0 {root},{machine.initrd}"
    return ["-kernel", machine.xen, "-append", XEN_WORDS, "-initrd", modules]


def xen_guest(name: str, kind: str) -> str:
    """Return the configuration of a Xen guest; its files lie in the job's folder."""
    return f'''name = "{name}"
type = "{kind}"
kernel = "/run/job/vmlinuz"
ramdisk = "/run/job/initrd"
extra = "console=hvc0 root=/dev/xvda {INIT}"
memory = 384
vcpus = 1
disk = [ "{_xen_disk("xvda", "rw", "/dev/vdc")}",
         "{_xen_disk("xvdb", "ro", "/dev/loop0")}" ]
vif = [ "bridge=xenbr0,script=/run/job/vif" ]
on_poweroff = "destroy"
on_reboot = "destroy"
on_crash = "destroy"
'''


def _xen_disk(name: str, access: str, target: str) -> str:
    """Xen's own script for disks takes a minute on a busy emulated processor."""
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


def shown(argv: Sequence[str]) -> str:
    """Return a command line as a shell reads it."""
    return shlex.join(argv)
