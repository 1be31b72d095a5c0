"""Serve the time to guests whose clocks are unreliable, over TCP and UDP on one port.

Run it on a machine outside the hypervisor. It answers the LINPACK of the LMU studies
(start, time, quit) and agents (stamp). It stores nothing and needs no token: anyone who
can reach the port can ask for the time.
"""

import argparse

from agents import errors
from agents.argument_parsing import int_between
from agents.console import Console
from agents.errors import AgentError
from agents.timing.time_server import PORT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port",
        type=int_between(0, 65535),
        default=PORT,
        metavar="N",
        help="port (%d)" % PORT,
    )
    parser.add_argument(
        "--bind", default="", metavar="ADDRESS", help="local address (default: all)"
    )


def run(options: argparse.Namespace) -> int:
    from agents.timing.time_server import TimeServer

    try:
        server = TimeServer(options.bind, options.port)
    except OSError as error:
        raise AgentError(
            "Port %d: %s. Choose another one with --port N"
            % (options.port, error.strerror or error)
        ) from None
    server.stopping.install_signal_handlers()
    console = Console()
    console.message("serving the time on port %d, TCP and UDP" % server.port)
    server.serve()
    server.close()
    console.message("%d requests answered" % server.answered)
    return errors.DONE
