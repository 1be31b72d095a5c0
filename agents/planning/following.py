"""The follower's loop: ask, wait, work, report; and what a former life left behind."""

import random
import time

from agents.console import Console
from agents.planning.asking import PlanServer
from agents.planning.barrier import ReleasedError
from agents.planning.keeping import Held, Keeping
from agents.planning.working import Part, Slot, work
from agents.sending import deliver
from agents.spool import Spool


class Follower:
    """Follows one plan on one slot until nothing is left for it."""

    def __init__(
        self, server: PlanServer, slot_id: int, slot: Slot, spool: Spool
    ) -> None:
        self.server, self.slot_id, self.slot = server, slot_id, slot
        self.spool, self.console = spool, Console()
        self.keeping = Keeping(server.plan, slot_id)
        self.failed = 0
        self.said = ""

    def follow(self) -> int:
        """Do all steps; return how many failed here."""
        left = self.keeping.held()
        if left:
            self._end(left)
        while True:
            answer = self.server.next_part(self.slot_id)
            if answer["state"] == "over":
                self.console.say(answer["sentence"])
                return self.failed
            if answer["state"] == "run":
                self._do(answer["part"])
            else:
                self._say(answer["sentence"])
                self._pause(answer["wait_s"])

    def _do(self, part: Part) -> None:
        self._say(_shown(part))
        try:
            held = work(part, self.slot, self.server, self._say)
        except ReleasedError as released:
            self.console.say("Nothing was started: %s" % released)
            return
        self.keeping.hold(held)
        self._end(held)

    def _end(self, held: Held) -> None:
        """Report an end until it is known whether it counts."""
        outcome = held.report["outcome"]
        if outcome != "done":
            self.failed += outcome in ("failed", "hopeless")
            self.console.complain(held.report["reason"])
        while True:
            answer = self.server.finish(held.part, held.report)
            if answer["state"] != "held":
                break
            self._say(answer["sentence"])
            self._pause(answer["wait_s"])
        if answer["state"] != "keep":
            self.console.say("Not kept: %s" % answer["sentence"])
            self.keeping.drop()
            return
        self.keeping.keep(held, self.spool)
        self._send()

    def _send(self) -> None:
        """Send what waits; what cannot be sent now waits in the spool."""
        delivery = deliver(self.spool, self.server.client, lambda _: None)
        if delivery.trouble:
            self.console.complain("%d wait: %s" % (delivery.left, delivery.trouble))

    def _say(self, sentence: str) -> None:
        if sentence != self.said:
            self.console.progress(sentence)
        self.said = sentence

    def _pause(self, wait_s: float) -> None:
        """Wait about as long as was asked; many agents shall not ask at once."""
        time.sleep(wait_s * random.uniform(0.7, 1.3))


def _shown(part: Part) -> str:
    which = "warm-up" if part["is_warm_up"] else "repetition %d" % part["repetition"]
    what = "%s %s" % (part["tool"], part["program"])
    scenario = part["scenario"]
    if part["vms"] > 1:
        scenario += ", slot %s of %d" % (part["slot"], part["vms"])
    return "step %d, %s: %s (%s)" % (part["position"] + 1, which, what, scenario)
