"""Uploads of raw output: what a tool printed, and on which system."""

import codecs
import re
import sys
import uuid
from typing import Any, Dict, Optional, Tuple

from agents.errors import UsageError

Facts = Dict[str, Any]

# Innermost layer -> the hypervisor and the type of virtualization, in Virtlab's words.
# VMware signs the same in a Workstation and in ESXi, so its user must say.
_PLATFORMS = {
    "kvm": ("KVM", "full"),
    "qemu-tcg": ("QEMU TCG", "full"),
    "xen-pv": ("Xen", "paravirtual"),
    "xen-pvh": ("Xen", "pvh"),
    "xen-hvm": ("Xen", "full"),
    "xen-dom0": ("Xen", "dom0"),
    "hyper-v": ("Hyper-V", "full"),
    "hyper-v-root": ("Hyper-V", "root"),
    "virtualbox": ("VirtualBox", "full"),
    "lxc": ("LXC", "container"),
    "docker": ("Docker", "container"),
    "podman": ("Podman", "container"),
    "systemd-nspawn": ("systemd-nspawn", "container"),
    "openvz": ("OpenVZ", "container"),
    "gvisor": ("gVisor", "container"),
}

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decoded(content: bytes) -> str:
    """Return the text of a file in UTF-8, in UTF-16 with its mark, or in Latin-1."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content.decode(encoding, "replace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def upload(
    output: str, study: str, system: Any, facts: Facts, given: Dict[str, Any]
) -> Dict[str, Any]:
    """Return the document of one upload, under a new key, with all that is given."""
    said = {name: value for name, value in given.items() if value not in (None, "")}
    return dict(
        said,
        key=str(uuid.uuid4()),
        study=study,
        system=system,
        output=output,
        facts=facts,
    )


def system_of(facts: Facts, host: str, given: Dict[str, Any]) -> Dict[str, Any]:
    """Describe the system under test: what is given, and detected where it is certain.

    Memory is not taken from what the kernel shows, which changes with every kernel and
    would make another system of it. Raises UsageError where a person has to say.
    """
    hypervisor, virtualization = _platform(facts, given.get("hypervisor"))
    found: Dict[str, Any] = {
        "host": host,
        "hypervisor": hypervisor,
        "virtualization": virtualization,
        "hypervisor_version": _version(facts, hypervisor),
        "guest_os": facts.get("distribution"),
        "guest_bits": guest_bits(facts.get("architecture", "")),
        "vcpus": None if hypervisor == "native" else facts.get("threads"),
    }
    found.update({name: value for name, value in given.items() if value is not None})
    layers = facts["platform"]["layers"]
    if len(layers) > 1 and hypervisor != "native":
        found["options"] = dict({"layers": " > ".join(layers)}, **found["options"])
    return {name: value for name, value in found.items() if value not in (None, "", {})}


def guest_bits(architecture: str) -> Optional[int]:
    """Return the width of the programs that run here; a 64-bit kernel can run 32."""
    if not architecture:
        return None
    return 64 if sys.maxsize > 2**32 else 32


def options_of(pairs: Any) -> Dict[str, str]:
    """Read name=value pairs."""
    wrong = [pair for pair in pairs if not re.match(r"[^=]+=.", pair)]
    if wrong:
        raise UsageError('"%s" is no name=value, as in hw_virt=on' % wrong[0])
    return {pair.partition("=")[0]: pair.partition("=")[2] for pair in pairs}


def _platform(facts: Facts, stated: Optional[str]) -> Tuple[str, Optional[str]]:
    """Return hypervisor and virtualization; the type is of the detected one only."""
    detected = facts["platform"]
    layers = detected["layers"]
    found = _PLATFORMS.get(layers[-1]) if layers else ("native", None)
    if stated is not None:
        same = found is not None and found[0].lower() == stated.lower()
        return stated, found[1] if found and same else None
    if found is None or detected["conflict"]:
        raise UsageError(
            "Say with --hypervisor what this is (native, Xen, KVM, VMware ESXi, "
            "Hyper-V, ...); from inside it is not certain. " + detected["sentence"]
        )
    return found


def _version(facts: Facts, hypervisor: str) -> Optional[str]:
    build = facts.get("hypervisor build", {}) if hypervisor == "Xen" else {}
    return build.get("xen") if isinstance(build, dict) else None
