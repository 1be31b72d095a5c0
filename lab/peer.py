"""Whom the network's rows talk to: our kernel behind a wire of its own, so that this
machine reaches it through its network, too."""

import os
import shlex
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from lab.errors import LabError
from lab.processes import Program

# Of a network that is kept for measuring (RFC 2544): nobody's machines are in it.
OURS: Final = "198.18.0.1"
PEERS: Final = "198.18.0.2"
PORT: Final = 5099
WITHIN_S: Final = 20.0
_INSIDE: Final = "in a network of its own"


@contextmanager
def network_peer(kernel: Path, logs: Path) -> Iterator[str]:
    """Give the address of the peer; raise LabError where it cannot be reached."""
    name = f"vlab{os.getpid()}"[:15]
    steps = [
        f"echo {_INSIDE}",
        f"until ip addr add {PEERS}/30 dev peer 2> /dev/null; do sleep 0.05; done",
        "ip link set lo up",
        "ip link set peer up",
        f"exec {shlex.quote(str(kernel))} serve {PEERS}:{PORT}",
    ]
    argv = ["unshare", "--net", "sh", "-c", "; ".join(steps)]
    program = Program(argv, logs / "peer.log")
    try:
        # Earlier, the wire's other end would stay in this machine's own network.
        program.await_line(_INSIDE, WITHIN_S)
        for words in (
            f"link add {name} type veth peer name peer netns {program.pid}",
            f"addr add {OURS}/30 dev {name}",
            f"link set {name} up",
        ):
            argv = ["ip", *words.split()]
            done = subprocess.run(argv, capture_output=True, text=True)
            if done.returncode != 0:
                raise LabError(f"ip {words}: {done.stderr.strip()}")
        program.await_line(f"serving at {PEERS}:{PORT}", WITHIN_S)
        check_answers(PEERS, PORT)
        yield f"{PEERS}:{PORT}"
    finally:
        program.stop()
        # It goes with the other end's network, but not at once.
        subprocess.run(["ip", "link", "delete", name], capture_output=True)


def check_answers(host: str, port: int, within_s: float = WITHIN_S) -> None:
    """Raise LabError if nobody answers: each row of the network would wait in vain."""
    try:
        socket.create_connection((host, port), within_s).close()
    except OSError as error:
        raise LabError(
            f"The network's peer at {host}:{port} cannot be reached ({error}). "
            "A wire that a lab which was killed has left may be in the way: `ip link` "
            "names it vlab..., and `ip link delete NAME` takes it away."
        ) from None
