"""List, send or retry the runs that wait to be sent.

spool list              list the waiting runs, oldest first
spool send              send them now
spool rejected          list the runs that the server refused, with reasons
spool retry [KEY ...]   send refused runs again (default: all of them)
"""

import argparse
import contextlib
import json
from typing import Any

from agents import errors
from agents.console import Console
from agents.errors import UsageError

_MAX_REPORTED_RUNS = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "send", "rejected", "retry"))
    parser.add_argument("keys", nargs="*", metavar="KEY")


def run(options: argparse.Namespace) -> int:
    from agents.local_state import open_spool

    if options.keys and options.action != "retry":
        raise UsageError("Only retry takes keys.")
    spool, console = open_spool(), Console()
    if options.action == "send":
        return _send(spool, console)
    if options.action == "list":
        for key in spool.waiting():
            console.print_result(key)
        used, most = spool.size_bytes() / 1e6, spool.most_bytes / 1e6
        console.message("%d waiting, %.1f of %.0f MB." % (spool.count(), used, most))
    elif options.action == "rejected":
        for rejected in spool.rejected().items():
            console.print_result("%s\n%s\n" % rejected)
    else:
        rejected_keys = list(spool.rejected())
        unknown = [key for key in options.keys if key not in rejected_keys]
        if unknown:
            raise UsageError("There is no rejected run with the key %s." % unknown[0])
        for key in options.keys or rejected_keys:
            spool.retry(key)
        console.message("%d runs wait again." % len(options.keys or rejected_keys))
    return errors.DONE


def _send(spool: Any, console: Console) -> int:
    """Send the spool; report how the server read the first runs."""
    from agents.local_state import load_enrolment
    from agents.spool import POWER_SUFFIX
    from agents.spool_delivery import send_and_report
    from agents.upload_results import Uploads

    enrolment, uploads = load_enrolment(), Uploads()
    for key in spool.waiting()[:_MAX_REPORTED_RUNS]:
        if not key.endswith(POWER_SUFFIX):
            with contextlib.suppress(OSError, ValueError):  # sent by another process
                uploads.add(key, json.loads(spool.read(key).decode()))
    if spool.is_empty():
        console.message("No runs are waiting.")
    sent = send_and_report(enrolment, spool, console)
    if sent or not uploads.documents:
        return sent
    return uploads.report(enrolment, console)
