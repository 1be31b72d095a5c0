"""One measured run: stamps from outside, load and steal around it, and its facts."""

import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import IO, Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from agents.files import cpu_ticks, memory_fields, text_of
from agents.measuring.runners import Step
from agents.programs import plain_environment
from agents.timing.asking import (
    ClocksDifferError,
    NoTimeError,
    Stamp,
    clock_report,
    open_asking,
    take_stamp,
)
from agents.timing.clocks import monotonic_us, own_clocks

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
            from agents.windows import keep_in_our_job

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
            from agents.windows import end_with_children

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


SETTLE_S = 0.3  # long enough to see in the counters whether others are at work
BUSY_SHARE = 0.15
STEAL_SHARE = 0.04  # counters tell hundredths of a second: one of thirty is chance
LEAST_MEMORY_SHARE = 0.1
# Half of the equivalence margin of 2 %: a step of the clock could make a verdict alone.
COARSE_SHARE = 0.01


class Measured(NamedTuple):
    """A step's execution and what was seen around it."""

    execution: Execution
    facts: Dict[str, Any]
    warnings: List[str]


class TimePath:
    """The way to a time server, and the shortest round trip it was ever seen to take.

    Every stamp of a session makes the bounds of the later ones more honest.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.shortest_us: Optional[int] = None

    def stamp(self) -> Stamp:
        """Take a stamp; raise NoTimeError if nobody answers."""
        with open_asking(self.address) as asking:
            stamp = take_stamp(asking)
        known_us = self.shortest_us
        trip_us = stamp.round_trip_us
        self.shortest_us = trip_us if known_us is None else min(known_us, trip_us)
        return stamp


# What stands between the look around and the start: it returns the first stamp, or
# why there is none.
Gate = Callable[[TimePath], Tuple[Optional[Stamp], str]]
Enough = Optional[Callable[[], bool]]


def stamp_or_silence(path: TimePath) -> Tuple[Optional[Stamp], str]:
    """Return a stamp, or why there is none."""
    try:
        return path.stamp(), ""
    except NoTimeError as error:
        return None, str(error)


def measure(
    step: Step,
    path: TimePath,
    folder: str = ".",
    pass_gate: Gate = stamp_or_silence,
    is_enough: Enough = None,
) -> Measured:
    """Run a step between two stamps. Without a time server the run is still a run.

    ``pass_gate`` may wait for others; ``is_enough`` may end the program sooner.
    """
    idle = look_around()
    time.sleep(SETTLE_S)
    before = look_around()
    warnings = unfitness(idle, before)
    first, silence = pass_gate(path)
    execution = execute(step.argv, step.limit_s, folder, is_enough)
    # A server that did not answer before would cost time-outs again.
    last, later_silence = stamp_or_silence(path) if first else (None, "")
    resolution_us = own_clocks().resolution_us
    clock: Dict[str, Any] = {
        "unknown": silence or later_silence,
        "resolution_us": resolution_us,
    }
    if first and last:
        try:
            clock = clock_report(first, last, path.shortest_us)
        except ClocksDifferError as error:
            clock["unknown"] = str(error)
    warnings = warnings + clock.get("suspicions", [])
    if resolution_us > COARSE_SHARE * execution.local_us:
        warnings.append(
            "This machine's clock moves in steps of %.3g ms: too coarse for %.3g s."
            % (resolution_us / 1e3, execution.local_us / 1e6)
        )
    facts = {
        "execution": dict(
            argv=execution.argv,
            environment=locale_of(plain_environment()),
            local_us=execution.local_us,
            **{"exit code": execution.exit_code},
            **changes(before, look_around()),
        ),
        "clock": clock,
        "warnings": warnings,
    }
    return Measured(execution, facts, warnings)


class Surroundings(NamedTuple):
    """Counters at one moment; None where the system does not tell."""

    ticks: Optional[List[int]]
    load: Optional[float]
    memory_share: Optional[float]


def look_around(root: str = "/") -> Surroundings:
    """Read /proc/stat, /proc/loadavg and /proc/meminfo; ask Windows, which knows no
    load and tells of no stolen time."""
    if os.name == "nt":
        from agents import windows

        known = windows.memory()
        share = known.free / known.whole if known and known.whole else None
        return Surroundings(windows.spent(), None, share)
    load = text_of(os.path.join(root, "proc/loadavg"))
    memory = memory_fields(text_of(os.path.join(root, "proc/meminfo")))
    free, whole = memory.get("MemAvailable"), memory.get("MemTotal")
    return Surroundings(
        ticks=cpu_ticks(text_of(os.path.join(root, "proc/stat"))),
        load=float(load.split()[0]) if load else None,
        memory_share=free / whole if free is not None and whole else None,
    )


def changes(before: Surroundings, after: Surroundings) -> Dict[str, Any]:
    """Return how much of all CPUs' time was busy and stolen in between."""
    measures = {"load before": before.load, "load after": after.load}
    if before.ticks and after.ticks and len(before.ticks) == len(after.ticks):
        # Lengths are equal: Python 3.6 has no zip(strict=True) to say so.
        spent = [late - early for early, late in zip(before.ticks, after.ticks)]
        whole = sum(spent)
        if whole > 0:
            # Waiting for a disk (iowait) is no work of the CPU.
            measures["busy share"] = 1 - sum(spent[3:5]) / whole
            if len(spent) == 8:
                measures["steal share"] = spent[7] / whole
    return {name: value for name, value in measures.items() if value is not None}


def unfitness(before: Surroundings, now: Surroundings) -> List[str]:
    """Say what speaks against measuring now, from a short time of doing nothing.

    The load average would still remember the run before.
    """
    reasons = []
    shares = changes(before, now)
    if shares.get("busy share", 0.0) > BUSY_SHARE:
        reasons.append("The machine is busy: %.0f %%." % (shares["busy share"] * 100))
    if shares.get("steal share", 0.0) > STEAL_SHARE:
        stolen = shares["steal share"] * 100
        reasons.append("Its host takes %.0f %% of its time for others." % stolen)
    if now.memory_share is not None and now.memory_share < LEAST_MEMORY_SHARE:
        reasons.append("Only %.0f %% of memory is free." % (now.memory_share * 100))
    return reasons
