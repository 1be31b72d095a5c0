"""The clocks of this machine, and the name of its boot.

Clocks are functions, so that a test can replace them with wrong ones.
"""

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
# Limit of readings in the search for steps: a third of a second.
_STEPS, _MOST_READINGS = 5, 2000000
# Wide enough for corrections by NTP, too short for a reboot.
_SAME_BOOT_US = 10000000
# Wall and monotonic clock drift apart by at most one part in 2000.
_SLOWEST_DRIFT = 2000


class Clocks(NamedTuple):
    """Two clocks in microseconds; readings are up to one step (resolution) late.

    Values of ``monotonic_us`` are comparable if ``name`` is equal.
    """

    name: str
    wall_us: Callable[[], int]
    monotonic_us: Callable[[], int]
    resolution_us: int = 1
    wall_resolution_us: int = 1


def wall_us() -> int:
    """Return microseconds since 1970 by the wall clock."""
    return int(time.time() * 1e6)


def finest() -> str:
    """Return the name of Python's monotonic clock with the smaller steps."""
    coarse = time.get_clock_info("monotonic").resolution
    fine = time.get_clock_info("perf_counter").resolution
    return "perf_counter" if fine < coarse else "monotonic"


COUNTER = finest()
_count: Callable[[], float] = getattr(time, COUNTER)


def monotonic_us() -> int:
    """Return microseconds by a clock that is never set."""
    return int(_count() * 1e6)


def step_us(read_us: Callable[[], int]) -> int:
    """Return the median observed step of a clock; a day if it does not move."""
    steps: List[int] = []
    before_us = read_us()
    for _ in range(_MOST_READINGS):
        now_us = read_us()
        if now_us > before_us:
            steps.append(now_us - before_us)
        before_us = now_us
        # The first step began before the first reading.
        if len(steps) > _STEPS:
            return sorted(steps[1:])[_STEPS // 2]
    return max(steps[1:], default=86400000000)


# A process names its clock once: setting the wall clock does not change the name.
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
    """Return a name of this boot; None if the system has none."""
    boot = text_of(_BOOT)
    if not boot and os.name == "nt":
        from agents.windows import value_of

        number = value_of(_BOOTS_OF_WINDOWS, "BootId")
        machine = value_of(r"SOFTWARE\Microsoft\Cryptography", "MachineGuid")
        boot = "%s %s" % (machine, number) if machine and number else None
    return _short(boot) if boot else None


def _short(boot: str) -> str:
    return hashlib.sha256(boot.encode()).hexdigest()[:16]


def _boot_kept() -> str:
    """Return a name of this boot that is stored in a file."""
    up_us = monotonic_us()
    booted_us = wall_us() - up_us
    path = os.path.join(home(), "boot")
    name = uuid.uuid4().hex
    kept = text_of(path) or ""
    try:
        kept_name, *numbers = kept.split()
        if is_same_boot(booted_us, up_us, *map(int, numbers)):
            name = kept_name
    except (ValueError, TypeError):  # missing or damaged
        pass
    try:
        os.makedirs(home(), mode=0o700, exist_ok=True)
        write_durably(path, ("%s %d %d" % (name, booted_us, up_us)).encode())
    except OSError:
        return name  # valid as long as this process
    # Another process may have written it at the same time.
    return (text_of(path) or name).split()[0]


def is_same_boot(booted_us: int, up_us: int, seen_us: int, seen_up_us: int) -> bool:
    """Return whether a boot is the one seen earlier, within the drift of clocks."""
    if up_us < seen_up_us:
        return False
    apart_us = abs(booted_us - seen_us)
    drift_us = (up_us - seen_up_us) // _SLOWEST_DRIFT
    return apart_us < min(_SAME_BOOT_US + drift_us, max(_SAME_BOOT_US, seen_up_us))
