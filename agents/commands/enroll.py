"""Tell this agent its server and its token, and check both.

The token is written to a file that only you can read (0600). With `--token -` it is
read from standard input, so that it stands in no list of processes:

  virtlab-agent.pyz enroll --server https://virtlab.example.org --token - < token

`--study` and `--host` are then taken for every push that names none. A study that is
not there is made if you say so (`--make-study`, or when asked). `--host` also
registers the machine; on a machine without a hypervisor its facts go with it.

`--offline` asks nobody: for a machine that reaches no server, whose runs are carried
there (`bundle`). The server is then the one that will take them.
"""

import argparse
import sys
from typing import Any

from agents import errors
from agents.console import Console
from agents.errors import ServerAwayError, ServerRefusedError, UsageError
from agents.home import Enrolment, is_address, save_enrolment, without_password

_MOST_BYTES = 4096


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--server", required=True, help="https://virtlab.example.org")
    parser.add_argument("--token", required=True, help="vl_..., or - to read it")
    parser.add_argument("--study", default="", help="the slug of a study")
    parser.add_argument(
        "--make-study", action="store_true", help="make it, if it is not there"
    )
    parser.add_argument("--host", default="", help="the slug of this machine")
    parser.add_argument(
        "--time-server", default="", help="tcp://host:port; the server unless told"
    )
    parser.add_argument(
        "--offline", action="store_true", help="ask nobody: runs are carried (bundle)"
    )


def run(options: argparse.Namespace) -> int:
    from agents.client import Client, token_problem
    from agents.sending import ask_health, ask_token

    server = options.server.rstrip("/")
    if not is_address(server):
        raise UsageError(
            "--server is an address such as https://virtlab.example.org, not %s"
            % without_password(options.server)
        )
    token = _read_token() if options.token == "-" else options.token.strip()
    problem = token_problem(token)
    if problem:
        raise UsageError(problem)
    enrolment = Enrolment(
        server, token, options.study, options.host, options.time_server
    )
    console = Console()
    if options.offline:
        from agents.commands.bundle import signing

        signing(enrolment.token)  # raises UsageError for a token that cannot sign
        console.say("Nobody was asked. Written: %s" % save_enrolment(enrolment))
        return errors.DONE
    client = Client(enrolment.server, enrolment.token, patience_s=10)
    console.say("Virtlab %s answers." % ask_health(client)["version"])
    ask_token(client)
    if enrolment.study:
        _await_study(client, enrolment.study, options.make_study, console)
    # Write nothing before everything is known to work.
    if enrolment.time_server:
        from agents.timing.asking import NoTimeError, open_asking, take_stamp

        try:
            with open_asking(enrolment.time_server) as asking:
                take_stamp(asking)
        except NoTimeError as error:
            raise ServerAwayError(str(error)) from None
    if enrolment.host:
        from agents.client import RefusedError
        from agents.detection.facts import host_document

        try:
            client.register_host(host_document(enrolment.host))
            console.say("Registered: %s" % enrolment.host)
        except RefusedError as refused:
            if refused.code != "host_exists":
                raise
            console.say(
                "%s is registered already, with other facts; they stay."
                % enrolment.host
            )
    console.say("The token may upload. Written: %s" % save_enrolment(enrolment))
    return errors.DONE


def _await_study(client: Any, slug: str, is_made: bool, console: Console) -> None:
    """Check that a study of the lab accepts runs; create a missing one."""
    from agents.client import RefusedError

    try:
        study = client.update_study(slug, {})
    except RefusedError as refused:
        if refused.code != "not_found":
            raise
        if not (is_made or _agreed("There is no study %s. Make it?" % slug)):
            raise ServerRefusedError(
                "There is no study %s in the lab of this token. Say --make-study, "
                "or name another one; nothing was written." % slug
            ) from None
        study = client.create_study({"slug": slug, "title": slug})
        console.say("Made: the study %s (%s)." % (slug, study.get("visibility")))
    if study.get("archived_at"):
        console.say(
            "The study %s is in the archive and takes no runs. Take it out: "
            "study reopen %s" % (slug, slug)
        )


def _agreed(question: str) -> bool:
    """Ask the user, if there is a terminal: standard input may hold the token."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write(question + " [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _read_token() -> str:
    from agents.documents import decoded

    return decoded(sys.stdin.buffer.read(_MOST_BYTES)).strip()
