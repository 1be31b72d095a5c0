"""Run other programs with limits on time and output, and stop on signals."""

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

from agents.local_state import TOKEN_VARIABLE

TIMEOUT_S = 10.0
# QEMU's guest agent returns 16 MiB of output as base64.
MAX_BYTES = 32 * 1024 * 1024
_READ_BYTES = 64 * 1024


class OutputTooLargeError(OSError):
    """The program printed too much and was killed."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(errno.EFBIG, "it printed more than %d bytes" % most_bytes)


class CompletedProgram(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


def plain_environment() -> Dict[str, str]:
    """Return an environment for tools: decimal points, and no token of the agent."""
    inherited = {
        name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE
    }
    return dict(inherited, LC_ALL="C.UTF-8", LANGUAGE="")


def raise_priority() -> None:
    """Run this process before all others, if permitted; its children run normally.

    On a busy machine it would otherwise start programs too late.
    """
    try:
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(1))
    except (AttributeError, OSError):  # not on this system, or not root
        pass


def restore_priority() -> None:
    try:
        if os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except (AttributeError, OSError):
        pass


def program_output(argv: List[str], timeout_s: float = TIMEOUT_S) -> Optional[str]:
    """Return a program's output at any exit code; None if empty or not run."""
    if shutil.which(argv[0]) is None:
        return None
    try:
        return run_program(argv, timeout_s).stdout.strip() or None
    except (OSError, subprocess.TimeoutExpired):
        return None


def run_program(
    argv: List[str],
    timeout_s: float,
    merge_stderr: bool = False,
    most_bytes: int = MAX_BYTES,
) -> CompletedProgram:
    """Run a program; ``most_bytes`` limits stdout and stderr separately.

    Raise OSError if it does not start, and TimeoutExpired or OutputTooLargeError after
    killing it.
    """
    ends_at = time.monotonic() + timeout_s
    program = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if merge_stderr else subprocess.PIPE,
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
            raise OutputTooLargeError(most_bytes)
        if any(reader.is_alive() for reader in readers):
            raise subprocess.TimeoutExpired(argv, timeout_s)
        code = program.wait(max(0.0, ends_at - time.monotonic()))
    except BaseException:
        program.kill()
        program.wait()
        raise
    texts = [bytes(reader.content).decode("utf-8", "replace") for reader in readers]
    return CompletedProgram(int(code), texts[0], "".join(texts[1:]))


class _Reader(threading.Thread):
    """A thread that reads a program's output, and kills it if it prints too much."""

    def __init__(
        self, program: "subprocess.Popen[bytes]", stream: IO[bytes], most_bytes: int
    ) -> None:
        super().__init__(daemon=True)
        self.program, self.stream, self.most_bytes = program, stream, most_bytes
        self.content = bytearray()
        self.is_flooded = False

    def run(self) -> None:
        # Closing the stream makes writes of remaining children fail.
        with self.stream:
            while True:
                content = os.read(self.stream.fileno(), _READ_BYTES)
                if not content:
                    return
                self.content += content
                if len(self.content) > self.most_bytes:
                    # Kill first: a shell could start its next command, which keeps the
                    # other stream open.
                    self.is_flooded = True
                    self.program.kill()
                    return


class StopFlag:
    """A stop flag that signal handlers can set; threading.Event may deadlock there."""

    def __init__(self) -> None:
        self.is_set = False
        self._handles_signals = False
        self._wake_writer, self.wakened = socket.socketpair()
        for sock in (self._wake_writer, self.wakened):
            # Signal handlers must not block.
            sock.setblocking(False)

    def install_signal_handlers(self) -> None:
        """Set the flag on SIGTERM and Ctrl-C, which also ends `wait`."""
        self._handles_signals = True
        signal.set_wakeup_fd(self._wake_writer.fileno())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.set)

    def set(self, *_: Any) -> None:
        """Set the flag; also usable as a signal handler."""
        self.is_set = True
        try:
            self._wake_writer.send(b"x")
        except OSError:
            return

    def wait(self, seconds: float) -> bool:
        if not self.is_set and select.select([self.wakened], [], [], seconds)[0]:
            # Python writes a byte per signal. If it were not read, the next wait would
            # end at once.
            self.wakened.recv(4096)
        return self.is_set

    def close(self) -> None:
        if self._handles_signals:
            signal.set_wakeup_fd(-1)
        self._wake_writer.close()
        self.wakened.close()
