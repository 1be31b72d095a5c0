"""Command-line options that describe the run and the system of an upload."""

import argparse
import re
from typing import Any, Dict

from agents.argument_parsing import int_between
from agents.console import Console
from agents.detection.facts import native_machine_facts
from agents.detection.layers import UNKNOWN
from agents.errors import UsageError
from agents.local_state import is_confirmed_native
from agents.timing.clocks import boot_id
from agents.upload_documents import system_description

SYSTEM_TEXTS = ("hypervisor", "hypervisor_version", "virtualization", "guest_os")
SYSTEM_NUMBERS = ("guest_bits", "vcpus", "memory_bytes")
_RUN_HELP = {
    "scenario": "single (default), parallel, under CPU load, ...",
    "slot": "name of this guest among the guests that run together",
    "load": "workload of the other guests",
    "corun": "identifier shared by all runs that ran together",
    "session": "identifier shared by all runs of one session",
    "note": "a note for readers",
    "failed": "why the work failed; a failed run is stored and does not count",
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
    system.add_argument(
        "--confirm-native",
        action="store_true",
        help="this machine is native, although the agent cannot prove it",
    )
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
    confirm_native(options, facts)
    if options.system:
        platform = facts["platform"]
        if UNKNOWN in platform["layers"] and not platform.get("confirmed"):
            Console().message(
                "It is not certain that this machine is native. If system %d is "
                "native, the server will refuse the runs: add --confirm-native."
                % options.system
            )
        return options.system
    slug = options.host or host
    if not slug:
        raise UsageError(
            "Name the machine: --host SLUG. A guest cannot detect its machine. "
            "(`enroll --host SLUG` registers the machine and saves the slug.)"
        )
    return system_description(facts, slug, stated_system_options(options))


def confirm_native(options: argparse.Namespace, facts: Dict[str, Any]) -> None:
    """Mark the platform as native if a person has confirmed this."""
    if options.confirm_native or is_confirmed_native():
        facts["platform"]["confirmed"] = "native"
        if facts["platform"]["layers"] == [UNKNOWN]:
            facts.update(native_machine_facts(facts, boot_id()))


def stated_system_options(options: argparse.Namespace) -> Dict[str, Any]:
    given = {name: getattr(options, name) for name in SYSTEM_TEXTS + SYSTEM_NUMBERS}
    invalid = [pair for pair in options.option if not re.match(r"[^=]+=.", pair)]
    if invalid:
        raise UsageError('"%s" is not NAME=VALUE, as in hw_virt=on' % invalid[0])
    given["options"] = dict(pair.split("=", 1) for pair in options.option)
    return given


def run_options(options: argparse.Namespace) -> Dict[str, Any]:
    return {name: getattr(options, name) for name in _RUN}
