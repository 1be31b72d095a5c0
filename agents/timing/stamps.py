"""Stamps: an instant on a time server's clock and on ours, with its round trip."""

import uuid
from typing import List, NamedTuple, Optional

from agents.timing.asking import Asking, NoTimeError
from agents.timing.clocks import Clocks, own_clocks
from agents.timing.protocol import Told

EXCHANGES = 8
ENOUGH_FAILURES = 3  # then nobody is there, and each costs a time-out


class Stamp(NamedTuple):
    """The exchange with the shortest round trip of several.

    ``local`` times are the middle between asking and hearing.
    """

    clock: str
    server_wall_us: int
    server_monotonic_us: int
    local_wall_us: int
    local_monotonic_us: int
    round_trip_us: int
    exchanges: int


def take_stamp(
    asking: Asking, clocks: Optional[Clocks] = None, exchanges: int = EXCHANGES
) -> Stamp:
    """Ask several times and keep the exchange with the shortest round trip.

    Raises NoTimeError if none of them was answered.
    """
    local = clocks or own_clocks()
    stamps: List[Stamp] = []
    for asked in range(exchanges):
        stamp = _exchange(asking, local)
        if stamp is not None:
            stamps.append(stamp)
        elif not stamps and asked + 1 >= ENOUGH_FAILURES:
            break
    if not stamps:
        raise NoTimeError("The time server answered none of our questions.")
    best = min(stamps, key=lambda stamp: stamp.round_trip_us)
    return best._replace(exchanges=len(stamps))


def _exchange(asking: Asking, local: Clocks) -> Optional[Stamp]:
    wall_us, before_us = local.wall_us(), local.monotonic_us()
    told = _asked(asking)
    after_us = local.monotonic_us()
    if told is None:
        return None
    half_us = (after_us - before_us) // 2
    return Stamp(
        clock=told.clock,
        server_wall_us=told.wall_us,
        server_monotonic_us=told.monotonic_us,
        local_wall_us=wall_us + half_us,
        local_monotonic_us=before_us + half_us,
        round_trip_us=after_us - before_us,
        exchanges=1,
    )


def _asked(asking: Asking) -> Optional[Told]:
    try:
        return asking.ask(uuid.uuid4().hex[:16])
    except OSError:
        return None
