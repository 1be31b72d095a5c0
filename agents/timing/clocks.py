"""Clocks as functions, so that a test can put a lying one in their place."""

import hashlib
import time
from typing import Callable, NamedTuple

from agents.files import text_of

_BOOT = "/proc/sys/kernel/random/boot_id"


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
    # Only Linux names its boots: elsewhere its moment stands for it.
    boot = text_of(_BOOT) or str(wall_us() - monotonic_us())
    name = hashlib.sha256(boot.encode()).hexdigest()[:16]
    return Clocks(name, wall_us, monotonic_us)
