"""Keep programs running: restart what dies, stop everything in order, leave nothing."""

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

from running.errors import ServiceError
from running.processes import Child

PR_SET_CHILD_SUBREAPER = 36
STEP_S = 0.05
TOO_OFTEN = 5
WITHIN_S = 60.0
YOUNG_S = 5.0  # what dies sooner than this after its start will do so again
LONGEST_PAUSE_S = 10.0
# `timeout` and `make` send the same SIGTERM twice at once; that is no impatience.
SECOND_THOUGHT_S = 0.5


class Stopped(Exception):  # noqa: N818 - no error: somebody asked
    """Somebody asked to stop."""


class Kept(Protocol):
    """What can be kept running: a child process or a server."""

    @property
    def name(self) -> str: ...
    @property
    def log(self) -> Path | None: ...
    @property
    def pid(self) -> int | None: ...
    def start(self) -> None: ...
    def poll(self) -> int | None: ...
    def stop(self, hurried: Callable[[], bool]) -> None: ...


def say(line: str) -> None:
    """Print a line at once; a terminal that went away is no reason to fail."""
    with suppress(OSError):
        print(line, flush=True)


class Keeper:
    """Start one thing again whenever it dies: at once, or slowly if it never lasts."""

    def __init__(
        self,
        thing: Kept,
        say: Callable[[str], None] = say,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.thing = thing
        self.say = say
        self.clock = clock
        self.started = clock()
        self.deaths: deque[float] = deque(maxlen=TOO_OFTEN)
        self.young_deaths = 0  # in a row
        self.due: float | None = None  # when to start it again

    @property
    def dies_too_often(self) -> bool:
        return len(self.deaths) == TOO_OFTEN and (
            self.deaths[-1] - self.deaths[0] <= WITHIN_S
        )

    def tend(self) -> None:
        """Look after it; returns at once unless it starts something."""
        if self.due is None:
            if (code := self.thing.poll()) is not None:
                self._note_death(ending(code))
        elif self.clock() >= self.due:
            self._start()

    def _start(self) -> None:
        self.due, self.started = None, self.clock()
        try:
            self.thing.start()
        except (ServiceError, OSError) as error:
            self._note_death(f"did not start: {error}")

    def _note_death(self, how: str) -> None:
        now = self.clock()
        is_young = now - self.started < YOUNG_S
        self.young_deaths = self.young_deaths + 1 if is_young else 0
        self.deaths.append(now)
        pause = 0.0
        if self.young_deaths:
            pause = min(LONGEST_PAUSE_S, 0.5 * 2.0 ** (self.young_deaths - 1))
        self.due = now + pause
        when = f"in {pause:.0f} s" if pause >= 1 else "again"
        if self.dies_too_often:
            how += f", {TOO_OFTEN} times within {WITHIN_S:.0f} s: see {self.thing.log}"
        self.say(f"{self.thing.name} {how}; starting it {when}")


def ending(code: int) -> str:
    """Return in words how a process ended."""
    if code < 0:
        return f"was killed ({signal.Signals(-code).name})"
    return f"ended (exit code {code})"


class Supervision:
    """Everything that one server runs, and the wish to stop it."""

    def __init__(self, say: Callable[[str], None] = say) -> None:
        self.say = say
        self.keepers: list[Keeper] = []
        self.once: Child | None = None
        self.chores: list[Callable[[], None]] = []  # done at every look
        self.asked_at: float | None = None
        self.in_a_hurry = False
        self.adopts_orphans = False

    def listen(self) -> None:
        """Stop at SIGTERM, Ctrl-C or a closed terminal; adopt orphans, where we can."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, background
                signal.signal(number, self._ask)
        if sys.platform == "linux":
            self.adopts_orphans = True
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def _ask(self, *_: object) -> None:
        now = time.monotonic()
        if self.asked_at is None:
            self.asked_at = now
        elif now - self.asked_at > SECOND_THOUGHT_S:
            self.in_a_hurry = True

    def keep(self, *things: Kept) -> None:
        """Keep things running; they will be stopped in the order given here."""
        self.keepers += [Keeper(thing, self.say) for thing in things]

    def pause(self) -> None:
        """Wait a moment; raise ``Stopped`` when somebody asked to stop."""
        if self.asked_at is not None:
            raise Stopped
        time.sleep(STEP_S)

    def watch(self) -> None:
        for keeper in self.keepers:
            keeper.tend()
        for chore in self.chores:
            chore()
        self._reap_adopted()
        self.pause()

    def watch_until(self, is_done: Callable[[], bool], timeout_s: float) -> bool:
        """Look after everything until a condition holds; return whether it does."""
        deadline = time.monotonic() + timeout_s
        while not is_done():
            if time.monotonic() > deadline:
                return False
            self.watch()
        return True

    def begin(self, child: Child) -> None:
        """Start a program that ends by itself."""
        self.once = child
        child.start()

    def is_alone(self) -> bool:
        """Whether no program runs that ends by itself."""
        return self.once is None or self.once.poll() is not None

    def finish(self, timeout_s: float) -> int | None:
        """Wait for its end, while everything else is looked after."""
        child = self.once
        assert child is not None
        self.watch_until(self.is_alone, timeout_s)
        code = child.poll()
        child.stop()
        self.once = None
        return code

    def stop(self) -> None:
        """Stop everything in order; a second wish to stop makes it quick."""

        def hurried() -> bool:
            return self.in_a_hurry

        if self.once:
            self.once.stop(hurried)
        for keeper in self.keepers:
            keeper.thing.stop(hurried)
        self.keepers.clear()

    def _known(self) -> set[int | None]:
        return {keeper.thing.pid for keeper in self.keepers} | {
            self.once.pid if self.once else None
        }

    def _reap_adopted(self) -> None:
        """Take leave of dead orphans; our own children are awaited elsewhere."""
        if sys.platform != "linux" or not self.adopts_orphans:
            return
        # Without taking them: a Popen has to learn itself how its process ended.
        look = os.WEXITED | os.WNOHANG | os.WNOWAIT
        with suppress(ChildProcessError):
            while dead := os.waitid(os.P_ALL, 0, look):
                # Shown again and again until its keeper takes it.
                if dead.si_pid in self._known():
                    return
                os.waitpid(dead.si_pid, 0)

    def leave_nothing(self) -> None:
        """Kill whatever escaped, once everything was stopped: nothing outlives us."""
        if not self.adopts_orphans:
            return
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                process.kill()
                process.wait(timeout=5)
