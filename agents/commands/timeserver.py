"""Tell the time to guests whose clocks lie, over TCP and UDP on one port.

Run it on a machine outside the hypervisor. It speaks the line protocol of the LMU
studies' LINPACK (start, time, quit) and the agents' own stamps. It keeps nothing and
asks for no token: whoever reaches the port can ask for the time.
"""

import argparse

from agents import errors
from agents.console import Console, whole
from agents.errors import AgentError
from agents.timing.server import PORT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=whole(0, 65535), default=PORT, metavar="N", help="%d" % PORT
    )
    parser.add_argument(
        "--bind", default="", metavar="ADDRESS", help="an address; all unless told"
    )


def run(options: argparse.Namespace) -> int:
    from agents.timing.server import TimeServer

    try:
        server = TimeServer(options.bind, options.port)
    except OSError as error:
        raise AgentError(
            "Port %d: %s. Another one: --port N"
            % (options.port, error.strerror or error)
        ) from None
    server.stopping.listen_to_signals()
    console = Console()
    console.say("telling the time on port %d, TCP and UDP" % server.port)
    server.serve()
    server.close()
    console.say("questions answered: %d" % server.answered)
    return errors.DONE
