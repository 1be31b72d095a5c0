"""Other programs: found on the path, run for their output, never for ever."""

import errno
import os
import shutil
import subprocess
import threading
import time
from typing import IO, Dict, List, NamedTuple, Optional

from agents.home import TOKEN

PATIENCE_S = 10.0
# QEMU's guest agent answers with 16 MiB of output, written as base64.
MOST_BYTES = 32 * 1024 * 1024
_PIECE_BYTES = 64 * 1024


class FloodError(OSError):
    """A program printed without end, and was killed."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(errno.EFBIG, "it printed more than %d bytes" % most_bytes)


class Ended(NamedTuple):
    """How a program ended, and what it said on both its streams."""

    exit_code: int
    printed: str
    complaint: str


def plain_environment() -> Dict[str, str]:
    """Return our environment with decimal points and without the token."""
    kept = {name: value for name, value in os.environ.items() if name != TOKEN}
    return dict(kept, LC_ALL="C.UTF-8", LANGUAGE="")


def output_of(argv: List[str], patience_s: float = PATIENCE_S) -> Optional[str]:
    """Return what a program printed, with any exit code; None if missing or hung."""
    if shutil.which(argv[0]) is None:
        return None
    try:
        done = ended(argv, patience_s)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.printed.strip() or None


def ended(
    argv: List[str],
    patience_s: float,
    is_joined: bool = False,
    most_bytes: int = MOST_BYTES,
) -> Ended:
    """Run a program to its end; ``is_joined``: stderr among its output.

    Raises OSError if it cannot start; TimeoutExpired or FloodError if it had to be
    killed.
    """
    ends_at = time.monotonic() + patience_s
    program = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if is_joined else subprocess.PIPE,
        env=plain_environment(),
    )
    streams = [stream for stream in (program.stdout, program.stderr) if stream]
    listeners = [_Listener(program, stream, most_bytes) for stream in streams]
    try:
        for listener in listeners:
            listener.start()
        for listener in listeners:
            listener.join(max(0.0, ends_at - time.monotonic()))
        if any(listener.is_flooded for listener in listeners):
            raise FloodError(most_bytes)
        if any(listener.is_alive() for listener in listeners):
            raise subprocess.TimeoutExpired(argv, patience_s)
        code = program.wait(max(0.0, ends_at - time.monotonic()))
    except BaseException:
        program.kill()
        program.wait()
        raise
    texts = [bytes(listener.heard).decode("utf-8", "replace") for listener in listeners]
    return Ended(int(code), texts[0], "".join(texts[1:]))


class _Listener(threading.Thread):
    """Read one stream to its end, or kill the program that says too much (a daemon
    thread)."""

    def __init__(
        self, program: "subprocess.Popen[bytes]", stream: IO[bytes], most_bytes: int
    ) -> None:
        super().__init__(daemon=True)
        self.program, self.stream, self.most_bytes = program, stream, most_bytes
        self.heard = bytearray()
        self.is_flooded = False

    def run(self) -> None:
        # Closed at the end: who still writes to it is told.
        with self.stream:
            while True:
                piece = os.read(self.stream.fileno(), _PIECE_BYTES)
                if not piece:
                    return
                self.heard += piece
                if len(self.heard) > self.most_bytes:
                    break
        self.is_flooded = True
        self.program.kill()
