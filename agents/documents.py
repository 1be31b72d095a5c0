"""Documents of uploads, and the options for properties that cannot be detected."""

import argparse
import codecs
import re
import sys
import uuid
from typing import Any, Dict, Optional, Tuple

from agents.console import whole
from agents.errors import UsageError

Facts = Dict[str, Any]

# Innermost layer -> hypervisor and type of virtualization, as Virtlab names them.
# VMware is missing: Workstation and ESXi have the same signature.
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

# Byte order marks; both codecs remove them.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

SYSTEM_TEXTS = ("hypervisor", "hypervisor_version", "virtualization", "guest_os")
SYSTEM_NUMBERS = ("guest_bits", "vcpus", "memory_bytes")
_RUN_HELP = {
    "scenario": "single (unless told), parallel, under CPU load, ...",
    "slot": "which of these guests it was",
    "load": "what ran in the others",
    "corun": "the same for all runs that ran together",
    "session": "the same for all runs of one sitting",
    "note": "a remark for people",
}
_RUN = ("vms", *_RUN_HELP)


def add_describing_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for study, system and run."""
    parser.add_argument("--study", help="its slug; the enrolled one unless told")
    add_system_arguments(parser)
    run = parser.add_argument_group("the run (see docs/api.md)")
    run.add_argument("--vms", type=whole(1), metavar="N", help="how many ran at once")
    for name, says in _RUN_HELP.items():
        run.add_argument("--" + name, metavar="TEXT", help=says)


def add_system_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for the system; a plan states the rest."""
    system = parser.add_argument_group("the system under test")

    def word(name: str, metavar: str, says: str, **more: Any) -> None:
        system.add_argument(name, metavar=metavar, help=says, **more)

    word("--system", "ID", "the id of a registered one, instead of all below", type=int)
    word("--host", "SLUG", "the machine; the enrolled one unless told")
    word("--hypervisor", "NAME", "native, Xen, KVM, VMware ESXi, ...")
    word("--hypervisor-version", "VERSION", "4.17")
    word("--virtualization", "KIND", "full, paravirtual, container, ...")
    word("--guest-os", "NAME", "Debian 12")
    system.add_argument(
        "--guest-bits", type=int, choices=(32, 64), help="width of its programs"
    )
    word("--vcpus", "N", "its virtual CPUs", type=whole(1))
    word("--memory-bytes", "N", "its memory; no part of it unless told", type=whole(1))
    system.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="what else was chosen, as hw_virt=on; as often as needed",
    )


def study_of(options: argparse.Namespace, enrolled: str) -> str:
    """Return the slug of the study or raise UsageError."""
    slug = str(options.study or enrolled)
    if not slug:
        raise UsageError("Name the study: --study SLUG")
    return slug


def described_system(
    options: argparse.Namespace, facts: Dict[str, Any], host: str
) -> Any:
    """Return the id of a system, or its description from options and facts."""
    if options.system:
        return options.system
    slug = options.host or host
    if not slug:
        raise UsageError(
            "Name the machine: --host SLUG. No guest can know it. "
            "(`enroll --host SLUG` registers it and remembers it.)"
        )
    return system_of(facts, slug, stated_system(options))


def stated_system(options: argparse.Namespace) -> Dict[str, Any]:
    """Return the options for the system; None for those not given."""
    given = {name: getattr(options, name) for name in SYSTEM_TEXTS + SYSTEM_NUMBERS}
    wrong = [pair for pair in options.option if not re.match(r"[^=]+=.", pair)]
    if wrong:
        raise UsageError('"%s" is no name=value, as in hw_virt=on' % wrong[0])
    given["options"] = dict(pair.split("=", 1) for pair in options.option)
    return given


def described_run(options: argparse.Namespace) -> Dict[str, Any]:
    """Return the options for the run."""
    return {name: getattr(options, name) for name in _RUN}


def own_clock(facts: Dict[str, Any]) -> str:
    """Return whose clock the tools read: "guest" or "local"."""
    return "guest" if facts["platform"]["layers"] else "local"


def decoded(content: bytes) -> str:
    """Decode UTF-8, UTF-16 with a byte order mark, or Latin-1."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content.decode(encoding, "replace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")  # accepts any bytes


def upload(
    output: str, study: str, system: Any, facts: Facts, given: Dict[str, Any]
) -> Dict[str, Any]:
    """Return an upload under a new key, with the properties that are given."""
    stated = {name: value for name, value in given.items() if value not in (None, "")}
    about = {"study": study, "system": system, "output": output, "facts": facts}
    return dict(stated, key=str(uuid.uuid4()), **about)


def system_of(facts: Facts, host: str, given: Dict[str, Any]) -> Dict[str, Any]:
    """Describe the system under test from given and detected facts.

    Memory is not detected: each kernel reports another figure. Raises UsageError where
    the user must decide.
    """
    hypervisor, virtualization = _platform(facts, given.get("hypervisor"))
    build = facts.get("hypervisor build")
    builds = build if isinstance(build, dict) else {}
    version = {"Xen": builds.get("xen"), "Hyper-V": builds.get("hyperv")}
    described: Dict[str, Any] = {
        "host": host,
        "hypervisor": hypervisor,
        "virtualization": virtualization,
        "hypervisor_version": version.get(hypervisor),
        "guest_os": facts.get("distribution"),
        "guest_bits": guest_bits(facts.get("architecture", "")),
        "vcpus": None if hypervisor == "native" else facts.get("threads"),
    }
    described.update(
        {name: value for name, value in given.items() if value is not None}
    )
    layers = facts["platform"]["layers"]
    # The outer layers distinguish nested systems of one hypervisor.
    if len(layers) > 1 and hypervisor != "native":
        described["options"] = dict(
            {"layers": " > ".join(layers)}, **described["options"]
        )
    return {
        name: value for name, value in described.items() if value not in (None, "", {})
    }


def _platform(facts: Facts, stated: Optional[str]) -> Tuple[str, Optional[str]]:
    """Return hypervisor and virtualization type; the type only if detected."""
    detected = facts["platform"]
    layers = detected["layers"]
    known = _PLATFORMS.get(layers[-1]) if layers else ("native", None)
    if stated is not None:
        same = known is not None and known[0].lower() == stated.lower()
        return stated, known[1] if known and same else None
    if known is None or detected["conflict"]:
        raise UsageError(
            "Say with --hypervisor what this is (native, Xen, KVM, VMware ESXi, "
            "Hyper-V, ...); from inside it is not certain. " + detected["sentence"]
        )
    return known


def guest_bits(architecture: str) -> Optional[int]:
    """Return the width of programs here; a 64-bit kernel can run 32-bit ones."""
    if not architecture:
        return None
    return 64 if sys.maxsize > 2**32 else 32
