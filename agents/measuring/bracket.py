"""Measure one run: a program between two stamps, load and stolen time, its upload."""

import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import IO, Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from agents.console import printable_all, utc_text
from agents.documents import decoded, upload
from agents.files import cpu_ticks, memory_fields, text_of
from agents.measuring.runners import Step, version_of
from agents.processes import plain_environment
from agents.timing.asking import (
    ClocksDifferError,
    Stamp,
    TimePath,
    clock_report,
    stamp_or_silence,
)
from agents.timing.clocks import monotonic_us, own_clocks

MOST_OUTPUT_BYTES = 7 * 1024 * 1024  # the server accepts 8 MiB at once
# Interval of checks for too much output and for an early end.
_LOOK_AGAIN_S = 1.0
_SIGNAL_OF_PARENTS_DEATH = 1  # PR_SET_PDEATHSIG
_LOCALE = ("LC_ALL", "LANGUAGE")
# The library with prctl (Linux only), imported here because nothing may be imported
# between fork and exec.
try:
    _LIBRARY: Any = None
    if sys.platform.startswith("linux"):
        _LIBRARY = importlib.import_module("ctypes").CDLL(None)
except (ImportError, OSError, TypeError):  # python3-minimal has no ctypes
    _LIBRARY = None


class Execution(NamedTuple):
    """A finished program. ``output`` is both its streams, as a terminal shows them.

    It began at ``began_us`` of the monotonic clock.
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
        """Why the output is not a result; empty if it is one."""
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
    """Run a program; kill it and its children at the limit, or once ``is_enough()``."""
    with tempfile.TemporaryFile() as printed:
        started_at = utc_text()
        before_us = monotonic_us()
        program = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            env=plain_environment(),
            cwd=folder,
            start_new_session=True,  # so that the whole group can be killed
            preexec_fn=_die_with_parent if _LIBRARY else None,
        )
        if os.name == "nt":
            from agents.windows import keep_in_our_job

            keep_in_our_job(program)

        def is_over() -> bool:
            return _is_cut(printed) or bool(is_enough and is_enough())

        is_timed_out = _wait(program, limit_s, is_over)
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


def _wait(
    program: "subprocess.Popen[bytes]", limit_s: float, is_over: Callable[[], bool]
) -> bool:
    """Wait for the end or kill the program; return whether it reached the limit."""
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
    # In its own session the program does not receive Ctrl-C.
    except BaseException:
        _kill(program)
        raise


def _die_with_parent() -> None:
    """End the program when the agent is killed: it would disturb later runs."""
    _LIBRARY.prctl(_SIGNAL_OF_PARENTS_DEATH, signal.SIGKILL)


def _kill(program: Any) -> None:
    try:
        if os.name == "nt":
            from agents.windows import end_with_children

            end_with_children(program)
        else:
            os.killpg(program.pid, signal.SIGKILL)
    except ProcessLookupError:  # it has already ended
        return
    finally:
        program.wait()


SETTLE_S = 0.3  # long enough to see in the counters whether others are at work
BUSY_SHARE = 0.15
STEAL_SHARE = 0.04  # counters have a step of 10 ms: one of thirty is chance
LEAST_MEMORY_SHARE = 0.1
# Half of the equivalence margin of 2 %: a step of the clock could decide a verdict.
COARSE_SHARE = 0.01


class Measured(NamedTuple):
    """The execution of a step and the conditions around it."""

    execution: Execution
    facts: Dict[str, Any]
    warnings: List[str]


# Runs between the look around and the start; returns the first stamp, or why there is
# none.
Gate = Callable[[TimePath], Tuple[Optional[Stamp], str]]
Enough = Optional[Callable[[], bool]]


def measure(
    step: Step,
    path: TimePath,
    folder: str = ".",
    pass_gate: Gate = stamp_or_silence,
    is_enough: Enough = None,
) -> Measured:
    """Run a step between two stamps; without a time server it is measured all the same.

    ``pass_gate`` may wait for other machines; ``is_enough`` may end the program early.
    """
    idle = look_around()
    time.sleep(SETTLE_S)
    before = look_around()
    warnings = unfitness(idle, before)
    first, silence = pass_gate(path)
    execution = execute(step.argv, step.limit_s, folder, is_enough)
    # A server that did not answer the first time would only cost time-outs.
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
    environment = plain_environment()
    facts = {
        "execution": dict(
            argv=execution.argv,
            environment={n: environment[n] for n in _LOCALE if environment.get(n)},
            local_us=execution.local_us,
            **{"exit code": execution.exit_code},
            **changes(before, look_around()),
        ),
        "clock": clock,
        "warnings": warnings,
    }
    return Measured(execution, facts, warnings)


def run_document(
    step: Step,
    measured: Measured,
    study: str,
    system: Any,
    facts: Dict[str, Any],
    given: Dict[str, Any],
    order: Dict[str, Any],
) -> Dict[str, Any]:
    """Return the upload of a run; ``order`` is its place among other runs."""
    given = dict(
        given,
        tool=step.tool,
        tool_version=version_of(step.tool)[:100],  # the server's limit
        started_at=measured.execution.started_at,
    )
    order = dict(order, step=step.name)
    facts = dict(facts, order=order, **printable_all(measured.facts))
    return upload(decoded(measured.execution.output), study, system, facts, given)


def failure_of(step: Step, measured: Measured) -> str:
    """Return why nothing of a run is sent, with the last lines it printed."""
    last = decoded(measured.execution.output).strip().splitlines()[-3:]
    problem = "%s %s %s" % (step.tool, step.name, measured.execution.problem)
    return "\n  ".join([problem + "; nothing of it is sent.", *last])


class Surroundings(NamedTuple):
    """Counters at one moment; None for what the system does not count."""

    ticks: Optional[List[int]]
    load: Optional[float]
    memory_share: Optional[float]


def look_around(root: str = "/") -> Surroundings:
    """Read the counters of Linux or Windows; Windows has no load and no stolen time."""
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
    """Return the busy and stolen shares of the time of all CPUs in between."""
    measures = {"load before": before.load, "load after": after.load}
    if before.ticks and after.ticks and len(before.ticks) == len(after.ticks):
        # Lengths are equal: Python 3.6 has no zip(strict=True).
        spent = [late - early for early, late in zip(before.ticks, after.ticks)]
        whole = sum(spent)
        if whole > 0:
            # Waiting for a disk (iowait) is not work of the CPU.
            measures["busy share"] = 1 - sum(spent[3:5]) / whole
            if len(spent) == 8:
                measures["steal share"] = spent[7] / whole
    return {name: value for name, value in measures.items() if value is not None}


def unfitness(before: Surroundings, now: Surroundings) -> List[str]:
    """Return reasons against measuring now, from a short time of idling.

    The load average would still include the run before.
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
