"""Clocks as functions, so that a test can put a lying one in their place."""

import hashlib
import os
import time
from typing import Callable, NamedTuple, Optional

from agents.files import text_of, write_durably
from agents.home import home

_BOOT = "/proc/sys/kernel/random/boot_id"
# Wide enough for NTP's corrections; no machine runs an agent and boots again in it.
_SAME_BOOT_US = 10000000


class Clocks(NamedTuple):
    """Two clocks of one machine, both in whole microseconds.

    ``monotonic_us`` has no known zero but is never set; readings of it can be
    subtracted where ``name`` is the same.
    """

    name: str
    wall_us: Callable[[], int]
    monotonic_us: Callable[[], int]


def wall_us() -> int:
    """Return microseconds since 1970 by this machine's clock."""
    return int(time.time() * 1e6)


def monotonic_us() -> int:
    """Return microseconds by the clock that nobody sets."""
    return int(time.monotonic() * 1e6)


def own_clocks() -> Clocks:
    """Return this machine's clocks; the name changes with every boot."""
    name = boot_name() or _short(_boot_kept())
    return Clocks(name, wall_us, monotonic_us)


def boot_name() -> Optional[str]:
    """Return what tells this boot from all others; None where nothing names it."""
    boot = text_of(_BOOT)
    return _short(boot) if boot else None


def _short(boot: str) -> str:
    return hashlib.sha256(boot.encode()).hexdigest()[:16]


def _boot_kept() -> str:
    """Return one text for one boot where the system, unlike Linux, names none.

    The moment of the boot would do, but no two readings of two clocks agree, and
    rounded they fall on two sides of an edge. So the first moment is kept in a file,
    and stands as long as what is read is near it and the uptime has not shrunk.
    """
    up_us = monotonic_us()
    booted_us = wall_us() - up_us
    path = os.path.join(home(), "boot")
    kept = text_of(path) or ""
    try:
        kept_booted_us, kept_up_us = map(int, kept.split())
        if abs(booted_us - kept_booted_us) < _SAME_BOOT_US and kept_up_us <= up_us:
            return kept
    except ValueError:  # none yet, or not ours
        pass
    kept = "%d %d" % (booted_us, up_us)
    try:
        os.makedirs(home(), mode=0o700, exist_ok=True)
        write_durably(path, kept.encode())
    except OSError:
        # A name that does not last is better than no time at all.
        return kept
    # Of two who came at once the last has written it.
    return text_of(path) or kept
