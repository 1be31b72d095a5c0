"""Names of hypervisors and virtualization types, and facts of hosts.

The vocabulary is closed; unknown names stay as given. Only unambiguous spellings are
listed: "VMware" alone could be a Workstation, "QEMU" alone have KVM's help or not.

QEMU without help emulates the processor (TCG), 3 to 1000 times slower; it is recognized
by any of its spellings, in any field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from benchmarks.sentences import Sentence
from benchmarks.text import clean_text, collapse

NATIVE: Final = "native"
# A processor that a program imitates; and that layer's name in an agent's words.
EMULATOR: Final = "QEMU TCG"
EMULATED_LAYER: Final = "qemu-tcg"
EMULATION: Final = "emulation"

PLATFORMS: Final[Mapping[str, tuple[str, ...]]] = {
    NATIVE: ("none", "bare metal", "baremetal", "no hypervisor", "physical machine"),
    # Hypervisors that run guests on the processor itself.
    "KVM": (
        *("qemu kvm", "kvm qemu", "linux kvm", "kernel based virtual machine"),
        *("libvirt kvm", "kvm libvirt", "qemu with kvm", "qemu accel kvm"),
    ),
    "Xen": ("xen project", "xen hypervisor", "xen project hypervisor"),
    "XCP-ng": ("xcpng",),
    "XenServer": ("citrix hypervisor", "citrix xenserver"),
    "VMware ESXi": ("esxi", "vmware esxi server", "vmware vsphere", "vsphere"),
    "VMware Workstation": ("vmware workstation pro",),
    "VMware Player": ("vmware workstation player",),
    "VMware Fusion": (),
    "Hyper-V": ("hyperv", "microsoft hyper v", "ms hyper v", "windows hyper v"),
    "Hyper-V (WSL2 utility VM)": ("wsl2", "wsl 2", "windows subsystem for linux 2"),
    "VirtualBox": ("oracle virtualbox", "oracle vm virtualbox", "vbox"),
    "Parallels": ("parallels desktop",),
    "Apple Virtualization": (
        "apple virtualization framework",
        "virtualization framework",
    ),
    "Firecracker": ("aws firecracker", "firecracker microvm"),
    "Cloud Hypervisor": (),
    "crosvm": (),
    "bhyve": ("freebsd bhyve",),
    "vmm": ("openbsd vmm",),
    "Kata Containers": ("kata",),
    "AHV": ("nutanix ahv", "acropolis hypervisor"),
    "Proxmox VE": ("proxmox", "pve"),
    "oVirt": ("red hat virtualization", "rhv"),
    "PowerVM": ("ibm powervm", "phyp"),
    "z/VM": ("ibm z vm", "zvm"),
    "ACRN": ("project acrn",),
    "Jailhouse": (),
    # What emulates the processor.
    EMULATOR: ("tcg",),
    "Bochs": (),
    # What shares the kernel.
    "OpenVZ": (),
    "Virtuozzo": (),
    "LXC": ("linux containers",),
    "LXD": (),
    "Incus": (),
    "Docker": ("docker engine", "docker ce", "moby"),
    "Podman": (),
    "containerd": (),
    "runc": (),
    "systemd-nspawn": ("nspawn",),
    "gVisor": ("runsc",),
    "FreeBSD jail": ("jail",),
}
"""Each platform by the name that its makers write, and how else it is spelled."""

ASKED_FOR: Final = ("KVM", "Xen", "VMware ESXi", "Hyper-V")
"""What people choose among: each has its place, whether anybody measured it or not."""

TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("none", "native"),
    "full": ("hvm", "full virtualization", "fully virtualized", "hardware assisted"),
    "paravirtual": ("pv", "paravirtualized", "para virtual", "paravirtualization"),
    "pvh": (),
    "dom0": ("domain 0", "control domain"),
    "root": ("root partition", "parent partition"),
    "microvm": ("micro vm",),
    "utility vm": (),
    "container": ("containers", "os level", "operating system level"),
    EMULATION: (
        *("emulated", "emulator", "full emulation", "software emulation", "tcg"),
        *("cpu emulation", "system emulation", "user mode emulation"),
    ),
}


# A study's check asks of the same few names and options for each of its cells.
@lru_cache(4096)
def _folded(name: str) -> str:
    """A name as it is looked up: case, brackets, hyphens and slashes do not matter."""
    return " ".join(
        each for each in re.split(r"[\s_/()+,:;=-]+", name.casefold()) if each
    )


def _spellings(names: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
    return {_folded(each): name for name in names for each in (name, *names[name])}


HYPERVISORS: Final = _spellings(PLATFORMS)
VIRTUALIZATIONS: Final = _spellings(TYPES)

_LONGEST_VERSION: Final = 100
_EMULATORS: Final = frozenset({EMULATOR, "Bochs"})
# "Xen 4.17", "ESXi 8.0 U2", "QEMU 8.2 (TCG)".
_VERSION: Final = re.compile(
    r"(?<![\w.])v?(\d[\w.+~]{0,40}(?: (?:u|update |sp)\d{1,2})?)(?![\w.])",
    re.ASCII | re.IGNORECASE,
)
# What lets QEMU run a guest on the processor itself, and how people say "without".
_ACCELERATORS: Final = frozenset({"kvm", "hvf", "whpx", "haxm", "nvmm", "xen"})
_HELP: Final = (
    _ACCELERATORS | {"accel", "accelerator", "acceleration"} | {*("hardware", "hw")}
)
_WITHOUT: Final = frozenset(
    {"no", "not", "non", "without", "w"}
    | {"ohne", "kein", "keine", "sans", "sin", "senza"}
)
_OFF: Final = frozenset({"off", "none", "disabled", "absent", "missing", "false"})
_QEMU: Final = frozenset({"qemu", "tcg", "mttcg"})
_SOFTWARE: Final = frozenset({"tcg", "mttcg", "software", "emulation", "emulated"})
_DEVICES: Final = re.compile(
    r"device|disk|nic|network|card|storage|drive|bios|firmware"
)

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


class Platform(NamedTuple):
    """A hypervisor by its one name, its version, and the type of virtualization."""

    hypervisor: str
    version: str
    virtualization: str


def canonical_platform(
    hypervisor: str, version: str = "", virtualization: str = ""
) -> Platform:
    """Return a platform in canonical names; an unknown name stays.

    A version in the name moves to the version.
    """
    name = collapse(clean_text(hypervisor, what=Sentence("hypervisor")))
    kind = canonical_virtualization(virtualization)
    version = collapse(version)
    known = HYPERVISORS.get(_folded(name))
    numbers = ""
    if known is None and (number := _VERSION.search(name)):
        bare = name[: number.start()] + name[number.end() :]
        known, numbers = HYPERVISORS.get(_folded(bare)), number[1]
    words = _words(name)
    # A name of many words, or QEMU alone and what it lacks said elsewhere.
    is_qemu = known is None and bool(_QEMU & set(words))
    if is_qemu and (kind == EMULATION or _is_without_help(words, _words(version))):
        known = EMULATOR
        # "TCG, no KVM" is said by the name now, and is no version.
        if set(_words(version)) <= _WITHOUT | _OFF | _HELP | _SOFTWARE | _QEMU:
            version = ""
    if known is None:
        return Platform(name, version, kind)
    both = f"{numbers} {version}".strip()
    if numbers not in version and len(both) <= _LONGEST_VERSION:
        version = both
    return Platform(known, version, kind)


def canonical_hypervisor(name: str) -> str:
    """The product's name as its makers write it; an unknown product stays as given."""
    return canonical_platform(name).hypervisor


def canonical_virtualization(name: str) -> str:
    """``full``, ``paravirtual``, ``container``, ...; an unknown type stays."""
    tidy = collapse(clean_text(name, what=Sentence("virtualization"))).casefold()
    return VIRTUALIZATIONS.get(_folded(tidy), tidy)


def unknown(hypervisor: str) -> str:
    """Why a canonical name is none of the vocabulary; empty if it is one."""
    if hypervisor in PLATFORMS:
        return ""
    words = set(_words(hypervisor))
    if "qemu" in words:
        return Sentence(
            '"{name}" may use KVM or emulate the processor: name it "KVM" or '
            '"{emulator}".',
            name=hypervisor,
            emulator=EMULATOR,
        )
    if near := get_close_matches(_folded(hypervisor), HYPERVISORS, n=1, cutoff=0.8):
        return Sentence(
            '"{name}" is not a platform known here; "{near}" is.',
            name=hypervisor,
            near=HYPERVISORS[near[0]],
        )
    return Sentence(
        '"{name}" is not a platform known here: it is kept as it is, and systems of '
        "other spellings are others.",
        name=hypervisor,
    )


def is_emulation(
    hypervisor: str,
    version: str = "",
    virtualization: str = "",
    options: Mapping[str, object] | None = None,
) -> bool:
    """Whether a program emulates the processor, by all that is stated of a system.

    Its name, version or type (``QEMU/TCG``, ``qemu (no kvm)``), detected layers, or an
    option of QEMU: ``accel=tcg``, ``kvm=off``, ``hw_virt=off``.
    """
    stated = tuple(
        (_folded(key), _folded(str(text))) for key, text in (options or {}).items()
    )
    return _is_emulation(hypervisor, version, virtualization, stated)


# Asked of every cell by every other rule, and there are few systems.
@lru_cache(4096)
def _is_emulation(
    hypervisor: str,
    version: str,
    virtualization: str,
    options: tuple[tuple[str, str], ...],
) -> bool:
    if (
        hypervisor in _EMULATORS
        or canonical_virtualization(virtualization) == EMULATION
    ):
        return True
    if _is_without_help(_words(hypervisor), _words(version)):
        return True
    stated = dict(options)
    if _folded(EMULATED_LAYER) in stated.get("layers", ""):
        return True
    is_qemu = "qemu" in _words(hypervisor)
    return any(
        text in _SOFTWARE or (is_qemu and text in _OFF | {"no", "0"})
        for key in ("accel", "accelerator", "acceleration", "kvm", "hw virt")
        if (text := stated.get(key, ""))
    )


def shows_emulation(facts: Mapping[str, object]) -> bool:
    """Whether the facts of a run say that its agent detected an emulated processor."""
    detected = facts.get("platform")
    layers = detected.get("layers") if isinstance(detected, dict) else None
    return isinstance(layers, list) and EMULATED_LAYER in layers


# What agents state of a Windows (docs/agents.md): whether its own hypervisor ran below.
BENEATH: Final = "virtualization-based security"
RUNNING: Final = "running"


def shows_hypervisor_beneath(facts: Mapping[str, object]) -> bool:
    """Whether the facts of a run say that Windows ran above its own hypervisor."""
    return str(facts.get(BENEATH, "")).startswith(RUNNING)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _is_without_help(name: Sequence[str], version: Sequence[str]) -> bool:
    """Whether these words say that QEMU emulates the processor.

    "QEMU emulator version 8.2" does not: QEMU prints that with KVM, too.
    """
    words = [*name, *version]
    negated: set[str] = set()
    said: set[str] = set()
    for place, word in enumerate(words):
        after = words[place + 1 : place + 4]
        if word in _WITHOUT:
            negated.update(after)
        elif after[:1] == ["no"] == after or (after and after[0] in _OFF):
            negated.add(word)
        if not (after and _DEVICES.match(after[0])):
            said.add(word)
    if {"tcg", "mttcg"} & said:
        return not {"tcg", "mttcg"} & negated
    if "qemu" not in said or _ACCELERATORS & said - negated:
        return False
    is_user_mode = ("qemu", "user") in set(pairwise(words))
    by_software = bool((_SOFTWARE | {"unaccelerated"}) & said - negated)
    return by_software or is_user_mode or bool(_HELP & negated)


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
