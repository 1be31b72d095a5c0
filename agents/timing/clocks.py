"""This machine's clocks, and whether it has restarted."""

import hashlib
import os
import time
import uuid
from typing import Callable, Dict, List, NamedTuple, Optional

from agents.files import read_text_file, write_durably
from agents.local_state import agent_folder

_BOOT = "/proc/sys/kernel/random/boot_id"
# Registry key with the number of boots; it exists since Windows Vista.
_WINDOWS_BOOTS = (
    r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management"
    r"\PrefetchParameters"
)
# This many readings take a third of a second.
_STEPS, _MAX_READINGS = 5, 2000000
# Longer than a correction by NTP, shorter than a reboot.
_SAME_BOOT_US = 10000000
# Wall and monotonic clock may drift apart by 1 in 2000.
_DRIFT_DIVISOR = 2000


class Clocks(NamedTuple):
    """A wall clock and a monotonic clock, in microseconds.

    ``monotonic_us`` may be subtracted only for equal ``name``. A reading is late by at
    most the resolution.
    """

    name: str
    wall_us: Callable[[], int]
    monotonic_us: Callable[[], int]
    resolution_us: int = 1
    wall_resolution_us: int = 1


def wall_us() -> int:
    return int(time.time() * 1e6)


def finest_clock() -> str:
    coarse = time.get_clock_info("monotonic").resolution
    fine = time.get_clock_info("perf_counter").resolution
    return "perf_counter" if fine < coarse else "monotonic"


FINEST_CLOCK = finest_clock()
_count: Callable[[], float] = getattr(time, FINEST_CLOCK)


def monotonic_us() -> int:
    """Return the microseconds of a clock that nobody sets."""
    return int(_count() * 1e6)


def clock_step_us(read_us: Callable[[], int]) -> int:
    """Return the median step of a clock; one day if the clock does not move."""
    steps: List[int] = []
    before_us = read_us()
    for _ in range(_MAX_READINGS):
        now_us = read_us()
        if now_us > before_us:
            steps.append(now_us - before_us)
        before_us = now_us
        # The first step is not used: it began before the first reading.
        if len(steps) > _STEPS:
            return sorted(steps[1:])[_STEPS // 2]
    return max(steps[1:], default=86400000000)


# Cache of `own_clocks` by folder: setting the wall clock must not change the name.
_OWN: Dict[str, Clocks] = {}


def own_clocks() -> Clocks:
    """Return the clocks of this machine; each boot gives them a new name."""
    folder = agent_folder()
    if folder not in _OWN:
        name = boot_id() or _short_hash(_stored_boot_id())
        steps = (clock_step_us(monotonic_us), clock_step_us(wall_us))
        _OWN[folder] = Clocks(name, wall_us, monotonic_us, *steps)
    return _OWN[folder]


def boot_id() -> Optional[str]:
    boot = read_text_file(_BOOT)
    if not boot and os.name == "nt":
        from agents.windows import registry_value

        number = registry_value(_WINDOWS_BOOTS, "BootId")
        machine = registry_value(r"SOFTWARE\Microsoft\Cryptography", "MachineGuid")
        boot = "%s %s" % (machine, number) if machine and number else None
    return _short_hash(boot) if boot else None


def _short_hash(boot: str) -> str:
    return hashlib.sha256(boot.encode()).hexdigest()[:16]


def _stored_boot_id() -> str:
    """Return a random identifier of this boot, stored in the agent's folder."""
    up_us = monotonic_us()
    booted_us = wall_us() - up_us
    path = os.path.join(agent_folder(), "boot")
    name = uuid.uuid4().hex
    stored = read_text_file(path) or ""
    try:
        stored_name, *numbers = stored.split()
        if is_same_boot(booted_us, up_us, *map(int, numbers)):
            name = stored_name
    except (ValueError, TypeError):  # missing or damaged
        pass
    try:
        os.makedirs(agent_folder(), mode=0o700, exist_ok=True)
        write_durably(path, ("%s %d %d" % (name, booted_us, up_us)).encode())
    except OSError:
        return name  # valid only for this process
    # Read it again, because another process may have written it simultaneously.
    return (read_text_file(path) or name).split()[0]


def is_same_boot(booted_us: int, up_us: int, seen_us: int, seen_up_us: int) -> bool:
    """Return whether two observations of boot time and uptime are of the same boot."""
    if up_us < seen_up_us:
        return False
    difference_us = abs(booted_us - seen_us)
    drift_us = (up_us - seen_up_us) // _DRIFT_DIVISOR
    return difference_us < min(_SAME_BOOT_US + drift_us, max(_SAME_BOOT_US, seen_up_us))
