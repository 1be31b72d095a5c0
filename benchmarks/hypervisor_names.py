"""Names of hypervisors and virtualization types, and recognition of emulation.

Unknown names are kept. Only unambiguous spellings are listed: "VMware" could mean
Workstation, and "QEMU" may or may not use KVM.

QEMU without acceleration emulates the processor (TCG), 3 to 1000 times slower. It is
recognized in any field by any spelling.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from benchmarks.sentences import Sentence
from benchmarks.text_validation import clean_text, normalize_whitespace

NATIVE: Final = "native"
# QEMU without acceleration, and its name in the layers that agents detect.
EMULATOR: Final = "QEMU TCG"
EMULATED_LAYER: Final = "qemu-tcg"
EMULATION: Final = "emulation"

PLATFORMS: Final[Mapping[str, tuple[str, ...]]] = {
    NATIVE: ("none", "bare metal", "baremetal", "no hypervisor", "physical machine"),
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
    EMULATOR: ("tcg",),
    "Bochs": (),
    # Containers, with a shared kernel.
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
"""Other spellings of each canonical name."""

MAIN_HYPERVISORS: Final = ("KVM", "Xen", "VMware ESXi", "Hyper-V")
VIRTUALIZATION_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("none", "native"),
    "full": ("hvm", "full virtualization", "fully virtualized", "hardware assisted"),
    "paravirtual": ("pv", "paravirtualized", "para virtual", "paravirtualization"),
    "pvh": (),
    "dom0": ("domain 0", "control domain"),
    "root": ("root partition", "parent partition"),
    "microvm": ("micro vm",),
    "unikernel": ("unikernels", "library os", "library operating system"),
    "utility vm": (),
    "container": ("containers", "os level", "operating system level"),
    EMULATION: (
        *("emulated", "emulator", "full emulation", "software emulation", "tcg"),
        *("cpu emulation", "system emulation", "user mode emulation"),
    ),
}


@lru_cache(4096)
def _fold_name(name: str) -> str:
    return " ".join(
        part for part in re.split(r"[\s_/()+,:;=-]+", name.casefold()) if part
    )


def _spellings(names: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
    return {
        _fold_name(spelling): name
        for name in names
        for spelling in (name, *names[name])
    }


HYPERVISOR_BY_SPELLING: Final = _spellings(PLATFORMS)
VIRTUALIZATION_BY_SPELLING: Final = _spellings(VIRTUALIZATION_TYPES)

_LONGEST_VERSION: Final = 100
_EMULATORS: Final = frozenset({EMULATOR, "Bochs"})
# The version in names such as "Xen 4.17", "ESXi 8.0 U2" and "QEMU 8.2 (TCG)".
_VERSION: Final = re.compile(
    r"(?<![\w.])v?(\d[\w.+~]{0,40}(?: (?:u|update |sp)\d{1,2})?)(?![\w.])",
    re.ASCII | re.IGNORECASE,
)
# Accelerators of QEMU, and words that state their presence or absence.
_ACCELERATORS: Final = frozenset({"kvm", "hvf", "whpx", "haxm", "nvmm", "xen"})
_ACCELERATION_WORDS: Final = (
    _ACCELERATORS | {"accel", "accelerator", "acceleration"} | {*("hardware", "hw")}
)
_NEGATIONS: Final = frozenset(
    {"no", "not", "non", "without", "w"}
    | {"ohne", "kein", "keine", "sans", "sin", "senza"}
)
_OFF: Final = frozenset({"off", "none", "disabled", "absent", "missing", "false"})
_QEMU: Final = frozenset({"qemu", "tcg", "mttcg"})
_SOFTWARE: Final = frozenset({"tcg", "mttcg", "software", "emulation", "emulated"})
_DEVICES: Final = re.compile(
    r"device|disk|nic|network|card|storage|drive|bios|firmware"
)


class Platform(NamedTuple):
    hypervisor: str
    version: str
    virtualization: str


def canonical_platform(
    hypervisor: str, version: str = "", virtualization: str = ""
) -> Platform:
    """Return canonical names; unknown ones are kept.

    A version in the name of the hypervisor moves to the version. Raises InvalidError
    for forbidden characters.
    """
    name = normalize_whitespace(clean_text(hypervisor, label=Sentence("hypervisor")))
    kind = canonical_virtualization(virtualization)
    version = normalize_whitespace(version)
    canonical = HYPERVISOR_BY_SPELLING.get(_fold_name(name))
    version_in_name = ""
    if canonical is None and (number := _VERSION.search(name)):
        bare_name = name[: number.start()] + name[number.end() :]
        canonical, version_in_name = (
            HYPERVISOR_BY_SPELLING.get(_fold_name(bare_name)),
            number[1],
        )
    words = _words(name)
    # Name, version or type may state that QEMU is not accelerated.
    is_qemu = canonical is None and bool(_QEMU & set(words))
    if is_qemu and (kind == EMULATION or _states_emulation(words, _words(version))):
        canonical = EMULATOR
        # "TCG, no KVM" is not a version.
        if (
            set(_words(version))
            <= _NEGATIONS | _OFF | _ACCELERATION_WORDS | _SOFTWARE | _QEMU
        ):
            version = ""
    if canonical is None:
        return Platform(name, version, kind)
    versions = f"{version_in_name} {version}".strip()
    if version_in_name not in version and len(versions) <= _LONGEST_VERSION:
        version = versions
    return Platform(canonical, version, kind)


def canonical_hypervisor(name: str) -> str:
    return canonical_platform(name).hypervisor


def canonical_virtualization(name: str) -> str:
    """Return ``full``, ``paravirtual``, ``container``, ...; unknown types are kept."""
    tidy = normalize_whitespace(
        clean_text(name, label=Sentence("virtualization"))
    ).casefold()
    return VIRTUALIZATION_BY_SPELLING.get(_fold_name(tidy), tidy)


def unknown_hypervisor_reason(hypervisor: str) -> str:
    if hypervisor in PLATFORMS:
        return ""
    words = set(_words(hypervisor))
    if "qemu" in words:
        return Sentence(
            '"{name}" may use KVM or emulate the processor. Enter "KVM" or '
            '"{emulator}".',
            name=hypervisor,
            emulator=EMULATOR,
        )
    if similar := get_close_matches(
        _fold_name(hypervisor), HYPERVISOR_BY_SPELLING, n=1, cutoff=0.8
    ):
        return Sentence(
            '"{name}" is not a known platform. The closest known platform is "{near}".',
            name=hypervisor,
            near=HYPERVISOR_BY_SPELLING[similar[0]],
        )
    return Sentence(
        '"{name}" is not a known platform. It is stored as entered, and other '
        "spellings count as other systems.",
        name=hypervisor,
    )


def is_emulation(
    hypervisor: str,
    version: str = "",
    virtualization: str = "",
    options: Mapping[str, object] | None = None,
) -> bool:
    """Return whether the description states software emulation.

    Considers name, version and type (``QEMU/TCG``, ``qemu (no kvm)``), detected layers,
    and options of QEMU: ``accel=tcg``, ``kvm=off``, ``hw_virt=off``.
    """
    stated = tuple(
        (_fold_name(key), _fold_name(str(text)))
        for key, text in (options or {}).items()
    )
    return _is_emulation(hypervisor, version, virtualization, stated)


# Cached: many rules call this for every cell, but there are few systems.
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
    if _states_emulation(_words(hypervisor), _words(version)):
        return True
    stated = dict(options)
    if _fold_name(EMULATED_LAYER) in stated.get("layers", ""):
        return True
    is_qemu = "qemu" in _words(hypervisor)
    return any(
        text in _SOFTWARE or (is_qemu and text in _OFF | {"no", "0"})
        for key in ("accel", "accelerator", "acceleration", "kvm", "hw virt")
        if (text := stated.get(key, ""))
    )


def reports_emulation(facts: Mapping[str, object]) -> bool:
    detected = facts.get("platform")
    layers = detected.get("layers") if isinstance(detected, dict) else None
    return isinstance(layers, list) and EMULATED_LAYER in layers


def is_unconfirmed_native(hypervisor: str, facts: Mapping[str, object]) -> bool:
    """Return whether a system is described as native against an agent's evidence."""
    detected = facts.get("platform")
    if not isinstance(detected, dict) or canonical_hypervisor(hypervisor) != NATIVE:
        return False
    is_doubtful = bool(detected.get("layers")) or detected.get("conflict") is True
    return is_doubtful and detected.get("confirmed") != NATIVE


# The fact that says whether Windows itself ran on Hyper-V (docs/agents.md).
VBS_FACT: Final = "virtualization-based security"
VBS_RUNNING: Final = "running"


def reports_nested_virtualization(facts: Mapping[str, object]) -> bool:
    return str(facts.get(VBS_FACT, "")).startswith(VBS_RUNNING)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _states_emulation(name: Sequence[str], version: Sequence[str]) -> bool:
    """Return whether these words state that QEMU emulates the processor.

    "QEMU emulator version 8.2" does not: QEMU prints that with KVM, too.
    """
    words = [*name, *version]
    negated: set[str] = set()
    stated_words: set[str] = set()
    for index, word in enumerate(words):
        after = words[index + 1 : index + 4]
        if word in _NEGATIONS:
            negated.update(after)
        elif after[:1] == ["no"] == after or (after and after[0] in _OFF):
            negated.add(word)
        if not (after and _DEVICES.match(after[0])):
            stated_words.add(word)
    if {"tcg", "mttcg"} & stated_words:
        return not {"tcg", "mttcg"} & negated
    if "qemu" not in stated_words or _ACCELERATORS & stated_words - negated:
        return False
    is_user_mode = ("qemu", "user") in set(pairwise(words))
    by_software = bool((_SOFTWARE | {"unaccelerated"}) & stated_words - negated)
    return by_software or is_user_mode or bool(_ACCELERATION_WORDS & negated)
