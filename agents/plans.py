"""Follow a plan of the server: take a slot, run its steps, report each end.

The slots of a co-run start together. The server names the moment by the clock of the
time server once the last slot has arrived. Each slot converts it to its own clock with
stamps, the last one half a second before; they also show how fast that clock runs.

A result counts only after the server has answered "keep". Until then it is stored in
`plan-<plan>-slot-<slot>.json` beside the spool, so that a restarted agent asks again.
Every request to the server may be repeated.
"""

import hashlib
import json
import os
import random
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from agents.client import Client, RefusedError, UnreachableError
from agents.console import Console, utc_text
from agents.errors import ServerAwayError, ServerRefusedError, UsageError
from agents.files import forget, text_of, write_durably
from agents.home import Quiet, home
from agents.measuring import runners
from agents.measuring.bracket import (
    Measured,
    execute,
    failure_of,
    measure,
    run_document,
)
from agents.measuring.runners import Step, Wishes
from agents.measuring.through import Through, check_tools
from agents.sending import deliver
from agents.spool import Spool
from agents.timing.asking import Stamp, TimePath, stamp_or_silence
from agents.timing.clocks import monotonic_us, own_clocks

STAMP_AGES_US = 1000000
LAST_LOOK_US = 500000
FIRST_NAP_US = 250000  # short: the rate of our clock is not known before
SPIN_US = 3000
# A slot that is later than this has missed the start of the co-run.
MOST_LATE_US = 100000

Answer = Dict[str, Any]
Report = Callable[[str], None]


class PlanServer:
    """One plan on the server."""

    def __init__(self, client: Client, plan: int) -> None:
        self.client, self.plan = client, plan

    def join(self, name: str, system: Any) -> Answer:
        """Take the slot of a guest; the same one each time."""
        # Clones of a guest have its name, but another clock or folder.
        clone = hashlib.sha256((own_clocks().name + home()).encode()).hexdigest()[:16]
        guest = {"name": name, "system": system, "instance": clone}
        return self._ask("plans/%d/slots/" % self.plan, guest)

    def next_part(self, slot: int) -> Answer:
        """Ask for the next step: run, wait or over."""
        return self._ask("plans/%d/next/" % self.plan, {"slot": slot})

    def meet(self, part: Answer, **state: Any) -> Answer:
        """Arrive at a barrier: wait, start, stop or released."""
        state["attempt"] = part["attempt"]
        return self._ask("plan-parts/%d/meet/" % part["id"], state)

    def finish(self, part: int, report: Answer) -> Answer:
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
    """The attempt has ended without a start."""


class LateError(Exception):
    """The moment of the start has already passed."""


class Barrier:
    """The gate of a slot before its program starts."""

    def __init__(
        self, server: PlanServer, part: Dict[str, Any], limit_s: float, report: Report
    ) -> None:
        self.server, self.part = server, part
        self.limit_s, self.report = limit_s, report

    def __call__(self, path: TimePath) -> Tuple[Optional[Stamp], str]:
        """Wait for the other slots; return the last stamp before the start."""
        stamp, silence = stamp_or_silence(path)
        while True:
            stamp = refreshed(stamp, path)
            clock: Dict[str, Any] = {}
            if stamp is not None:
                passed_us = monotonic_us() - stamp.local_monotonic_us
                now_us = stamp.server_monotonic_us + passed_us
                clock = {"clock": stamp.clock, "now_us": now_us}
            answer = self.server.meet(self.part, limit_s=self.limit_s, **clock)
            if answer["state"] == "start":
                break
            if answer["state"] != "wait":
                raise ReleasedError(answer["sentence"])
            self.report(answer["sentence"])
            pause(answer["wait_s"])
        if stamp is None:
            return None, silence
        if answer["starts_at_us"] is None:
            # A slot alone gets no moment; its stamp has aged meanwhile.
            return stamp_or_silence(path)
        return wait_for(answer["starts_at_us"], stamp, path), ""


def pause(wait_s: float) -> None:
    """Sleep about as long as the server asked, so that agents do not ask at once."""
    time.sleep(wait_s * random.uniform(0.7, 1.3))


def wait_for(moment_us: int, stamp: Stamp, path: TimePath) -> Stamp:
    """Sleep until a moment of the time server's clock; return the last stamp."""
    first, pace, nap_us = stamp, 1.0, FIRST_NAP_US
    while left_us(moment_us, stamp, pace) > LAST_LOOK_US:
        left = left_us(moment_us, stamp, pace) - LAST_LOOK_US
        time.sleep(min(nap_us, left) / 1e6)
        stamp, nap_us = refreshed(stamp, path, 0) or stamp, STAMP_AGES_US
        pace = pace_of(first, stamp)
    # Checked before the last sleep: a late slot must not start at all.
    late_us = -left_us(moment_us, stamp, pace)
    if late_us > MOST_LATE_US:
        raise LateError("learnt of the start %.2f s after it" % (late_us / 1e6))
    time.sleep(max(0.0, (left_us(moment_us, stamp, pace) - SPIN_US) / 1e6))
    # The scheduler ends a sleep late: spin during the last milliseconds.
    while left_us(moment_us, stamp, pace) > 0:
        pass
    return stamp


def left_us(moment_us: int, stamp: Stamp, pace: float = 1.0) -> float:
    """Return the time until a moment, by our clock."""
    passed_us = monotonic_us() - stamp.local_monotonic_us
    return (moment_us - stamp.server_monotonic_us) / pace - passed_us


def pace_of(first: Stamp, last: Stamp) -> float:
    """Return the rate of the server's clock relative to ours.

    1 if round trips alone explain the difference.
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
    """Return a stamp of at most this age if possible, else the older one."""
    if stamp is not None and monotonic_us() - stamp.local_monotonic_us < age_us:
        return stamp
    return stamp_or_silence(path)[0] or stamp


class Window(NamedTuple):
    """Start and end of a program by the time server's clock."""

    began_us: int
    ended_us: int
    began_wall_us: int
    bound_us: int


def window_of(clock: Dict[str, Any], began_us: int, local_us: int) -> Optional[Window]:
    """Convert start and end of a program with the stamps around it; None without them.

    The rate of our clock between the stamps corrects for a clock that runs wrong.
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


Part = Dict[str, Any]
_RUN = ("scenario", "vms", "slot", "load", "corun", "session")
MOST_BYTES = 64 * 1024 * 1024  # of a file with whole outputs


class Slot(NamedTuple):
    """The common properties of all parts of one slot."""

    study: str
    system: Any
    facts: Dict[str, Any]
    path: TimePath
    clock: str
    time_server: str
    session: str = ""
    through: Optional[Through] = None


class Held(NamedTuple):
    """The report of a part's end, and the uploads of its run."""

    part: int
    report: Dict[str, Any]
    documents: List[Dict[str, Any]]


class Keeping:
    """The file of one slot."""

    def __init__(self, plan: int, slot: int) -> None:
        self.path = os.path.join(home(), "plan-%d-slot-%d.json" % (plan, slot))

    def hold(self, held: Held) -> None:
        os.makedirs(home(), mode=0o700, exist_ok=True)
        write_durably(self.path, json.dumps(held._asdict()).encode())

    def held(self) -> Optional[Held]:
        """Return what an earlier process left, if it is complete."""
        text = text_of(self.path, MOST_BYTES)
        try:
            return Held(**json.loads(text)) if text else None
        except (ValueError, TypeError):  # TypeError: fields of another version
            return None

    def drop(self) -> None:
        forget(self.path)


class Follower:
    """Follow one plan on one slot to its end."""

    def __init__(
        self, server: PlanServer, slot_id: int, slot: Slot, spool: Spool
    ) -> None:
        self.server, self.slot_id, self.slot = server, slot_id, slot
        self.spool, self.console = spool, Console()
        self.keeping = Keeping(server.plan, slot_id)
        self.failed = 0
        self._last_said = ""

    def follow(self) -> int:
        """Do all steps; return how many failed."""
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
                pause(answer["wait_s"])

    def _do(self, part: Part) -> None:
        which = "warm-up" if part["is_warm_up"] else "repetition %(repetition)d" % part
        sentence = "step %d, %s: " % (part["position"] + 1, which)
        sentence += "%(tool)s %(program)s (%(scenario)s" % part
        sentence += ", slot %(slot)s of %(vms)d)" % part if part["vms"] > 1 else ")"
        self._say(sentence)
        try:
            held = work(part, self.slot, self.server, self._say)
        except ReleasedError as released:
            self.console.say("Nothing was started: %s" % released)
            return
        self.keeping.hold(held)
        self._end(held)

    def _end(self, held: Held) -> None:
        """Report an end until the server says whether it counts."""
        outcome = held.report["outcome"]
        if outcome != "done":
            self.failed += outcome in ("failed", "hopeless")
            self.console.say(held.report["reason"])
        while True:
            answer = self.server.finish(held.part, held.report)
            if answer["state"] != "held":
                break
            self._say(answer["sentence"])
            pause(answer["wait_s"])
        if answer["state"] != "keep":
            self.console.say("Not kept: %s" % answer["sentence"])
            self.keeping.drop()
            return
        for document in held.documents:
            self.spool.save(document)  # saving one key twice stores it once
        self.keeping.drop()
        delivery = deliver(self.spool, self.server.client, lambda _: None)
        if delivery.trouble:
            self.console.say("%d wait: %s" % (delivery.left, delivery.trouble))

    def _say(self, sentence: str) -> None:
        if sentence != self._last_said:
            self.console.progress(sentence)
        self._last_said = sentence


def work(part: Part, slot: Slot, server: Any, report: Report) -> Held:
    """Do a part and return its end; raise ReleasedError if the attempt has ended."""
    try:
        step = step_of(part, slot)
    except UsageError as error:
        return _ended(part, "hopeless", reason=str(error))
    barrier = Barrier(server, part, step.limit_s, report)
    try:
        with Quiet():
            if part["role"] == "load":
                return _load(part, step, slot, barrier)
            measured = measure(step, slot.path, pass_gate=barrier)
    except LateError as error:
        return _ended(part, "missed", reason=str(error))
    for warning in measured.warnings:
        report("%s %s: %s" % (step.tool, step.name, warning))
    if measured.execution.problem:
        # The server takes a reason of 2,000 characters.
        return _ended(part, "failed", reason=failure_of(step, measured)[:2000])
    window = _window(measured)
    if slot.through:
        measured = slot.through.seen_from_outside(measured)
    documents = []
    if not part["is_warm_up"]:
        documents.append(_document(part, step, slot, measured, window))
    keys = [document["key"] for document in documents]
    return _ended(part, "done", window, documents, keys=keys)


def step_of(part: Part, slot: Slot) -> Step:
    """Return the step for a part's program; raise UsageError if it cannot run."""
    named = [step for step in steps_of(part, slot) if step.name == part["program"]]
    if not named:
        raise UsageError(
            "This agent's runner of %s has no program %s: update the agent."
            % (part["tool"], part["program"])
        )
    return named[0]


def steps_of(part: Part, slot: Slot) -> List[Step]:
    """Return the steps of a part's tool, as this slot starts them.

    The plan names the folder of the files; the default is the current one, or the one
    where the probe is started. Raises UsageError for a tool that cannot run there.
    """
    options, through = part["options"], slot.through
    if through:
        check_tools([part["tool"]])
    known: Dict[str, Any] = {"folder": "." if through else os.getcwd()}
    known.update({name: options[name] for name in Wishes._fields if name in options})
    # The plan does not choose the program that is started.
    wishes = Wishes(**known)._replace(
        time_server=slot.time_server, probe=through.probe if through else ""
    )
    steps = runners.steps_of(part["tool"], wishes)
    return through.steps(steps) if through else steps


def _document(
    part: Part, step: Step, slot: Slot, measured: Measured, window: Optional[Window]
) -> Dict[str, Any]:
    given = {name: part[name] for name in _RUN}
    given["clock"] = slot.clock
    given["session"] = slot.session or given["session"]
    facts = dict(
        slot.facts,
        plan={name: part[name] for name in ("step", "attempt", "position", "role")},
    )
    if window:
        facts["elapsed_s"] = (window.ended_us - window.began_us) / 1e6
    order = {name: part[name] for name in ("repetition", "repetitions", "sequence")}
    about = (slot.study, slot.system, facts, given, order)
    document = run_document(step, measured, *about)
    if window:
        # By the time server's clock: the guest's may be hours off.
        seconds, rest = divmod(window.began_wall_us, 1000000)
        document["started_at"] = "%s.%06dZ" % (utc_text(seconds)[:-1], rest)
    return document


def _load(part: Part, step: Step, slot: Slot, barrier: Barrier) -> Held:
    """Run a program again and again until the server says stop."""

    def is_enough() -> bool:
        return bool(barrier.server.meet(part)["state"] != "start")

    first = measure(step, slot.path, pass_gate=barrier, is_enough=is_enough)
    window, rounds, execution = _window(first), 1, first.execution
    # Ask before looking at the problem: a program that was killed to stop it has not
    # failed.
    while not is_enough():
        if execution.problem:
            failed = first._replace(execution=execution)
            return _ended(part, "failed", reason=failure_of(step, failed)[:2000])
        execution = execute(step.argv, step.limit_s, is_enough=is_enough)
        rounds += 1
    last, _ = stamp_or_silence(slot.path)
    if window and last:
        # The window of the first round covers only that round.
        window = window._replace(ended_us=last.server_monotonic_us)
    return _ended(part, "done", window, rounds=rounds)


def _window(measured: Measured) -> Optional[Window]:
    execution = measured.execution
    return window_of(measured.facts["clock"], execution.began_us, execution.local_us)


def _ended(
    part: Part,
    outcome: str,
    window: Optional[Window] = None,
    documents: Optional[List[Dict[str, Any]]] = None,
    **more: Any,
) -> Held:
    report = dict(more, attempt=part["attempt"], outcome=outcome)
    if window:
        report.update(
            began_us=window.began_us, ended_us=window.ended_us, bound_us=window.bound_us
        )
    return Held(part["id"], report, documents or [])
