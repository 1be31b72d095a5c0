"""Run a program between two queries of the time server, and describe the upload."""

import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import IO, Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from agents.console import printable_all, utc_text
from agents.files import cpu_ticks, list_names, memory_fields, read_text_file
from agents.measuring.command_lines import Step, tool_version
from agents.processes import plain_environment, restore_priority
from agents.timing.clocks import monotonic_us, own_clocks
from agents.timing.time_client import (
    ClocksDifferError,
    ClockStamp,
    TimeServerPath,
    clock_report,
    try_stamp,
)
from agents.upload_documents import decode_text, upload_document

MAX_OUTPUT_BYTES = 7 * 1024 * 1024  # the server accepts 8 MiB at once
_POLL_S = 1.0
_PR_SET_PDEATHSIG = 1
_LOCALE = ("LC_ALL", "LANGUAGE")
# libc, for prctl. It is loaded here, because nothing may be imported between fork and
# exec.
try:
    _LIBRARY: Any = None
    if sys.platform.startswith("linux"):
        _LIBRARY = importlib.import_module("ctypes").CDLL(None)
except (ImportError, OSError, TypeError):  # python3-minimal has no ctypes
    _LIBRARY = None


class Execution(NamedTuple):
    """A finished program; ``output`` includes stderr.

    ``began_us`` and ``local_us`` (duration) are of the monotonic clock.
    """

    argv: List[str]
    exit_code: int
    output: bytes
    started_at: str
    local_us: int
    is_timed_out: bool
    is_truncated: bool
    began_us: int = 0

    @property
    def problem(self) -> str:
        """Why the output is not a result, or ""."""
        if self.is_timed_out:
            return "did not end within %.0f s" % (self.local_us / 1e6)
        if self.is_truncated:
            return "printed more than %d bytes" % MAX_OUTPUT_BYTES
        return "ended with %d" % self.exit_code if self.exit_code else ""


def execute(
    argv: List[str],
    limit_s: float,
    folder: str = ".",
    should_stop: Optional[Callable[[], bool]] = None,
) -> Execution:
    """Run a program; kill it with its children at the limit or on ``should_stop()``."""
    with tempfile.TemporaryFile() as output_file:
        started_at = utc_text()
        before_us = monotonic_us()
        program = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output_file,
            stderr=subprocess.STDOUT,
            env=plain_environment(),
            cwd=folder,
            start_new_session=True,  # to kill the whole group
            preexec_fn=DIE_WITH_PARENT,
        )
        restore_priority()
        if os.name == "nt":
            from agents.windows import add_to_job

            add_to_job(program)

        def is_over() -> bool:
            return _is_cut(output_file) or bool(should_stop and should_stop())

        is_timed_out = _wait(program, limit_s, is_over)
        local_us = monotonic_us() - before_us
        output_file.seek(0)
        output = output_file.read(MAX_OUTPUT_BYTES)
        is_cut = _is_cut(output_file)
    code = int(program.returncode)
    return Execution(
        argv, code, output, started_at, local_us, is_timed_out, is_cut, before_us
    )


def _is_cut(output_file: IO[bytes]) -> bool:
    return os.fstat(output_file.fileno()).st_size > MAX_OUTPUT_BYTES


def _wait(
    program: "subprocess.Popen[bytes]", limit_s: float, is_over: Callable[[], bool]
) -> bool:
    ends_at = time.monotonic() + limit_s
    try:
        while time.monotonic() < ends_at:
            left_s = max(0.0, ends_at - time.monotonic())
            try:
                program.wait(min(left_s, _POLL_S))
                return False
            except subprocess.TimeoutExpired:
                if is_over():
                    _kill(program)
                    return False
        _kill(program)
        return True
    # The program does not receive Ctrl-C, because it has its own session.
    except BaseException:
        _kill(program)
        raise


def _die_with_parent() -> None:
    """Let the kernel kill this process if the agent dies, so that it does not go on."""
    _LIBRARY.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


DIE_WITH_PARENT = _die_with_parent if _LIBRARY else None


def _kill(program: Any) -> None:
    try:
        if os.name == "nt":
            from agents.windows import kill_tree

            kill_tree(program)
        else:
            os.killpg(program.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        program.wait()


IDLE_CHECK_S = 0.3  # how long other load is observed before each run
MAX_BUSY_SHARE = 0.15
MAX_STEAL_SHARE = 0.04  # above one step of the counters (10 ms) in IDLE_CHECK_S
MIN_FREE_MEMORY_SHARE = 0.1
# Half of the default equivalence margin, 2 %.
MAX_RESOLUTION_SHARE = 0.01


class MeasuredStep(NamedTuple):
    execution: Execution
    facts: Dict[str, Any]
    warnings: List[str]


# Called before the start; returns the first stamp, or None and the reason.
StartGate = Callable[[TimeServerPath], Tuple[Optional[ClockStamp], str]]
StopCondition = Optional[Callable[[], bool]]


def measure(
    step: Step,
    path: TimeServerPath,
    folder: str = ".",
    start_gate: StartGate = try_stamp,
    should_stop: StopCondition = None,
) -> MeasuredStep:
    """Run a step, with a stamp before and after it if the time server answers.

    ``start_gate`` may wait for other machines.
    """
    idle = read_system_load()
    time.sleep(IDLE_CHECK_S)
    before = read_system_load()
    warnings = load_warnings(idle, before)
    if cpu_shares(idle, before).get("busy share", 0.0) > MAX_BUSY_SHARE:
        warnings += busiest_process()
        before = read_system_load()
    first, silence = start_gate(path)
    execution = execute(step.argv, step.limit_s, folder, should_stop)
    # Without a first stamp, do not wait for a second time-out.
    last, later_silence = try_stamp(path) if first else (None, "")
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
    if resolution_us > MAX_RESOLUTION_SHARE * execution.local_us:
        warnings.append(
            "This machine's clock has steps of %.3g ms, too coarse for %.3g s."
            % (resolution_us / 1e3, execution.local_us / 1e6)
        )
    environment = plain_environment()
    facts = {
        "execution": dict(
            argv=execution.argv,
            environment={n: environment[n] for n in _LOCALE if environment.get(n)},
            local_us=execution.local_us,
            **{"exit code": execution.exit_code},
            **cpu_shares(before, read_system_load()),
        ),
        "clock": clock,
        "warnings": warnings,
    }
    return MeasuredStep(execution, facts, warnings)


def run_document(
    step: Step,
    measured: MeasuredStep,
    study: str,
    system: Any,
    facts: Dict[str, Any],
    given: Dict[str, Any],
    order: Dict[str, Any],
) -> Dict[str, Any]:
    """Return the upload document of a run; ``order`` states repetition and position."""
    given = dict(
        given,
        tool=step.tool,
        tool_version=tool_version(step.tool)[:100],  # the server's limit
        started_at=measured.execution.started_at,
        failed=measured.execution.problem or given.get("failed"),
    )
    order = dict(order, step=step.name)
    facts = dict(facts, order=order, **printable_all(measured.facts))
    return upload_document(
        decode_text(measured.execution.output), study, system, facts, given
    )


def failure_message(step: Step, measured: MeasuredStep) -> str:
    last_lines = decode_text(measured.execution.output).strip().splitlines()[-3:]
    problem = "%s %s %s" % (step.tool, step.name, measured.execution.problem)
    return "\n  ".join([problem + "; the run does not count.", *last_lines])


class SystemLoad(NamedTuple):
    """CPU ticks, load average and share of free memory; None if unavailable."""

    ticks: Optional[List[int]]
    load: Optional[float]
    memory_share: Optional[float]


def read_system_load(root: str = "/") -> SystemLoad:
    """Read the load of this machine; Windows has no load average and no steal time."""
    if os.name == "nt":
        from agents import windows

        ram = windows.memory()
        share = ram.free / ram.total if ram and ram.total else None
        return SystemLoad(windows.cpu_times(), None, share)
    load = read_text_file(os.path.join(root, "proc/loadavg"))
    memory = memory_fields(read_text_file(os.path.join(root, "proc/meminfo")))
    free, total = memory.get("MemAvailable"), memory.get("MemTotal")
    return SystemLoad(
        ticks=cpu_ticks(read_text_file(os.path.join(root, "proc/stat"))),
        load=float(load.split()[0]) if load else None,
        memory_share=free / total if free is not None and total else None,
    )


def cpu_shares(before: SystemLoad, after: SystemLoad) -> Dict[str, Any]:
    """Return the load averages, and the shares of CPU time in between.

    The shares are busy and stolen; unknown values are left out.
    """
    measures = {"load before": before.load, "load after": after.load}
    if before.ticks and after.ticks and len(before.ticks) == len(after.ticks):
        # Python 3.6 has no zip(strict=True).
        spent = [late - early for early, late in zip(before.ticks, after.ticks)]
        total = sum(spent)
        if total > 0:
            # iowait is not CPU work.
            measures["busy share"] = 1 - sum(spent[3:5]) / total
            if len(spent) == 8:
                measures["steal share"] = spent[7] / total
    return {name: value for name, value in measures.items() if value is not None}


def busiest_process(root: str = "/") -> List[str]:
    """Return a sentence with the process that uses most CPU time, or []."""
    before = _process_ticks(root)
    time.sleep(IDLE_CHECK_S)
    spent = {
        process: ticks - before[process]
        for process, ticks in _process_ticks(root).items()
        if process in before and process[0] != os.getpid()
    }
    busiest = max(spent, key=lambda process: spent[process], default=None)
    if busiest is None or not spent[busiest]:
        return []
    return ["The busiest process is %d (%s)." % busiest]


def _process_ticks(root: str) -> Dict[Tuple[int, str], int]:
    ticks = {}
    for name in filter(str.isdigit, list_names(os.path.join(root, "proc"))):
        text = read_text_file(os.path.join(root, "proc", name, "stat")) or ""
        command, _, rest = text.partition("(")[2].rpartition(")")
        fields = rest.split()
        if len(fields) > 12:
            ticks[int(name), command] = int(fields[11]) + int(fields[12])
    return ticks


def load_warnings(before: SystemLoad, now: SystemLoad) -> List[str]:
    """Return reasons not to measure now, from two readings while the agent is idle.

    The load average is not used, because it still includes the previous run.
    """
    reasons = []
    shares = cpu_shares(before, now)
    if shares.get("busy share", 0.0) > MAX_BUSY_SHARE:
        reasons.append("The machine is busy: %.0f%%." % (shares["busy share"] * 100))
    if shares.get("steal share", 0.0) > MAX_STEAL_SHARE:
        stolen = shares["steal share"] * 100
        reasons.append("The host takes %.0f%% of the CPU time for others." % stolen)
    if now.memory_share is not None and now.memory_share < MIN_FREE_MEMORY_SHARE:
        reasons.append("Only %.0f%% of memory is free." % (now.memory_share * 100))
    return reasons
