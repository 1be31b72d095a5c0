"""The Virtlab that a lab posts to: a given one, or one of its own."""

import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lab.errors import LabError
from lab.processes import Program

ROOT: Final = Path(__file__).resolve().parent.parent
READY_S: Final = 900
LAST_WORDS: Final = 20  # the end of a log that Virtlab repeats, and more


@dataclass(frozen=True)
class Server:
    """Where to post to, with a token that may upload and one that may read."""

    url: str
    token: str
    read_token: str


@contextmanager
def server_of(environment: Mapping[str, str], folder: Path) -> Iterator[Server]:
    """Give the server that SERVER, TOKEN and READ_TOKEN name, or start our own."""
    if url := environment.get("SERVER"):
        token = environment.get("TOKEN", "")
        if not token:
            raise LabError("SERVER is set, but TOKEN is not: a token that may upload.")
        yield Server(url.rstrip("/"), token, environment.get("READ_TOKEN", token))
        return
    port = free_port()
    program = Program(
        [sys.executable, "-m", "running.supervisor"],
        folder / "product.log",
        {**environment, "PORT": str(port), "VAR": str(folder / "product")},
    )
    try:
        _await_ready(program, folder / "product")
        yield _own(port, folder / "product")
    finally:
        program.stop()


def _await_ready(program: Program, var: Path) -> None:
    try:
        for line in program.lines_until(time.monotonic() + READY_S):
            if line.text.startswith("ready: "):
                return
        what = f"ended with exit code {program.exit_code} before it was ready."
    except TimeoutError:
        what = f"was not ready within {READY_S} s."
    advice = (
        f"If {var} was made by another version of Virtlab, remove it (with the results "
        "of earlier labs), or take another folder: LAB=/path/to/folder make lab"
    )
    told = [f"The lab's own Virtlab {what}", *program.last_words(LAST_WORDS), advice]
    raise LabError("\n".join(told))


def _own(port: int, var: Path) -> Server:
    tokens = (
        (var / name).read_text().strip() for name in ("upload-token", "read-token")
    )
    return Server(f"http://127.0.0.1:{port}", *tokens)


def free_port() -> int:
    """Return a port of this machine that nobody has."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def lab_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where images, logs and our own server's data lie: $LAB, or var/lab."""
    return (ROOT / (environment.get("LAB") or "var/lab")).absolute()
