"""Follow a plan of the server: take a slot and run its steps.

  virtlab-agent.pyz plan 7 --system 17
  virtlab-agent.pyz plan 7 --system 17 --as vm-b --time-server tcp://192.168.1.1

The plan defines the steps and their order; a slot is the place of one guest in it. The
agent asks for the next step of its slot, runs it as `run` does, and sends the results.
If several slots take part in a step, all wait until the last one has arrived, and start
at the same moment of the time server's clock (by default the server's own clock). After
an interruption, start the same command again.

A guest without Python is measured through this machine, with the probe in the guest:

  virtlab-agent.pyz plan 7 --system 17 --as vm-b --through "ssh vm-b"

`--as` is the guest's name in the plan and must stay the same; the default is the host
name. `--system` is the ID of the guest's system. Without it, the system is described
from detected facts, and must be one of the plan's systems.
"""

import argparse
import signal
import socket

from agents import errors
from agents.argument_parsing import int_between, seconds_between
from agents.console import Console
from agents.errors import UsageError
from agents.run_and_system_options import add_system_arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from agents.measuring.remote import add_remote_arguments

    parser.usage = "%(prog)s PLAN [options]"
    parser.add_argument("plan", type=int_between(1), metavar="PLAN", help="plan number")
    parser.add_argument("--as", dest="name", default="", help="name of this guest")
    parser.add_argument(
        "--time-server", default="", metavar="URL", help="tcp://host:port"
    )
    parser.add_argument(
        "--patience-s",
        type=seconds_between(0),
        default=300,
        metavar="SECONDS",
        help="how long to retry while the server is unavailable (default: 300)",
    )
    parser.add_argument(
        "--session", default="", help="session of its runs (default: the plan's)"
    )
    add_remote_arguments(parser)
    add_system_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from agents.client import Client
    from agents.local_state import load_enrolment, open_spool
    from agents.measuring.remote import measured_machine, remote_from_options
    from agents.plan_runner import PlanRunner, PlanServer, PlanSlotContext, part_steps
    from agents.spool_delivery import send_and_report
    from agents.timing.time_client import TimeServerPath

    if options.through and not options.name:
        raise UsageError("Name the guest as in the plan: --as NAME.")
    enrolment, console, spool = load_enrolment(), Console(), open_spool()
    through = remote_from_options(options)
    machine = measured_machine(options, enrolment.host, through)
    client = Client(enrolment.server, enrolment.token, options.patience_s)
    server = PlanServer(client, options.plan)
    platform = machine.facts.get("platform")
    name = options.name or socket.gethostname()
    joined = server.join(name, machine.system, platform)
    console.message("Slot %(number)d (%(name)s) of %(system)s." % joined)
    time_server = options.time_server or enrolment.time_server
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    slot = PlanSlotContext(
        study=joined["study"],
        system=joined["system_id"],
        facts=machine.facts,
        path=TimeServerPath(time_server or enrolment.server),
        clock=machine.clock,
        time_server=time_server,
        session=options.session,
        through=through,
    )
    # Report missing tools before the first step.
    for work in joined["tools"]:
        try:
            part_steps(work, slot)
        except UsageError as error:
            console.message(str(error))
    runner = PlanRunner(server, joined["id"], slot, spool)
    failed = runner.run()
    sent = send_and_report(enrolment, spool, console)
    if runner.uploads.documents and not sent:
        sent = runner.uploads.report(enrolment, console)
    return sent or (errors.FAILED if failed else errors.DONE)
