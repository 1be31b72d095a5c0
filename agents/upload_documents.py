import argparse
import codecs
import re
import sys
import uuid
from typing import Any, Dict, Optional, Tuple

from agents.console import int_between
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

SYSTEM_TEXTS = ("hypervisor", "hypervisor_version", "virtualization", "guest_os")
SYSTEM_NUMBERS = ("guest_bits", "vcpus", "memory_bytes")
_RUN_HELP = {
    "scenario": "single (default), parallel, under CPU load, ...",
    "slot": "name of this guest among the guests that run together",
    "load": "workload of the other guests",
    "corun": "identifier shared by all runs that ran together",
    "session": "identifier shared by all runs of one session",
    "note": "a note for readers",
}
_RUN = ("vms", *_RUN_HELP)


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--study", help="slug of the study (default: the enrolled one)")
    add_system_arguments(parser)
    run = parser.add_argument_group("the run (see docs/api.md)")
    run.add_argument(
        "--vms", type=int_between(1), metavar="N", help="number of guests at once"
    )
    for name, text in _RUN_HELP.items():
        run.add_argument("--" + name, metavar="TEXT", help=text)


def add_system_arguments(parser: argparse.ArgumentParser) -> None:
    system = parser.add_argument_group("the system under test")

    def word(name: str, metavar: str, text: str, **more: Any) -> None:
        system.add_argument(name, metavar=metavar, help=text, **more)

    word(
        "--system",
        "ID",
        "ID of a registered system; replaces all options below",
        type=int,
    )
    word("--host", "SLUG", "slug of the machine (default: the enrolled one)")
    word("--hypervisor", "NAME", "native, Xen, KVM, VMware ESXi, ...")
    word("--hypervisor-version", "VERSION", "4.17")
    word("--virtualization", "KIND", "full, paravirtual, container, ...")
    word("--guest-os", "NAME", "Debian 12")
    system.add_argument(
        "--guest-bits", type=int, choices=(32, 64), help="word size of its programs"
    )
    word("--vcpus", "N", "number of its virtual CPUs", type=int_between(1))
    word(
        "--memory-bytes",
        "N",
        "its memory in bytes (default: not stated)",
        type=int_between(1),
    )
    system.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another setting, such as hw_virt=on; may be repeated",
    )


def required_study(options: argparse.Namespace, enrolled: str) -> str:
    slug = str(options.study or enrolled)
    if not slug:
        raise UsageError("Name the study: --study SLUG")
    return slug


def system_from_options(
    options: argparse.Namespace, facts: Dict[str, Any], host: str
) -> Any:
    """Return the ID of a registered system, or the description of a system."""
    if options.system:
        return options.system
    slug = options.host or host
    if not slug:
        raise UsageError(
            "Name the machine: --host SLUG. A guest cannot detect its machine. "
            "(`enroll --host SLUG` registers the machine and saves the slug.)"
        )
    return system_description(facts, slug, stated_system_options(options))


def stated_system_options(options: argparse.Namespace) -> Dict[str, Any]:
    given = {name: getattr(options, name) for name in SYSTEM_TEXTS + SYSTEM_NUMBERS}
    invalid = [pair for pair in options.option if not re.match(r"[^=]+=.", pair)]
    if invalid:
        raise UsageError('"%s" is not NAME=VALUE, as in hw_virt=on' % invalid[0])
    given["options"] = dict(pair.split("=", 1) for pair in options.option)
    return given


def run_options(options: argparse.Namespace) -> Dict[str, Any]:
    return {name: getattr(options, name) for name in _RUN}


def tool_clock(facts: Dict[str, Any]) -> str:
    """Return which clock times tools here: "guest" in a guest, otherwise "local"."""
    return "guest" if facts["platform"]["layers"] else "local"


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

    Raise UsageError if the hypervisor is not certain. Memory is not detected, because
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
    # The layers distinguish nested systems from others of the same hypervisor.
    if len(layers) > 1 and hypervisor != "native":
        system["options"] = dict({"layers": " > ".join(layers)}, **system["options"])
    return {
        name: value for name, value in system.items() if value not in (None, "", {})
    }


def _platform(facts: Facts, stated: Optional[str]) -> Tuple[str, Optional[str]]:
    """Return the hypervisor, as stated or detected, and its virtualization type."""
    detected = facts["platform"]
    layers = detected["layers"]
    platform = _PLATFORMS.get(layers[-1]) if layers else ("native", None)
    if stated is not None:
        same = platform is not None and platform[0].lower() == stated.lower()
        return stated, platform[1] if platform and same else None
    if platform is None or detected["conflict"]:
        raise UsageError(
            "Name the hypervisor with --hypervisor (native, Xen, KVM, VMware ESXi, "
            "Hyper-V, ...): it cannot be detected with certainty. "
            + detected["sentence"]
        )
    return platform


def guest_bits(architecture: str) -> Optional[int]:
    """Return the word size of this Python; None if the architecture is unknown.

    A 64-bit kernel can run a 32-bit Python.
    """
    if not architecture:
        return None
    return 64 if sys.maxsize > 2**32 else 32
