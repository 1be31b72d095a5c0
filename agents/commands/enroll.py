"""Save the server and the token of this agent, and check both.

The token is written to a file that only you can read (0600). With `--token -` it is
read from standard input, so it does not appear in the list of processes:

  virtlab-agent.pyz enroll --server https://virtlab.example.org --token - < token

With `--code`, the server makes the token, and the study is that of the code.

`--study` and `--host` become the defaults of later commands. A missing study is created
with `--make-study`, or if you confirm it in the terminal. `--host` also registers the
machine, with its facts if it has no hypervisor.

`--offline` checks nothing on the server. Use it on a machine without a network, whose
runs are transferred as files (`bundle`); --server then names the server that will
import them.
"""

import argparse
import re
import socket
import sys
from typing import Any

from agents import errors
from agents.console import Console
from agents.errors import ServerRefusedError, ServerUnavailableError, UsageError
from agents.local_state import (
    Enrolment,
    is_server_url,
    redact_password,
    save_enrolment,
    sends_unencrypted,
)

_MAX_TOKEN_BYTES = 4096


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--server", required=True, help="https://virtlab.example.org")
    secret = parser.add_mutually_exclusive_group(required=True)
    secret.add_argument("--token", help="vl_..., or - for stdin")
    secret.add_argument(
        "--code", help="enrolment code of a study's page, instead of a token"
    )
    parser.add_argument("--study", default="", help="slug of a study")
    parser.add_argument(
        "--make-study", action="store_true", help="create the study if it is missing"
    )
    parser.add_argument("--host", default="", help="slug of this machine")
    parser.add_argument(
        "--time-server", default="", help="tcp://host:port (default: the server)"
    )
    parser.add_argument(
        "--confirm-native",
        action="store_true",
        help="this machine is native, although the agent cannot prove it",
    )
    parser.add_argument(
        "--offline", action="store_true", help="do not contact the server (see bundle)"
    )


def run(options: argparse.Namespace) -> int:
    from agents.client import Client, token_error
    from agents.spool_delivery import check_server, check_token, update_advice

    server = options.server.rstrip("/")
    if not is_server_url(server):
        raise UsageError(
            "--server must be a URL such as https://virtlab.example.org, not %s"
            % redact_password(options.server)
        )
    if options.code:
        token = _redeem_code(server, options)
    else:
        token = _read_token() if options.token == "-" else options.token.strip()
    problem = token_error(token)
    if problem:
        raise UsageError(problem)
    enrolment = Enrolment(
        *(server, token, options.study, options.host, options.time_server),
        native="confirmed" if options.confirm_native else "",
    )
    console = Console()
    if options.offline:
        from agents.commands.bundle import signing_key

        signing_key(enrolment.token)  # raises UsageError
        path = save_enrolment(enrolment)
        console.message("Saved without contacting the server: %s" % path)
        return errors.DONE
    client = Client(enrolment.server, enrolment.token, retry_for_s=10)
    if sends_unencrypted(server):
        console.message(
            "Warning: %s is not https, so others on the network can read the token."
            % server
        )
    version = check_server(client)["version"]
    console.message(
        ("Virtlab %s responds. %s" % (version, update_advice(version))).rstrip()
    )
    check_token(client)
    if enrolment.study:
        _require_study(client, enrolment.study, options.make_study, console)
    # Save only after all checks have passed.
    if enrolment.time_server:
        from agents.timing.time_client import (
            TimeServerError,
            connect_time_server,
            take_stamp,
        )

        try:
            with connect_time_server(enrolment.time_server) as connection:
                take_stamp(connection)
        except TimeServerError as error:
            raise ServerUnavailableError(str(error)) from None
    if enrolment.host:
        _register_host(client, enrolment, console)
    console.message("The token may upload. Saved: %s" % save_enrolment(enrolment))
    return errors.DONE


def _redeem_code(server: str, options: argparse.Namespace) -> str:
    """Exchange the code for a token; set the study and, if it is clear, the host."""
    from agents.client import Client
    from agents.detection.facts import host_document

    name = re.sub(r"[^a-z0-9]+", "-", socket.gethostname().lower()).strip("-")
    name = name[:50] or "machine"
    if options.offline:
        raise UsageError("--code needs the server: leave out --offline.")
    is_native = options.confirm_native or bool(host_document(name)["facts"])
    body = {"code": options.code, "agent": name}
    answer = Client(server, retry_for_s=10).request("POST", "enrolments/", body)
    options.study = options.study or answer["study"]
    if not options.host:
        hosts = answer["hosts"]
        if not is_native and len(hosts) != 1:
            raise UsageError(
                "This machine may be a guest. Name its physical machine: add --host "
                "NAME to the line (registered: %s), or --confirm-native if it is bare "
                "metal." % (", ".join(hosts) or "none")
            )
        options.host = name if is_native else hosts[0]
    return str(answer["token"])


def _register_host(client: Any, enrolment: Enrolment, console: Console) -> None:
    from agents.client import RefusedError
    from agents.detection.facts import host_document

    document = host_document(enrolment.host, enrolment.native == "confirmed")
    try:
        client.register_host(document)
    except RefusedError as refused:
        if refused.code != "host_exists":
            raise
        console.message(
            "%s is already registered with other facts, which are unchanged."
            % enrolment.host
        )
        return
    console.message("Registered: %s" % enrolment.host)
    if not document["facts"]:
        console.message(
            "Its facts were not sent, because this machine may be a guest. If it is "
            "native, add --confirm-native."
        )


def _require_study(client: Any, slug: str, may_create: bool, console: Console) -> None:
    from agents.client import RefusedError

    try:
        study = client.update_study(slug, {})
    except RefusedError as refused:
        if refused.code != "not_found":
            raise
        if not (may_create or _confirm("Study %s does not exist. Create it?" % slug)):
            raise ServerRefusedError(
                "The lab of this token has no study %s. Add --make-study or name "
                "another study. Nothing was saved." % slug
            ) from None
        study = client.create_study({"slug": slug, "title": slug})
        console.message("Created study %s (%s)." % (slug, study.get("visibility")))
    if study.get("archived_at"):
        console.message(
            "Study %s is archived and accepts no runs. Reopen it with: "
            "study reopen %s" % (slug, slug)
        )


def _confirm(question: str) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write(question + " [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _read_token() -> str:
    from agents.upload_documents import decode_text

    return decode_text(sys.stdin.buffer.read(_MAX_TOKEN_BYTES)).strip()
