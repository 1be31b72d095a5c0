"""The agent's own folder: who it is enrolled with, its spool, and who measures now.

While a tool runs, nobody here sends anything: sending would be measured. Two locks of
the operating system see to it, which end with the process that holds them, however that
ends. Who measures holds `measuring`, and waits until what is being sent is sent; who
sends holds `sending` for one request, and asks before each whether somebody measures.
"""

import json
import os
import time
from typing import Any, NamedTuple, Optional
from urllib.parse import urlsplit

from agents.errors import AgentError, NotEnrolledError
from agents.files import take, write_durably


def is_address(server: str) -> bool:
    """Whether this can be the address of a Virtlab server."""
    try:
        parts = urlsplit(server)
        # urlsplit looks at the port only here, and raises if it is not a number.
        is_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    is_plain = parts.username is None  # names and passwords would stand in every log
    known = parts.scheme in ("http", "https")
    # Paths are put behind it.
    is_whole = server.isprintable() and not set(server) & set("?# ")
    return known and bool(parts.hostname) and is_port and is_plain and is_whole


def without_password(server: str) -> str:
    """Return what a person wrote, to be shown."""
    before, at, after = server.rpartition("@")
    return before.partition("//")[0] + "//***@" + after if at else server


VARIABLE = "VIRTLAB_AGENT"
SERVER = "VIRTLAB_SERVER"
TOKEN = "VIRTLAB_TOKEN"
_FILE = "agent.json"
# A server that hangs takes no time of ours: what is to be measured does not wait.
MOST_WAIT_S = 5.0
_LOOK_AGAIN_S = 0.02
_MOST_BYTES = 64 * 1024
_NO_ADDRESS = "%s is no address such as https://virtlab.example.org: %s"


class Enrolment(NamedTuple):
    """The server, the token that may upload to it, and what uploads have in common."""

    server: str
    token: str
    study: str = ""
    host: str = ""
    time_server: str = ""

    def __repr__(self) -> str:
        """Without the token: what is shown by accident must not be worth anything."""
        return "Enrolment(%r)" % self.server


def home() -> str:
    """Return the folder: $VIRTLAB_AGENT, or .virtlab-agent in the user's own."""
    return os.environ.get(VARIABLE) or os.path.expanduser("~/.virtlab-agent")


def spool_folder() -> str:
    return os.path.join(home(), "spool")


def enrolment_path() -> str:
    return os.path.join(home(), _FILE)


def save_enrolment(enrolment: Enrolment) -> str:
    """Write the file that only its owner can read; return where it is."""
    os.makedirs(home(), mode=0o700, exist_ok=True)
    content = json.dumps(enrolment._asdict(), indent=1).encode() + b"\n"
    write_durably(enrolment_path(), content, 0o600)
    return enrolment_path()


def load_enrolment() -> Enrolment:
    """Return the enrolment, or raise NotEnrolledError with what to do.

    $VIRTLAB_SERVER and $VIRTLAB_TOKEN do without a file, for guests that live for one
    run.
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
    """Return a token without the blanks around it, or say what is wrong with it."""
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
    """Open the spool, or say why that cannot be done."""
    from agents.spool import Spool

    try:
        return Spool(spool_folder())
    except OSError as error:
        raise AgentError("%s: %s" % (spool_folder(), error.strerror)) from None


class Quiet:
    """Held by who measures; several may hold it at once."""

    def __enter__(self) -> "Quiet":
        # Who asks whether somebody measures holds it alone for a moment.
        self._file = _locked("measuring", is_shared=True, patience_s=MOST_WAIT_S)
        # From here on no request begins; the one that did may end.
        ended = _locked("sending", is_shared=False, patience_s=MOST_WAIT_S)
        if ended is not None:
            ended.close()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._file is not None:
            self._file.close()


class Sending:
    """Held for one request; ``is_allowed`` unless somebody measures."""

    def __enter__(self) -> "Sending":
        self._file = _locked("sending", is_shared=True)
        self.is_allowed = self._file is not None and not is_quiet()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._file is not None:
            self._file.close()


def is_quiet() -> bool:
    """Say whether somebody measures now."""
    # Another who asks the same holds it for some microseconds.
    file = _locked("measuring", is_shared=False, patience_s=2 * _LOOK_AGAIN_S)
    if file is not None:
        file.close()
    return file is None


def _locked(name: str, is_shared: bool, patience_s: float = 0.0) -> Optional[Any]:
    """Return the locked file, or None if others hold it all the time."""
    os.makedirs(home(), mode=0o700, exist_ok=True)
    file = open(os.path.join(home(), name), "ab")  # noqa: SIM115 - held open
    deadline_s = time.monotonic() + patience_s
    while not take(file, is_shared):
        if time.monotonic() >= deadline_s:
            file.close()
            return None
        time.sleep(_LOOK_AGAIN_S)
    return file
