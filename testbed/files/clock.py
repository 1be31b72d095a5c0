"""Run in a guest next to the agent: set its clock, or check it.

    clock.py set ADDRESS             set the clock from the time server
    clock.py check ADDRESS SECONDS   work for this time by the guest's clock

`check` takes a stamp of both clocks before and after the work. It prints a line before
and after each stamp, so that the clock of the console bounds the time between them.
"""

import sys
import time

# Python can import from a zip file.
sys.path.insert(0, "virtlab-agent.pyz")

from agents.timing.time_client import ClockStamp, connect_time_server, take_stamp

ATTEMPTS = 5
TOLERANCE_S = 0.01


def read_stamp(address: str) -> ClockStamp:
    with connect_time_server(address) as connection:
        return take_stamp(connection)


def clock_error_s(address: str) -> float:
    stamp = read_stamp(address)
    return (stamp.local_wall_us - stamp.server_wall_us) / 1e6


def set_clock(address: str) -> None:
    """Set the clock, up to `ATTEMPTS` times, until it is within `TOLERANCE_S`."""
    first_s = error_s = clock_error_s(address)
    for _ in range(ATTEMPTS):
        time.clock_settime(time.CLOCK_REALTIME, time.time() - error_s)
        error_s = clock_error_s(address)
        if abs(error_s) < TOLERANCE_S:
            break
    print(f"lab: the clock was {first_s:+.3f} s off, now {error_s:+.3f}", flush=True)


def check_clock(address: str, seconds: float) -> None:
    print("lab: clock opens", flush=True)
    first = read_stamp(address)
    print("lab: clock begins", flush=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(10000))
    print("lab: clock ends", flush=True)
    last = read_stamp(address)
    print("lab: clock closes", flush=True)
    external_us = last.server_monotonic_us - first.server_monotonic_us
    local_us = last.local_monotonic_us - first.local_monotonic_us
    print(f"lab: clock external {external_us} local {local_us}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "set":
        set_clock(sys.argv[2])
    else:
        check_clock(sys.argv[2], float(sys.argv[3]))
