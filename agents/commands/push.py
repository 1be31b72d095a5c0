"""Keep what tools printed, and send it; `-` reads standard input.

Each file is one upload; one that holds the results of several commands becomes several
runs. It is kept in the spool first, so a server that is away loses nothing: `watch` or
the next `push` sends it. A text that no tool printed is said (exit code 4); the server
keeps it, too, as something that nobody could read.

The system is described from what was detected here; say it yourself where that is not
certain or where the output comes from elsewhere:

  sysbench cpu run | virtlab-agent.pyz push --study my-study --host athlon -
  virtlab-agent.pyz push --study my-study --host athlon --hypervisor Xen \\
      --hypervisor-version 4.17 --option hw_virt=on results/*.txt
  virtlab-agent.pyz push --study my-study --system 17 old.txt
"""

import argparse
import os
import sys
import time

from agents import exits
from agents.console import Console
from agents.documents import (
    add_describing_arguments,
    described_run,
    described_system,
    study_of,
)
from agents.errors import UsageError

_OWN = ("tool", "locale", "clock", "started_at")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [options] FILE [FILE ...]"
    parser.add_argument("files", nargs="+", metavar="FILE", help="- is standard input")
    parser.add_argument("--later", action="store_true", help="send nothing now")
    parser.add_argument("--tool", help="where the text does not say whose it is")
    parser.add_argument("--locale", help="de_DE: decimal commas are read")
    parser.add_argument("--started-at", help="2010-07-29T12:00:00+02:00")
    parser.add_argument("--clock", help="whose clock timed it: guest, external, ...")
    add_describing_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from agents.documents import upload
    from agents.home import load_enrolment, open_spool
    from agents.platform_facts import gather_platform
    from agents.sending import deliver_and_say, say_what_was_read

    enrolment = load_enrolment()
    study = study_of(options, enrolment.study)
    facts = gather_platform()
    system = described_system(options, facts, enrolment.host)
    own = {name: getattr(options, name) for name in _OWN}
    given = dict(described_run(options), **own)
    # All are read before one is kept: a wrong name shall not leave half of them.
    texts = [(name, _read(name)) for name in options.files]
    spool, console = open_spool(), Console()
    pushed = {}
    for name, text in texts:
        file_facts = {"name": "standard input"}
        if name != "-":
            changed = time.gmtime(os.stat(name).st_mtime)
            changed_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", changed)
            file_facts = {"name": os.path.basename(name), "changed at": changed_at}
        stated = dict(facts, file=file_facts)
        pushed[name] = upload(text, study, system, stated, given)
        key = spool.save(pushed[name])
        console.progress("kept %s as %s" % (name, key))
    if options.later:
        return exits.DONE
    return deliver_and_say(enrolment, spool, console) or say_what_was_read(
        enrolment, pushed, console
    )


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
