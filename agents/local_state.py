"""The agent's folder: enrolment, spool, and locks.

Sending would disturb measurements. A measurement locks `measuring`, then waits for the
end of the current request. A sender holds `sending` during each request and starts none
while `measuring` is locked. The operating system releases locks of killed processes.
"""

import json
import os
import time
from typing import Any, NamedTuple, Optional
from urllib.parse import urlsplit

from agents.errors import AgentError, NotEnrolledError
from agents.files import try_lock, write_durably


def is_server_url(server: str) -> bool:
    try:
        parts = urlsplit(server)
        is_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    is_plain = parts.username is None  # passwords would appear in logs
    is_http = parts.scheme in ("http", "https")
    # Paths are appended to the URL.
    is_base = server.isprintable() and not set(server) & set("?# ")
    return is_http and bool(parts.hostname) and is_port and is_plain and is_base


def sends_unencrypted(server: str) -> bool:
    """Return whether requests leave this machine without encryption."""
    parts = urlsplit(server)
    host = parts.hostname or ""
    is_local = host in ("localhost", "::1") or host.startswith("127.")
    return parts.scheme == "http" and not is_local


def redact_password(server: str) -> str:
    before, at, after = server.rpartition("@")
    return before.partition("//")[0] + "//***@" + after if at else server


FOLDER_VARIABLE = "VIRTLAB_AGENT"
SERVER_VARIABLE = "VIRTLAB_SERVER"
TOKEN_VARIABLE = "VIRTLAB_TOKEN"
_FILE = "agent.json"
# How long a measurement waits for the current request to end.
MAX_WAIT_S = 5.0
_RETRY_S = 0.02
_MAX_FILE_BYTES = 64 * 1024
_INVALID_URL = "%s is not a URL such as https://virtlab.example.org: %s"


class Enrolment(NamedTuple):
    """Server, token, and default properties of uploads."""

    server: str
    token: str
    study: str = ""
    host: str = ""
    time_server: str = ""
    native: str = ""  # "confirmed" if a person has confirmed that the machine is native

    def __repr__(self) -> str:
        return "Enrolment(%r)" % self.server


def agent_folder() -> str:
    """Return $VIRTLAB_AGENT, or .virtlab-agent in the user's home."""
    return os.environ.get(FOLDER_VARIABLE) or os.path.expanduser("~/.virtlab-agent")


def spool_folder() -> str:
    return os.path.join(agent_folder(), "spool")


def enrolment_path() -> str:
    return os.path.join(agent_folder(), _FILE)


def save_enrolment(enrolment: Enrolment) -> str:
    """Write the enrolment (0600); return its path."""
    os.makedirs(agent_folder(), mode=0o700, exist_ok=True)
    content = json.dumps(enrolment._asdict(), indent=1).encode() + b"\n"
    write_durably(enrolment_path(), content, 0o600)
    return enrolment_path()


def load_enrolment() -> Enrolment:
    """Return the enrolment or raise NotEnrolledError.

    $VIRTLAB_SERVER and $VIRTLAB_TOKEN together replace the file.
    """
    server, token = os.environ.get(SERVER_VARIABLE), os.environ.get(TOKEN_VARIABLE)
    if server and token:
        if not is_server_url(server):
            raise NotEnrolledError(
                _INVALID_URL % (SERVER_VARIABLE, redact_password(server))
            )
        return Enrolment(server.rstrip("/"), _valid_token(token, "$" + TOKEN_VARIABLE))
    path = enrolment_path()
    try:
        with open(path, "rb") as file:
            stored = json.loads(file.read(_MAX_FILE_BYTES).decode())
        enrolment = _parse_enrolment(stored)
    except FileNotFoundError:
        raise NotEnrolledError(
            "This agent is not enrolled: %s does not exist. Run enroll --server URL "
            "--token TOKEN, or set %s and %s." % (path, SERVER_VARIABLE, TOKEN_VARIABLE)
        ) from None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise NotEnrolledError("%s cannot be read: %s" % (path, error)) from None
    return enrolment._replace(token=_valid_token(enrolment.token, path))


def is_confirmed_native() -> bool:
    try:
        return load_enrolment().native == "confirmed"
    except NotEnrolledError:
        return False


def _valid_token(token: str, source: str) -> str:
    from agents.client import token_error

    problem = token_error(token.strip())
    if problem:
        raise NotEnrolledError("%s: %s" % (source, problem))
    return token.strip()


def _parse_enrolment(stored: Any) -> Enrolment:
    if not isinstance(stored, dict):
        raise ValueError("the content is not a JSON object")
    fields = {name: stored.get(name, "") for name in Enrolment._fields}
    invalid = [name for name, value in fields.items() if not isinstance(value, str)]
    if invalid:
        raise ValueError("%s is not a text" % invalid[0])
    if not fields["server"]:
        raise ValueError("the server is missing")
    if not is_server_url(fields["server"]):
        shown = redact_password(fields["server"])
        raise ValueError(_INVALID_URL % ("server", shown))
    return Enrolment(**fields)


def open_spool() -> Any:
    """Return the spool; raise AgentError if its folder is unusable."""
    from agents.spool import Spool

    try:
        return Spool(spool_folder())
    except OSError as error:
        raise AgentError("%s: %s" % (spool_folder(), error.strerror)) from None


class MeasuringLock:
    def __enter__(self) -> "MeasuringLock":
        # Waits, because `is_measuring` takes this lock exclusively for a moment.
        self._file = _locked("measuring", is_shared=True, timeout_s=MAX_WAIT_S)
        sending = _locked("sending", is_shared=False, timeout_s=MAX_WAIT_S)
        if sending is not None:
            sending.close()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._file is not None:
            self._file.close()


class SendingLock:
    """A lock that is held during a request; see ``is_allowed`` before sending.

    ``is_allowed`` is False if a measurement is running or the lock is not available.
    """

    def __enter__(self) -> "SendingLock":
        self._file = _locked("sending", is_shared=True)
        self.is_allowed = self._file is not None and not is_measuring()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._file is not None:
            self._file.close()


def is_measuring() -> bool:
    # Another call of this function may hold the lock for a moment.
    file = _locked("measuring", is_shared=False, timeout_s=2 * _RETRY_S)
    if file is not None:
        file.close()
    return file is None


def _locked(name: str, is_shared: bool, timeout_s: float = 0.0) -> Optional[Any]:
    """Return a locked file of the agent's folder; None if locking times out."""
    os.makedirs(agent_folder(), mode=0o700, exist_ok=True)
    file = open(os.path.join(agent_folder(), name), "ab")  # noqa: SIM115 - held open
    deadline_s = time.monotonic() + timeout_s
    while not try_lock(file, is_shared):
        if time.monotonic() >= deadline_s:
            file.close()
            return None
        time.sleep(_RETRY_S)
    return file
