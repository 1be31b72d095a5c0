"""What is stated of platforms: hypervisors, and what a host's facts say of its machine.

One name for each hypervisor and virtualization type, however people spell it. Only
spellings that mean one thing are listed: "VMware" alone could be a Workstation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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

SPEEDS: Final = re.compile(
    r"(\d+(?:\.\d+)?) ?(gbe|gbit|gb/s|gigabit|mbit|mb/s)|"
    r"(gigabit|fast) ?ethernet|\bgbe\b",
    re.IGNORECASE,
)
# The first match counts, so generations stand before the plain name. iSCSI leads: what
# its network carries is the limit, whatever disk stands behind it.
BUSES: Final[tuple[tuple[str, float], ...]] = (
    (r"iscsi.*gigabit|gigabit.*iscsi", 125e6),
    (r"sata ?(iii|6)", 600e6),
    (r"sata ?(ii\b|3)", 300e6),
    (r"\bsata\b", 600e6),
    (r"\bp?ata\b|\bide\b|ultra ?dma", 133e6),
    (r"\bsas\b", 2400e6),
)
"""What a bus carries in bytes per second after its coding; a bus whose generation is
not stated has the fastest one's rate, for a limit must not be too low."""


def canonical_hypervisor(name: str) -> str:
    """The product's name as its makers write it; an unknown product stays as given."""
    tidy = collapse(clean_text(name, what=Sentence("hypervisor")))
    return HYPERVISORS.get(tidy.casefold(), tidy)


def canonical_virtualization(name: str) -> str:
    """``full``, ``paravirtual``, ``dom0``, ``container``; an unknown type stays."""
    tidy = collapse(clean_text(name, what=Sentence("virtualization"))).casefold()
    return VIRTUALIZATIONS.get(tidy, tidy)


def cores(facts: Mapping[str, object]) -> int | None:
    """The number of physical cores a host's facts state; None if they do not."""
    stated = facts.get("cores")
    # Python counts JSON's true among the integers.
    if isinstance(stated, bool) or not isinstance(stated, int):
        return None
    return stated if stated > 0 else None


def line_rate_bit_per_s(facts: Mapping[str, object]) -> float | None:
    """The card's rate from a host's facts: a number under a key that says so, or the
    fastest that the texts under ``network`` or ``nic`` name."""
    stated = facts.get("line_rate_bit_per_s")
    if isinstance(stated, int | float) and not isinstance(stated, bool):
        return float(stated)
    texts = [
        str(v) for k, v in facts.items() if "net" in k.lower() or "nic" in k.lower()
    ]
    rates: list[float] = []
    for named in (match for text in texts for match in SPEEDS.finditer(text)):
        if named[1]:
            is_mega = named[2].lower().startswith("mb")
            rates.append(float(named[1]) * (1e6 if is_mega else 1e9))
        else:
            rates.append(1e8 if (named[3] or "").lower() == "fast" else 1e9)
    return max(rates, default=None)


def disk_bus_byte_per_s(facts: Mapping[str, object]) -> float | None:
    """The disk's bus from a host's facts: a number, or what ``disk`` names."""
    stated = facts.get("disk_bus_byte_per_s")
    if isinstance(stated, int | float) and not isinstance(stated, bool):
        return float(stated)
    text = " ".join(str(v) for k, v in facts.items() if "disk" in k.lower()).lower()
    rates = [rate for pattern, rate in BUSES if re.search(pattern, text)]
    return rates[0] if rates else None
