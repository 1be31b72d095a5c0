"""The words by which `push` and `run` say which system and which run it was."""

import argparse
from typing import Any, Dict

from agents.documents import options_of, system_of
from agents.errors import UsageError

_SYSTEM = ("hypervisor", "hypervisor_version", "virtualization", "guest_os")
_NUMBERS = ("guest_bits", "vcpus", "memory_bytes")
_RUN = ("scenario", "vms", "seat", "load", "corun", "session", "note")


def add_describing_arguments(parser: argparse.ArgumentParser) -> None:
    """Take the words for campaign, system and run."""
    parser.add_argument("--campaign", help="its slug; the enrolled one unless told")
    add_system_arguments(parser)
    _add_run_arguments(parser)


def add_system_arguments(parser: argparse.ArgumentParser) -> None:
    system = parser.add_argument_group("the system under test")
    system.add_argument("--system", type=int, help="the id of a registered one")
    system.add_argument("--host", help="the machine's slug")
    system.add_argument("--hypervisor", help="native, Xen, KVM, VMware ESXi, ...")
    system.add_argument("--hypervisor-version")
    system.add_argument("--virtualization", help="full, paravirtual, container, ...")
    system.add_argument("--guest-os")
    system.add_argument("--guest-bits", type=int, choices=(32, 64))
    system.add_argument("--vcpus", type=int)
    system.add_argument("--memory-bytes", type=int)
    system.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")


def _add_run_arguments(parser: argparse.ArgumentParser) -> None:
    run = parser.add_argument_group("the run (see docs/api.md)")
    run.add_argument("--vms", type=int, help="how many ran at once")
    for name in _RUN:
        if name != "vms":
            run.add_argument("--" + name)


def campaign_of(options: argparse.Namespace, enrolled: str) -> str:
    """Return the campaign's slug, or say that it must be named."""
    slug = str(options.campaign or enrolled)
    if not slug:
        raise UsageError("Name the campaign: --campaign SLUG")
    return slug


def described_system(
    options: argparse.Namespace, facts: Dict[str, Any], host: str
) -> Any:
    """Return a system's id, or its description from what is said and detected."""
    if options.system:
        return options.system
    slug = options.host or host
    if not slug:
        raise UsageError(
            "Name the machine: --host SLUG. No guest can know it. "
            "(`enroll --host SLUG` registers it and remembers it.)"
        )
    given = {name: getattr(options, name) for name in _SYSTEM + _NUMBERS}
    given["options"] = options_of(options.option)
    return system_of(facts, slug, given)


def own_clock(facts: Dict[str, Any]) -> str:
    """Say whose clock the tools here read: a guest's, or the machine's own."""
    return "guest" if facts["platform"]["layers"] else "local"


def described_run(options: argparse.Namespace) -> Dict[str, Any]:
    """Return what was said of the run."""
    return {name: getattr(options, name) for name in _RUN}
