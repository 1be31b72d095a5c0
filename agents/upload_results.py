"""Reports of what the server read of a command's uploads."""

import json
import time
from typing import Any, Dict, List, NamedTuple, Tuple

from agents import errors
from agents.client import Client, RefusedError, TemporaryError, UnreachableError
from agents.console import Console
from agents.local_state import Enrolment, is_measuring
from agents.spool_delivery import MAX_RESPONSE_BYTES, count_phrase

# Parsing usually takes two seconds.
PARSING_TIMEOUT_S = 30.0
_POLL_S = 0.3
# The output of larger uploads is not kept for repeated requests.
_MAX_KEPT_BYTES = 256 * 1024
_MAX_REASONS = 10
READ, FAILED, REJECTED, UNKNOWN = "read", "failed", "rejected", "not read yet"

Document = Dict[str, Any]


class UploadState(NamedTuple):
    state: str
    reason: str = ""


class Uploads:
    def __init__(self) -> None:
        self.documents: Dict[str, Document] = {}
        self.states: Dict[str, UploadState] = {}

    def add(self, name: str, document: Document) -> None:
        if len(document.get("output", "")) > _MAX_KEPT_BYTES:
            document = {
                field: document.get(field) for field in ("key", "failed", "study")
            }
        self.documents[name] = document

    def report(self, enrolment: Enrolment, console: Console) -> int:
        """Wait until the server has read the uploads; report, return the exit code.

        Stops after a time limit, or when a measurement starts.
        """
        client = Client(enrolment.server, enrolment.token, retry_for_s=0)
        deadline_s = time.monotonic() + PARSING_TIMEOUT_S
        remaining = list(self.documents)
        try:
            with client:
                while (
                    remaining and time.monotonic() < deadline_s and not is_measuring()
                ):
                    time.sleep(_POLL_S)
                    for name in remaining:
                        self.states[name] = _state(client, self.documents[name])
                    remaining = [
                        name for name in remaining if self.states[name].state == UNKNOWN
                    ]
        except (TemporaryError, RefusedError):
            pass  # everything was sent; only the result of parsing is unknown
        code = self._conclude(console)
        if any(state.state == READ for state in self.states.values()):
            self._print_comparison(client, enrolment.server, console)
        return code

    def _print_comparison(self, client: Client, server: str, console: Console) -> None:
        studies = {document.get("study") for document in self.documents.values()}
        for slug in sorted(map(str, filter(None, studies))):
            try:
                study = client.update_study(slug, {})
                place = (server, study["lab"], slug)
            except (UnreachableError, RefusedError, KeyError):
                continue
            console.message("Comparison: %s/studies/%s/%s/compare/" % place)

    def _conclude(self, console: Console) -> int:
        counts = {READ: 0, FAILED: 0, REJECTED: 0, UNKNOWN: 0}
        reasons: List[str] = []
        for name in self.documents:
            state, reason = self.states.get(name, UploadState(UNKNOWN))
            counts[state] += 1
            if reason:
                reasons.append("%s: %s" % (name, reason))
        console.record("uploads", counts)
        for line in reasons[:_MAX_REASONS]:
            console.message(line)
        if len(reasons) > _MAX_REASONS:
            console.message("... and %d more." % (len(reasons) - _MAX_REASONS))
        if counts[UNKNOWN]:
            uploads = count_phrase(counts[UNKNOWN], "upload", "has", "have")
            console.message("%s not been read by the server yet." % uploads)
        code, sentence = _conclusion(counts, reasons)
        console.message(sentence)
        return code


def _conclusion(counts: Dict[str, int], reasons: List[str]) -> Tuple[int, str]:
    total = sum(counts.values())
    sentence = "The server read %d of %d uploads." % (counts[READ], total)
    if not counts[READ] and not counts[UNKNOWN]:
        reason = reasons[0] if reasons else "there was no output."
        code = errors.REFUSED if counts[REJECTED] else errors.FAILED
        return code, "Nothing usable was stored: %s" % reason
    if counts[REJECTED]:
        return errors.REFUSED, sentence
    if counts[FAILED]:
        return errors.FAILED, sentence
    return errors.DONE if counts[READ] else errors.NOT_READ, sentence


def _state(client: Client, document: Document) -> UploadState:
    """Return how the server read an upload, from all of its runs."""
    page = client.send_once("GET", "runs/?key=" + document["key"])
    runs = page.get("results") or []
    if not runs and "output" in document:
        # The token may not read runs, but repeating the upload returns their status.
        body = json.dumps(document).encode()
        run = client.send_once("POST", "runs/", body, most_bytes=MAX_RESPONSE_BYTES)
        reason = "The server cannot parse it: %s" % run.get("url", "")
        runs = [dict(run, reason=reason)]
    states = {str(run.get("status")): str(run.get("reason")) for run in runs}
    if not states or "received" in states:
        return UploadState(UNKNOWN)
    for status in ("rejected", "quarantined"):
        if status in states:
            return UploadState(REJECTED, states[status])
    failures = [str(run.get("failure")) for run in runs if run.get("is_failed")]
    if failures or document.get("failed"):
        return UploadState(FAILED, document.get("failed") or failures[0])
    return UploadState(READ)
