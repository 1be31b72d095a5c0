"""Send what waits in a spool, and decide what an answer means for a run.

| answer | the run |
|---|---|
| 200, 201, 202 with the run's key | is on the server and is removed here |
| 408, 425, 429, 5xx, none at all | waits; Retry-After is kept, without a deadline |
| 401, 403 | waits: the token is at fault, not the run |
| any other 4xx | goes to rejected/ with the reason |
| anything else (a portal's page, a redirection) | waits: it was not our server |
"""

import json
import random
from typing import Callable, List, NamedTuple, Optional

from agents.client import Client, PassingError, RefusedError
from agents.spool import POWER, Spool

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
    try:
        spool.reject(key, _reason(refused))
    except OSError as error:
        raise _StopError("cannot lay aside %s: %s" % (key, error)) from error
    return str(refused)


def _reason(refused: RefusedError) -> str:
    lines: List[str] = [str(refused)]
    if refused.fields:
        lines.append(json.dumps(refused.fields, indent=1, sort_keys=True))
    return "\n".join(lines) + "\n"
