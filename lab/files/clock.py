"""Run in a guest beside the agent's file: set its clock, or show how it keeps time.

    clock.py set ADDRESS             as NTP would, from the time server
    clock.py check ADDRESS SECONDS   work for so long by the guest's own clock

`check` prints a line before and after each of its two stamps; whoever reads the console
knows by a clock of his own what the time between the stamps can have been.
"""

import sys
import time

# The agent's one file is a zip that Python imports from.
sys.path.insert(0, "virtlab-agent.pyz")

from agents.timing.asking import Stamp, open_asking, take_stamp

SETTINGS = 5
GOOD_S = 0.01


def stamp_of(address: str) -> Stamp:
    with open_asking(address) as asking:
        return take_stamp(asking)


def ahead_s(address: str) -> float:
    stamp = stamp_of(address)
    return (stamp.local_wall_us - stamp.server_wall_us) / 1e6


def set_clock(address: str) -> None:
    """Set it until it agrees, or the way there is too slow to say more."""
    first_s = left_s = ahead_s(address)
    for _ in range(SETTINGS):
        time.clock_settime(time.CLOCK_REALTIME, time.time() - left_s)
        left_s = ahead_s(address)
        if abs(left_s) < GOOD_S:
            break
    print(f"lab: the clock was {first_s:+.3f} s off, now {left_s:+.3f}", flush=True)


def check_clock(address: str, seconds: float) -> None:
    print("lab: clock opens", flush=True)
    first = stamp_of(address)
    print("lab: clock begins", flush=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(10000))
    print("lab: clock ends", flush=True)
    last = stamp_of(address)
    print("lab: clock closes", flush=True)
    external_us = last.server_monotonic_us - first.server_monotonic_us
    local_us = last.local_monotonic_us - first.local_monotonic_us
    print(f"lab: clock external {external_us} local {local_us}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "set":
        set_clock(sys.argv[2])
    else:
        check_clock(sys.argv[2], float(sys.argv[3]))
