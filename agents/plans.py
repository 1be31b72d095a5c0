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
from agents.console import Console
from agents.errors import ServerAwayError, ServerRefusedError, UsageError
from agents.files import forget, text_of, write_durably
from agents.home import Quiet, home
from agents.measuring import runners
from agents.measuring.bracket import (
    Measured,
    TimePath,
    execute,
    measure,
    stamp_or_silence,
)
from agents.measuring.rounds import Job, Round, document_of, failure_of
from agents.measuring.runners import Step, Wishes
from agents.measuring.through import Through, check_tools, seen_from_outside
from agents.sending import deliver
from agents.spool import Spool
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


Part = Dict[str, Any]
_RUN = ("scenario", "vms", "slot", "load", "corun", "session")
# It holds whole outputs, so it may be longer than other small files.
MOST_BYTES = 64 * 1024 * 1024


class Slot(NamedTuple):
    """What all parts of one slot have in common."""

    study: str
    system: Any
    facts: Dict[str, Any]
    path: TimePath
    clock: str
    time_server: str
    session: str = ""
    through: Optional[Through] = None


class Held(NamedTuple):
    """The end of a part, as it is reported, and the uploads of its run."""

    part: int
    report: Dict[str, Any]
    documents: List[Dict[str, Any]]


class Keeping:
    """The file of one slot."""

    def __init__(self, plan: int, slot: int) -> None:
        self.path = os.path.join(home(), "plan-%d-slot-%d.json" % (plan, slot))

    def hold(self, held: Held) -> None:
        """Write it down for good."""
        os.makedirs(home(), mode=0o700, exist_ok=True)
        write_durably(self.path, json.dumps(held._asdict()).encode())

    def held(self) -> Optional[Held]:
        """Return what a former life left, if anything whole."""
        text = text_of(self.path, MOST_BYTES)
        try:
            return Held(**json.loads(text)) if text else None
        # A TypeError: another version of the agent wrote other fields.
        except (ValueError, TypeError):
            return None

    def keep(self, held: Held, spool: Spool) -> None:
        """Hand the uploads to the spool: saved twice under one key they are one."""
        for document in held.documents:
            spool.save(document)
        self.drop()

    def drop(self) -> None:
        forget(self.path)


class Follower:
    """Follows one plan on one slot until nothing is left for it."""

    def __init__(
        self, server: PlanServer, slot_id: int, slot: Slot, spool: Spool
    ) -> None:
        self.server, self.slot_id, self.slot = server, slot_id, slot
        self.spool, self.console = spool, Console()
        self.keeping = Keeping(server.plan, slot_id)
        self.failed = 0
        self._last_said = ""

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
        """Report an end until it is known whether it counts."""
        outcome = held.report["outcome"]
        if outcome != "done":
            self.failed += outcome in ("failed", "hopeless")
            self.console.say(held.report["reason"])
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
        # What cannot be sent now waits in the spool.
        delivery = deliver(self.spool, self.server.client, lambda _: None)
        if delivery.trouble:
            self.console.say("%d wait: %s" % (delivery.left, delivery.trouble))

    def _say(self, sentence: str) -> None:
        if sentence != self._last_said:
            self.console.progress(sentence)
        self._last_said = sentence

    def _pause(self, wait_s: float) -> None:
        """Wait about as long as was asked; many agents shall not ask at once."""
        time.sleep(wait_s * random.uniform(0.7, 1.3))


def work(part: Part, slot: Slot, server: Any, report: Report) -> Held:
    """Do a part and return its end. Raises ReleasedError where nobody is to start."""
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
        measured = seen_from_outside(measured, slot.through)
    documents = []
    if not part["is_warm_up"]:
        documents.append(_document(part, step, slot, measured, window))
    keys = [document["key"] for document in documents]
    return _ended(part, "done", window, documents, keys=keys)


def step_of(part: Part, slot: Slot) -> Step:
    """Return the program that a part names; raise UsageError if it cannot be run."""
    named = [step for step in steps_of(part, slot) if step.name == part["program"]]
    if not named:
        raise UsageError(
            "This agent's runner of %s has no program %s: update the agent."
            % (part["tool"], part["program"])
        )
    return named[0]


def steps_of(part: Part, slot: Slot) -> List[Step]:
    """Return the steps of a part's tool, as this slot starts them.

    Files are written where the plan says, else where we are or where the probe is
    started. Raises UsageError for what cannot be run there.
    """
    options, through = part["options"], slot.through
    if through:
        check_tools([part["tool"]])
    known: Dict[str, Any] = {"folder": "." if through else os.getcwd()}
    known.update({name: options[name] for name in Wishes._fields if name in options})
    # Whatever the plan says: which program is started is said here.
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
    # Who measures besides in the same sitting has a name for it.
    given["session"] = slot.session or given["session"]
    facts = dict(
        slot.facts,
        plan={name: part[name] for name in ("step", "attempt", "position", "role")},
    )
    if window:
        facts["elapsed_s"] = (window.ended_us - window.began_us) / 1e6
    job = Job([step], slot.path, slot.study, slot.system, facts, given)
    this = Round(part["repetition"], part["repetitions"], part["sequence"] - 1)
    document = document_of(this, step, 0, measured, job)
    if window:
        # By the time server's wall clock: the guest's may be hours off.
        seconds, rest = divmod(window.began_wall_us, 1000000)
        text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        document["started_at"] = "%s.%06dZ" % (text, rest)
    return document


def _load(part: Part, step: Step, slot: Slot, barrier: Barrier) -> Held:
    """Run a program again and again until told to stop."""

    def is_enough() -> bool:
        return bool(barrier.server.meet(part)["state"] != "start")

    first = measure(step, slot.path, pass_gate=barrier, is_enough=is_enough)
    window, rounds, execution = _window(first), 1, first.execution
    # Asked before the problem is looked at: a program that was told to stop was
    # killed, which is no failure.
    while not is_enough():
        if execution.problem:
            # Of the round that failed, which need not be the first.
            failed = first._replace(execution=execution)
            return _ended(part, "failed", reason=failure_of(step, failed)[:2000])
        execution = execute(step.argv, step.limit_s, is_enough=is_enough)
        rounds += 1
    last, _ = stamp_or_silence(slot.path)
    if window and last:
        # The load lasted for all rounds, the window of the first knows one.
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
