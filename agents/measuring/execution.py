"""Start one program, with a limit of time and of output, and time it."""

import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import IO, Any, Callable, List, NamedTuple, Optional

from agents.programs import plain_environment
from agents.timing.clocks import monotonic_us

MOST_OUTPUT_BYTES = 7 * 1024 * 1024  # the server takes 8 MiB in one piece
# How often somebody who may stop a program early is asked, and how much it printed.
_LOOK_AGAIN_S = 1.0
_SIGNAL_OF_PARENTS_DEATH = 1  # PR_SET_PDEATHSIG
_LOCALE = ("LC_ALL", "LANGUAGE")
# The library by which a program dies with us; Linux only. It is loaded here because
# nothing may be loaded between fork and exec.
try:
    _LIBRARY: Any = None
    if sys.platform.startswith("linux"):
        _LIBRARY = importlib.import_module("ctypes").CDLL(None)
except (ImportError, OSError, TypeError):  # python3-minimal has no ctypes
    _LIBRARY = None


class Execution(NamedTuple):
    """What a program did. ``output`` is both its streams, as a terminal shows them.

    It began at ``began_us`` of the clock that nobody sets.
    """

    argv: List[str]
    exit_code: int
    output: bytes
    started_at: str
    local_us: int
    is_timed_out: bool
    is_cut: bool
    began_us: int = 0

    @property
    def problem(self) -> str:
        """Say why its output is no result; nothing if it is one."""
        if self.is_timed_out:
            return "gave no end within %.0f s" % (self.local_us / 1e6)
        if self.is_cut:
            return "printed more than %d bytes" % MOST_OUTPUT_BYTES
        return "ended with %d" % self.exit_code if self.exit_code else ""


def execute(
    argv: List[str],
    limit_s: float,
    folder: str = ".",
    is_enough: Optional[Callable[[], bool]] = None,
) -> Execution:
    """Run a program to its end, or end it and all it started at the limit.

    ``is_enough`` is asked now and then, and may end it sooner.
    """
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
            start_new_session=True,  # a group of its own, to be killed as a whole
            preexec_fn=_die_with_us if _LIBRARY else None,
        )
        if os.name == "nt":
            from agents.windows.machine import keep_in_our_job

            keep_in_our_job(program)

        def is_over() -> bool:
            return _is_cut(printed) or bool(is_enough and is_enough())

        is_timed_out = _awaited(program, limit_s, is_over)
        local_us = monotonic_us() - before_us
        printed.seek(0)
        output = printed.read(MOST_OUTPUT_BYTES)
        is_cut = _is_cut(printed)
    code = int(program.returncode)
    return Execution(
        argv, code, output, started_at, local_us, is_timed_out, is_cut, before_us
    )


def _is_cut(printed: IO[bytes]) -> bool:
    return os.fstat(printed.fileno()).st_size > MOST_OUTPUT_BYTES


def _awaited(
    program: "subprocess.Popen[bytes]",
    limit_s: float,
    is_over: Callable[[], bool],
) -> bool:
    """Wait for the end; kill the whole group at the limit, when it is over and when we
    are ended.

    Return whether that was the limit.
    """
    ends_at = time.monotonic() + limit_s
    try:
        while time.monotonic() < ends_at:
            left_s = max(0.0, ends_at - time.monotonic())
            try:
                program.wait(min(left_s, _LOOK_AGAIN_S))
                return False
            except subprocess.TimeoutExpired:
                if is_over():
                    _kill(program)
                    return False
        _kill(program)
        return True
    # In a session of its own it hears no Ctrl-C: we have to end it.
    except BaseException:
        _kill(program)
        raise


def _die_with_us() -> None:
    """Let a program end when we are killed: it would disturb what is measured next."""
    _LIBRARY.prctl(_SIGNAL_OF_PARENTS_DEATH, signal.SIGKILL)


def _kill(program: Any) -> None:
    try:
        if os.name == "nt":
            from agents.windows.machine import end_with_children

            end_with_children(program)
        else:
            os.killpg(program.pid, signal.SIGKILL)
    # It ended by itself meanwhile; it still has to be waited for.
    except ProcessLookupError:
        return
    finally:
        program.wait()


def locale_of(environment: Any) -> Any:
    """Return what of an environment decides how numbers are printed."""
    return {name: environment[name] for name in _LOCALE if environment.get(name)}
