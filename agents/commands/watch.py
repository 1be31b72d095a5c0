"""Send the spool whenever the server can be reached, until told to stop.

Meant to run as a service (docs/agents.md has a unit for systemd). It asks nothing of
the server while nothing waits. SIGTERM and Ctrl-C end it after the run being sent.
"""

import argparse

from agents import exits
from agents.console import Console, seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--every",
        type=seconds(0.01, 3600),
        default=5.0,
        metavar="SECONDS",
        help="look so often (5)",
    )


def run(options: argparse.Namespace) -> int:
    from agents.client import Client
    from agents.home import load_enrolment, open_spool
    from agents.sending import Watch
    from agents.stopping import Stop

    enrolment = load_enrolment()
    stop = Stop()
    stop.listen_to_signals()
    console = Console()
    console.say("watching, for %s" % enrolment.server)
    client = Client(enrolment.server, enrolment.token)
    Watch(open_spool(), client, console.say, options.every).go_on_until(stop)
    stop.close()
    console.say("stopped")
    return exits.DONE
