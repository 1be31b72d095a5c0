"""The agent's own folder: who it is enrolled with, its spool, and who measures now.

While a tool runs, `watch` sends nothing: sending would be measured. That silence is a
lock of the operating system, so that it ends with the process that holds it, however
that ends. Without such locks (Windows) nobody waits for anybody.
"""

import importlib
import json
import os
from typing import Any, NamedTuple, Optional
from urllib.parse import urlsplit

from agents.errors import AgentError, NotEnrolledError
from agents.files import write_durably

VARIABLE = "VIRTLAB_AGENT"
SERVER = "VIRTLAB_SERVER"
TOKEN = "VIRTLAB_TOKEN"
_FILE = "agent.json"
_NO_ADDRESS = "%s is no address such as https://virtlab.example.org: %s"


class Enrolment(NamedTuple):
    """The server, the token that may upload to it, and what uploads have in common."""

    server: str
    token: str
    study: str = ""
    host: str = ""
    time_server: str = ""


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
            raise NotEnrolledError(_NO_ADDRESS % (SERVER, server))
        return Enrolment(server.rstrip("/"), token)
    path = enrolment_path()
    try:
        with open(path, "rb") as file:
            return _checked(json.loads(file.read().decode()))
    except FileNotFoundError:
        raise NotEnrolledError(
            "This agent is not enrolled: there is no %s. Say: enroll --server URL "
            "--token TOKEN; or set %s and %s." % (path, SERVER, TOKEN)
        ) from None
    except (OSError, ValueError, TypeError) as error:
        raise NotEnrolledError("%s cannot be read: %s" % (path, error)) from None


def _checked(stored: Any) -> Enrolment:
    if not isinstance(stored, dict):
        raise ValueError("it is no object")
    known = {name: stored.get(name, "") for name in Enrolment._fields}
    wrong = [name for name, value in known.items() if not isinstance(value, str)]
    if wrong or not known["server"]:
        raise ValueError("%s is no text" % wrong[0] if wrong else "it names no server")
    if not is_address(known["server"]):
        raise ValueError(_NO_ADDRESS % ("server", known["server"]))
    return Enrolment(**known)


def is_address(server: str) -> bool:
    """Whether this can be the address of a Virtlab server."""
    parts = urlsplit(server)
    try:
        # urlsplit looks at the port only here, and raises if it is no number.
        is_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and is_port


def open_spool() -> Any:
    """Open the spool, or say why that cannot be done."""
    from agents.spool import Spool

    try:
        return Spool(spool_folder())
    except OSError as error:
        raise AgentError("%s: %s" % (spool_folder(), error.strerror)) from None


class Quiet:
    """Held by `run` while it measures; several may hold it at once."""

    def __enter__(self) -> "Quiet":
        self._file = _lock("LOCK_SH")
        return self

    def __exit__(self, *_: Any) -> None:
        if self._file is not None:
            self._file.close()


def is_quiet() -> bool:
    """Say whether somebody measures now."""
    file = _lock("LOCK_EX")
    if file is not None:
        file.close()
    return file is None


def _lock(kind: str) -> Optional[Any]:
    """Return the locked file, or None if others hold it."""
    # Who measures shares the lock; who would send asks whether it is free of them.
    os.makedirs(home(), mode=0o700, exist_ok=True)
    file = open(os.path.join(home(), "measuring"), "ab")  # noqa: SIM115 - held open
    try:
        locks = importlib.import_module("fcntl")
        locks.flock(file, getattr(locks, kind) | locks.LOCK_NB)
    except ImportError:
        pass
    except OSError:
        file.close()
        return None
    return file
