"""Supervision of programs: restart dead ones, stop all in order, leave none behind."""

import ctypes
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import psutil

from running.errors import StartError
from running.processes import Child

PR_SET_CHILD_SUBREAPER = 36
POLL_S = 0.05
MAX_RESTARTS = 5
RESTART_WINDOW_S = 60.0
MIN_UPTIME_S = 5.0  # a process that dies sooner will probably die again
MAX_RESTART_PAUSE_S = 10.0
# `timeout` and `make` send SIGTERM twice at once; only a later signal means impatience.
SECOND_SIGNAL_S = 0.5


class StopRequested(Exception):  # noqa: N818 - a request, not an error
    """Raised after a signal has requested the stop."""


class Supervised(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def log(self) -> Path | None: ...
    @property
    def pid(self) -> int | None: ...
    def start(self) -> None: ...
    def poll(self) -> int | None: ...
    def stop(self, hurried: Callable[[], bool]) -> None: ...


def print_line(line: str) -> None:
    """Print a line at once; ignore errors, such as a closed terminal."""
    with suppress(OSError):
        print(line, flush=True)


class Restarter:
    """Restarts of a program whenever it dies, after growing pauses if it dies soon."""

    def __init__(
        self,
        program: Supervised,
        say: Callable[[str], None] = print_line,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.program = program
        self.say = say
        self.clock = clock
        self.started = clock()
        self.deaths: deque[float] = deque(maxlen=MAX_RESTARTS)
        self.young_deaths = 0  # consecutive
        self.due: float | None = None  # time of the next start

    @property
    def dies_too_often(self) -> bool:
        return len(self.deaths) == MAX_RESTARTS and (
            self.deaths[-1] - self.deaths[0] <= RESTART_WINDOW_S
        )

    def check(self) -> None:
        if self.due is None:
            if (code := self.program.poll()) is not None:
                self._record_death(exit_description(code))
        elif self.clock() >= self.due:
            self._start()

    def _start(self) -> None:
        self.due, self.started = None, self.clock()
        try:
            self.program.start()
        except (StartError, OSError) as error:
            self._record_death(f"did not start: {error}")

    def _record_death(self, description: str) -> None:
        now = self.clock()
        is_young = now - self.started < MIN_UPTIME_S
        self.young_deaths = self.young_deaths + 1 if is_young else 0
        self.deaths.append(now)
        pause = 0.0
        if self.young_deaths:
            pause = min(MAX_RESTART_PAUSE_S, 0.5 * 2.0 ** (self.young_deaths - 1))
        self.due = now + pause
        when = f"in {pause:.0f} s" if pause >= 1 else "again"
        if self.dies_too_often:
            description += (
                f", {MAX_RESTARTS} times within {RESTART_WINDOW_S:.0f} s: see "
                f"{self.program.log}"
            )
        self.say(f"{self.program.name} {description}; starting it {when}")


def exit_description(code: int) -> str:
    if code < 0:
        return f"was killed ({signal.Signals(-code).name})"
    return f"ended (exit code {code})"


class Supervision:
    """All programs of one server, and requests to stop them."""

    def __init__(self, say: Callable[[str], None] = print_line) -> None:
        self.say = say
        self.restarters: list[Restarter] = []
        self.task: Child | None = None
        self.chores: list[Callable[[], None]] = []  # called at every check
        self.stop_requested_at: float | None = None
        self.in_a_hurry = False
        self.adopts_orphans = False

    def install_signal_handlers(self) -> None:
        """Stop on SIGTERM, Ctrl-C or a closed terminal; on Linux, adopt orphans."""
        # Shells start background programs with an ignored SIGINT.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._request_stop)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
            signal.signal(signal.SIGHUP, self._request_stop)
        if sys.platform == "linux":
            self.adopts_orphans = True
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def _request_stop(self, *_: object) -> None:
        now = time.monotonic()
        if self.stop_requested_at is None:
            self.stop_requested_at = now
        elif now - self.stop_requested_at > SECOND_SIGNAL_S:
            self.in_a_hurry = True

    def add(self, *programs: Supervised) -> None:
        """Supervise programs, which are stopped in the order of these calls."""
        self.restarters += [Restarter(program, self.say) for program in programs]

    def pause(self) -> None:
        """Sleep briefly; raise ``StopRequested`` after a signal to stop."""
        if self.stop_requested_at is not None:
            raise StopRequested
        time.sleep(POLL_S)

    def check_all(self) -> None:
        for restarter in self.restarters:
            restarter.check()
        for chore in self.chores:
            chore()
        self._reap_adopted()
        self.pause()

    def run_until(self, is_done: Callable[[], bool], timeout_s: float) -> bool:
        """Supervise until the condition holds; return whether it did in time."""
        deadline = time.monotonic() + timeout_s
        while not is_done():
            if time.monotonic() > deadline:
                return False
            self.check_all()
        return True

    def start_task(self, child: Child) -> None:
        self.task = child
        child.start()

    def has_no_task(self) -> bool:
        return self.task is None or self.task.poll() is not None

    def wait_for_task(self, timeout_s: float) -> int | None:
        """Wait for the task; return its exit code, or None if time is up."""
        child = self.task
        assert child is not None
        self.run_until(self.has_no_task, timeout_s)
        code = child.poll()
        child.stop()
        self.task = None
        return code

    def stop(self) -> None:
        """Stop all programs in order; a second signal makes this quick."""

        def hurried() -> bool:
            return self.in_a_hurry

        if self.task:
            self.task.stop(hurried)
        for restarter in self.restarters:
            restarter.program.stop(hurried)
        self.restarters.clear()

    def _supervised_pids(self) -> set[int | None]:
        return {restarter.program.pid for restarter in self.restarters} | {
            self.task.pid if self.task else None
        }

    def _reap_adopted(self) -> None:
        """Reap dead orphans, but not our own children, which `Child` reaps."""
        if sys.platform != "linux" or not self.adopts_orphans:
            return
        # WNOWAIT, because a Popen must reap its own process to learn its exit code.
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        with suppress(ChildProcessError):
            while dead := os.waitid(os.P_ALL, 0, options):
                # Our own child is reported until its restarter reaps it.
                if dead.si_pid in self._supervised_pids():
                    return
                os.waitpid(dead.si_pid, 0)

    def kill_leftovers(self) -> None:
        if not self.adopts_orphans:
            return
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                process.kill()
                process.wait(timeout=5)
