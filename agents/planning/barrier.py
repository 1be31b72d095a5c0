"""A plan on the server, and its barrier: slots of a co-run start at one moment.

Every question to the server may be asked again.

The server names the moment, by the time server's clock, when the last slot has
arrived. Each slot maps it to its own clock by stamps, the last of them half a second
before; they show, too, how fast that clock runs, so that one which lies starts in time
all the same.
"""

import hashlib
import random
import time
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

from agents.client import Client, RefusedError, UnreachableError
from agents.errors import ServerAwayError, ServerRefusedError
from agents.home import home
from agents.measuring.bracket import TimePath, stamp_or_silence
from agents.timing.asking import Stamp
from agents.timing.clocks import monotonic_us, own_clocks

STAMP_AGES_US = 1000000
LAST_LOOK_US = 500000
FIRST_NAP_US = 250000  # short: how fast our clock runs is not known before it
SPIN_US = 3000
# Who comes later than this has missed the start: what follows would be no co-run.
MOST_LATE_US = 100000

Answer = Dict[str, Any]
Report = Callable[[str], None]


def instance() -> str:
    """Return what tells this guest from its clones, which have its name."""
    return hashlib.sha256((own_clocks().name + home()).encode()).hexdigest()[:16]


class PlanServer:
    """One plan on the server."""

    def __init__(self, client: Client, plan: int) -> None:
        self.client, self.plan = client, plan

    def join(self, name: str, system: Any) -> Answer:
        """Take the slot of a guest; the same one whenever it asks."""
        guest = {"name": name, "system": system, "instance": instance()}
        return self._ask("plans/%d/slots/" % self.plan, guest)

    def next_part(self, slot: int) -> Answer:
        """Ask for the next step: run, wait or over."""
        return self._ask("plans/%d/next/" % self.plan, {"slot": slot})

    def meet(self, part: Answer, **state: Any) -> Answer:
        """Arrive at a barrier: wait, start, stop or released."""
        state["attempt"] = part["attempt"]
        return self._ask("plan-parts/%d/meet/" % part["id"], state)

    def finish(self, part: int, report: Dict[str, Any]) -> Answer:
        """Report an end: keep, discard or held."""
        return self._ask("plan-parts/%d/finish/" % part, report)

    def _ask(self, path: str, body: Dict[str, Any]) -> Answer:
        try:
            return self.client.request("POST", path, body)
        except RefusedError as refused:
            raise ServerRefusedError(refused.detail) from None
        except UnreachableError as error:
            raise ServerAwayError("%s. Start again to go on." % error) from None


class ReleasedError(Exception):
    """The attempt has ended: nobody is to start."""


class LateError(Exception):
    """The moment had passed when this slot learnt of it."""


class Barrier:
    """What a slot passes before its program starts."""

    def __init__(
        self, server: PlanServer, part: Dict[str, Any], limit_s: float, report: Report
    ) -> None:
        self.server, self.part = server, part
        self.limit_s, self.report = limit_s, report

    def __call__(self, path: TimePath) -> Tuple[Optional[Stamp], str]:
        """Wait for the others; return the last stamp before the start."""
        stamp, silence = stamp_or_silence(path)
        stamp, moment_us = self._met(path, stamp)
        if moment_us is None or stamp is None:
            # A slot alone is told no moment; its stamp has aged while it asked.
            return stamp_or_silence(path) if stamp else (None, silence)
        return wait_for(moment_us, stamp, path), ""

    def _met(
        self, path: TimePath, stamp: Optional[Stamp]
    ) -> Tuple[Optional[Stamp], Optional[int]]:
        """Ask until the moment is known."""
        while True:
            stamp = refreshed(stamp, path)
            clock: Dict[str, Any] = {}
            if stamp is not None:  # what the time server's clock shows now
                passed_us = monotonic_us() - stamp.local_monotonic_us
                now_us = stamp.server_monotonic_us + passed_us
                clock = {"clock": stamp.clock, "now_us": now_us}
            answer = self.server.meet(self.part, limit_s=self.limit_s, **clock)
            if answer["state"] == "start":
                return stamp, answer["starts_at_us"]
            if answer["state"] != "wait":
                raise ReleasedError(answer["sentence"])
            self.report(answer["sentence"])
            # Not as exactly as it was told: many slots shall not ask at once.
            time.sleep(answer["wait_s"] * random.uniform(0.7, 1.3))


def wait_for(moment_us: int, stamp: Stamp, path: TimePath) -> Stamp:
    """Sleep until a moment of the time server's clock; return the last stamp taken."""
    first, pace, nap_us = stamp, 1.0, FIRST_NAP_US
    while left_us(moment_us, stamp, pace) > LAST_LOOK_US:
        left = left_us(moment_us, stamp, pace) - LAST_LOOK_US
        time.sleep(min(nap_us, left) / 1e6)
        stamp, nap_us = refreshed(stamp, path, 0) or stamp, STAMP_AGES_US
        pace = pace_of(first, stamp)
    # Before the last sleep: a slot that is late must not start at all.
    late_us = -left_us(moment_us, stamp, pace)
    if late_us > MOST_LATE_US:
        raise LateError("learnt of the start %.2f s after it" % (late_us / 1e6))
    time.sleep(max(0.0, (left_us(moment_us, stamp, pace) - SPIN_US) / 1e6))
    # A sleep ends when the scheduler likes: the last milliseconds are spent awake.
    while left_us(moment_us, stamp, pace) > 0:
        pass
    return stamp


def left_us(moment_us: int, stamp: Stamp, pace: float = 1.0) -> float:
    """Return how long it is until then, by our clock."""
    passed_us = monotonic_us() - stamp.local_monotonic_us
    return (moment_us - stamp.server_monotonic_us) / pace - passed_us


def pace_of(first: Stamp, last: Stamp) -> float:
    """Return how fast the server's clock runs against ours; 1 if nothing else shows.

    Round trips alone may make two good clocks look different.
    """
    own_us = last.local_monotonic_us - first.local_monotonic_us
    server_us = last.server_monotonic_us - first.server_monotonic_us
    hidden_us = first.round_trip_us + last.round_trip_us
    if own_us <= 0 or abs(server_us - own_us) <= hidden_us:
        return 1.0
    return server_us / own_us


def refreshed(
    stamp: Optional[Stamp], path: TimePath, age_us: int = STAMP_AGES_US
) -> Optional[Stamp]:
    """Return a stamp that is not older than this, if one can be had."""
    if stamp is not None and monotonic_us() - stamp.local_monotonic_us < age_us:
        return stamp
    # One exchange may be lost: an older stamp is still better than none.
    return stamp_or_silence(path)[0] or stamp


class Window(NamedTuple):
    """When a program began and ended, by the time server's clock."""

    began_us: int
    ended_us: int
    began_wall_us: int
    bound_us: int


def window_of(clock: Dict[str, Any], began_us: int, local_us: int) -> Optional[Window]:
    """Map a program's start and end by the stamps around it; None without them.

    Between two stamps our clock is stretched as it ran then: one that lies is no harm.
    """
    if "start" not in clock or "end" not in clock:
        return None
    first, last = clock["start"], clock["end"]
    own_us = last["local_monotonic_us"] - first["local_monotonic_us"]
    rate = clock["external_us"] / own_us if own_us > 0 else 1.0
    after_us = (began_us - first["local_monotonic_us"]) * rate
    took_us = local_us * rate
    return Window(
        round(first["server_monotonic_us"] + after_us),
        round(first["server_monotonic_us"] + after_us + took_us),
        round(first["server_wall_us"] + after_us),
        # Half a round trip, as in a stamp's offset, and the clocks' steps.
        int(max(first["round_trip_us"], last["round_trip_us"]) // 2)
        + max(stamp["resolution_us"] for stamp in (first, last))
        + max(stamp["server_resolution_us"] for stamp in (first, last)),
    )
