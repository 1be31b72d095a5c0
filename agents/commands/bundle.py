"""Carry what waits to a server that this machine cannot reach.

bundle write FOLDER     write all that waits into signed files, on a stick for example
bundle forget FILE ...  after the import: what these files hold waits no longer

A portal takes them on the page "Bundles" of the lab, by its API and by `manage.py
import_bundle`. What waits stays here until you forget it; a bundle that is imported
twice is there once. The token signs it: the lab whose token it is imports it.

On a machine without a network: enroll --offline ...
"""

import argparse

from agents import errors
from agents.console import Console
from agents.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("write", "forget"))
    parser.add_argument("places", nargs="+", metavar="PLACE")


def run(options: argparse.Namespace) -> int:
    from agents import bundles
    from agents.home import load_enrolment, open_spool

    spool, console = open_spool(), Console()
    if options.action == "forget":
        keys = [key for path in options.places for key in bundles.keys_in(path)]
        waited = spool.number()
        spool.remove(keys)
        console.say("%d wait no longer." % (waited - spool.number()))
        return errors.DONE
    if len(options.places) != 1:
        raise UsageError("Name one folder.")
    enrolment = load_enrolment()
    host = None
    if enrolment.host:
        from agents.platform_facts import host_document

        host = host_document(enrolment.host)
    written = bundles.write(spool, options.places[0], enrolment.token, host)
    for bundle in written:
        console.result(bundle.path)
    total = sum(bundle.documents for bundle in written)
    console.say(
        "%d written; after the import: bundle forget FILE" % total
        if written
        else "Nothing waits."
    )
    return errors.DONE
