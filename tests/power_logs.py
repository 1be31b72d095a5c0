"""Power logs and timed runs of a machine whose clock is wrong by an hour."""

import uuid

# The time server's clock at the start, and the offsets of the machine's clocks.
BEGIN_S = 1_794_000_000
WRONG_S = 3_600
BOOTED_S = 500
CLOCK = "5f0c2b7a91d34e60"
WALL = {"name": "lab meter 2", "kind": "watts-up", "gain_error": 0.015}


def stamp(second, local_second=None, clock=CLOCK, wrong_s=WRONG_S):
    """Return the clock readings of the machine's agent at a second."""
    local_us = round(1e6 * (second if local_second is None else local_second))
    return {
        "clock": clock,
        "server_wall_us": BEGIN_S * 1_000_000 + round(1e6 * second),
        "server_monotonic_us": 81_000_000 + round(1e6 * second),
        "local_wall_us": (BEGIN_S + wrong_s) * 1_000_000 + local_us,
        "local_monotonic_us": BOOTED_S * 1_000_000 + local_us,
        "round_trip_us": 240,
    }


def chunk(samples, **changes):
    """Return a chunk of a log: pairs of second and watts, with clock readings at both
    ends.
    """
    samples = list(samples)
    return {
        "key": str(uuid.uuid4()),
        "log": "0b0f6f4e-8f0e-4a55-9a0c-5f6b7c8d9e0f",
        "number": 1,
        "host": "alpha",
        "meter": WALL,
        "measures": "power",
        "axis": "monotonic",
        "channels": ["wall"],
        "stamps": [stamp(samples[0][0]), stamp(samples[-1][0])],
        "samples": [
            [round(1e6 * (BOOTED_S + second)), *values] for second, *values in samples
        ],
        **changes,
    }


def clock_of(begin, end, clock=CLOCK):
    """Return the clock report of an agent in a guest whose wall clock is wrong by a
    day.
    """
    first = stamp(begin, wrong_s=86_400, clock=clock)
    seconds_us = round(1e6 * (end - begin))
    return {"clock": {"start": first, "external_us": seconds_us}}


def power(seconds, idle=80.0, work=120.0, begin=100, end=130):
    """Return one reading per second, higher between begin and end (inclusive)."""
    return [(s, work if begin <= s <= end else idle) for s in seconds]
