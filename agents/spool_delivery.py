"""Delivery of the spool: once for a command, repeatedly for `watch`.

| response | consequence for the run |
|---|---|
| 200, 201, 202 with the run's key | removed: the server has it |
| 408, 425, 429, 5xx, none | waits; Retry-After is respected |
| 401, 403 from Virtlab | waits: the token is wrong |
| other 4xx with a code from Virtlab | moved to rejected/ with the reason |
| others (a proxy, a portal) | waits |

A request contains several runs. If the server refuses it, they are sent one by one to
find the invalid run.
"""

import json
import re
from typing import Any, Callable, Dict, List, Optional, Tuple

from agents import VERSION, errors
from agents.client import (
    NOT_VIRTLAB,
    Client,
    RefusedError,
    TemporaryError,
    retry_pause_s,
)
from agents.console import Console, without_token
from agents.errors import ServerRefusedError, ServerUnavailableError
from agents.local_state import Enrolment, SendingLock, is_measuring
from agents.processes import StopFlag
from agents.spool import POWER_SUFFIX, Spool

ALMOST_FULL = 0.9
MIN_PAUSE_S = 1.0
MAX_PAUSE_S = 60.0
_TOKEN_STATUSES = (401, 403)
# Error codes that concern the URL or the method of a request, not the run in it.
_REQUEST_CODES = ("not_found", "method_not_allowed", "not_acceptable")
# Batches start with one run and grow after each success up to these limits.
MAX_BATCH_RUNS = 200
MAX_BATCH_BYTES = 512 * 1024
_BATCH_GROWTH = 4
MAX_RESPONSE_BYTES = 1024 * 1024
MEASUREMENT_RUNNING = "a measurement is running on this machine; sending waits for it"

ProgressCallback = Callable[[str], None]


class _StopError(Exception):
    """Nothing more can be sent now; ``token`` is True if the token was refused."""

    def __init__(self, sentence: str, wait_s: float = 0.0, token: bool = False):
        self.wait_s, self.token = wait_s, token
        super().__init__(sentence)


def _never() -> bool:
    return False


def send_spool(
    spool: Spool,
    client: Client,
    report: ProgressCallback,
    should_stop: Callable[[], bool] = _never,
) -> "SpoolDelivery":
    """Send all documents, oldest first, until a problem, a stop or a measurement."""
    delivery = SpoolDelivery(spool, client, report, should_stop)
    try:
        with client:
            delivery.send_all()
    except _StopError as stop:
        delivery.problem, delivery.wait_s = str(stop), stop.wait_s
        delivery.token_refused = stop.token
    return delivery


class SpoolDelivery:
    """One attempt to send the whole spool; ``problem`` is why it stopped early."""

    def __init__(
        self,
        spool: Spool,
        client: Client,
        report: ProgressCallback,
        should_stop: Callable[[], bool],
    ) -> None:
        self.spool, self.client, self.report = spool, client, report
        self.should_stop = should_stop
        self.sent = self.rejected = self.sent_elsewhere = 0
        self.problem, self.token_refused, self.wait_s = "", False, 0.0
        self.total = 0
        self._batch_runs = 1
        self._done: List[str] = []

    @property
    def waiting_count(self) -> int:
        done = self.sent + self.rejected + self.sent_elsewhere
        return max(0, self.total - done) if self.problem else 0

    def send_all(self) -> None:
        while True:
            oldest, number = self.spool.peek()
            if not oldest:
                return
            if oldest[0][0] in self._done:
                sentence = "%s was sent but cannot be removed" % oldest[0][0]
                raise _StopError(sentence)
            self.total = self.sent + self.rejected + number
            self._done = []
            remaining = oldest[::-1]
            while remaining:
                self._send_some(remaining)

    def _send_some(self, remaining: List[Tuple[str, int]]) -> None:
        """Send the last documents of the list, which ends with the oldest."""
        keys, size = [remaining.pop()], 0
        while (
            remaining
            and len(keys) < self._batch_runs
            and not keys[0][0].endswith(POWER_SUFFIX)
        ):
            key, next_size = remaining[-1]
            size += next_size
            if key.endswith(POWER_SUFFIX) or size + keys[0][1] > MAX_BATCH_BYTES:
                break
            keys.append(remaining.pop())
        names = [key for key, _ in keys]
        with SendingLock() as sending:
            if self.should_stop():
                raise _StopError("stopped on request")
            if not sending.is_allowed:
                raise _StopError(MEASUREMENT_RUNNING)
            if len(names) > 1 and self._send_many(names):
                self._batch_runs = min(_BATCH_GROWTH * self._batch_runs, MAX_BATCH_RUNS)
                return
            self._send_one(names[0])
        self._batch_runs = (
            min(_BATCH_GROWTH * self._batch_runs, MAX_BATCH_RUNS)
            if len(names) == 1
            else 1
        )
        # With this size, the runs of the refused batch are sent one by one.
        remaining += [(key, MAX_BATCH_BYTES) for key in names[:0:-1]]

    def _send_many(self, keys: List[str]) -> bool:
        """Return False if the server refused the runs."""
        bodies = [(key, self._body(key)) for key in keys]
        lines = [body for _, body in bodies if body is not None]
        keys = [key for key, body in bodies if body is not None]
        if not keys:
            return True
        try:
            answer = self._post("runs/bulk/", b"\n".join(lines), "application/x-ndjson")
        except RefusedError as refused:
            if refused.status in _TOKEN_STATUSES:
                raise _stop_reason(refused) from None
            return False
        runs = answer.get("runs")
        received = [run.get("key") for run in runs] if isinstance(runs, list) else []
        if received != keys:
            raise _StopError(NOT_VIRTLAB)
        self._remove(keys)
        self.report("sent %d (%d of %d)" % (len(keys), self.sent, self.total))
        return True

    def _send_one(self, key: str) -> None:
        body = self._body(key)
        if body is None:
            return
        try:
            answer = self._post(
                "power/" if key.endswith(POWER_SUFFIX) else "runs/", body
            )
        except RefusedError as refused:
            self._reject(key, refused)
            return
        # The login page of a network also has status 200, but not this key.
        if answer.get("key") != key.partition(".")[0]:
            raise _StopError(NOT_VIRTLAB)
        self._remove([key])
        done = self.sent + self.rejected
        self.report("sent %s (%d of %d)" % (key, done, self.total))

    def _post(
        self, path: str, body: bytes, content_type: str = "application/json"
    ) -> Dict[str, Any]:
        try:
            return self.client.send_once(
                "POST", path, body, content_type, MAX_RESPONSE_BYTES
            )
        except TemporaryError as error:
            raise _StopError(str(error), error.wait_s) from None

    def _reject(self, key: str, refused: RefusedError) -> None:
        """Reject a run in the spool; raise _StopError if the run is not the cause."""
        is_final = 400 <= refused.status < 500 and refused.is_ours
        is_about_run = (
            refused.status not in _TOKEN_STATUSES and refused.code not in _REQUEST_CODES
        )
        if not (is_final and is_about_run):
            raise _stop_reason(refused)
        reason = "%s\n" % refused
        if refused.fields:
            reason += json.dumps(refused.fields, indent=1, sort_keys=True) + "\n"
        try:
            self.spool.reject(key, without_token(reason))
        except OSError as error:
            raise _StopError("cannot set aside %s: %s" % (key, error)) from error
        self.rejected += 1
        self._done.append(key)
        self.report("rejected %s: %s" % (key, refused))

    def _body(self, key: str) -> Optional[bytes]:
        """Return a document; None if another process has sent it."""
        try:
            return self.spool.read(key)
        except FileNotFoundError:
            self.sent_elsewhere += 1
            return None
        except OSError as error:
            raise _StopError("cannot read %s: %s" % (key, error)) from error

    def _remove(self, keys: List[str]) -> None:
        self._done += keys
        try:
            self.spool.remove(keys)
        except OSError as error:
            sentence = "%s was sent but cannot be removed: %s"
            raise _StopError(sentence % (keys[0], error)) from error
        self.sent += len(keys)


def _stop_reason(refused: RefusedError) -> _StopError:
    if 300 <= refused.status < 400:
        return _StopError(
            "the server redirects (HTTP %d), and redirects are not followed; enroll "
            "with the URL it redirects to" % refused.status
        )
    if refused.is_ours and refused.status in _TOKEN_STATUSES:
        return _StopError(refused.detail, token=True)
    return _StopError("HTTP %d. %s" % (refused.status, refused.detail))


def send_and_report(
    enrolment: Enrolment, spool: Spool, console: Console, noun: str = "run"
) -> int:
    client = Client(enrolment.server, enrolment.token)
    delivery = send_spool(spool, client, console.progress)
    if delivery.sent:
        console.message(
            "%s on the server." % count_phrase(delivery.sent, noun, "is", "are")
        )
    if delivery.rejected:
        refused = count_phrase(delivery.rejected, noun, "was", "were")
        console.message("%s rejected; see: spool rejected" % refused)
    if delivery.problem:
        waiting = count_phrase(delivery.waiting_count, noun, "waits", "wait")
        console.message("%s in the spool: %s" % (waiting, delivery.problem))
    if delivery.rejected or delivery.token_refused:
        return errors.REFUSED
    return errors.SERVER_UNAVAILABLE if delivery.problem else errors.DONE


def count_phrase(number: int, noun: str, singular: str, plural: str) -> str:
    """Return "1 run is" or "2 runs are"."""
    if number == 1:
        return "1 %s %s" % (noun, singular)
    return "%d %ss %s" % (number, noun, plural)


def check_server(client: Client) -> Dict[str, Any]:
    """Return the health of the server; raise ServerUnavailableError."""
    try:
        health = client.send_once("GET", "health/")
    except TemporaryError as error:
        raise ServerUnavailableError("%s: %s" % (client.url, error)) from None
    except RefusedError:
        health = {}
    if "status" not in health or "version" not in health:
        raise ServerUnavailableError("%s is not a Virtlab server." % client.url)
    return health


def update_advice(server_version: str) -> str:
    """Return advice if the server has a newer version than this agent, or ""."""
    newer, own = (re.findall(r"[0-9]+", v)[:3] for v in (server_version, VERSION))
    if list(map(int, newer)) <= list(map(int, own)):
        return ""
    return "The server has version %s, this agent is %s: download it from /agent/." % (
        server_version,
        VERSION,
    )


def check_token(client: Client) -> None:
    """Send an empty upload; raise ServerRefusedError if the token may not upload."""
    try:
        client.send_once("POST", "runs/", b"{}")
    except TemporaryError as error:
        raise ServerUnavailableError("%s: %s" % (client.url, error)) from None
    except RefusedError as refused:
        if refused.status in _TOKEN_STATUSES and refused.is_ours:
            raise ServerRefusedError(refused.detail) from None
        if not refused.is_ours:
            raise ServerUnavailableError("%s: %s" % (client.url, refused)) from None


class SpoolWatcher:
    """Repeated delivery of the spool, with pauses that grow after failures."""

    def __init__(
        self,
        spool: Spool,
        client: Client,
        report: ProgressCallback,
        every_s: float = 5.0,
    ) -> None:
        self.spool, self.client = spool, client
        self.report, self.every_s = report, every_s
        self.failures = 0
        self._last_message = ""

    def run_until(self, stop: StopFlag) -> None:
        """Send repeatedly; finish the current request before stopping."""
        while not stop.wait(self.send_waiting(lambda: stop.is_set)):
            pass

    def send_waiting(self, should_stop: Callable[[], bool] = _never) -> float:
        """Send the spool; return the pause before the next check in seconds."""
        if self.spool.is_empty() or is_measuring():
            self._report_once("")
            return self.every_s
        delivery = send_spool(self.spool, self.client, self.report, should_stop)
        if (
            not delivery.problem
            or should_stop()
            or delivery.problem == MEASUREMENT_RUNNING
        ):
            self.failures = 0
            self._report_once("")
            return self.every_s
        # If anything was sent, the server is available.
        self.failures = 0 if delivery.sent else self.failures + 1
        message = "%d waiting: %s" % (delivery.waiting_count, delivery.problem)
        fullness = self.spool.fullness()
        if fullness >= ALMOST_FULL:
            message += " THE SPOOL IS %.0f%% FULL." % (fullness * 100)
        self._report_once(message)
        limits = (MIN_PAUSE_S, MAX_PAUSE_S)
        return retry_pause_s(self.failures, delivery.wait_s, *limits)

    def _report_once(self, message: str) -> None:
        if message and message != self._last_message:
            self.report(message)
        self._last_message = message
