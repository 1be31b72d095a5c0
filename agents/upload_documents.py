"""Uploads as JSON documents, and the system that they describe."""

import codecs
import sys
import uuid
from typing import Any, Dict, Optional, Tuple

from agents.detection.layers import UNKNOWN
from agents.errors import UsageError

Facts = Dict[str, Any]

# Innermost layer -> hypervisor and virtualization type. VMware is missing, because
# Workstation and ESXi have the same signature.
_PLATFORMS = {
    "kvm": ("KVM", "full"),
    "qemu-tcg": ("QEMU TCG", "full"),
    "xen-pv": ("Xen", "paravirtual"),
    "xen-pvh": ("Xen", "pvh"),
    "xen-hvm": ("Xen", "full"),
    "xen-dom0": ("Xen", "dom0"),
    "hyper-v": ("Hyper-V", "full"),
    "hyper-v-root": ("Hyper-V", "root"),
    "wsl1": ("WSL 1", None),
    "wsl2": ("WSL 2", "full"),
    "virtualbox": ("VirtualBox", "full"),
    "lxc": ("LXC", "container"),
    "docker": ("Docker", "container"),
    "podman": ("Podman", "container"),
    "systemd-nspawn": ("systemd-nspawn", "container"),
    "openvz": ("OpenVZ", "container"),
    "gvisor": ("gVisor", "container"),
}

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def tool_clock(facts: Dict[str, Any]) -> str:
    """Return which clock times tools here: "guest" in a guest, otherwise "local"."""
    platform = facts["platform"]
    is_native = not platform["layers"] or platform.get("confirmed") == "native"
    return "local" if is_native else "guest"


def decode_text(content: bytes) -> str:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return content.decode(encoding, "replace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")  # accepts any bytes


def upload_document(
    output: str, study: str, system: Any, facts: Facts, given: Dict[str, Any]
) -> Dict[str, Any]:
    """Return an upload document with a new key; empty ``given`` fields are omitted."""
    stated = {name: value for name, value in given.items() if value not in (None, "")}
    common = {"study": study, "system": system, "output": output, "facts": facts}
    return dict(stated, key=str(uuid.uuid4()), **common)


def system_description(
    facts: Facts, host: str, given: Dict[str, Any]
) -> Dict[str, Any]:
    """Describe the system under test from detected facts and given properties.

    Raise UsageError if the hypervisor is uncertain. Memory is not detected, because
    each kernel reports a different figure.
    """
    hypervisor, virtualization = _platform(facts, given.get("hypervisor"))
    build = facts.get("hypervisor build")
    builds = build if isinstance(build, dict) else {}
    version = {"Xen": builds.get("xen"), "Hyper-V": builds.get("hyperv")}
    system: Dict[str, Any] = {
        "host": host,
        "hypervisor": hypervisor,
        "virtualization": virtualization,
        "hypervisor_version": version.get(hypervisor),
        "guest_os": facts.get("distribution"),
        "guest_bits": guest_bits(facts.get("architecture", "")),
        "vcpus": None if hypervisor == "native" else facts.get("threads"),
    }
    system.update({name: value for name, value in given.items() if value is not None})
    layers = facts["platform"]["layers"]
    is_disputed = facts["platform"]["conflict"] or UNKNOWN in layers
    # The layers distinguish nested systems from others of the same hypervisor.
    if len(layers) > 1 and hypervisor != "native" and not is_disputed:
        system["options"] = dict({"layers": " > ".join(layers)}, **system["options"])
    return {
        name: value for name, value in system.items() if value not in (None, "", {})
    }


def _platform(facts: Facts, stated: Optional[str]) -> Tuple[str, Optional[str]]:
    """Return the hypervisor, as stated or detected, and its virtualization type."""
    detected = facts["platform"]
    layers = detected["layers"]
    platform = _PLATFORMS.get(layers[-1]) if layers else ("native", None)
    is_native = not layers and not detected["conflict"]
    confirmed = detected.get("confirmed") == "native"
    if stated is None and confirmed and layers in ([], [UNKNOWN]):
        return "native", None
    if (stated or "").lower() == "native" and not is_native and not confirmed:
        raise UsageError(
            "This machine does not look native. If it is, add --confirm-native "
            "(or save it with enroll --confirm-native). " + detected["sentence"]
        )
    if stated is not None and detected["conflict"]:
        return stated, None
    if stated is not None:
        same = platform is not None and platform[0].lower() == stated.lower()
        return stated, platform[1] if platform and same else None
    if platform is None or detected["conflict"]:
        raise UsageError(
            "Name the hypervisor with --hypervisor (native, Xen, KVM, VMware ESXi, "
            "Hyper-V, ...): it cannot be detected with certainty. For a machine "
            "without a hypervisor add --confirm-native. " + detected["sentence"]
        )
    return platform


def guest_bits(architecture: str) -> Optional[int]:
    """Return the word size of this Python; None if the architecture is unknown.

    A 64-bit kernel can run a 32-bit Python.
    """
    if not architecture:
        return None
    return 64 if sys.maxsize > 2**32 else 32
