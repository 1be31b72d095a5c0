"""Send the spool: once for a user, repeatedly for `watch`.

| answer | what happens to the run |
|---|---|
| 200, 201, 202 with the run's key | it is on the server and is removed from the spool |
| 408, 425, 429, 5xx, none at all | it waits; Retry-After is kept, without a deadline |
| 401, 403 from Virtlab | it waits: the token is wrong, not the run |
| any other 4xx with a code from Virtlab | it moves to rejected/ with the reason |
| anything else (a proxy's 404, a portal's page) | it waits: it was not our server |

Many runs go in one request over one connection. If such a request is refused, its runs
are sent one by one to find the wrong one.
"""

import json
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from agents import errors
from agents.client import Client, PassingError, RefusedError, pause_s
from agents.console import Console, without_token
from agents.errors import ServerAwayError, ServerRefusedError
from agents.home import Enrolment, Sending, is_quiet
from agents.processes import Stop
from agents.spool import POWER, Spool

FULL = 0.9
SHORTEST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
_TOKENS_FAULT = (401, 403)
# Codes of Virtlab about an address or a form of request, never about a run.
_NOT_THE_RUN = ("not_found", "method_not_allowed", "not_acceptable")
# The first run goes alone; after each success four times as many follow.
MOST_AT_ONCE = 200
MOST_BYTES_AT_ONCE = 512 * 1024
_GROWTH = 4
_MOST_ANSWER_BYTES = 1024 * 1024
# The server reads an upload within two seconds, or later if it is busy.
READ_WITHIN_S = 15.0
_ASK_AGAIN_S = 0.3
MEASURED = "somebody measures on this machine now; it is sent afterwards"
_NOT_OURS = "what answers there is not a Virtlab server"

Report = Callable[[str], None]


class _StopError(Exception):
    def __init__(self, sentence: str, wait_s: float = 0.0, token: bool = False):
        self.wait_s, self.token = wait_s, token
        super().__init__(sentence)


def _never() -> bool:
    return False


def deliver(
    spool: Spool, client: Client, report: Report, is_over: Callable[[], bool] = _never
) -> "Delivery":
    """Send the whole spool, oldest first.

    Stop on trouble, when ``is_over()``, and while somebody measures.
    """
    delivery = Delivery(spool, client, report, is_over)
    try:
        with client:
            delivery.send_all()
    except _StopError as stop:
        delivery.trouble, delivery.wait_s = str(stop), stop.wait_s
        delivery.token_refused = stop.token
    return delivery


class Delivery:
    """One pass through a spool; ``trouble`` is what stopped it, if anything."""

    def __init__(
        self, spool: Spool, client: Client, report: Report, is_over: Callable[[], bool]
    ) -> None:
        self.spool, self.client, self.report = spool, client, report
        self.is_over = is_over
        self.sent = self.rejected = self.gone = 0
        self.trouble, self.token_refused, self.wait_s = "", False, 0.0
        self.number = 0
        self._many = 1
        self._done: List[str] = []

    @property
    def left(self) -> int:
        """How many runs still wait because of trouble."""
        done = self.sent + self.rejected + self.gone
        return max(0, self.number - done) if self.trouble else 0

    def send_all(self) -> None:
        """Send the oldest runs until nothing waits."""
        while True:
            oldest, number = self.spool.look()
            if not oldest:
                return
            if oldest[0][0] in self._done:
                sentence = "%s was sent and cannot be removed" % oldest[0][0]
                raise _StopError(sentence)
            self.number = self.sent + self.rejected + number
            self._done = []
            left = oldest[::-1]
            while left:
                self._send_some(left)

    def _send_some(self, left: List[Tuple[str, int]]) -> None:
        """Send the next runs of a list that ends with the oldest."""
        keys, held = [left.pop()], 0
        while left and len(keys) < self._many and not keys[0][0].endswith(POWER):
            key, size = left[-1]
            held += size
            if key.endswith(POWER) or held + keys[0][1] > MOST_BYTES_AT_ONCE:
                break
            keys.append(left.pop())
        names = [key for key, _ in keys]
        with Sending() as sending:
            if self.is_over():
                raise _StopError("told to stop")
            if not sending.is_allowed:
                raise _StopError(MEASURED)
            if len(names) > 1 and self._send_many(names):
                self._many = min(_GROWTH * self._many, MOST_AT_ONCE)
                return
            self._send_one(names[0])
        self._many = min(_GROWTH * self._many, MOST_AT_ONCE) if len(names) == 1 else 1
        # The others of a refused batch follow, each alone.
        left += [(key, MOST_BYTES_AT_ONCE) for key in names[:0:-1]]

    def _send_many(self, keys: List[str]) -> bool:
        """Send runs together; return False if the server refused them."""
        bodies = [(key, self._body(key)) for key in keys]
        lines = [body for _, body in bodies if body is not None]
        keys = [key for key, body in bodies if body is not None]
        if not keys:
            return True
        try:
            answer = self._post("runs/bulk/", b"\n".join(lines), "application/x-ndjson")
        except RefusedError as refused:
            if refused.status in _TOKENS_FAULT:
                raise _stop_of(refused) from None
            return False
        runs = answer.get("runs")
        has = [run.get("key") for run in runs] if isinstance(runs, list) else []
        if has != keys:
            raise _StopError(_NOT_OURS)
        self._remove(keys)
        self.report("sent %d (%d of %d)" % (len(keys), self.sent, self.number))
        return True

    def _send_one(self, key: str) -> None:
        body = self._body(key)
        if body is None:
            return
        try:
            answer = self._post("power/" if key.endswith(POWER) else "runs/", body)
        except RefusedError as refused:
            self._reject(key, refused)
            return
        # A portal that demands a payment answers 200 too, but without the key.
        if answer.get("key") != key.partition(".")[0]:
            raise _StopError(_NOT_OURS)
        self._remove([key])
        done = self.sent + self.rejected
        self.report("sent %s (%d of %d)" % (key, done, self.number))

    def _post(
        self, path: str, body: bytes, content_type: str = "application/json"
    ) -> Dict[str, Any]:
        try:
            return self.client.attempt(
                "POST", path, body, content_type, _MOST_ANSWER_BYTES
            )
        except PassingError as passing:
            raise _StopError(str(passing), passing.wait_s) from None

    def _reject(self, key: str, refused: RefusedError) -> None:
        """Set a refused run aside; raise _StopError if the run is not the reason."""
        is_final = 400 <= refused.status < 500 and refused.is_ours
        is_of_run = (
            refused.status not in _TOKENS_FAULT and refused.code not in _NOT_THE_RUN
        )
        if not (is_final and is_of_run):
            raise _stop_of(refused)
        reason = "%s\n" % refused
        if refused.fields:
            reason += json.dumps(refused.fields, indent=1, sort_keys=True) + "\n"
        try:
            self.spool.reject(key, without_token(reason))
        except OSError as error:
            raise _StopError("cannot lay aside %s: %s" % (key, error)) from error
        self.rejected += 1
        self._done.append(key)
        self.report("rejected %s: %s" % (key, refused))

    def _body(self, key: str) -> Optional[bytes]:
        """Return the body of a run; None if another process has sent it."""
        try:
            return self.spool.read(key)
        except FileNotFoundError:
            self.gone += 1
            return None
        except OSError as error:
            raise _StopError("cannot read %s: %s" % (key, error)) from error

    def _remove(self, keys: List[str]) -> None:
        self._done += keys
        try:
            self.spool.remove(keys)
        except OSError as error:
            sentence = "%s was sent and cannot be removed: %s"
            raise _StopError(sentence % (keys[0], error)) from error
        self.sent += len(keys)


def _stop_of(refused: RefusedError) -> _StopError:
    """Return what is wrong if not the run: the token, the address, a proxy."""
    if 300 <= refused.status < 400:
        return _StopError(
            "the server answered HTTP %d; a redirection is not followed, enroll with "
            "the address it leads to" % refused.status
        )
    if refused.is_ours and refused.status in _TOKENS_FAULT:
        return _StopError(refused.detail, token=True)
    return _StopError("HTTP %d. %s" % (refused.status, refused.detail))


def deliver_and_say(
    enrolment: Enrolment, spool: Spool, console: Console, noun: str = "run"
) -> int:
    """Send the whole spool, print the outcome, and return the exit code."""
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
        return errors.REFUSED
    return errors.LATER if delivery.trouble else errors.DONE


def counted(number: int, noun: str, singular: str, plural: str) -> str:
    """Return "1 piece is" or "2 pieces are"."""
    if number == 1:
        return "1 %s %s" % (noun, singular)
    return "%d %ss %s" % (number, noun, plural)


def ask_health(client: Client) -> Dict[str, Any]:
    """Return the server's health; raise ServerAwayError unless it is Virtlab."""
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
    """Raise ServerRefusedError unless the token may upload; sends an empty upload."""
    try:
        client.attempt("POST", "runs/", b"{}")
    except PassingError as passing:
        raise ServerAwayError("%s: %s" % (client.url, passing)) from None
    except RefusedError as refused:
        if refused.status in _TOKENS_FAULT and refused.is_ours:
            raise ServerRefusedError(refused.detail) from None
        if not refused.is_ours:
            raise ServerAwayError("%s: %s" % (client.url, refused)) from None


def say_what_was_read(
    enrolment: Enrolment, pushed: Dict[str, Dict[str, Any]], console: Console
) -> int:
    """Print which uploads the server could not read; return the exit code."""
    client = Client(enrolment.server, enrolment.token)
    left, refused = dict(pushed), 0
    deadline_s = time.monotonic() + READ_WITHIN_S
    try:
        with client:
            while left and time.monotonic() < deadline_s and not is_quiet():
                time.sleep(_ASK_AGAIN_S)
                for name in list(left):
                    states = _states_of(client, left[name])
                    if not states or "received" in states:
                        continue
                    del left[name]
                    if "rejected" in states:
                        refused += 1
                        console.say("%s: %s" % (name, states["rejected"]))
    except (PassingError, RefusedError):
        pass  # everything is on the server: only its state remains unknown
    if left:
        console.say("%s not been read yet" % counted(len(left), "text", "has", "have"))
    return errors.REFUSED if refused else errors.DONE


def _states_of(client: Client, document: Dict[str, Any]) -> Dict[str, str]:
    """Return the states of an upload's runs, each with its reason."""
    page = client.attempt("GET", "runs/?key=" + document["key"])
    runs = page.get("results")
    if not runs:
        # This token may not read. Sending a run again returns its state.
        body = json.dumps(document).encode()
        run = client.attempt("POST", "runs/", body, most_bytes=_MOST_ANSWER_BYTES)
        runs = [dict(run, reason="The server cannot read it: %s" % run.get("url", ""))]
    return {str(run.get("status")): str(run.get("reason")) for run in runs}


class Watch:
    """Send the runs of a spool until stopped."""

    def __init__(
        self, spool: Spool, client: Client, report: Report, every_s: float = 5.0
    ) -> None:
        self.spool, self.client = spool, client
        self.report, self.every_s = report, every_s
        self.failures = 0
        self._last_said = ""

    def go_on_until(self, stop: Stop) -> None:
        """Look and send repeatedly; finish the current request before stopping."""
        while not stop.wait(self.look(lambda: stop.is_set)):
            pass

    def look(self, is_over: Callable[[], bool] = _never) -> float:
        """Send what waits; return the pause before the next look."""
        if self.spool.is_empty() or is_quiet():
            self._say("")
            return self.every_s
        delivery = deliver(self.spool, self.client, self.report, is_over)
        if not delivery.trouble or is_over() or delivery.trouble == MEASURED:
            self.failures = 0
            self._say("")
            return self.every_s
        # Any progress shows that the server is there.
        self.failures = 0 if delivery.sent else self.failures + 1
        sentence = "%d wait: %s" % (delivery.left, delivery.trouble)
        full = self.spool.fullness()
        if full >= FULL:
            sentence += " THE SPOOL IS FULL TO %.0f %%." % (full * 100)
        self._say(sentence)
        limits = (SHORTEST_PAUSE_S, LONGEST_PAUSE_S)
        return pause_s(self.failures, delivery.wait_s, *limits)

    def _say(self, sentence: str) -> None:
        if sentence and sentence != self._last_said:
            self.report(sentence)
        self._last_said = sentence
