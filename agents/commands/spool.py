"""Look at what waits to be sent.

spool list              what waits, the oldest first
spool send              send it now
spool rejected          what the server refused, and why
spool retry [KEY ...]   let refused runs wait again (all of them unless named)
"""

import argparse
from typing import Any

from agents import exits
from agents.console import Console
from agents.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "send", "rejected", "retry"))
    parser.add_argument("keys", nargs="*", metavar="KEY")


def run(options: argparse.Namespace) -> int:
    from agents.home import open_spool

    if options.keys and options.action != "retry":
        raise UsageError("Keys are for retry.")
    actions = {"list": _list, "send": _send, "rejected": _rejected}
    spool = open_spool()
    if options.action == "retry":
        return _retry(spool, options.keys)
    return actions[options.action](spool)


def _list(spool: Any) -> int:
    console = Console()
    for key in spool.waiting():
        console.result(key)
    held, most = spool.bytes_held() / 1e6, spool.most_bytes / 1e6
    console.say("%d wait, %.1f of %.0f MB." % (len(spool.waiting()), held, most))
    return exits.DONE


def _send(spool: Any) -> int:
    from agents.home import load_enrolment
    from agents.sending import deliver_and_say

    return deliver_and_say(load_enrolment(), spool, Console())


def _rejected(spool: Any) -> int:
    for rejected in spool.rejected():
        Console().result("%s\n%s\n" % (rejected.key, rejected.reason))
    return exits.DONE


def _retry(spool: Any, keys: Any) -> int:
    known = [rejected.key for rejected in spool.rejected()]
    unknown = [key for key in keys if key not in known]
    if unknown:
        raise UsageError("No rejected run has the key %s." % unknown[0])
    for key in keys or known:
        spool.retry(key)
    Console().say("%d wait again." % len(keys or known))
    return exits.DONE
