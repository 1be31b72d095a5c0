"""Keep what tools printed, and send it; `-` reads standard input.

Each file is one upload; one that holds the results of several commands becomes several
runs. It is kept in the spool first, so a server that is away loses nothing: `watch` or
the next `push` sends it.

The system is described from what was detected here; say it yourself where that is not
certain or where the output comes from elsewhere:

  sysbench cpu run | virtlab-agent.pyz push --campaign my-study --host athlon -
  virtlab-agent.pyz push --campaign my-study --host athlon --hypervisor Xen \\
      --hypervisor-version 4.17 --option hw_virt=on results/*.txt
  virtlab-agent.pyz push --campaign my-study --system 17 old.txt
"""

import argparse
import os
import sys
import time
from typing import Any, Dict

from agents import exits
from agents.console import Console
from agents.errors import UsageError

_RUN = ("tool", "locale", "scenario", "vms", "seat", "load", "corun", "session")
_RUN_TOO = ("clock", "note", "started_at")
_SYSTEM = ("hypervisor", "hypervisor_version", "virtualization", "guest_os")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--campaign", help="its slug; the enrolled one unless told")
    parser.add_argument(
        "--later", action="store_true", help="keep it, send nothing now"
    )
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
    run_group = parser.add_argument_group("the run")
    run_group.add_argument("--tool", help="where the text does not say whose it is")
    run_group.add_argument("--locale", help="de_DE: decimal commas are read")
    run_group.add_argument("--started-at", help="2010-07-29T12:00:00+02:00")
    run_group.add_argument("--vms", type=int, help="how many ran at once")
    for name in ("scenario", "seat", "load", "corun", "session", "clock", "note"):
        run_group.add_argument("--" + name, help="see docs/api.md")


def run(options: argparse.Namespace) -> int:
    from agents.documents import upload
    from agents.home import load_enrolment, open_spool
    from agents.platform_facts import gather_platform

    enrolment = load_enrolment()
    campaign = options.campaign or enrolment.campaign
    if not campaign:
        raise UsageError("Name the campaign: --campaign SLUG")
    facts = gather_platform()
    system = options.system or _system(options, facts, enrolment.host)
    given = {name: getattr(options, name) for name in _RUN + _RUN_TOO}
    texts = [(name, _read(name)) for name in options.files]
    spool, console = open_spool(), Console()
    for name, text in texts:
        own = dict(facts, file=_file_facts(name))
        key = spool.save(upload(text, campaign, system, own, given))
        console.progress("kept %s as %s" % (name, key))
    if options.later:
        return exits.DONE
    from agents.delivering import deliver_and_say

    return deliver_and_say(enrolment, spool, console)


def _system(options: argparse.Namespace, facts: Dict[str, Any], host: str) -> Any:
    from agents.documents import options_of, system_of

    slug = options.host or host
    if not slug:
        raise UsageError(
            "Name the machine: --host SLUG. No guest can know it. "
            "(`enroll --host SLUG` registers it and remembers it.)"
        )
    given = {name: getattr(options, name) for name in _SYSTEM}
    given["guest_bits"] = options.guest_bits
    given["vcpus"], given["memory_bytes"] = options.vcpus, options.memory_bytes
    given["options"] = options_of(options.option)
    return system_of(facts, slug, given)


def _read(name: str) -> str:
    from agents.documents import decoded

    try:
        if name == "-":
            content = sys.stdin.buffer.read()
        else:
            with open(name, "rb") as file:
                content = file.read()
    except OSError as error:
        raise UsageError("%s: %s" % (name, error.strerror)) from None
    if not content.strip():
        raise UsageError("%s is empty." % name)
    return decoded(content)


def _file_facts(name: str) -> Dict[str, str]:
    if name == "-":
        return {"name": "standard input"}
    changed = time.gmtime(os.stat(name).st_mtime)
    return {
        "name": os.path.basename(name),
        "changed at": time.strftime("%Y-%m-%dT%H:%M:%SZ", changed),
    }
