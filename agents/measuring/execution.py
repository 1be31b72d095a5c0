"""Start one program, with a limit of time and of output, and time it."""

import os
import signal
import subprocess
import tempfile
import time
from typing import Any, List, NamedTuple

from agents.programs import plain_environment
from agents.timing.clocks import monotonic_us

MOST_OUTPUT_BYTES = 7 * 1024 * 1024  # the server takes 8 MiB in one piece
_LOCALE = ("LC_ALL", "LANGUAGE")


class Execution(NamedTuple):
    """What a program did. ``output`` is both its streams, as a terminal shows them."""

    argv: List[str]
    exit_code: int
    output: bytes
    started_at: str
    local_us: int
    is_timed_out: bool
    is_cut: bool

    @property
    def problem(self) -> str:
        """Say why its output is no result; nothing if it is one."""
        if self.is_timed_out:
            return "gave no end within %.0f s" % (self.local_us / 1e6)
        if self.is_cut:
            return "printed more than %d bytes" % MOST_OUTPUT_BYTES
        return "ended with %d" % self.exit_code if self.exit_code else ""


def execute(argv: List[str], limit_s: float, folder: str = ".") -> Execution:
    """Run a program to its end, or end it and all it started at the limit."""
    with tempfile.TemporaryFile() as printed:
        started_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        before_us = monotonic_us()
        program = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            env=plain_environment(),
            cwd=folder,
            start_new_session=True,
        )
        is_timed_out = _awaited(program, limit_s)
        local_us = monotonic_us() - before_us
        printed.seek(0)
        output = printed.read(MOST_OUTPUT_BYTES)
        is_cut = bool(printed.read(1))
    code = int(program.returncode)
    return Execution(argv, code, output, started_at, local_us, is_timed_out, is_cut)


def _awaited(program: "subprocess.Popen[bytes]", limit_s: float) -> bool:
    """Wait for the end; kill the whole group at the limit or when we are ended."""
    try:
        program.wait(timeout=limit_s)
        return False
    except subprocess.TimeoutExpired:
        _kill(program)
        return True
    except BaseException:
        _kill(program)
        raise


def _kill(program: Any) -> None:
    try:
        if os.name == "nt":
            program.kill()
        else:
            os.killpg(program.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        program.wait()


def locale_of(environment: Any) -> Any:
    """Return what of an environment decides how numbers are printed."""
    return {name: environment[name] for name in _LOCALE if environment.get(name)}
