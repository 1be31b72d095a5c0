"""One name for each hypervisor and virtualization type, however people spell it.

Only spellings that mean one thing are listed: "VMware" alone could be a Workstation.
"""

from __future__ import annotations

from typing import Final

from benchmarks.sentences import Sentence
from benchmarks.text import clean_text, collapse

NATIVE: Final = "native"
# A processor that a program imitates; and that layer's name in an agent's words.
EMULATOR: Final = "QEMU TCG"
EMULATED_LAYER: Final = "qemu-tcg"

HYPERVISORS: Final = {
    **dict.fromkeys(
        ("native", "none", "bare metal", "bare-metal", "baremetal"), NATIVE
    ),
    **dict.fromkeys(("vmware esxi", "vmware-esxi", "esxi"), "VMware ESXi"),
    **dict.fromkeys(("xen", "xen project", "xen hypervisor"), "Xen"),
    **dict.fromkeys(("kvm", "qemu-kvm", "qemu/kvm", "linux kvm"), "KVM"),
    **dict.fromkeys(
        ("hyper-v", "hyperv", "hyper v", "microsoft hyper-v", "ms hyper-v"), "Hyper-V"
    ),
    **dict.fromkeys(("qemu tcg", EMULATED_LAYER, "tcg"), EMULATOR),
    **dict.fromkeys(("virtualbox", "oracle virtualbox"), "VirtualBox"),
    "openvz": "OpenVZ",
    "lxc": "LXC",
    "docker": "Docker",
}

VIRTUALIZATIONS: Final = {
    **dict.fromkeys(("", "none", "native"), ""),
    **dict.fromkeys(("full", "hvm", "full virtualization"), "full"),
    **dict.fromkeys(
        ("paravirtual", "pv", "paravirtualized", "para-virtual", "paravirtualization"),
        "paravirtual",
    ),
    **dict.fromkeys(("container", "containers", "os-level"), "container"),
}


def canonical_hypervisor(name: str) -> str:
    """The product's name as its makers write it; an unknown product stays as given."""
    tidy = collapse(clean_text(name, what=Sentence("hypervisor")))
    return HYPERVISORS.get(tidy.casefold(), tidy)


def canonical_virtualization(name: str) -> str:
    """``full``, ``paravirtual``, ``dom0``, ``container``; an unknown type stays."""
    tidy = collapse(clean_text(name, what=Sentence("virtualization"))).casefold()
    return VIRTUALIZATIONS.get(tidy, tidy)
