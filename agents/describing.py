"""The words by which `push` and `run` say which system and which run it was."""

import argparse
from typing import Any, Dict

from agents.documents import options_of, system_of
from agents.errors import UsageError
from agents.limits import whole

_SYSTEM = ("hypervisor", "hypervisor_version", "virtualization", "guest_os")
_NUMBERS = ("guest_bits", "vcpus", "memory_bytes")
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
    """Take the words for study, system and run."""
    parser.add_argument("--study", help="its slug; the enrolled one unless told")
    add_system_arguments(parser)
    run = parser.add_argument_group("the run (see docs/api.md)")
    run.add_argument("--vms", type=whole(1), metavar="N", help="how many ran at once")
    for name, says in _RUN_HELP.items():
        run.add_argument("--" + name, metavar="TEXT", help=says)


def add_system_arguments(parser: argparse.ArgumentParser) -> None:
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
    """Return the study's slug, or say that it must be named."""
    slug = str(options.study or enrolled)
    if not slug:
        raise UsageError("Name the study: --study SLUG")
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
