"""Check that a file, such as a package of the agent, was signed by your server.

  virtlab-agent.pyz verify virtlab-agent.deb

The signature is the file next to it, such as virtlab-agent.deb.minisig. The first call
saves the key of the enrolled server; compare it with the page "Agents and tokens".
Later calls use the saved key. Without an enrolment, give the key: --key KEY, or
--key FILE. `minisign -V` checks the same files.
"""

import argparse
import hashlib
import os
from typing import Any

from agents import errors
from agents.argument_parsing import read_given_file
from agents.console import Console
from agents.errors import AgentError, ServerUnavailableError, UsageError

KEY_PATH = "/agent/virtlab-agent.pub"
_SAVED = "server-key.pub"
_MAX_KEY_BYTES = 4096


class NotVerifiedError(AgentError):
    exit_code = errors.CHECK_FAILED


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument(
        "--signature", metavar="FILE", help="default: FILE.minisig next to the file"
    )
    parser.add_argument("--key", metavar="KEY|FILE", help="default: the server's key")
    parser.add_argument("--sha256", metavar="DIGEST", help="also compare the digest")


def run(options: argparse.Namespace) -> int:
    from agents import signatures

    console = Console()
    path = options.signature or options.file + signatures.SUFFIX
    content = read_given_file(options.file)
    signature = read_given_file(path).decode("utf-8", "replace")
    key = _key(options.key, console)
    digest = hashlib.sha256(content).hexdigest()
    if options.sha256 and options.sha256.lower() != digest:
        raise NotVerifiedError("NOT VERIFIED: the SHA-256 is %s." % digest)
    try:
        comment = signatures.verify_file(content, signature, path, key)
    except signatures.SignatureError as error:
        raise NotVerifiedError("NOT VERIFIED: %s" % error) from None
    console.print_result("verified: %s, SHA-256 %s" % (options.file, digest))
    console.print_result("signed with the key %s: %s" % (key.name, comment))
    return errors.DONE


def _key(given: str, console: Console) -> Any:
    from agents import signatures
    from agents.files import read_text_file, write_durably
    from agents.local_state import agent_folder, load_enrolment

    try:
        if given:
            text = read_text_file(given, _MAX_KEY_BYTES) or given
            return signatures.read_key(text, "--key")
        saved = os.path.join(agent_folder(), _SAVED)
        text = read_text_file(saved, _MAX_KEY_BYTES) or ""
        if text:
            return signatures.read_key(text, saved)
        server = load_enrolment().server
        key = signatures.read_key(_downloaded(server), server + KEY_PATH)
    except signatures.SignatureError as error:
        raise UsageError(str(error)) from None
    write_durably(saved, signatures.key_file(key).encode())
    console.message("Saved the key of %s: %s" % (server, key.text))
    return key


def _downloaded(server: str) -> str:
    import http.client

    from agents.client import open_connection

    url = server.rstrip("/") + KEY_PATH
    try:
        connection = open_connection(url)
        response = connection.request("GET", url, None, {"Connection": "close"})
        text = response.read(_MAX_KEY_BYTES).decode("ascii", "replace")
        connection.close()
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise ServerUnavailableError("%s: %s" % (url, error)) from None
    if response.status != 200:
        raise ServerUnavailableError("%s: HTTP %d" % (url, response.status))
    return text
