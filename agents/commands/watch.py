"""Send the spool whenever the server can be reached, until told to stop.

Meant to run as a service (docs/agents.md has a unit for systemd). It asks nothing of
the server while nothing waits. SIGTERM and Ctrl-C end it after the run being sent.

  virtlab-agent.cmd watch --install     on Windows: a task that begins with the machine
  virtlab-agent.cmd watch --remove
"""

import argparse
import os

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
    parser.add_argument(
        "--folder", default="", help="of enrolment and spool, as $VIRTLAB_AGENT says it"
    )
    task = parser.add_mutually_exclusive_group()
    task.add_argument("--install", action="store_true", help="Windows: as a task")
    task.add_argument("--remove", action="store_true", help="Windows: end that task")


def run(options: argparse.Namespace) -> int:
    from agents.client import Client
    from agents.home import VARIABLE, load_enrolment, open_spool
    from agents.sending import Watch
    from agents.stopping import Stop

    if options.folder:
        # A task of Windows has no environment of its own.
        os.environ[VARIABLE] = os.path.abspath(options.folder)
    if options.install or options.remove:
        return _change_task(options.install)
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


def _change_task(is_wanted: bool) -> int:
    from agents.home import load_enrolment
    from agents.windows import task

    if is_wanted:
        load_enrolment()  # a task that ends at once would help nobody
    Console().say(task.install() if is_wanted else task.remove())
    return exits.DONE
