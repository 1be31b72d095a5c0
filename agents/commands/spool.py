"""Look at what waits to be sent.

spool list              what waits, the oldest first
spool send              send it now
spool rejected          what the server refused, and why
spool retry [KEY ...]   let refused runs wait again (all of them unless named)
"""

import argparse

from agents import errors
from agents.console import Console
from agents.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "send", "rejected", "retry"))
    parser.add_argument("keys", nargs="*", metavar="KEY")


def run(options: argparse.Namespace) -> int:
    from agents.home import load_enrolment, open_spool

    if options.keys and options.action != "retry":
        raise UsageError("Keys are for retry.")
    spool, console = open_spool(), Console()
    if options.action == "send":
        from agents.sending import deliver_and_say

        return deliver_and_say(load_enrolment(), spool, console)
    if options.action == "list":
        for key in spool.waiting():
            console.result(key)
        held, most = spool.bytes_held() / 1e6, spool.most_bytes / 1e6
        console.say("%d wait, %.1f of %.0f MB." % (spool.number(), held, most))
    elif options.action == "rejected":
        for rejected in spool.rejected().items():
            console.result("%s\n%s\n" % rejected)
    else:
        known = list(spool.rejected())
        unknown = [key for key in options.keys if key not in known]
        if unknown:
            raise UsageError("No rejected run has the key %s." % unknown[0])
        for key in options.keys or known:
            spool.retry(key)
        console.say("%d wait again." % len(options.keys or known))
    return errors.DONE
