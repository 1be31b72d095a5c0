"""Send what waits in a spool: once for a person, again and again for `watch`.

What an answer means for a run:

| answer | the run |
|---|---|
| 200, 201, 202 with the run's key | is on the server and is removed here |
| 408, 425, 429, 5xx, none at all | waits; Retry-After is kept, without a deadline |
| 401, 403 | waits: the token is at fault, not the run |
| any other 4xx | goes to rejected/ with the reason |
| anything else (a portal's page, a redirection) | waits: it was not our server |

`ask_health` and `ask_token` store nothing: is it our server, and is the token good.
"""

import json
import random
from typing import Any, Callable, Dict, NamedTuple, Optional

from agents import exits
from agents.client import Client, PassingError, RefusedError
from agents.console import Console
from agents.errors import ServerAwayError, ServerRefusedError
from agents.home import Enrolment, is_quiet
from agents.spool import POWER, Spool
from agents.stopping import Stop

FULL = 0.9
SHORTEST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
_TOKENS_FAULT = (401, 403)

Report = Callable[[str], None]


class Delivery(NamedTuple):
    """What became of a spool's runs in one go; ``trouble`` stopped it, if any did."""

    sent: int = 0
    rejected: int = 0
    left: int = 0
    trouble: str = ""
    token_refused: bool = False
    wait_s: float = 0.0


class _StopError(Exception):
    def __init__(self, sentence: str, wait_s: float = 0.0, token: bool = False):
        self.wait_s, self.token = wait_s, token
        super().__init__(sentence)


def deliver(spool: Spool, client: Client, report: Report) -> Delivery:
    """Send all that waits, the oldest first, until done or the server is in trouble."""
    keys = spool.waiting()
    sent = rejected = 0
    for place, key in enumerate(keys):
        try:
            reason = _deliver_one(spool, client, key)
        except _StopError as stop:
            return Delivery(
                sent, rejected, len(keys) - place, str(stop), stop.token, stop.wait_s
            )
        if reason:
            rejected += 1
            report("rejected %s: %s" % (key, reason))
        else:
            sent += 1
            report("sent %s (%d of %d)" % (key, place + 1, len(keys)))
    return Delivery(sent, rejected)


def pause_s(failures: int, asked_s: float) -> float:
    """Return how long to wait after so many failures in a row.

    It doubles up to a minute; half of it is left to chance, so that the agents of a lab
    spread out. What the server asks for is the least.
    """
    # 2.0 ** 1024 is an OverflowError, and a server can be away for days.
    grown_s = min(LONGEST_PAUSE_S, SHORTEST_PAUSE_S * 2.0 ** min(failures, 10))
    return max(asked_s, grown_s * random.uniform(0.5, 1))


def _deliver_one(spool: Spool, client: Client, key: str) -> Optional[str]:
    """Send one run; return the reason if it was refused."""
    try:
        body = spool.read(key)
        answer = client.attempt(
            "POST", "power/" if key.endswith(POWER) else "runs/", body
        )
    except FileNotFoundError:  # another process of ours has sent it
        return None
    except OSError as error:
        raise _StopError("cannot read %s: %s" % (key, error)) from error
    except PassingError as passing:
        raise _StopError(str(passing), passing.wait_s) from None
    except RefusedError as refused:
        return _refused(spool, key, refused)
    # A portal that wants to be paid answers 200, too, but knows no key.
    if answer.get("key") != key.partition(".")[0]:
        raise _StopError("what answers there is not a Virtlab server")
    spool.remove(key)
    return None


def _refused(spool: Spool, key: str, refused: RefusedError) -> str:
    if refused.status in _TOKENS_FAULT:
        raise _StopError(refused.detail, token=True)
    if not 400 <= refused.status < 500:
        raise _StopError(
            "the server answered HTTP %d; a redirection is not followed, enroll with "
            "the address it leads to" % refused.status
        )
    reason = "%s\n" % refused
    if refused.fields:
        reason += json.dumps(refused.fields, indent=1, sort_keys=True) + "\n"
    try:
        spool.reject(key, reason)
    except OSError as error:
        raise _StopError("cannot lay aside %s: %s" % (key, error)) from error
    return str(refused)


def deliver_and_say(
    enrolment: Enrolment, spool: Spool, console: Console, noun: str = "run"
) -> int:
    """Send all that waits; say what became of it, and return the exit code."""
    client = Client(enrolment.server, enrolment.token)
    delivery = deliver(spool, client, console.progress)
    if delivery.sent:
        console.say("%s on the server." % counted(delivery.sent, noun, "is", "are"))
    if delivery.rejected:
        refused = counted(delivery.rejected, noun, "was", "were")
        console.say("%s refused; see: spool rejected" % refused)
    if delivery.trouble:
        waiting = counted(delivery.left, noun, "waits", "wait")
        console.say("%s in the spool: %s" % (waiting, delivery.trouble))
    if delivery.rejected or delivery.token_refused:
        return exits.REFUSED
    return exits.LATER if delivery.trouble else exits.DONE


def counted(number: int, noun: str, singular: str, plural: str) -> str:
    """Return "1 piece is" or "2 pieces are"."""
    if number == 1:
        return "1 %s %s" % (noun, singular)
    return "%d %ss %s" % (number, noun, plural)


def ask_health(client: Client) -> Dict[str, Any]:
    """Return the server's health; raise ServerAwayError if it is none of ours."""
    try:
        health = client.attempt("GET", "health/")
    except PassingError as passing:
        raise ServerAwayError("%s: %s" % (client.url, passing)) from None
    except RefusedError:
        health = {}
    if "status" not in health or "version" not in health:
        raise ServerAwayError("%s is not a Virtlab server." % client.url)
    return health


def ask_token(client: Client) -> None:
    """Raise ServerRefusedError unless the token may upload.

    An upload of nothing is sent: the token is looked at first, then the emptiness is
    refused, so nothing is stored.
    """
    try:
        client.attempt("POST", "runs/", b"{}")
    except PassingError as passing:
        raise ServerAwayError("%s: %s" % (client.url, passing)) from None
    except RefusedError as refused:
        if refused.status in _TOKENS_FAULT:
            raise ServerRefusedError(refused.detail) from None


class Watch:
    """Sends a spool's runs until it is stopped."""

    def __init__(
        self, spool: Spool, client: Client, report: Report, every_s: float = 5.0
    ) -> None:
        self.spool, self.client = spool, client
        self.report, self.every_s = report, every_s
        self.failures = 0
        self._last_said = ""

    def go_on_until(self, stop: Stop) -> None:
        """Look and send, again and again."""
        while not stop.wait(self.look()):
            pass

    def look(self) -> float:
        """Send what waits; return how long to wait before the next look."""
        if not self.spool.waiting() or is_quiet():
            self._say("")
            return self.every_s
        delivery = deliver(self.spool, self.client, self.report)
        if not delivery.trouble:
            self.failures = 0
            self._say("")
            return self.every_s
        # Progress shows that the server is there: only failing from the start counts.
        self.failures = 0 if delivery.sent else self.failures + 1
        sentence = "%d wait: %s" % (delivery.left, delivery.trouble)
        full = self.spool.bytes_held() / self.spool.most_bytes
        if full >= FULL:
            sentence += " THE SPOOL IS FULL TO %.0f %%." % (full * 100)
        self._say(sentence)
        return pause_s(self.failures, delivery.wait_s)

    def _say(self, sentence: str) -> None:
        if sentence and sentence != self._last_said:
            self.report(sentence)
        self._last_said = sentence
