"""What a follower of a plan asks the server; every question may be asked again."""

import hashlib
from typing import Any, Dict

from agents.client import Client, RefusedError, UnreachableError
from agents.errors import ServerAwayError, ServerRefusedError
from agents.home import home
from agents.timing.clocks import own_clocks

Answer = Dict[str, Any]


def instance() -> str:
    """Return what tells this guest from its clones, which have its name."""
    return hashlib.sha256((own_clocks().name + home()).encode()).hexdigest()[:16]


class PlanServer:
    """One plan on the server."""

    def __init__(self, client: Client, plan: int) -> None:
        self.client, self.plan = client, plan

    def join(self, name: str, system: Any) -> Answer:
        """Take the slot of a guest; the same one whenever it asks."""
        said = {"name": name, "system": system, "instance": instance()}
        return self._ask("plans/%d/slots/" % self.plan, said)

    def next_part(self, slot: int) -> Answer:
        """Ask for the next step: run, wait or over."""
        return self._ask("plans/%d/next/" % self.plan, {"slot": slot})

    def meet(self, part: Answer, **said: Any) -> Answer:
        """Arrive at a barrier: wait, start, stop or released."""
        said["attempt"] = part["attempt"]
        return self._ask("plan-parts/%d/meet/" % part["id"], said)

    def finish(self, part: int, said: Dict[str, Any]) -> Answer:
        """Report an end: keep, discard or held."""
        return self._ask("plan-parts/%d/finish/" % part, said)

    def _ask(self, path: str, said: Dict[str, Any]) -> Answer:
        try:
            return self.client.request("POST", path, said)
        except RefusedError as refused:
            raise ServerRefusedError(refused.detail) from None
        except UnreachableError as error:
            raise ServerAwayError("%s. Start again to go on." % error) from None
