"""The agent's folder: its enrolment, its spool, and the locks of measuring and sending.

Nothing is sent while a tool runs: sending would be measured. A process that measures
holds the lock `measuring` and waits for the request being sent; a process that sends
holds `sending` during one request and checks `measuring` before each. The operating
system releases the locks of a killed process.
"""

import json
import os
import time
from typing import Any, NamedTuple, Optional
from urllib.parse import urlsplit

from agents.errors import AgentError, NotEnrolledError
from agents.files import take, write_durably


def is_address(server: str) -> bool:
    """Return whether this can be the address of a Virtlab server."""
    try:
        parts = urlsplit(server)
        is_port = parts.port is None or parts.port > 0
    except ValueError:  # also a port that is not a number
        return False
    is_plain = parts.username is None  # passwords would appear in every log
    known = parts.scheme in ("http", "https")
    # Paths are appended to it.
    is_whole = server.isprintable() and not set(server) & set("?# ")
    return known and bool(parts.hostname) and is_port and is_plain and is_whole


def without_password(server: str) -> str:
    """Return an address without its name and password."""
    before, at, after = server.rpartition("@")
    return before.partition("//")[0] + "//***@" + after if at else server


VARIABLE = "VIRTLAB_AGENT"
SERVER = "VIRTLAB_SERVER"
TOKEN = "VIRTLAB_TOKEN"
_FILE = "agent.json"
# Measuring does not wait longer for a server that hangs.
MOST_WAIT_S = 5.0
_LOOK_AGAIN_S = 0.02
_MOST_BYTES = 64 * 1024
_NO_ADDRESS = "%s is no address such as https://virtlab.example.org: %s"


class Enrolment(NamedTuple):
    """The server, its token, and the common properties of uploads."""

    server: str
    token: str
    study: str = ""
    host: str = ""
    time_server: str = ""

    def __repr__(self) -> str:
        """Hide the token."""
        return "Enrolment(%r)" % self.server


def home() -> str:
    """Return $VIRTLAB_AGENT, or .virtlab-agent in the user's home."""
    return os.environ.get(VARIABLE) or os.path.expanduser("~/.virtlab-agent")


def spool_folder() -> str:
    return os.path.join(home(), "spool")


def enrolment_path() -> str:
    return os.path.join(home(), _FILE)


def save_enrolment(enrolment: Enrolment) -> str:
    """Write the enrolment, readable by its owner only; return the path."""
    os.makedirs(home(), mode=0o700, exist_ok=True)
    content = json.dumps(enrolment._asdict(), indent=1).encode() + b"\n"
    write_durably(enrolment_path(), content, 0o600)
    return enrolment_path()


def load_enrolment() -> Enrolment:
    """Return the enrolment or raise NotEnrolledError.

    $VIRTLAB_SERVER and $VIRTLAB_TOKEN replace the file in short-lived guests.
    """
    server, token = os.environ.get(SERVER), os.environ.get(TOKEN)
    if server and token:
        if not is_address(server):
            raise NotEnrolledError(_NO_ADDRESS % (SERVER, without_password(server)))
        return Enrolment(server.rstrip("/"), _usable(token, "$" + TOKEN))
    path = enrolment_path()
    try:
        with open(path, "rb") as file:
            enrolment = _checked(json.loads(file.read(_MOST_BYTES).decode()))
    except FileNotFoundError:
        raise NotEnrolledError(
            "This agent is not enrolled: there is no %s. Say: enroll --server URL "
            "--token TOKEN; or set %s and %s." % (path, SERVER, TOKEN)
        ) from None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise NotEnrolledError("%s cannot be read: %s" % (path, error)) from None
    return enrolment._replace(token=_usable(enrolment.token, path))


def _usable(token: str, place: str) -> str:
    """Return the stripped token or raise NotEnrolledError."""
    from agents.client import token_problem

    problem = token_problem(token.strip())
    if problem:
        raise NotEnrolledError("%s: %s" % (place, problem))
    return token.strip()


def _checked(stored: Any) -> Enrolment:
    if not isinstance(stored, dict):
        raise ValueError("it is not an object")
    known = {name: stored.get(name, "") for name in Enrolment._fields}
    wrong = [name for name, value in known.items() if not isinstance(value, str)]
    if wrong or not known["server"]:
        raise ValueError("%s is no text" % wrong[0] if wrong else "it names no server")
    if not is_address(known["server"]):
        shown = without_password(known["server"])
        raise ValueError(_NO_ADDRESS % ("server", shown))
    return Enrolment(**known)


def open_spool() -> Any:
    """Open the spool or raise AgentError."""
    from agents.spool import Spool

    try:
        return Spool(spool_folder())
    except OSError as error:
        raise AgentError("%s: %s" % (spool_folder(), error.strerror)) from None


class Quiet:
    """Held while measuring; several processes may hold it at once."""

    def __enter__(self) -> "Quiet":
        # `is_quiet` holds the lock exclusively for a moment.
        self._file = _locked("measuring", is_shared=True, patience_s=MOST_WAIT_S)
        # From here on no request begins; wait for the current one.
        ended = _locked("sending", is_shared=False, patience_s=MOST_WAIT_S)
        if ended is not None:
            ended.close()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._file is not None:
            self._file.close()


class Sending:
    """Held for one request; ``is_allowed`` unless a process measures."""

    def __enter__(self) -> "Sending":
        self._file = _locked("sending", is_shared=True)
        self.is_allowed = self._file is not None and not is_quiet()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._file is not None:
            self._file.close()


def is_quiet() -> bool:
    """Return whether a process measures now."""
    # Another `is_quiet` may hold the lock for some microseconds.
    file = _locked("measuring", is_shared=False, patience_s=2 * _LOOK_AGAIN_S)
    if file is not None:
        file.close()
    return file is None


def _locked(name: str, is_shared: bool, patience_s: float = 0.0) -> Optional[Any]:
    """Return the locked file, or None if the lock stays with others."""
    os.makedirs(home(), mode=0o700, exist_ok=True)
    file = open(os.path.join(home(), name), "ab")  # noqa: SIM115 - held open
    deadline_s = time.monotonic() + patience_s
    while not take(file, is_shared):
        if time.monotonic() >= deadline_s:
            file.close()
            return None
        time.sleep(_LOOK_AGAIN_S)
    return file
