"""Run other programs with a time limit, and stop this one on signals."""

import errno
import os
import select
import shutil
import signal
import socket
import subprocess
import threading
import time
from typing import IO, Any, Dict, List, NamedTuple, Optional

from agents.home import TOKEN

PATIENCE_S = 10.0
# QEMU's guest agent answers with 16 MiB of output, written as base64.
MOST_BYTES = 32 * 1024 * 1024
_PIECE_BYTES = 64 * 1024


class FloodError(OSError):
    """A program printed too much and was killed."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(errno.EFBIG, "it printed more than %d bytes" % most_bytes)


class Ended(NamedTuple):
    """Exit code, standard output and standard error of a program."""

    exit_code: int
    printed: str
    complaint: str


def plain_environment() -> Dict[str, str]:
    """Return the environment with decimal points and without the token."""
    kept = {name: value for name, value in os.environ.items() if name != TOKEN}
    return dict(kept, LC_ALL="C.UTF-8", LANGUAGE="")


def output_of(argv: List[str], patience_s: float = PATIENCE_S) -> Optional[str]:
    """Return the output of a program, with any exit code; None if missing or hung."""
    if shutil.which(argv[0]) is None:
        return None
    try:
        return ended(argv, patience_s).printed.strip() or None
    except (OSError, subprocess.TimeoutExpired):
        return None


def ended(
    argv: List[str],
    patience_s: float,
    is_joined: bool = False,
    most_bytes: int = MOST_BYTES,
) -> Ended:
    """Run a program to its end; ``is_joined`` adds stderr to its output.

    Raise OSError if it does not start, TimeoutExpired or FloodError if it was killed.
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
    readers = [_Reader(program, stream, most_bytes) for stream in streams]
    try:
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(max(0.0, ends_at - time.monotonic()))
        if any(reader.is_flooded for reader in readers):
            raise FloodError(most_bytes)
        if any(reader.is_alive() for reader in readers):
            raise subprocess.TimeoutExpired(argv, patience_s)
        code = program.wait(max(0.0, ends_at - time.monotonic()))
    except BaseException:
        program.kill()
        program.wait()
        raise
    texts = [bytes(reader.content).decode("utf-8", "replace") for reader in readers]
    return Ended(int(code), texts[0], "".join(texts[1:]))


class _Reader(threading.Thread):
    """Read one stream to its end; kill the program if it prints too much."""

    def __init__(
        self, program: "subprocess.Popen[bytes]", stream: IO[bytes], most_bytes: int
    ) -> None:
        super().__init__(daemon=True)
        self.program, self.stream, self.most_bytes = program, stream, most_bytes
        self.content = bytearray()
        self.is_flooded = False

    def run(self) -> None:
        # Close the stream at the end: a child that still writes gets an error.
        with self.stream:
            while True:
                piece = os.read(self.stream.fileno(), _PIECE_BYTES)
                if not piece:
                    return
                self.content += piece
                if len(self.content) > self.most_bytes:
                    # Kill before the stream closes. Otherwise a shell may start its
                    # next command, which keeps the other stream open.
                    self.is_flooded = True
                    self.program.kill()
                    return


class Stop:
    """A stop flag for signal handlers, where threading.Event could deadlock."""

    def __init__(self) -> None:
        self.is_set = False
        self._listens = False
        self._waker, self.wakened = socket.socketpair()
        for sock in (self._waker, self.wakened):
            # A signal handler must not block on a full socket.
            sock.setblocking(False)

    def listen_to_signals(self) -> None:
        """Stop on SIGTERM and Ctrl-C.

        On Windows only the wakeup socket interrupts a wait.
        """
        self._listens = True
        signal.set_wakeup_fd(self._waker.fileno())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.set)

    def set(self, *_: Any) -> None:
        """Set the flag; accept the arguments of a signal handler."""
        self.is_set = True
        try:
            self._waker.send(b"x")
        except OSError:  # the socket is full of earlier wake-ups
            return

    def wait(self, seconds: float) -> bool:
        """Wait for the flag for at most so long; return the flag."""
        if not self.is_set and select.select([self.wakened], [], [], seconds)[0]:
            # Every signal that Python handles writes here; unread, it would wake again.
            self.wakened.recv(4096)
        return self.is_set

    def close(self) -> None:
        if self._listens:
            signal.set_wakeup_fd(-1)
        self._waker.close()
        self.wakened.close()
