"""Clocks as functions, so that a test can put a lying one in their place."""

import hashlib
import os
import time
import uuid
from typing import Callable, Dict, List, NamedTuple, Optional

from agents.files import text_of, write_durably
from agents.home import home

_BOOT = "/proc/sys/kernel/random/boot_id"
# Windows counts its boots here, from Vista on.
_BOOTS_OF_WINDOWS = (
    r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management"
    r"\PrefetchParameters"
)
# Steps are looked for in so many readings: a third of a second at most.
_STEPS, _MOST_READINGS = 5, 2000000
# Wide enough for NTP's corrections; no machine runs an agent and boots again in it.
_SAME_BOOT_US = 10000000
# What is corrected by NTP and what is not drift apart by one part in so many.
_SLOWEST_DRIFT = 2000


class Clocks(NamedTuple):
    """Two clocks in whole microseconds; ``monotonic_us`` compares where ``name`` is the
    same.

    Readings are up to one step (resolution) behind.
    """

    name: str
    wall_us: Callable[[], int]
    monotonic_us: Callable[[], int]
    resolution_us: int = 1
    wall_resolution_us: int = 1


def wall_us() -> int:
    """Return microseconds since 1970 by this machine's clock."""
    return int(time.time() * 1e6)


def finest() -> str:
    """Return the never-set clock of Python's that moves in smaller steps, else
    `monotonic`."""
    coarse = time.get_clock_info("monotonic").resolution
    fine = time.get_clock_info("perf_counter").resolution
    return "perf_counter" if fine < coarse else "monotonic"


COUNTER = finest()
_count: Callable[[], float] = getattr(time, COUNTER)


def monotonic_us() -> int:
    """Return microseconds by the clock that nobody sets."""
    return int(_count() * 1e6)


def step_us(read_us: Callable[[], int]) -> int:
    """Return the median step a clock is seen to move by; the whole day if it does not
    move."""
    steps: List[int] = []
    before_us = read_us()
    for _ in range(_MOST_READINGS):
        now_us = read_us()
        if now_us > before_us:
            steps.append(now_us - before_us)
        before_us = now_us
        # The first began before we looked, so that it is too short, or none.
        if len(steps) > _STEPS:
            return sorted(steps[1:])[_STEPS // 2]
    return max(steps[1:], default=86400000000)


# A process names its clock once: it stays the same clock when somebody sets the other.
_OWN: Dict[str, Clocks] = {}


def own_clocks() -> Clocks:
    """Return this machine's clocks; the name changes with every boot."""
    folder = home()
    if folder not in _OWN:
        name = boot_name() or _short(_boot_kept())
        steps = (step_us(monotonic_us), step_us(wall_us))
        _OWN[folder] = Clocks(name, wall_us, monotonic_us, *steps)
    return _OWN[folder]


def boot_name() -> Optional[str]:
    """Return what tells this boot from all others; None where nothing names it."""
    boot = text_of(_BOOT) or (_boot_of_windows() if os.name == "nt" else None)
    return _short(boot) if boot else None


def _boot_of_windows() -> Optional[str]:
    """Return the number of this boot, and the name of its installation."""
    from agents.windows import value_of

    number = value_of(_BOOTS_OF_WINDOWS, "BootId")
    machine = value_of(r"SOFTWARE\Microsoft\Cryptography", "MachineGuid")
    return "%s %s" % (machine, number) if machine and number else None


def _short(boot: str) -> str:
    return hashlib.sha256(boot.encode()).hexdigest()[:16]


def _boot_kept() -> str:
    """Return a name of this boot, kept in a file, where the system names none."""
    up_us = monotonic_us()
    booted_us = wall_us() - up_us
    path = os.path.join(home(), "boot")
    name = uuid.uuid4().hex
    kept = text_of(path) or ""
    try:
        kept_name, *numbers = kept.split()
        if is_same_boot(booted_us, up_us, *map(int, numbers)):
            name = kept_name
    except (ValueError, TypeError):  # none yet, or not ours
        pass
    try:
        os.makedirs(home(), mode=0o700, exist_ok=True)
        write_durably(path, ("%s %d %d" % (name, booted_us, up_us)).encode())
    except OSError:
        # A name that lasts as long as this process is better than no time at all.
        return name
    # Of two who came at once the last has written it.
    return (text_of(path) or name).split()[0]


def is_same_boot(booted_us: int, up_us: int, seen_us: int, seen_up_us: int) -> bool:
    """Return whether a boot is the one that was up for ``seen_up_us``, within the
    drift."""
    if up_us < seen_up_us:
        return False
    apart_us = abs(booted_us - seen_us)
    drift_us = (up_us - seen_up_us) // _SLOWEST_DRIFT
    return apart_us < min(_SAME_BOOT_US + drift_us, max(_SAME_BOOT_US, seen_up_us))
