"""Follow a plan of the server: take a slot, run its steps, meet the other slots.

  virtlab-agent.pyz plan 7 --system 17
  virtlab-agent.pyz plan 7 --system 17 --as vm-b --time-server tcp://192.168.1.1

The plan says what is run and in which order; this agent asks for its next step, does it
as `run` does, and sends the results. Steps of several slots start together: all arrive,
then all begin at one moment of the time server's clock (the server's own unless told).
Who carries on after being killed says the same words again.

A guest that has no Python follows it through this machine, by the probe in it:

  virtlab-agent.pyz plan 7 --system 17 --as vm-b --through "ssh vm-b"

`--as` is what this guest is called in the plan, the same always: its host name unless
told. `--system` is the id of the system it is; without it, it is described from what is
detected here, and has to be one of the plan's.
"""

import argparse
import signal
import socket

from agents import errors
from agents.console import Console, seconds, whole
from agents.documents import add_system_arguments
from agents.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from agents.measuring.through import add_through_arguments

    parser.usage = "%(prog)s PLAN [options]"
    parser.add_argument("plan", type=whole(1), metavar="PLAN", help="its number")
    parser.add_argument("--as", dest="name", default="", help="this guest's name")
    parser.add_argument(
        "--time-server", default="", metavar="URL", help="tcp://host:port"
    )
    parser.add_argument(
        "--patience-s",
        type=seconds(0),
        default=300,
        metavar="SECONDS",
        help="wait so long for a server that is away (300)",
    )
    parser.add_argument(
        "--session", default="", help="the sitting its runs belong to (the plan)"
    )
    add_through_arguments(parser)
    add_system_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from agents.client import Client
    from agents.home import load_enrolment, open_spool
    from agents.measuring.through import machine_of, through_of
    from agents.plans import Follower, PlanServer, Slot, steps_of
    from agents.sending import deliver_and_say
    from agents.timing.asking import TimePath

    if options.through and not options.name:
        raise UsageError("Say what that guest is called in the plan: --as NAME.")
    enrolment, console, spool = load_enrolment(), Console(), open_spool()
    through = through_of(options)
    machine = machine_of(options, enrolment.host, through)
    client = Client(enrolment.server, enrolment.token, options.patience_s)
    server = PlanServer(client, options.plan)
    joined = server.join(options.name or socket.gethostname(), machine.system)
    console.say("Slot %(number)d (%(name)s) of %(system)s." % joined)
    time_server = options.time_server or enrolment.time_server
    # SIGTERM ends the running program, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    slot = Slot(
        study=joined["study"],
        system=joined["system_id"],
        facts=machine.facts,
        path=TimePath(time_server or enrolment.server),
        clock=machine.clock,
        time_server=time_server,
        session=options.session,
        through=through,
    )
    # Compile now, and report missing tools now.
    for work in joined["work"]:
        try:
            steps_of(work, slot)
        except UsageError as error:
            console.say(str(error))
    failed = Follower(server, joined["id"], slot, spool).follow()
    sent = deliver_and_say(enrolment, spool, console)
    return sent or (errors.FAILED if failed else errors.DONE)
